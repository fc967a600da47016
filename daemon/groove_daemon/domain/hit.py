"""A candidate made presentable, and the answer that carries the hits."""

from dataclasses import dataclass, field

from groove_daemon.domain.document import StoredChunk
from groove_daemon.domain.ranking import Evidence


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """Half-open range of UTF-8 byte offsets into a hit's content."""

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
class Hit:
    """One answer: a chunk with the score as shown.

    `match_spans` is None when spans were not computed and empty when nothing matched.  `match_lines` are 1-based
    lines of the file.  `line_start` and `line_end` cover `content` after expansion.
    `stale` is set when the file changed after it was indexed and could not be re-read in time.
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
