"""The refiner that keeps the first `limit` candidates."""

from dataclasses import dataclass

from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate, Evidence, Ranking
from groove_daemon.retrieval.trace import Trace


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the ranking to what the caller asked for.

    With `shown_within`, the scores from here on are brought into that range, which is evidence; without, there is none.
    """

    shown_within: tuple[float, float] | None = None
    name: str = "truncate"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Keep the first `query.limit` candidates, in their order."""
        kept = ranking[: query.limit]
        if self.shown_within is None:
            return kept
        low, high = self.shown_within
        return tuple(
            self._shown(candidate, rank, min(max(candidate.score, low), high))
            for rank, candidate in enumerate(kept, start=1)
        )

    def _shown(self, candidate: Candidate, rank: int, score: float) -> Candidate:
        return candidate._replace(score=score, evidence=(*candidate.evidence, Evidence(self.name, rank, score)))
