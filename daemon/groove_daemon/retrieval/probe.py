"""What the legs of one query share: the reader's snapshot, what filters and exclusions leave, and the similarities.

One probe serves one query.  Filters and exclusions are worked out at once, in the thread that owns the reader; the
query is embedded and compared with the vectors at most once, by whichever leg asks first, in any thread.  A failure of
the model is remembered too, so that no second leg tries again.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np
import structlog

from groove_daemon.domain.document import ChunkId, DocumentId, StoredChunk
from groove_daemon.domain.query import Query
from groove_daemon.errors import ModelError, StoreError
from groove_daemon.models.base import Embedder, as_vector
from groove_daemon.retrieval.corpus import Allowed, CorpusReader, Similarities, VectorIndex
from groove_daemon.retrieval.trace import OutOfBudget, StageFailed, StageSkipped
from groove_daemon.retrieval.words import content_words

log = structlog.get_logger()

Mode = Literal["hybrid", "fts_only", "embedding_fallback"]

_BEST_BY_WORDS_DEPTH = 500
"""How many chunks are looked at to find the best one of each document by words."""

_WEIGHTS = (2.0, 1.0, 1.0)


@contextmanager
def store_failures() -> Iterator[None]:
    """Turn a failing statement into a failed stage: the other legs still answer, and the answer says so."""
    try:
        yield
    except StoreError as error:
        log.warning("retrieval.store_failed", code=error.code, error=str(error))
        raise StageFailed(str(error)) from error


class Probe:
    """The shared state of one query.

    Args:
        query: the compiled query.
        reader: a snapshot, used in the constructing thread only.
        vectors: the vector space.
        embedder: gives the model, or None when there is none on purpose; may raise `ModelError`.
        patient_until: monotonic seconds until which the embedding of the query is waited for; None for ever.
    """

    def __init__(
        self,
        query: Query,
        *,
        reader: CorpusReader,
        vectors: VectorIndex,
        embedder: Callable[[], Embedder | None],
        patient_until: float | None = None,
    ) -> None:
        self.query = query
        self.reader = reader
        self.vectors = vectors
        self.allowed: Allowed = reader.allowed(query.filters)
        self._embedder = embedder
        self._patient_until = patient_until
        self._lock = threading.Lock()
        self._outcome: Similarities | StageSkipped | None = None
        self._mode: Mode = "fts_only"
        self._stored: dict[ChunkId, StoredChunk] = {}
        self._excluded: frozenset[ChunkId] | StageFailed = self._find_excluded()

    @property
    def mode(self) -> Mode:
        """How far vectors took part: `fts_only` when nothing could or wanted to embed the query."""
        return self._mode

    @property
    def excluded(self) -> frozenset[ChunkId]:
        """Chunks that an exclusion removes, judged by full text, the same for every leg.

        Raises:
            StageFailed: full text could not say; a leg that needs this must not run.
        """
        if isinstance(self._excluded, StageFailed):
            raise StageFailed(str(self._excluded))
        return self._excluded

    def _find_excluded(self) -> frozenset[ChunkId] | StageFailed:
        if not self.query.exclusions:
            return frozenset()
        try:
            with store_failures():
                return self.reader.excluded_chunks(self.query.exclusions)
        except StageFailed as failure:
            return failure

    def stored(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, StoredChunk]:
        """The chunks that exist, each read once; for the reader's thread.

        Raises:
            StageFailed: they could not be read.
        """
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in self._stored]
        if missing:
            with store_failures():
                self._stored.update(self.reader.chunks(missing))
        return {chunk_id: self._stored[chunk_id] for chunk_id in chunk_ids if chunk_id in self._stored}

    def similarities(self) -> Similarities:
        """The query compared with all vectors, computed once.

        Raises:
            StageSkipped: there is no embedder, or there are no vectors.
            OutOfBudget: another thread still works on it when patience ends.
            StageFailed: the model is not ready, the query could not be embedded, or the vectors could not be read.
        """
        patience = -1.0 if self._patient_until is None else max(0.0, self._patient_until - time.monotonic())
        if not self._lock.acquire(timeout=patience):
            raise OutOfBudget
        try:
            if self._outcome is None:
                self._outcome = self._scan()
            outcome = self._outcome
        finally:
            self._lock.release()
        if isinstance(outcome, StageSkipped):
            raise type(outcome)(str(outcome))
        return outcome

    def _scan(self) -> Similarities | StageSkipped:
        try:
            embedder = self._embedder()
        except ModelError as error:
            return StageFailed(str(error))
        if embedder is None:
            return StageSkipped("off")
        if not self.vectors.dimension:
            return StageSkipped("the index has no vectors yet")
        try:
            vector = as_vector(embedder.embed_query(self.query.positive_text), embedder.dimension)
        except ModelError as error:
            self._mode = "embedding_fallback"
            log.warning("retrieval.query_not_embedded", code=error.code, error=str(error))
            return StageFailed(f"the query could not be embedded: {error}")
        try:
            with store_failures():
                similarities = self.vectors.scan(vector)
        except StageFailed as failure:
            return failure
        self._mode = "hybrid"
        return similarities

    def best_chunks(self, document_ids: Sequence[DocumentId]) -> dict[DocumentId, ChunkId]:
        """The chunk of each document that stands for it: nearest to the query, or best by words without vectors.

        A document of which filters and exclusions leave nothing is missing.  For the reader's thread.
        """
        try:
            similarities = self.similarities()
        except StageSkipped:
            return self._best_by_words(document_ids)
        best = similarities.best_chunks(document_ids, allowed=self.allowed, excluded=self.excluded)
        return {document_id: chunk_id for document_id, (chunk_id, _) in best.items()}

    def _best_by_words(self, document_ids: Sequence[DocumentId]) -> dict[DocumentId, ChunkId]:
        """The chunk with the best words, or the first one where only the title, or another form of a word, matches."""
        rows = self.reader.chunk_words(
            content_words(self.query.words), (), limit=_BEST_BY_WORDS_DEPTH, allowed=self.allowed, weights=_WEIGHTS
        )
        kept = [chunk_id for chunk_id, _ in rows if chunk_id not in self.excluded]
        documents = self.vectors.documents_of(kept)
        best: dict[DocumentId, ChunkId] = {}
        for chunk_id in kept:
            if chunk_id in documents:
                best.setdefault(documents[chunk_id], chunk_id)
        return self._first_chunks(document_ids) | {key: best[key] for key in document_ids if key in best}

    def _first_chunks(self, document_ids: Sequence[DocumentId]) -> dict[DocumentId, ChunkId]:
        # Nothing is near to the zero vector, so ties decide, and they go to the smallest chunk id.
        nothing = self.vectors.scan(np.zeros(self.vectors.dimension, dtype=np.float32))
        first = nothing.best_chunks(document_ids, allowed=self.allowed, excluded=self.excluded)
        return {document_id: chunk_id for document_id, (chunk_id, _) in first.items()}
