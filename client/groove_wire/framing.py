"""Bytes to messages and back: MessagePack-RPC without any input or output.

A message is one msgpack array and delimits itself in the stream.  `Decoder` takes bytes in any pieces and refuses a
frame as soon as its headers announce more than the limits allow, before the announced bytes are collected.
Encoding either gives a whole frame or raises `EncodeError`, which names the value that cannot be sent.
This module is part of the command's start time: msgpack is loaded when something is read or something large written.
"""

from __future__ import annotations

from groove_wire.packing import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REQUEST = 0
RESPONSE = 1
NOTIFICATION = 2

MAX_FRAME_BYTES = 8 * 1024 * 1024
MAX_FRAME_ITEMS = 1_000_000
MAX_MSGID = 2**32 - 1

_ARRAY, _MAP, _BYTES, _REFUSED = 0, -1, -2, -3


def _item_kinds() -> tuple[int, ...]:
    """For each first byte of an item: its whole length, or one of the kinds whose header must be read."""
    kinds = [1] * 256
    for byte in range(0x80, 0x90):
        kinds[byte] = _MAP
        kinds[byte + 0x10] = _ARRAY
    for byte in range(0xA0, 0xC0):
        kinds[byte] = 1 + (byte & 0x1F)
    for byte in (0xC1, 0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8):
        kinds[byte] = _REFUSED
    for byte in (0xC4, 0xC5, 0xC6, 0xD9, 0xDA, 0xDB):
        kinds[byte] = _BYTES
    for byte, size in ((0xCA, 5), (0xCB, 9), (0xCC, 2), (0xCD, 3), (0xCE, 5), (0xCF, 9)):
        kinds[byte] = size
    for byte, size in ((0xD0, 2), (0xD1, 3), (0xD2, 5), (0xD3, 9)):
        kinds[byte] = size
    kinds[0xDC] = kinds[0xDD] = _ARRAY
    kinds[0xDE] = kinds[0xDF] = _MAP
    return tuple(kinds)


_KINDS = _item_kinds()
_LENGTH_BYTES = {
    0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4,
}  # fmt: skip


class FrameError(ValueError):
    """The bytes are no message; the stream cannot be read any further.

    `too_large` tells a passed limit from broken bytes.  `before` holds the messages that were complete in the same
    piece of bytes before the fault.
    """

    def __init__(self, message: str, *, too_large: bool = False) -> None:
        super().__init__(message)
        self.too_large = too_large
        self.before: list[tuple[object, ...]] = []


class EncodeError(ValueError):
    """A value cannot travel; `path` is where it stands in the message, `too_large` tells a passed limit."""

    def __init__(self, path: str, reason: str, *, too_large: bool = False) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason
        self.too_large = too_large


def load_reader() -> None:
    """Load what reading needs; for whoever has time now and none when the bytes arrive."""
    _library()


def _library() -> Any:
    import msgpack  # type: ignore[import-untyped]

    return msgpack


def encode_request(msgid: int, method: str, params: dict[str, object] | None = None) -> bytes:
    """A request frame; `params` of None sends no argument.  Raises EncodeError."""
    return _framed(pack, (REQUEST, msgid, method, () if params is None else (params,)))


def encode_response(msgid: int, error: tuple[int, str] | None = None, result: object = None) -> bytes:
    """A response frame; `error` is `(code, text)` or None.  Raises EncodeError."""
    return _framed(_library().packb, (RESPONSE, msgid, error, None if error is not None else result))


def encode_notification(method: str, params: dict[str, object] | None = None) -> bytes:
    """A notification frame.  Raises EncodeError."""
    return _framed(_library().packb, (NOTIFICATION, method, () if params is None else (params,)))


def argument(params: object) -> dict[str, object]:
    """The one map that the params array of a request or a notification holds; empty when it holds none.

    An empty array stands for the empty map, because Lua cannot tell them apart.

    Raises:
        FrameError: more than one argument, or one that is no map.
    """
    if not isinstance(params, (list, tuple)) or len(params) > 1:
        raise FrameError("params must be an array with one map in it, or an empty array")
    if not params or params[0] == []:
        return {}
    only = params[0]
    if not isinstance(only, dict):
        raise FrameError("params must be an array with one map in it, or an empty array")
    return only


