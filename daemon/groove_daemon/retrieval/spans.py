"""Where the query's phrases stand in a hit's content: byte ranges to highlight, and the lines of the file.

Pure.  Matching folds case, and accents on Latin letters as full text does; the ranges are those of the content as it
is written.  Ranges are sorted and do not overlap.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from typing import NamedTuple

from groove_daemon.domain.hit import ByteSpan
from groove_daemon.domain.query import Query
from groove_daemon.retrieval.words import content_words

MAX_SPANS = 100
MAX_CONTENT_BYTES = 256 * 1024
_ASCII = bytes(range(128))
# As `ByteSpan._make`, in half of the time: that is a function of Python, and an answer has thousands of spans.
_as_span: Callable[[tuple[int, int]], ByteSpan] = partial(tuple.__new__, ByteSpan)


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
    if not terms or _is_too_long(content):
        return None
    folded = _Folded(content)
    budget = max(1, MAX_SPANS // len(terms))
    found: list[tuple[int, int]] = []
    for term in terms:
        found += folded.occurrences(term, at_most=budget)
    return _as_bytes(content, _merged(sorted(found)))


def match_lines(content: str, spans: Sequence[ByteSpan] | None, segments: Sequence[Segment]) -> tuple[int, ...]:
    """Lines of the file on which spans begin, ascending, each once.

    Args:
        content: the shown content.
        spans: ranges in it, as `match_spans` gives them; None counts as none.
        segments: how positions in it map to lines of the file, ascending, the first at 0.
    """
    lines = set()
    following = iter((*segments[1:], Segment(len(content) + 1, 0)))
    ahead = next(following)
    line, counted = segments[0].line, 0
    # From one span to the next: counting from the start each time would go through a long text again and again.
    for position in _characters(content, spans or ()):
        while position >= ahead.start:
            line, counted = ahead.line, ahead.start
            ahead = next(following)
        line += content.count("\n", counted, position)
        counted = position
        lines.add(line)
    return tuple(sorted(lines))


def _characters(content: str, spans: Sequence[ByteSpan]) -> list[int]:
    """Where each span begins, in characters."""
    starts = [span.start for span in spans]
    if content.isascii():
        return starts
    encoded = content.encode()
    return list(accumulate(len(encoded[before:start].decode()) for before, start in pairwise([0, *starts])))


def _is_too_long(content: str) -> bool:
    # A character has four bytes at most, so that short contents need not be encoded to know.
    return len(content) * 4 > MAX_CONTENT_BYTES and len(content.encode()) > MAX_CONTENT_BYTES


def _terms(query: Query) -> Sequence[str]:
    """What to look for, folded: the phrases, or the words between white space where the query has no phrase.

    Function words are left out like in the legs, or the `the` in `other` would count as a match.
    """
    texts = (*query.phrases, *query.exact_terms, *query.short_terms) if query.phrases else query.positive_text.split()
    return _folded_terms(content_words(texts))


@lru_cache(maxsize=64)
def _folded_terms(texts: tuple[str, ...]) -> Sequence[str]:
    """Remembered, because all hits of an answer are searched for the same."""
    folded = {"".join(map(_fold, text)) for text in texts}
    return tuple(sorted(folded - {""})[:MAX_SPANS])


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
        self._origin: Sequence[int] | None = None
        """The written position of each folded character; None when they are the same."""
        if text.isascii():
            self._text = text.lower()
            return
        # A text has many characters and few different ones, and most of those beyond ASCII stay as they are.
        others = set(text.encode().translate(None, _ASCII).decode())
        if all(char == _fold(char) == char.lower() for char in others):
            self._text = text.lower()
            return
        folds = {char: _fold(char) for char in set(text)}
        self._text = text.translate({ord(char): fold for char, fold in folds.items()})
        if any(len(fold) != 1 for fold in folds.values()):
            self._origin = [index for index, char in enumerate(text) for _ in folds[char]]

    def occurrences(self, term: str, *, at_most: int) -> list[tuple[int, int]]:
        """Written character ranges of the first `at_most` occurrences that do not overlap."""
        # Cutting the text finds them all in one call, in half of the time of looking for one after the other.
        pieces = self._text.split(term, at_most)
        if len(pieces) == 1:
            return []
        width = len(term)
        pieces.pop()
        spans = [(end - width, end) for end in accumulate([len(piece) + width for piece in pieces])]
        origin = self._origin
        if origin is None:
            return spans
        return [(origin[start], self._written_end(origin, end)) for start, end in spans]

    def _written_end(self, origin: Sequence[int], end: int) -> int:
        """Where the written text of everything before folded position `end` ends, trailing accents included."""
        following = origin[end] if end < len(origin) else self._length
        return max(following, origin[end - 1] + 1)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping ranges joined; ranges that merely touch stay apart."""
    merged: list[tuple[int, int]] = []
    furthest = 0
    for span in spans:
        start, end = span
        if start < furthest:
            furthest = max(furthest, end)
            merged[-1] = (merged[-1][0], furthest)
        else:
            furthest = end
            merged.append(span)
    return merged


def _as_bytes(content: str, spans: Sequence[tuple[int, int]]) -> tuple[ByteSpan, ...]:
    if content.isascii():
        return tuple(map(_as_span, spans))
    result: list[ByteSpan] = []
    chars = offset = 0
    for start, end in spans:
        begin = offset + len(content[chars:start].encode())
        offset = begin + len(content[start:end].encode())
        chars = end
        result.append(ByteSpan(begin, offset))
    return tuple(result)
