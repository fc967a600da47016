"""Cuts a stretch of text into pieces that the embedder reads to their end.

Always: pieces are in order, cover all that is not white space, and none takes more tokens together with its context
than the limit; cuts fall between paragraphs, else lines, else sentences, else words, else tokens.  Time and memory are
linear: a long stretch is tokenised in windows, and each piece once more to prove its size.  Knows nothing about
headings or documents.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from groove_daemon.chunking.base import TokenOffsets
from groove_daemon.domain.passage import passage

# Tokenizers read a long run without a space as one unknown token, or drop characters: tokens alone bound no text.
CHARS_PER_TOKEN = 16
_LEAST_LIMIT = 16
_WINDOW_CHARS = 65_536
_BREAKS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？．][\"'」』）]*\s*"),
    re.compile(r"\s+"),
)
_WORD_START = re.compile(r"(?<=\s)\S")


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of characters without blank lines at its ends, and the tokens that the embedder reads for it."""

    start: int
    end: int
    tokens: int


class Splitter:
    """Splits by the tokens of one tokenizer.

    Args:
        tokenizer: the embedder's.
        limit: most tokens of a passage; 0 takes what the embedder reads.  At least 16, if the embedder reads as much.
        overlap: tokens that two neighbours share; a quarter of the limit at most.
    """

    def __init__(self, tokenizer: TokenOffsets, *, limit: int, overlap: int) -> None:
        self._tokenizer = tokenizer
        wanted = max(limit, _LEAST_LIMIT) if limit else tokenizer.max_tokens
        self.limit = max(1, min(wanted, tokenizer.max_tokens))
        self.max_chars = CHARS_PER_TOKEN * self.limit
        self._overlap = min(overlap, self.limit // 4)
        self._window = max(_WINDOW_CHARS, 4 * self.max_chars)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.offsets(text))

    def shorten(self, context: str | None) -> str | None:
        """Cut a context to half of the limit at a token's end, so that the other half is left for the content."""
        if context is None or len(context) <= self.limit // 8:
            return context
        offsets = self._tokenizer.offsets(context)
        if len(offsets) <= self.limit // 2:
            return context
        return context[: offsets[self.limit // 2][0]].rstrip() or None

    def pieces(self, text: str, start: int, end: int, *, context: str | None) -> list[Piece]:
        """Cut `text[start:end]`; one piece where it fits, none where there is nothing but white space."""
        first, last = trimmed(text, start, end)
        if first >= last:
            return []
        if last - first <= self.max_chars:
            tokens = self.count(passage(context, text[first:last]))
            if tokens <= self.limit:
                return [Piece(first, last, tokens)]
        return list(self._split(text, first, last, context=context))

    def _split(self, text: str, start: int, end: int, *, context: str | None) -> Iterator[Piece]:
        room = max(1, self.limit - (self.count(passage(context, "")) if context else 0))
        at = covered = window_end = last_end = start
        starts: list[int] = []
        while covered < end:
            reach = self._reach(starts, at, room=room, end=window_end)
            if reach >= window_end < end:
                window_end = min(end, at + self._window)
                starts = [at + offset for offset, _ in self._tokenizer.offsets(text[at:window_end])]
                reach = self._reach(starts, at, room=room, end=window_end)
            cut = end if reach >= end else _break(text, at, reach, after=covered)
            piece, cut = self._fit(text, at, cut, context=context)
            if cut <= covered:
                at = covered
                continue
            # After an overlap, a stretch may hold nothing new but white space.
            if piece is not None and piece.end > last_end:
                yield piece
                last_end = piece.end
            at, covered = self._overlap_start(text, starts, after=at, cut=cut), cut

    def _reach(self, starts: list[int], at: int, *, room: int, end: int) -> int:
        """How far a piece that starts at `at` can go: `room` tokens, and no more characters than are allowed."""
        beyond = bisect_left(starts, at) + room
        by_tokens = starts[beyond] if beyond < len(starts) else end
        return max(at + 1, min(by_tokens, at + self.max_chars, end))

    def _fit(self, text: str, at: int, cut: int, *, context: str | None) -> tuple[Piece | None, int]:
        """The piece `[at, cut)`, made shorter until its passage keeps the limit, and where it was cut at last.

        A piece alone may take more tokens than the same stretch inside its text, because cuts change words.
        """
        while True:
            first, last = trimmed(text, at, cut)
            if first >= last:
                return None, cut
            whole = passage(context, text[first:last])
            offsets = self._tokenizer.offsets(whole)
            if len(offsets) <= self.limit or last - first == 1:
                return Piece(first, last, len(offsets)), cut
            too_far = first + offsets[self.limit][0] - (len(whole) - (last - first))
            cut = _break(text, first, max(first + 1, min(too_far, last - 1)), after=first)

    def _overlap_start(self, text: str, starts: list[int], *, after: int, cut: int) -> int:
        """Where the next piece begins: at the start of a word among the last tokens before the cut."""
        if not self._overlap:
            return cut
        token = bisect_left(starts, cut) - self._overlap
        earliest = max(starts[token] if token >= 0 else after, after + 1, cut - self.max_chars // 4)
        if earliest >= cut:
            return cut
        word = _WORD_START.search(text, earliest, cut)
        return word.start() if word else earliest


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its end and blank lines at its start; the first line keeps its indentation."""
    stretch = text[start:end]
    bare = stretch.lstrip()
    if not bare:
        return start, start
    first = end - len(bare)
    last = start + len(stretch.rstrip())
    line = text.rfind("\n", start, first) + 1
    if line > start:
        return line, last
    at_line_start = start == 0 or text[start - 1] == "\n"
    return (start if at_line_start else first), last


def _break(text: str, at: int, reach: int, *, after: int) -> int:
    """The best place to cut in the second half of `[at, reach)`, later than `after`; `reach` when there is none."""
    low = max(at + (reach - at) // 2, after)
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, low, reach)]
        if ends:
            return ends[-1]
    # Marks stay with their letter.
    cut = reach
    while cut > low + 1 and cut < len(text) and unicodedata.combining(text[cut]):
        cut -= 1
    return cut
