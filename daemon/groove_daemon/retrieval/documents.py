"""Legs over whole documents: their words, their titles, the mean of their vectors.

Hits are chunks, so each document is represented by one chunk, the one nearest to the query; how far the document's
rank lifts its other chunks is the business of the fusion.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from groove_daemon.domain.document import DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.probe import Probe, store_failures
from groove_daemon.retrieval.trace import StageSkipped, Trace
from groove_daemon.retrieval.words import content_words


@dataclass(frozen=True, slots=True)
class DocumentWordsRetriever:
    """Documents that hold any of the query's words or their stems, wherever in the document they stand.

    `weights` are those of names, headings and body in bm25.
    """

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    weights: tuple[float, float, float] = (2.0, 1.0, 1.0)
    name: str = "document_words"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank documents by bm25."""
        words = content_words(query.words)
        if not words:
            raise StageSkipped("no word to look for")
        with store_failures():
            rows = self.probe.reader.document_words(
                words, (), limit=self.depths.leg(query.limit), allowed=self.probe.allowed, weights=self.weights
            )
            return represented(self.name, [(document_id, -bm25) for document_id, bm25 in rows], self.probe)


@dataclass(frozen=True, slots=True)
class TitleRetriever:
    """Documents whose title is nearest to the query; scores are cosines."""

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    name: str = "title"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank documents by the cosine of their titles."""
        rows = self.probe.similarities().top_titles(self.depths.leg(query.limit), allowed=self.probe.allowed)
        return represented(self.name, rows, self.probe)


@dataclass(frozen=True, slots=True)
class MeanRetriever:
    """Documents the mean of whose chunk vectors is nearest to the query; scores are cosines."""

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    name: str = "mean"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank documents by the cosine of their mean vector."""
        rows = self.probe.similarities().top_means(self.depths.leg(query.limit), allowed=self.probe.allowed)
        return represented(self.name, rows, self.probe)


def represented(stage: str, scores: Sequence[tuple[DocumentId, float]], probe: Probe) -> Ranking:
    """The ranking of documents as a ranking of the chunks that stand for them."""
    best = probe.best_chunks([document_id for document_id, _ in scores])
    return ranked(stage, ((best[document_id], score) for document_id, score in scores if document_id in best))
