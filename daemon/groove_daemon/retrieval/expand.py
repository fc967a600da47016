"""Expansion (public name: parent retriever): show more of a hit's document around it.

A small hit shows its whole document when that fits; any other hit is joined with its siblings, the neighbouring chunks
at the same heading level, taken alternately before and after until the cap.  Score, rank and path stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from groove_daemon.config.settings import ParentSettings
from groove_daemon.domain.document import StoredChunk
from groove_daemon.domain.hit import Expansion

BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Expanded:
    """Content to show, the lines of the file that it covers, and where it came from."""

    content: str
    line_start: int
    line_end: int
    expansion: Expansion


def tokens_of(chunk: StoredChunk) -> int:
    """Stored token count, or UTF-8 bytes divided by 4 where none is known."""
    if chunk.token_count is not None and chunk.token_count > 0:
        return chunk.token_count
    return len(chunk.content.encode()) // BYTES_A_TOKEN


def expand(hit: StoredChunk, document: Sequence[StoredChunk], *, settings: ParentSettings) -> Expanded:
    """Expand a hit.

    Args:
        hit: the chunk that was found.
        document: all chunks of its document, in order, the hit among them.
        settings: threshold and cap in tokens; a hit of exactly the threshold is not small.
    """
    cap = settings.max_expanded_tokens
    is_small = hit.token_count is not None and hit.token_count < settings.whole_doc_threshold_tokens
    if is_small and sum(map(tokens_of, document)) <= cap:
        return _joined("whole_document", document, total=len(document))
    at = next(index for index, chunk in enumerate(document) if chunk.chunk_id == hit.chunk_id)
    first, last = _siblings(at, document, cap=cap)
    return _joined("siblings", document[first : last + 1], total=len(document))


def _siblings(at: int, document: Sequence[StoredChunk], *, cap: int) -> tuple[int, int]:
    """First and last index of the run of one level around `at`, grown before and after in turn, within `cap` tokens."""
    level = document[at].level
    total = tokens_of(document[at])
    first = last = at
    before_open = after_open = True
    while before_open or after_open:
        if before_open:
            before_open = first > 0 and _fits(document[first - 1], level=level, room=cap - total)
            if before_open:
                first -= 1
                total += tokens_of(document[first])
        if after_open:
            after_open = last + 1 < len(document) and _fits(document[last + 1], level=level, room=cap - total)
            if after_open:
                last += 1
                total += tokens_of(document[last])
    return first, last


def _fits(chunk: StoredChunk, *, level: int | None, room: int) -> bool:
    return chunk.level == level and tokens_of(chunk) <= room


def _joined(kind: str, chunks: Sequence[StoredChunk], *, total: int) -> Expanded:
    content = chunks[0].content
    for previous, chunk in pairwise(chunks):
        content += _continuation(previous, chunk)
    expansion = Expansion(kind, chunks[0].position, chunks[-1].position, total)
    return Expanded(content, chunks[0].line_start, max(chunk.line_end for chunk in chunks), expansion)


def _continuation(previous: StoredChunk, chunk: StoredChunk) -> str:
    """What `chunk` adds after `previous`: pieces of one split section share some text, which is shown once."""
    shared = min(max(previous.byte_end - chunk.byte_start, 0), len(chunk.content), len(previous.content))
    for length in range(shared, 0, -1):
        if previous.content.endswith(chunk.content[:length]):
            return chunk.content[length:]
    return "\n\n" + chunk.content
