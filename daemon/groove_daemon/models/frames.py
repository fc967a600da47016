"""The wire between the daemon and the process that runs torch: frames of a JSON header and raw bytes.

A frame is two lengths (uint32, little endian), a JSON object, and a payload, which is empty or holds float32 numbers,
little endian, row after row.  Both ends are the same installation, so there is no version.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from groove_daemon.models.base import Matrix

_LENGTHS = struct.Struct("<II")


class Readable(Protocol):
    """The part of a binary stream that reading needs."""

    def read(self, size: int, /) -> bytes | None:
        """At most `size` bytes; empty at the end."""
        ...


class Writable(Protocol):
    """The part of a binary stream that writing needs."""

    def write(self, data: bytes, /) -> int | None:
        """Write some or all of `data`; the number of bytes written."""
        ...

    def flush(self) -> None:
        """Hand everything to the system."""
        ...


def write_frame(stream: Writable, header: Mapping[str, object], payload: bytes = b"") -> None:
    """Write one frame and flush it."""
    head = json.dumps(header).encode("ascii")
    data = memoryview(_LENGTHS.pack(len(head), len(payload)) + head + payload)
    while data:
        data = data[stream.write(bytes(data)) or 0 :]
    stream.flush()


def read_frame(stream: Readable) -> tuple[dict[str, Any], bytes]:
    """Read one frame: header and payload.

    Raises:
        EOFError: the other side closed the stream, before or within the frame.
    """
    head_length, payload_length = _LENGTHS.unpack(_read_exactly(stream, _LENGTHS.size))
    header: dict[str, Any] = json.loads(_read_exactly(stream, head_length))
    return header, _read_exactly(stream, payload_length)


def pack_rows(rows: Matrix) -> bytes:
    """Float32 rows as a payload."""
    return np.ascontiguousarray(rows, dtype="<f4").tobytes()


def unpack_rows(payload: bytes, width: int) -> Matrix:
    """A payload as float32 rows of `width` numbers, shape `(n, width)`."""
    return np.frombuffer(payload, dtype="<f4").astype(np.float32).reshape(-1, width)


def _read_exactly(stream: Readable, size: int) -> bytes:
    parts: list[bytes] = []
    missing = size
    while missing:
        part = stream.read(missing)
        if not part:
            raise EOFError("the stream ended within a frame")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
