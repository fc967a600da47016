"""Refiners that weigh candidates by what is known of their chunks: emptiness, age, source, use, and a least score.

Factors multiply the score without bounds; the evidence of such a stage is its factor.  Pure but for the lookups that
are handed in.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from groove_daemon.domain.document import ChunkId, StoredChunk
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate, Evidence, Ranking
from groove_daemon.retrieval.trace import StageSkipped, Trace

SECONDS_A_DAY = 86_400.0

ChunksOf = Callable[[Sequence[ChunkId]], Mapping[ChunkId, StoredChunk]]

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ATX_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")


def is_content_free(content: str) -> bool:
    r"""Whether every line with text, once HTML comments are taken out, is an ATX heading.

    A comment that is never closed counts as content, and so does a block quote.

    >>> is_content_free("# Birds\n\n<!-- later -->\n## Owls")
    True
    >>> is_content_free("> quoted"), is_content_free("<!-- open")
    (False, False)
    """
    lines = (line for line in _COMMENT.sub("", content).splitlines() if line.strip())
    return all(_ATX_HEADING.match(line) for line in lines)


def decay(age_s: float, *, half_life_days: float) -> float:
    """What age leaves of a score: 1 for new, 1/2 after the half-life; a negative age counts as none."""
    return math.exp(-math.log(2.0) / half_life_days * max(age_s, 0.0) / SECONDS_A_DAY)


def access_boost(count: int, *, weight: float) -> float:
    """How much a chunk gains that was returned `count` times before: `1 + weight * ln(1 + count)`."""
    return 1.0 + weight * math.log1p(count)


@dataclass(frozen=True, slots=True)
class ContentFree:
    """Refiner that drops chunks that say nothing."""

    chunks_of: ChunksOf = field(repr=False, compare=False)
    name: str = "content_free"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Keep what has content."""
        chunks = self.chunks_of([candidate.chunk_id for candidate in ranking])
        return tuple(
            candidate
            for candidate in ranking
            if candidate.chunk_id in chunks and not is_content_free(chunks[candidate.chunk_id].content)
        )


@dataclass(frozen=True, slots=True)
class Factor:
    """Refiner that multiplies each score by a factor and orders anew.

    Args:
        name: the stage's name.
        factors_of: the factor of each chunk; 1 for a chunk that is missing.
    """

    name: str
    factors_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, float]] = field(repr=False, compare=False)

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Weigh all candidates; their evidence is the factor, with their rank after it."""
        factors = self.factors_of([candidate.chunk_id for candidate in ranking])
        weighed = [(candidate, factors.get(candidate.chunk_id, 1.0)) for candidate in ranking]
        weighed.sort(key=lambda pair: (-pair[0].score * pair[1], pair[0].chunk_id))
        return tuple(
            Candidate(
                candidate.chunk_id,
                candidate.score * factor,
                (*candidate.evidence, Evidence(self.name, rank, factor)),
            )
            for rank, (candidate, factor) in enumerate(weighed, start=1)
        )


@dataclass(frozen=True, slots=True)
class MinScore:
    """Refiner that drops candidates whose score, as it will be shown (0 to 1), is below a threshold."""

    threshold: float
    name: str = "min_score"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Keep what reaches the threshold."""
        if self.threshold <= 0.0:
            raise StageSkipped("off")
        return tuple(candidate for candidate in ranking if min(max(candidate.score, 0.0), 1.0) >= self.threshold)
