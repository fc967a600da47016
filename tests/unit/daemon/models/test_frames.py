import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.models.frames import pack_rows, read_frame, unpack_rows, write_frame

JSON = st.dictionaries(st.text(max_size=8), st.text() | st.integers() | st.booleans() | st.lists(st.text()), max_size=5)


class Trickle(io.RawIOBase):
    """A stream that takes and gives at most `step` bytes at once, as a pipe may."""

    def __init__(self, step: int) -> None:
        self._step = step
        self.content = bytearray()

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.content += data[: self._step]
        return min(len(data), self._step)

    def read(self, size: int = -1) -> bytes:
        part = bytes(self.content[: min(size, self._step)])
        del self.content[: len(part)]
        return part


@given(frames=st.lists(st.tuples(JSON, st.binary(max_size=200)), max_size=4), step=st.integers(1, 64))
def test_frames_survive_any_cutting_of_the_stream(frames: list[tuple[dict[str, object], bytes]], step: int) -> None:
    stream = Trickle(step)
    for header, payload in frames:
        write_frame(stream, header, payload)

    read = [read_frame(stream) for _ in frames]

    assert read == frames


@pytest.mark.parametrize("kept", [0, 3, 8, 12])
def test_end_within_a_frame_is_an_end_of_file(kept: int) -> None:
    stream = io.BytesIO()
    write_frame(stream, {"op": "load"}, b"payload")

    with pytest.raises(EOFError):
        read_frame(io.BytesIO(stream.getvalue()[:kept]))


def test_rows_survive_bit_for_bit() -> None:
    rows = np.array([[1.5, -0.0, np.nan], [np.inf, 1e-30, 3.0]], dtype=np.float32)

    again = unpack_rows(pack_rows(rows), 3)

    assert again.tobytes() == rows.tobytes()
    assert again.flags.writeable


def test_no_rows_keep_their_width() -> None:
    assert unpack_rows(b"", 7).shape == (0, 7)
