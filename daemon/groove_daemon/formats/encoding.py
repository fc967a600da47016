"""Bytes of a text file to text, and character offsets back to bytes.

Always: the text holds no NUL, no U+FEFF, no lone surrogate and no carriage return; the same bytes give the same text
whatever the locale; every offset maps to the exact byte of the file.  NUL and a U+FEFF inside the text become a space
(so the words on both sides stay apart), a lone surrogate becomes U+FFFD, CRLF and CR become LF.

Encodings: UTF-8 with and without a byte-order mark, UTF-16 with one.  In anything else each byte that is not UTF-8 is
read as Windows-1252 (ISO 8859-1 where that leaves a byte undefined): an old note is read right as a whole, and one
stray byte in a UTF-8 note spoils nothing but itself.
"""

import codecs
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from groove_daemon.errors import Unparseable

_BLOCK = 4096
_SAMPLE_BYTES = 65_536
_BINARY_SHARE = 0.05
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_UNWANTED = re.compile("[\0\ufeff\ud800-\udfff]")
_WIDE = re.compile("[^\0-\x7f]")
_STRAY = re.compile("[\udc80-\udcff]")


def _windows_1252(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


# `surrogateescape` decodes a byte that is not UTF-8 to U+DC00 plus the byte.
_STRAY_BYTES = {chr(0xDC00 + byte): _windows_1252(byte) for byte in range(0x80, 0x100)}


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Text of a file.

    `encoding` is `utf-8`, `utf-8-bom`, `utf-16-le`, `utf-16-be` or `windows-1252`.  `problems` are one-line notes.
    `byte_offset` maps a character offset of `text`, 0 to `len(text)`, to a byte offset of the file.
    """

    text: str
    encoding: str
    problems: tuple[str, ...]
    byte_offset: Callable[[int], int]


def decode(content: bytes) -> DecodedText:
    """Decode the content of a file.

    Raises:
        Unparseable: more than a twentieth of the first 64 KiB are control characters: this is no text.
    """
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark):
            half = len(content) % 2
            raw = content[2 : len(content) - half].decode(codec, "surrogatepass")
            _refuse_binary(raw[:_SAMPLE_BYTES].encode("utf-8", "surrogatepass"))
            problems = ("the last byte is half a character and was left out",) if half else ()
            return _decoded(raw, _Source(codec, "surrogatepass", 2), encoding=codec, problems=problems)
    _refuse_binary(content)
    encoding = "utf-8-bom" if content.startswith(codecs.BOM_UTF8) else "utf-8"
    try:
        return _decoded(content.decode("utf-8"), _Source("utf-8", "strict", 0), encoding=encoding)
    except UnicodeDecodeError:
        raw = content.decode("utf-8", "surrogateescape")
    strays = len(_STRAY.findall(raw))
    is_utf_8 = strays <= len(_WIDE.findall(raw)) - strays
    return _decoded(
        raw,
        _Source("utf-8", "surrogateescape", 0),
        encoding=encoding if is_utf_8 else "windows-1252",
        problems=(_stray_note(raw),),
    )


def _refuse_binary(content: bytes) -> None:
    sample = content[:_SAMPLE_BYTES]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    # One is always allowed: it would be more than the share in a very short note.
    if controls > max(1, _BINARY_SHARE * len(sample)):
        raise Unparseable("the content is not text", hint="text is UTF-8, or UTF-16 with a byte-order mark")


def _stray_note(raw: str) -> str:
    strays = [match.start() for match in _STRAY.finditer(raw)]
    before = raw[: strays[0]].replace("\r\n", "\n").replace("\r", "\n")
    line = before.count("\n") + 1
    return f"{len(strays)} bytes are not UTF-8 and were read as Windows-1252, the first on line {line}"


@dataclass(frozen=True, slots=True)
class _Source:
    """How decoded text becomes the bytes of the file again; the text starts at byte `start`."""

    codec: str
    errors: str
    start: int

    def size(self, raw: str) -> int:
        return len(raw) if raw.isascii() and self.codec == "utf-8" else len(raw.encode(self.codec, self.errors))


def _decoded(raw: str, source: _Source, *, encoding: str, problems: tuple[str, ...] = ()) -> DecodedText:
    bare = raw.lstrip("\ufeff")
    source = replace(source, start=source.start + source.size(raw[: len(raw) - len(bare)]))
    text = bare
    if _UNWANTED.search(text):
        escaped = _STRAY_BYTES if source.errors == "surrogateescape" else {}
        text = _UNWANTED.sub(lambda match: _replacement(match.group(), escaped), text)
    has_returns = "\r" in text
    if has_returns:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not has_returns and source.codec == "utf-8" and bare.isascii():
        return DecodedText(text, encoding, problems, lambda offset: source.start + offset)
    return DecodedText(text, encoding, problems, _OffsetMap(bare, source))


def _replacement(character: str, escaped: Mapping[str, str]) -> str:
    return " " if character in "\0\ufeff" else escaped.get(character, "\ufffd")


class _OffsetMap:
    """Character offsets of the normalised text to bytes, by way of blocks of the text as it was decoded.

    A look-up costs one block at most.  The table is made at the first look-up.
    """

    def __init__(self, raw: str, source: _Source) -> None:
        self._raw = raw
        self._source = source
        self._table: tuple[array[int], array[int], array[int]] | None = None

    def __call__(self, offset: int) -> int:
        texts, raws, sizes = self._table or self._measure()
        block = bisect_right(texts, offset) - 1
        start = raws[block]
        return sizes[block] + self._source.size(self._raw[start : self._raw_offset(start, offset - texts[block])])

    def _measure(self) -> "tuple[array[int], array[int], array[int]]":
        raw, position, size = self._raw, 0, len(self._raw)
        texts, raws, sizes = array("q", [0]), array("q", [0]), array("q", [self._source.start])
        while position < size:
            end = min(position + _BLOCK, size)
            if raw.startswith("\r\n", end - 1):
                end += 1
            block = raw[position:end]
            texts.append(texts[-1] + len(block) - block.count("\r\n"))
            raws.append(end)
            sizes.append(sizes[-1] + self._source.size(block))
            position = end
        self._table = (texts, raws, sizes)
        return self._table

    def _raw_offset(self, start: int, length: int) -> int:
        """The end of the shortest stretch of `raw` from `start` that normalises to `length` characters.

        Each pair of line-end characters adds one; those that the longer stretch takes in are counted again.
        """
        end = start + length
        while (wanted := start + length + self._raw.count("\r\n", start, end)) != end:
            end = wanted
        return end + 1 if length and self._raw.startswith("\r\n", end - 1) else end
