"""What kind of memory a collection is, and full text and vectors as the profile `memory` looks for candidates.

A source has a weight, and it may be evergreen, which means that its notes do not fade with age.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.corpus import Allowed
from groove_daemon.retrieval.fusion import nearness
from groove_daemon.retrieval.probe import Probe, store_failures
from groove_daemon.retrieval.sparse import unexcluded
from groove_daemon.retrieval.trace import StageSkipped, Trace
from groove_daemon.retrieval.words import keywords

CANDIDATES_PER_RESULT = 3
EVERGREEN_SOURCES = ("workspace", "global")

_EVEN = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Source:
    """A collection as a source of memories."""

    name: str = "workspace"
    weight: float = 1.0
    evergreen: bool = True


Sources = Mapping[str, Source]
"""By collection; one that is not named is an ordinary workspace."""


@dataclass(frozen=True, slots=True)
class KeywordRetriever:
    """Chunks that hold any of the query's keywords; with `sources`, only those of evergreen collections.

    The second form keeps a flood of session notes from crowding out what was curated.
    """

    probe: Probe = field(repr=False, compare=False)
    name: str = "text"
    sources: Sources | None = None

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by bm25, turned round so that higher is better."""
        words = keywords(query.positive_text)
        if not words:
            raise StageSkipped("no keyword to look for")
        with store_failures():
            allowed = self._allowed(query)
            rows = unexcluded(
                lambda depth: self.probe.reader.chunk_words(words, (), limit=depth, allowed=allowed, weights=_EVEN),
                limit=CANDIDATES_PER_RESULT * query.limit,
                excluded=self.probe.excluded,
            )
        return ranked(self.name, ((chunk_id, -bm25) for chunk_id, bm25 in rows))

    def _allowed(self, query: Query) -> Allowed:
        if self.sources is None:
            return self.probe.allowed
        asked = query.filters.collections or tuple(self.sources)
        evergreen = tuple(name for name in asked if self.sources.get(name, Source()).evergreen)
        if not evergreen:
            raise StageSkipped("no source is evergreen")
        return self.probe.reader.allowed(replace(query.filters, collections=evergreen))


@dataclass(frozen=True, slots=True)
class KnnRetriever:
    """Chunks nearest to the query; scores are `fusion.nearness`."""

    probe: Probe = field(repr=False, compare=False)
    name: str = "knn"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by nearness."""
        rows = self.probe.similarities().top_chunks(
            CANDIDATES_PER_RESULT * query.limit, allowed=self.probe.allowed, excluded=self.probe.excluded
        )
        return ranked(self.name, ((chunk_id, nearness(cosine)) for chunk_id, cosine in rows))
