"""Small values to MessagePack, without the library that does the same.

Loading the library takes a command two milliseconds, a tenth of a whole search.  A request that is packed here is on
its way before it is loaded, and loading it, which reading the answer needs, goes on while the daemon works.  The bytes
are the library's own, byte for byte; anything large is left to it.
"""

from __future__ import annotations

_NIL, _FALSE, _TRUE, _FLOAT = b"\xc0", b"\xc2", b"\xc3", b"\xcb"
# For each kind the first byte of the form for short ones, how many these may hold, then the bytes for longer counts.
_TEXT = (0xA0, 32, ((0xD9, 1), (0xDA, 2), (0xDB, 4)))
_BYTES = (0x00, 0, ((0xC4, 1), (0xC5, 2), (0xC6, 4)))
_ARRAY = (0x90, 16, ((0xDC, 2), (0xDD, 4)))
_MAP = (0x80, 16, ((0xDE, 2), (0xDF, 4)))
_UNSIGNED = ((0xCC, 1), (0xCD, 2), (0xCE, 4), (0xCF, 8))
_SIGNED = ((0xD0, 1), (0xD1, 2), (0xD2, 4), (0xD3, 8))


def pack(value: object) -> bytes:
    """Return the shortest form of None, a bool, an int of 64 bits, a float, text, bytes, or a list or map of these.

    Raises:
        TypeError: a value of another type.
        ValueError: text with a lone surrogate; a list or a text of more than 2**32 entries or bytes.
        OverflowError: an integer of more than 64 bits.
        RecursionError: nested too deeply.
    """
    if value is None:
        return _NIL
    if value is True:
        return _TRUE
    if value is False:
        return _FALSE
    if isinstance(value, str):
        encoded = value.encode()
        return _header(_TEXT, len(encoded)) + encoded
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        # Few requests have a fraction in them, and this library is not there from the start.
        from struct import pack as pack_number

        return _FLOAT + pack_number(">d", value)
    if isinstance(value, dict):
        pairs = (pack(key) + pack(item) for key, item in value.items())
        return _header(_MAP, len(value)) + b"".join(pairs)
    if isinstance(value, (list, tuple)):
        return _header(_ARRAY, len(value)) + b"".join(map(pack, value))
    if isinstance(value, (bytes, bytearray)):
        return _header(_BYTES, len(value)) + bytes(value)
    raise TypeError(f"cannot pack a {type(value).__name__}")


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return (value & 0xFF).to_bytes(1, "big")
    for first, size in _SIGNED if value < 0 else _UNSIGNED:
        bits = 8 * size - (value < 0)
        if -(1 << bits) <= value < 1 << bits:
            return first.to_bytes(1, "big") + value.to_bytes(size, "big", signed=value < 0)
    raise OverflowError("an integer of more than 64 bits")


def _header(kind: tuple[int, int, tuple[tuple[int, int], ...]], count: int) -> bytes:
    first, few, forms = kind
    if count < few:
        return (first + count).to_bytes(1, "big")
    for longer, size in forms:
        if count < 1 << (8 * size):
            return longer.to_bytes(1, "big") + count.to_bytes(size, "big")
    raise ValueError("more than 2**32 entries")
