"""Expansion (public name: parent retriever): show more of a hit's document around it.

A small hit shows its whole document when that fits; any other hit is joined with its siblings, the neighbouring chunks
at the same heading level, taken alternately before and after until the cap.  Score, rank and path stay as they are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

from groove_daemon.config.settings import ParentSettings
from groove_daemon.domain.document import DocumentId, Sibling, StoredChunk
from groove_daemon.domain.hit import Expansion
from groove_daemon.retrieval.spans import Segment

BYTES_A_TOKEN = 4
_BETWEEN = "\n\n"
# As `Segment._make`, in a third of the time: that is a function of Python, and an answer may have hundreds.
_as_segment: Callable[[tuple[int, int]], Segment] = partial(tuple.__new__, Segment)


@dataclass(frozen=True, slots=True)
class Expanded:
    """Content to show, the lines of the file that it covers, where it came from, and where its pieces begin."""

    content: str
    line_start: int
    line_end: int
    expansion: Expansion
    segments: tuple[Segment, ...]


def tokens_of(chunk: Sibling) -> int:
    """Stored token count, or UTF-8 bytes divided by 4 where none is known."""
    if chunk.token_count is not None and chunk.token_count > 0:
        return chunk.token_count
    return len(chunk.content.encode()) // BYTES_A_TOKEN


class Expander:
    """Expands the hits of one answer; those of one document often grow to the same stretch, which is made once.

    Args:
        settings: threshold and cap in tokens; a hit of exactly the threshold is not small.
    """

    def __init__(self, settings: ParentSettings) -> None:
        self._settings = settings
        self._made: dict[tuple[DocumentId, Extent], Expanded] = {}

    def __call__(self, hit: StoredChunk, document: Sequence[Sibling]) -> Expanded:
        """Expand a hit.

        Args:
            hit: the chunk that was found.
            document: all chunks of its document, in order, the hit among them.
        """
        extent = extent_of(hit, document, settings=self._settings)
        key = (hit.document.document_id, extent)
        if key not in self._made:
            self._made[key] = _joined(extent.kind, document[extent.first : extent.last + 1], total=len(document))
        return self._made[key]


class Extent(NamedTuple):
    """What a hit grows to: see `Expansion.kind`, and the first and last index in its document, inclusive."""

    kind: str
    first: int
    last: int


def extent_of(hit: StoredChunk, document: Sequence[Sibling], *, settings: ParentSettings) -> Extent:
    """How far a hit grows; the parameters are those of `Expander`."""
    cap = settings.max_expanded_tokens
    tokens = [chunk.token_count or tokens_of(chunk) for chunk in document]
    is_small = hit.token_count is not None and hit.token_count < settings.whole_doc_threshold_tokens
    if is_small and sum(tokens) <= cap:
        return Extent("whole_document", 0, len(document) - 1)
    at = [chunk.chunk_id for chunk in document].index(hit.chunk_id)
    return Extent("siblings", *_siblings(at, [chunk.level for chunk in document], tokens, cap=cap))


def _siblings(at: int, levels: Sequence[int | None], tokens: Sequence[int], *, cap: int) -> tuple[int, int]:
    """First and last index of the run of one level around `at`, grown before and after in turn, within `cap` tokens.

    Args:
        at: index of the hit in its document.
        levels: of the headings of all chunks of the document.
        tokens: how many each chunk has.
        cap: how many all may have.
    """
    level, room, last_index = levels[at], cap - tokens[at], len(levels) - 1
    first = last = at
    before_open = after_open = True
    while before_open or after_open:
        if before_open:
            before_open = first > 0 and levels[first - 1] == level and tokens[first - 1] <= room
            if before_open:
                first -= 1
                room -= tokens[first]
        if after_open:
            after_open = last < last_index and levels[last + 1] == level and tokens[last + 1] <= room
            if after_open:
                last += 1
                room -= tokens[last]
    return first, last


def _joined(kind: str, chunks: Sequence[Sibling], *, total: int) -> Expanded:
    overlap = any(previous.byte_end > chunk.byte_start for previous, chunk in pairwise(chunks))
    content, segments = _overlapping(chunks) if overlap else _apart(chunks)
    return Expanded(
        content,
        chunks[0].line_start,
        max([chunk.line_end for chunk in chunks]),
        Expansion(kind, chunks[0].position, chunks[-1].position, total),
        segments,
    )


def _apart(chunks: Sequence[Sibling]) -> tuple[str, tuple[Segment, ...]]:
    """The content of chunks that have no text in common, and where each begins; the usual case, hence by itself."""
    contents = [chunk.content for chunk in chunks]
    starts = accumulate([len(content) + len(_BETWEEN) for content in contents[:-1]], initial=0)
    places = zip(starts, [chunk.line_start for chunk in chunks], strict=True)
    return _BETWEEN.join(contents), tuple(map(_as_segment, places))


def _overlapping(chunks: Sequence[Sibling]) -> tuple[str, tuple[Segment, ...]]:
    """The same of chunks of which some begin with what the one before ended with."""
    previous = chunks[0]
    pieces = [previous.content]
    segments = [Segment(0, previous.line_start)]
    last_start, end = 0, len(previous.content)
    for chunk in chunks[1:]:
        shared = _shared(previous, chunk) if previous.byte_end > chunk.byte_start else 0
        pieces += (chunk.content[shared:],) if shared else (_BETWEEN, chunk.content)
        start = end - shared if shared else end + len(_BETWEEN)
        end = start + len(chunk.content)
        # A chunk that begins with all of the one before begins no stretch of its own.
        if start > last_start:
            segments.append(Segment(start, chunk.line_start))
            last_start = start
        previous = chunk
    return "".join(pieces), tuple(segments)


def _shared(previous: Sibling, chunk: Sibling) -> int:
    """How many characters `chunk` begins with that `previous` ended with: pieces of one split section share some."""
    longest = min(previous.byte_end - chunk.byte_start, len(chunk.content), len(previous.content))
    for length in range(longest, 0, -1):
        if previous.content.endswith(chunk.content[:length]):
            return length
    return 0
