"""Rankings: what retrievers return and refiners change.

A ranking is best first.  `ranked` is the only place that sorts; ties go to the smaller chunk id, so the same
scores give the same order in every run.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from groove_daemon.domain.document import ChunkId

__all__ = ["Candidate", "ChunkId", "Evidence", "Ranking", "ranked"]


# Tuples, because a query makes a thousand of them and they take half of the time of frozen dataclasses.
class Evidence(NamedTuple):
    """One stage's opinion on a candidate: its rank there, from 1, and its score there."""

    stage: str
    rank: int
    score: float


class Candidate(NamedTuple):
    """A chunk proposed by a retriever, with its current score and all evidence so far, oldest first.

    `in_document` is how many candidates its document had when hits of one document were limited; 0 when they were not.
    """

    chunk_id: ChunkId
    score: float
    evidence: tuple[Evidence, ...] = ()
    in_document: int = 0


Ranking = tuple[Candidate, ...]


def ranked(
    stage: str, scores: Iterable[tuple[ChunkId, float]], known: Mapping[ChunkId, tuple[Evidence, ...]] | None = None
) -> Ranking:
    """Sort scores into a ranking: higher first, ties by chunk id, and add this stage's evidence to each candidate."""
    ordered = sorted(scores, key=lambda pair: (-pair[1], pair[0]))
    if not known:
        return tuple(
            [
                Candidate(chunk_id, score, (Evidence(stage, rank, score),))
                for rank, (chunk_id, score) in enumerate(ordered, start=1)
            ]
        )
    return tuple(
        [
            Candidate(chunk_id, score, (*known.get(chunk_id, ()), Evidence(stage, rank, score)))
            for rank, (chunk_id, score) in enumerate(ordered, start=1)
        ]
    )