class Decoder:
    """Collects bytes and gives out whole messages.

    A message is `(0, msgid, method, params)`, `(1, msgid, error, result)` or `(2, method, params)`, where `params` is
    the array as it was sent (see `argument`) and `error` is None or `(code, text)`.

    Args:
        max_bytes: longest frame.
        max_items: most values in one frame, containers and keys counted; it bounds the memory that decoding takes.
    """

    __slots__ = ("_at", "_buffer", "_fault", "_items", "_left", "_max_bytes", "_max_items")

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES, *, max_items: int = MAX_FRAME_ITEMS) -> None:
        self._max_bytes = max_bytes
        self._max_items = max_items
        self._buffer = bytearray()
        self._fault: FrameError | None = None
        self._start_frame()

    def _start_frame(self) -> None:
        self._at = 0
        self._left = 1
        self._items = 1

    @property
    def pending(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return len(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> list[tuple[object, ...]]:
        """Take bytes; return the messages that they complete, in order.

        Raises:
            FrameError: also on every later call, since nothing after a broken frame can be read.
        """
        if self._fault is not None:
            raise self._fault
        self._buffer += data
        messages: list[tuple[object, ...]] = []
        start = 0
        try:
            while start < len(self._buffer) and self._scan(start):
                end = start + self._at
                messages.append(_message(bytes(self._buffer[start:end])))
                start = end
                self._start_frame()
        except FrameError as fault:
            self._buffer.clear()
            fault.before = messages
            self._fault = fault
            raise
        del self._buffer[:start]
        return messages

    def _scan(self, start: int) -> bool:
        """Walk the headers of the frame at `start` from where the last call stopped; True when all of it is here.

        `_at` is the offset in the frame of the next header, which may lie beyond the bytes at hand, and `_left` is how
        many values are still to come, each at least one byte: together they are what the frame announces.
        """
        buffer = self._buffer
        have = len(buffer) - start
        at, left = self._at, self._left
        while left and at < have:
            first = buffer[start + at]
            kind = _KINDS[first]
            if at == 0 and kind != _ARRAY:
                raise FrameError("a frame must be a msgpack array")
            if kind > 0:
                at += kind
                left -= 1
                continue
            header = self._read_header(start + at, first, kind)
            if header is None:
                break
            size, count = header
            if at == 0 and count not in (3, 4):
                raise FrameError("a message is an array of 3 or 4 values")
            at += size
            left += count - 1
            self._check_announced(at + left)
        self._at, self._left = at, left
        self._check_announced(at + left)
        return left == 0 and at <= have

    def _read_header(self, place: int, first: int, kind: int) -> tuple[int, int] | None:
        """Bytes to skip and values that follow, of the item at `place`; None when its header is not all here."""
        if kind == _REFUSED:
            raise FrameError(f"byte 0x{first:02x} is not allowed: extension types are not part of the protocol")
        width = _LENGTH_BYTES.get(first, 0)
        if place + width >= len(self._buffer):
            return None
        number = int.from_bytes(self._buffer[place + 1 : place + 1 + width], "big") if width else first & 0x0F
        if kind == _BYTES:
            return 1 + width + number, 0
        count = number * 2 if kind == _MAP else number
        self._items += count
        if self._items > self._max_items:
            raise FrameError(f"a frame holds at most {self._max_items} values", too_large=True)
        return 1 + width, count

    def _check_announced(self, announced: int) -> None:
        if announced > self._max_bytes:
            raise FrameError(f"a frame has at most {self._max_bytes} bytes", too_large=True)


def _message(frame: bytes) -> tuple[object, ...]:
    try:
        array = _library().unpackb(frame, use_list=True, raw=False, strict_map_key=True)
    except ValueError as error:
        raise FrameError(f"broken msgpack: {_one_line(error)}") from error
    kind = array[0]
    if type(kind) is not int:
        raise FrameError("the first value of a message must be 0, 1 or 2")
    if kind == REQUEST and len(array) == 4:
        return _request(array)
    if kind == RESPONSE and len(array) == 4:
        return _response(array)
    if kind == NOTIFICATION and len(array) == 3:
        return _notification(array)
    raise FrameError("a message is [0, msgid, method, params], [1, msgid, error, result] or [2, method, params]")


def _request(array: list[object]) -> tuple[object, ...]:
    _, msgid, method, params = array
    _check_msgid(msgid)
    _check_call(method, params)
    return REQUEST, msgid, method, params


def _notification(array: list[object]) -> tuple[object, ...]:
    _, method, params = array
    _check_call(method, params)
    return NOTIFICATION, method, params


def _response(array: list[object]) -> tuple[object, ...]:
    _, msgid, error, result = array
    _check_msgid(msgid)
    if error is None:
        return RESPONSE, msgid, None, result
    if not isinstance(error, list) or len(error) != 2 or type(error[0]) is not int or not isinstance(error[1], str):
        raise FrameError("error must be nil or [code, text]")
    return RESPONSE, msgid, (error[0], error[1]), None


def _check_msgid(msgid: object) -> None:
    if type(msgid) is not int or not 0 <= msgid <= MAX_MSGID:
        raise FrameError("msgid must be an unsigned integer of 32 bits")


def _check_call(method: object, params: object) -> None:
    if not isinstance(method, str):
        raise FrameError("method must be text")
    if not isinstance(params, list):
        raise FrameError("params must be an array")
    for item in params:
        if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
            raise FrameError("keys of params must be text")


def _framed(write: Callable[[tuple[object, ...]], bytes], message: tuple[object, ...]) -> bytes:
    try:
        frame = write(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        path, reason = _culprit(message, "", 0) or ("", _one_line(error))
        raise EncodeError(path, reason) from error
    if len(frame) > MAX_FRAME_BYTES:
        text = f"the message has {len(frame)} bytes, at most {MAX_FRAME_BYTES} can be sent"
        raise EncodeError("", text, too_large=True)
    return frame


def _culprit(value: object, path: str, depth: int) -> tuple[str, str] | None:
    """Where the first value stands that msgpack cannot carry, and what it is."""
    if depth > 200:
        return path, "nested too deeply"
    if isinstance(value, dict):
        pairs = [(f"{path}.{key}" if path else str(key), item) for key, item in value.items()]
        for key in value:
            if not isinstance(key, str):
                return path, f"a key is {type(key).__name__}, not text"
    elif isinstance(value, (list, tuple)):
        # The position in the outermost array says nothing to a reader; the keys in the map say it all.
        pairs = [(f"{path}[{index}]" if path else "", item) for index, item in enumerate(value)]
    else:
        reason = _why_unsendable(value)
        return None if reason is None else (path, reason)
    for place, item in pairs:
        found = _culprit(item, place, depth + 1)
        if found is not None:
            return found
    return None


def _why_unsendable(value: object) -> str | None:
    if value is None or isinstance(value, (bool, float, bytes, bytearray, memoryview)):
        return None
    if isinstance(value, int):
        return None if -(2**63) <= value < 2**64 else "an integer of more than 64 bits"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "text with a lone surrogate"
        return None
    return f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot be sent"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
