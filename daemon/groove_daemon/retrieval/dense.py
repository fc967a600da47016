"""The leg over the chunks' vectors: nearest by cosine."""

from dataclasses import dataclass, field

from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.trace import Trace


@dataclass(frozen=True, slots=True)
class DenseRetriever:
    """Chunks nearest to the query; scores are cosines."""

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    name: str = "dense"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by cosine."""
        rows = self.probe.similarities().top_chunks(
            self.depths.leg(query.limit), allowed=self.probe.allowed, excluded=self.probe.excluded
        )
        return ranked(self.name, rows)
