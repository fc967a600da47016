"""What is near a document, a chunk or a text by its vector alone.

Documents are compared by the means of their chunks' vectors, chunks by their own; scores are cosines, -1 to 1, best
first, ties by id.  Filters are applied before anything ranks.  The source is never among what is found: neither the
document, nor the chunk, nor the document of the chunk among documents.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from groove_daemon.domain.document import ChunkId, StoredChunk, StoredDocument
from groove_daemon.domain.hit import Hit
from groove_daemon.domain.query import Filters, Query
from groove_daemon.domain.ranking import Candidate, ranked
from groove_daemon.errors import InvalidParams, ModelUnavailable, NotIndexed
from groove_daemon.models.base import Embedder, Vector, as_vector
from groove_daemon.retrieval.duplicates import Copies, Duplicates
from groove_daemon.retrieval.present import present, with_copies
from groove_daemon.retrieval.trace import Trace
from groove_daemon.store.filters import Allowed
from groove_daemon.store.index import Index
from groove_daemon.store.reader import Reader
from groove_daemon.store.vectors import Similarities

Kind = Literal["documents", "chunks"]
Source = StoredDocument | StoredChunk | str

_NO_QUERY = Query(text="", positive_text="", phrases=(), exclusions=(), limit=0)


@dataclass(frozen=True, slots=True)
class SimilarCall:
    """What to find: `kind` of things near `source`, `limit` at most; a text is embedded as a query is."""

    source: Source
    kind: Kind
    limit: int
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class NearDocument:
    """A document and the cosine of its mean vector."""

    document: StoredDocument
    score: float


@dataclass(frozen=True, slots=True)
class SimilarResult:
    """What was found: one of the two is empty.  `without_vector` counts allowed chunks that could not be compared."""

    documents: tuple[NearDocument, ...]
    chunks: tuple[Hit, ...]
    without_vector: int
    generation: int


def find_similar(
    call: SimilarCall, *, index: Index, embedder: Callable[[], Embedder | None], roots: Mapping[str, str]
) -> SimilarResult:
    """Answer one call, from one snapshot of the index.

    Args:
        call: see `SimilarCall`.
        index: the index.
        embedder: gives the model, None when there is none; asked for a text alone.
        roots: the folder of each collection, by name.

    Raises:
        NotIndexed: the source has no vector, or is gone.
        ModelError: the text cannot be embedded.
        InvalidParams: the text is empty, or a filter is malformed.
    """
    vector = _vector_of(call.source, index, embedder)
    reader = index.reader()
    with reader.snapshot() as generation:
        allowed = reader.allowed(call.filters)
        near = index.vectors.scan(vector)
        view = allowed.view
        missing = int(np.count_nonzero(allowed.chunk_mask(view) & ~view.chunk_ready))
        documents: tuple[NearDocument, ...] = ()
        chunks: tuple[Hit, ...] = ()
        if call.kind == "documents":
            documents = _documents(call, near, allowed, reader=reader, roots=roots)
        else:
            chunks = _chunks(call, near, allowed, index=index, roots=roots)
        return SimilarResult(documents, chunks, missing, generation)


def _vector_of(source: Source, index: Index, embedder: Callable[[], Embedder | None]) -> Vector:
    if isinstance(source, str):
        return _vector_of_text(source, index, embedder)
    if isinstance(source, StoredChunk):
        found = index.vectors.vectors_of([source.chunk_id]).get(source.chunk_id)
        name = f"chunk {source.chunk_id}"
    else:
        found = index.vectors.mean_vector_of(source.document_id)
        name = f"{source.path!a}"
    if found is None:
        raise NotIndexed(f"{name} has no vector to compare {_why(source, index)}")
    return found


def _why(source: StoredDocument | StoredChunk, index: Index) -> str:
    if isinstance(source, StoredDocument) and not source.chunk_count:
        return "because it has no text"
    if not index.vectors.dimension:
        return "because no embedder has been in use"
    return "yet; `groovectl wait-fresh --vectors` waits for it"


def _vector_of_text(text: str, index: Index, embedder: Callable[[], Embedder | None]) -> Vector:
    if not text.strip():
        raise InvalidParams("text: is empty", field="text")
    model = embedder()
    if model is None or not index.vectors.dimension:
        raise ModelUnavailable("texts cannot be compared without an embedder", hint="set models.embedder")
    return as_vector(model.embed_query(text), model.dimension)


def _documents(
    call: SimilarCall, near: Similarities, allowed: Allowed, *, reader: Reader, roots: Mapping[str, str]
) -> tuple[NearDocument, ...]:
    scored = near.top_means(call.limit, allowed=_without_source(allowed, call.source))
    found = reader.documents_by_id([document_id for document_id, _ in scored])
    return tuple(
        NearDocument(found[document_id], _cosine(score))
        for document_id, score in scored
        if document_id in found and found[document_id].collection in roots
    )


def _chunks(
    call: SimilarCall, near: Similarities, allowed: Allowed, *, index: Index, roots: Mapping[str, str]
) -> tuple[Hit, ...]:
    others = _without_source(allowed, call.source) if isinstance(call.source, StoredDocument) else allowed
    source = frozenset({call.source.chunk_id}) if isinstance(call.source, StoredChunk) else frozenset[ChunkId]()
    reader = index.reader()
    copies: Copies = {}
    duplicates = Duplicates(index.vectors.passages_of, texts_of=reader.same_texts, copies=copies)
    candidates = _distinct(call.limit, near, others, source=source, duplicates=duplicates)
    hits = present(candidates, _NO_QUERY, reader=reader, roots=roots)
    return with_copies(hits, reader=reader, vectors=index.vectors, allowed=others, roots=roots, known=copies)


def _distinct(
    limit: int, near: Similarities, allowed: Allowed, *, source: frozenset[ChunkId], duplicates: Duplicates
) -> tuple[Candidate, ...]:
    """The nearest chunks, each passage once; it looks deeper until there are enough, or no more."""
    depth = 2 * limit
    while True:
        scored = near.top_chunks(depth, allowed=allowed, excluded=source)
        ranking = ranked("cosine", [(chunk_id, _cosine(score)) for chunk_id, score in scored])
        kept = duplicates.refine(Query("", "", (), (), limit), ranking, Trace())
        if len(kept) >= limit or len(scored) < depth:
            return kept
        depth *= 4


def _without_source(allowed: Allowed, source: Source) -> Allowed:
    if isinstance(source, str):
        return allowed
    document = source.document if isinstance(source, StoredChunk) else source
    return allowed.without_document(document.document_id)


def _cosine(score: float) -> float:
    """Sums of float32 products may pass the ends of the range by a rounding error."""
    return min(max(float(score), -1.0), 1.0)
