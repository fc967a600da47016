"""The refiner that keeps the first `limit` candidates."""

from dataclasses import dataclass

from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking
from groove_daemon.retrieval.trace import Trace


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the ranking to what the caller asked for; it scores nothing, so it adds no evidence."""

    name: str = "truncate"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Keep the first `query.limit` candidates."""
        return ranking[: query.limit]
