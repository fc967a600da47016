"""The codec: every split of the bytes gives the same messages, and nothing broken or huge gets through."""

import datetime
import tracemalloc
from decimal import Decimal

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_wire import framing
from groove_wire.framing import Decoder, EncodeError, FrameError, argument

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6),
    max_leaves=20,
)
MAPS = st.dictionaries(TEXT, PLAIN, max_size=5)
MESSAGES = st.one_of(
    st.builds(lambda i, m, p: (framing.encode_request(i, m, p), (0, i, m, [p])), st.integers(0, 2**32 - 1), TEXT, MAPS),
    st.builds(lambda i, r: (framing.encode_response(i, None, r), (1, i, None, r)), st.integers(0, 2**32 - 1), PLAIN),
    st.builds(
        lambda i, c, t: (framing.encode_response(i, (c, t)), (1, i, (c, t), None)),
        st.integers(0, 2**32 - 1),
        st.integers(0, 999),
        TEXT,
    ),
    st.builds(lambda m, p: (framing.encode_notification(m, p), (2, m, [p])), TEXT, MAPS),
)


def test_encode_request_gives_the_bytes_of_the_standard():
    frame = framing.encode_request(7, "ping", {"a": 1})

    assert frame == b"\x94\x00\x07\xa4ping\x91\x81\xa1a\x01"


def test_encode_request_sends_an_empty_array_without_params():
    assert framing.encode_request(7, "ping") == b"\x94\x00\x07\xa4ping\x90"


def test_encode_response_sends_no_result_beside_an_error():
    frame = framing.encode_response(3, (500, "no"), {"ignored": True})

    assert msgpack.unpackb(frame) == [1, 3, [500, "no"], None]


@given(st.lists(MESSAGES, max_size=4), st.data())
def test_decoder_gives_the_same_messages_for_any_split(pairs, data):
    stream = b"".join(frame for frame, _ in pairs)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    decoder = Decoder()
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += decoder.feed(stream[start:end])

    assert received == [message for _, message in pairs]
    assert decoder.pending == 0


@given(st.lists(MESSAGES, min_size=1, max_size=2))
def test_decoder_gives_the_same_messages_byte_by_byte(pairs):
    decoder = Decoder()
    received = []
    for frame, _ in pairs:
        for byte in frame:
            received += decoder.feed(bytes([byte]))

    assert received == [message for _, message in pairs]


def test_decoder_keeps_a_trailing_piece_for_the_next_call():
    whole = framing.encode_request(1, "status")
    decoder = Decoder()

    assert decoder.feed(whole + whole[:3]) == [(0, 1, "status", [])]
    assert decoder.pending == 3
    assert decoder.feed(whole[3:]) == [(0, 1, "status", [])]


@given(st.binary(max_size=200))
def test_decoder_answers_any_bytes_with_messages_or_a_frame_error(noise):
    decoder = Decoder(max_bytes=100, max_items=50)
    try:
        decoder.feed(noise)
    except FrameError:
        return

    assert decoder.pending <= 105


@given(MESSAGES, st.data())
def test_decoder_answers_damaged_frames_with_messages_or_a_frame_error(pair, data):
    frame = bytearray(pair[0])
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255))
    decoder = Decoder(max_bytes=10_000)
    try:
        messages = decoder.feed(bytes(frame))
    except FrameError as fault:
        messages = fault.before

    assert all(message[0] in (0, 1, 2) for message in messages)


@pytest.mark.parametrize(
    "announcement",
    [
        pytest.param(b"\xdb\xff\xff\xff\xff", id="text"),
        pytest.param(b"\xc6\xff\xff\xff\xff", id="bytes"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="array"),
        pytest.param(b"\xdf\xff\xff\xff\xff", id="map"),
    ],
)
def test_decoder_refuses_four_gigabytes_at_the_header(announcement):
    start_of_request = b"\x94\x00\x01\xa6search\x91\x81\xa5query"
    decoder = Decoder()
    decoder.feed(start_of_request)

    with pytest.raises(FrameError) as caught:
        decoder.feed(announcement)

    assert caught.value.too_large


def test_decoder_refuses_the_announced_array_of_four_gigabytes_as_first_header():
    with pytest.raises(FrameError):
        Decoder().feed(b"\xdd\xff\xff\xff\xff")


def test_decoder_refuses_a_length_prefix_at_the_first_byte():
    with pytest.raises(FrameError, match="must be a msgpack array"):
        Decoder().feed(b"\xff")


def test_decoder_takes_a_frame_of_exactly_the_limit():
    frame = framing.encode_request(1, "ping", {"text": "x" * 500})

    assert len(Decoder(max_bytes=len(frame)).feed(frame)) == 1
    with pytest.raises(FrameError, match="at most"):
        Decoder(max_bytes=len(frame) - 1).feed(frame)


def test_decoder_refuses_more_values_than_allowed():
    frame = framing.encode_request(1, "ping", {"list": [0] * 100})

    with pytest.raises(FrameError, match="at most 50 values") as caught:
        Decoder(max_items=50).feed(frame)

    assert caught.value.too_large


