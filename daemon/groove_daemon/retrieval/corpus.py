"""What retrieval needs of the store, as protocols: one reader's snapshot, and the vectors.

The classes of `groove_daemon.store` fit them; so does the small corpus in memory that the tests use.  Identities go in
and out; texts are read once, at the end, by `present`.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from groove_daemon.domain.document import ChunkId, DocumentId, Sibling, StoredChunk
from groove_daemon.domain.hit import Place
from groove_daemon.domain.query import Filters
from groove_daemon.models.base import Matrix, Vector
from groove_daemon.store.connection import Database
from groove_daemon.store.filters import Allowed

__all__ = ["Allowed", "CorpusReader", "Similarities", "VectorIndex"]


class CorpusReader(Protocol):
    """One snapshot of the index, for one thread.  Scores of full text are bm25: more negative is better."""

    @property
    def database(self) -> Database:
        """The connection, for a scan of the stored text."""
        ...

    def allowed(self, filters: Filters) -> Allowed:
        """Work the filters out once, for all legs."""
        ...

    def trigram(
        self,
        phrases: Sequence[str],
        exclusions: Sequence[str],
        *,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float],
    ) -> Sequence[tuple[ChunkId, float]]:
        """Chunks that hold any of `phrases` and none of `exclusions`, best first.

        `weights` are those of heading, context and content.
        """
        ...

    def chunk_words(
        self,
        words: Sequence[str],
        excluded: Sequence[str],
        *,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float],
        every: bool = False,
    ) -> Sequence[tuple[ChunkId, float]]:
        """Chunks that hold any of `words`, or `every` one, best first; tokens of one word match side by side."""
        ...

    def document_words(
        self,
        words: Sequence[str],
        excluded: Sequence[str],
        *,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float],
    ) -> Sequence[tuple[DocumentId, float]]:
        """Documents that hold any of `words` or of their stems, best first.

        `weights` are those of names, headings and body.
        """
        ...

    def excluded_chunks(self, exclusions: Sequence[str]) -> frozenset[ChunkId]:
        """All chunks that hold any of `exclusions`."""
        ...

    def known_words(self, words: Sequence[str], *, allowed: Allowed) -> frozenset[str]:
        """Those of `words` that stand as whole words in any chunk of the allowed documents."""
        ...

    def phrase_frequencies(self, phrases: Sequence[str]) -> Mapping[str, float]:
        """Estimated share of chunks that hold each phrase, 0 to 1."""
        ...

    def chunks(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, StoredChunk]:
        """The chunks with their documents, in one read; what is gone is missing."""
        ...

    def same_texts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, ChunkId]:
        """The chunks whose content is that of an earlier one of the list, to the first such one."""
        ...

    def places(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Place]:
        """Where the chunks stand, without their text; what is gone is missing."""
        ...

    def access_counts(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]:
        """How often each chunk's passage was returned before; a chunk that never was may be missing."""
        ...

    def siblings(self, document_ids: Sequence[DocumentId]) -> Mapping[DocumentId, Sequence[Sibling]]:
        """All chunks of each of these documents, in order, in one read; a document that is gone has none."""
        ...


class Similarities(Protocol):
    """Cosines of one query to everything in the vector space, -1 to 1."""

    def top_chunks(self, k: int, *, allowed: Allowed, excluded: frozenset[ChunkId]) -> Sequence[tuple[ChunkId, float]]:
        """The `k` nearest chunks."""
        ...

    def top_titles(self, k: int, *, allowed: Allowed) -> Sequence[tuple[DocumentId, float]]:
        """The `k` documents with the nearest titles."""
        ...

    def top_means(self, k: int, *, allowed: Allowed) -> Sequence[tuple[DocumentId, float]]:
        """The `k` documents with the nearest mean vectors."""
        ...

    def best_chunks(
        self, document_ids: Sequence[DocumentId], *, allowed: Allowed, excluded: frozenset[ChunkId]
    ) -> Mapping[DocumentId, tuple[ChunkId, float]]:
        """Each document's nearest chunk; its first one (score 0) when it has no vectors yet."""
        ...


class VectorIndex(Protocol):
    """The vectors of all chunks and titles.  May be used from several threads."""

    @property
    def dimension(self) -> int:
        """Length of the vectors; 0 when no embedder was ever used."""
        ...

    def scan(self, query: Vector) -> Similarities:
        """Compare the query with everything, once."""
        ...

    def documents_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, DocumentId]:
        """The document of each chunk."""
        ...

    def passages_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]:
        """A number for each chunk's passage, equal for copies."""
        ...

    def copies_of(self, chunk_ids: Sequence[ChunkId], *, allowed: Allowed) -> Mapping[ChunkId, Sequence[ChunkId]]:
        """All other allowed chunks with the same passage, by id; a chunk without any is missing."""
        ...

    def vectors_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, Vector]:
        """The vector of each chunk that has one."""
        ...

    def rows_of(self, chunk_ids: Sequence[ChunkId]) -> Matrix:
        """The vectors of chunks, one row for each, shape (n, dimension); zeros for one that has no vector."""
        ...
