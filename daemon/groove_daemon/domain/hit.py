"""A candidate made presentable, and the answer that carries the hits."""

from dataclasses import dataclass, field
from typing import NamedTuple

from groove_daemon.domain.document import StoredChunk
from groove_daemon.domain.ranking import Evidence


class ByteSpan(NamedTuple):
    """Half-open range of UTF-8 byte offsets into a hit's content; a plain tuple, because an answer has thousands."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expansion:
    """Where expanded content came from: `kind` is `whole_document` or `siblings`; positions are inclusive."""

    kind: str
    from_position: int
    to_position: int
    total_chunks: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands: `path` in the collection, `line_start` from 1."""

    collection: str
    path: str
    line_start: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer: a chunk with the score as shown.

    `match_spans` is None when spans were not computed and empty when nothing matched.  `match_lines` are 1-based
    lines of the file.  `line_start` and `line_end` cover `content` after expansion.
    `stale` is set when the file changed after it was indexed and could not be re-read in time.
    `also_in` are other places of the same passage, the first few of `also_in_count`.
    `more_in_document` counts candidates of the same document that are not shown; 0 unless hits of one are limited.
    """

    chunk: StoredChunk
    score: float
    content: str
    line_start: int
    line_end: int
    absolute_path: str
    match_spans: tuple[ByteSpan, ...] | None = None
    match_lines: tuple[int, ...] = ()
    expanded_from: Expansion | None = None
    evidence: tuple[Evidence, ...] = field(default=())
    stale: bool = False
    also_in: tuple[Place, ...] = ()
    also_in_count: int = 0
    more_in_document: int = 0