def test_decoder_holds_memory_flat_when_zeros_stream_in():
    decoder = Decoder()
    zeros = bytes(1024 * 1024)
    tracemalloc.start()
    faults = 0
    for _ in range(100):
        try:
            decoder.feed(zeros)
        except FrameError:
            faults += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert faults == 100
    assert peak < 4 * 1024 * 1024


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([5, 1, "ping", []], id="unknown kind"),
        pytest.param([True, 1, "ping", []], id="bool as kind"),
        pytest.param([0, 1, "ping"], id="request too short"),
        pytest.param([2, 1, "ping", []], id="notification too long"),
        pytest.param([0, -1, "ping", []], id="negative msgid"),
        pytest.param([0, 2**32, "ping", []], id="msgid over 32 bits"),
        pytest.param([0, True, "ping", []], id="bool as msgid"),
        pytest.param([0, "1", "ping", []], id="text as msgid"),
        pytest.param([0, 1, 5, []], id="method no text"),
        pytest.param([0, 1, b"ping", []], id="method bytes"),
        pytest.param([0, 1, "ping", {}], id="params a map"),
        pytest.param([0, 1, "ping", [{b"a": 1}]], id="bytes as key"),
        pytest.param([0, 1, "ping", [{1: 1}]], id="number as key"),
        pytest.param([0, 1, "ping", [{"a": {1: 1}}]], id="number as inner key"),
        pytest.param([1, 1, "text", None], id="error as text"),
        pytest.param([1, 1, ["a", "b"], None], id="error code no number"),
        pytest.param([1, 1, [1, 2], None], id="error text no text"),
        pytest.param([1, 2], id="two values"),
        pytest.param([], id="empty"),
        pytest.param({}, id="map"),
        pytest.param("text", id="text"),
        pytest.param(0, id="number"),
        pytest.param([0, 1, "ping", [msgpack.ExtType(1, b"x")]], id="extension type"),
        pytest.param([0, 1, "ping", [msgpack.Timestamp(0)]], id="timestamp"),
    ],
)
def test_decoder_refuses_what_is_no_message(value):
    with pytest.raises(FrameError):
        Decoder().feed(msgpack.packb(value))


def test_decoder_refuses_text_that_is_not_utf8():
    with pytest.raises(FrameError, match="broken msgpack"):
        Decoder().feed(b"\x94\x00\x01\xa4ping\x91\x81\xa1a\xa1\xff")


def test_decoder_refuses_nesting_that_is_too_deep():
    frame = b"\x94\x00\x01\xa4ping\x91" + b"\x91" * 5000 + b"\x90"

    with pytest.raises(FrameError, match="broken msgpack"):
        Decoder().feed(frame)


def test_decoder_gives_out_what_came_before_a_broken_frame():
    decoder = Decoder()
    with pytest.raises(FrameError) as caught:
        decoder.feed(framing.encode_request(1, "status") + b"\xc1")

    assert caught.value.before == [(0, 1, "status", [])]
    with pytest.raises(FrameError):
        decoder.feed(framing.encode_request(2, "status"))


def test_decoder_takes_array_headers_of_every_width():
    decoder = Decoder()

    assert decoder.feed(b"\xdc\x00\x04\x00\x01\xa4ping\x90") == [(0, 1, "ping", [])]
    assert decoder.feed(b"\xdd\x00\x00\x00\x04\x00\x01\xa4ping\x90") == [(0, 1, "ping", [])]


@pytest.mark.parametrize(("params", "expected"), [([], {}), ([{}], {}), ([[]], {}), ([{"a": 1}], {"a": 1})])
def test_argument_is_the_one_map(params, expected):
    assert argument(params) == expected


@pytest.mark.parametrize("params", [[{}, {}], ["text"], [None], [[1]], None, "text"])
def test_argument_refuses_anything_else(params):
    with pytest.raises(FrameError):
        argument(params)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param({"hits": [{"score": np.float32(1.5)}]}, "hits[0].score", id="numpy float32"),
        pytest.param({"count": np.int64(3)}, "count", id="numpy int64"),
        pytest.param({"flag": np.bool_(True)}, "flag", id="numpy bool"),
        pytest.param({"date": datetime.date(2026, 5, 18)}, "date", id="date"),
        pytest.param({"when": datetime.datetime(2026, 5, 18, 10)}, "when", id="datetime"),
        pytest.param({"tags": {"a"}}, "tags", id="set"),
        pytest.param({"path": "caf\udce9"}, "path", id="lone surrogate"),
        pytest.param({"size": 2**64}, "size", id="large integer"),
        pytest.param({"size": -(2**63) - 1}, "size", id="small integer"),
        pytest.param({"price": Decimal(1)}, "price", id="decimal"),
    ],
)
def test_encode_error_names_the_place_of_what_cannot_travel(value, path):
    with pytest.raises(EncodeError) as caught:
        framing.encode_response(1, None, value)

    assert caught.value.path == path
    assert "\n" not in str(caught.value)


def test_encode_error_says_so_when_a_value_contains_itself():
    value = {}
    value["self"] = value

    with pytest.raises(EncodeError, match="deeply"):
        framing.encode_response(1, None, value)


def test_encode_refuses_a_message_over_the_limit():
    with pytest.raises(EncodeError) as caught:
        framing.encode_response(1, None, "x" * (framing.MAX_FRAME_BYTES + 1))

    assert caught.value.too_large
