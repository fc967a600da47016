"""Where the query's phrases stand in a hit's content: byte ranges to highlight, and the lines of the file.

Pure.  Matching folds case, and accents on Latin letters as full text does; the ranges are those of the content as it
is written.  Ranges are sorted and do not overlap.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from groove_daemon.domain.hit import ByteSpan
from groove_daemon.domain.query import Query

MAX_SPANS = 100
MAX_CONTENT_BYTES = 256 * 1024


class Segment(NamedTuple):
    """A stretch of shown content that is contiguous in the file: where it begins in characters, and on which line."""

    start: int
    line: int


def match_spans(content: str, query: Query) -> tuple[ByteSpan, ...] | None:
    """Byte ranges of `content` (UTF-8, half-open) where the query's terms stand.

    None when they are not computed: nothing to look for, or content over `MAX_CONTENT_BYTES`.  Empty when nothing
    matched.  All terms share `MAX_SPANS` evenly, so that a frequent one does not starve the rest.
    """
    terms = _terms(query)
    if not terms or len(content.encode()) > MAX_CONTENT_BYTES:
        return None
    folded = _Folded(content)
    budget = max(1, MAX_SPANS // len(terms))
    found = sorted(span for term in terms for span in folded.occurrences(term, at_most=budget))
    return _as_bytes(content, _merged(found))


def match_lines(content: str, spans: Sequence[ByteSpan] | None, segments: Sequence[Segment]) -> tuple[int, ...]:
    """Lines of the file on which spans begin, ascending, each once.

    Args:
        content: the shown content.
        spans: ranges in it; None counts as none.
        segments: how positions in it map to lines of the file, ascending, the first at 0.
    """
    encoded = content.encode()
    lines = set()
    position = at = 0
    # From one span to the next: counting from the start each time would go through a long text again and again.
    for span in sorted(spans or (), key=lambda span: span.start):
        position += len(encoded[at : span.start].decode())
        at = span.start
        segment = next(segment for segment in reversed(segments) if segment.start <= position)
        lines.add(segment.line + content.count("\n", segment.start, position))
    return tuple(sorted(lines))


def _terms(query: Query) -> list[str]:
    """What to look for, folded: the phrases, or the words between white space where the query has no phrase."""
    texts = (*query.phrases, *query.exact_terms, *query.short_terms) if query.phrases else query.positive_text.split()
    folded = {"".join(map(_fold, text)) for text in texts}
    return sorted(folded - {""})[:MAX_SPANS]


@lru_cache(maxsize=8192)
def _fold(char: str) -> str:
    """The character without case and, on a Latin letter, without accents; empty for a combining accent alone."""
    if char.isascii():
        return char.lower()
    decomposed = unicodedata.normalize("NFD", char)
    base = "".join(part for part in decomposed if not "\u0300" <= part <= "\u036f")
    return base.lower() if base.isascii() else char.casefold()


class _Folded:
    """A text folded for matching, with the way back from folded to written positions."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        if text.isascii():
            self._text = text.lower()
            self._origin: Sequence[int] = range(self._length)
            return
        folds = [_fold(char) for char in text]
        self._text = "".join(folds)
        self._origin = [index for index, fold in enumerate(folds) for _ in fold]

    def occurrences(self, term: str, *, at_most: int) -> list[tuple[int, int]]:
        """Written character ranges of the first `at_most` occurrences that do not overlap."""
        spans: list[tuple[int, int]] = []
        start = self._text.find(term)
        while start != -1 and len(spans) < at_most:
            end = start + len(term)
            spans.append((self._origin[start], self._written_end(end)))
            start = self._text.find(term, end)
        return spans

    def _written_end(self, end: int) -> int:
        """Where the written text of everything before folded position `end` ends, trailing accents included."""
        following = self._origin[end] if end < len(self._origin) else self._length
        return max(following, self._origin[end - 1] + 1)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges joined; ranges that merely touch stay apart."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _as_bytes(content: str, spans: Sequence[tuple[int, int]]) -> tuple[ByteSpan, ...]:
    if content.isascii():
        return tuple(ByteSpan(start, end) for start, end in spans)
    result: list[ByteSpan] = []
    chars = offset = 0
    for start, end in spans:
        begin = offset + len(content[chars:start].encode())
        offset = begin + len(content[start:end].encode())
        chars = end
        result.append(ByteSpan(begin, offset))
    return tuple(result)
