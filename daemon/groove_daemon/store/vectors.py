"""The resident copy of what vector search needs, and the search itself.

What always holds: after each commit the arrays equal what a fresh load from the file gives; a query works on a frozen
`View` and never sees half a change; a slot without a vector never ranks.  The writer alone changes the arrays.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.errors import EmbedderMismatch
from groove_daemon.store import means, vector_table
from groove_daemon.store.connection import Database
from groove_daemon.store.filters import Allowed
from groove_daemon.store.view import Ids, Mask, Matrix, Scores, Vector, View, as_ids

_COMPACT_FROM = 1024
# Of vectors in the file, so many nearest passages for each document wanted say which documents are looked at.
_NEAR_PASSAGES = 4


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """What the resident arrays keep of a chunk."""

    chunk_id: int
    slot: int
    quality: float


class _Column:
    """An array that grows at its end with doubling capacity."""

    def __init__(self, dtype: Any) -> None:
        self._buffer: NDArray[Any] = np.zeros(16, dtype=dtype)
        self.length = 0

    @property
    def values(self) -> NDArray[Any]:
        """The part in use; writes go through."""
        return self._buffer[: self.length]

    def extend(self, values: object) -> None:
        """Add values at the end."""
        added = np.asarray(values, dtype=self._buffer.dtype)
        needed = self.length + len(added)
        if needed > len(self._buffer):
            self._grow(needed)
        self._buffer[self.length : needed] = added
        self.length = needed

    def stretch(self, length: int) -> None:
        """Make it at least this long, with zeros."""
        if length > len(self._buffer):
            self._grow(length)
        self.length = max(self.length, length)

    def _grow(self, needed: int) -> None:
        # A new buffer, so that views of the old one stay as they are.
        bigger = np.zeros((max(needed, 2 * len(self._buffer)), *self._buffer.shape[1:]), dtype=self._buffer.dtype)
        bigger[: self.length] = self.values
        self._buffer = bigger


class _Matrix(_Column):
    def __init__(self, dimension: int) -> None:
        self._buffer = np.zeros((16, dimension), dtype=np.float32)
        self.length = 0


class VectorSpace:
    """Chunks, titles and vectors in memory.

    Args:
        resident: keep the vectors too; otherwise they are searched in the file, through `database`.
        database: gives the calling thread's connection for reading.
    """

    def __init__(self, *, resident: bool, database: Callable[[], Database]) -> None:
        self._resident = resident
        self._database = database
        self._lock = threading.RLock()
        self._clear(0)

    @property
    def resident(self) -> bool:
        """Whether the vectors are in memory."""
        return self._resident

    @property
    def dimension(self) -> int:
        """Length of the vectors; 0 before an embedder was bound."""
        return self._dimension

    @property
    def memory_bytes(self) -> int:
        """Size of the matrix in use."""
        return 0 if self._matrix is None else int(self._matrix.values.nbytes)

    def _clear(self, dimension: int) -> None:
        self._dimension = dimension
        self._chunk_ids, self._chunk_documents, self._chunk_slots = (_Column(np.int64) for _ in range(3))
        self._chunk_quality, self._chunk_alive = _Column(np.float64), _Column(np.bool_)
        self._document_ids, self._firsts, self._counts = (_Column(np.int64) for _ in range(3))
        self._title_slots, self._document_alive = _Column(np.int64), _Column(np.bool_)
        self._norms = _Column(np.float64)
        self._ordinals: dict[int, int] = {}
        self._dead = 0
        self._clear_vectors(dimension)

    def _clear_vectors(self, dimension: int) -> None:
        self._dimension = dimension
        self._ready = _Column(np.bool_)
        self._matrix = _Matrix(dimension) if self._resident else None
        self._view: View | None = None

    def view(self) -> View:
        """The arrays as they are now, frozen; made once after each change."""
        with self._lock:
            if self._view is None:
                self._view = self._freeze()
            return self._view

    def _freeze(self) -> View:
        return View(
            chunk_ids=self._chunk_ids.values.copy(),
            chunk_documents=self._chunk_documents.values.copy(),
            chunk_slots=self._chunk_slots.values.copy(),
            chunk_quality=self._chunk_quality.values.copy(),
            chunk_alive=self._chunk_alive.values.copy(),
            document_ids=self._document_ids.values.copy(),
            document_firsts=self._firsts.values.copy(),
            document_counts=self._counts.values.copy(),
            document_alive=self._document_alive.values.copy(),
            document_norms=self._norms.values.copy(),
            title_slots=self._title_slots.values.copy(),
            ready=self._ready.values.copy(),
            # Not copied: a slot gets another vector only after nothing has pointed to it for a while.
            matrix=None if self._matrix is None else self._matrix.values,
            dimension=self._dimension,
        )

    # ---- changes, by the writer, after its commit ----

    def load(self, database: Database, dimension: int) -> None:
        """Take everything from the file."""
        with self._lock:
            self._clear(dimension)
            slots = database.rows("SELECT slot, state = 'ready' FROM embeddings")
            self._stretch(max((row[0] for row in slots), default=0))
            self._ready.values[[row[0] for row in slots]] = [row[1] for row in slots]
            if self._matrix is not None and vector_table.exists(database):
                vector_table.read_all(database, self._matrix.values)
            self._load_documents(database)
            self._renew_norms(np.arange(self._document_ids.length))

    def _load_documents(self, database: Database) -> None:
        documents = np.array(
            database.rows("SELECT document_id, title_slot FROM documents ORDER BY document_id"), dtype=np.int64
        ).reshape(-1, 2)
        chunks = database.rows("SELECT chunk_id, document_id, slot, quality FROM chunks ORDER BY document_id, position")
        owners = np.array([row[1] for row in chunks], dtype=np.int64)
        self._document_ids.extend(documents[:, 0])
        self._title_slots.extend(documents[:, 1])
        self._document_alive.extend(np.ones(len(documents), dtype=np.bool_))
        self._norms.extend(np.zeros(len(documents)))
        self._firsts.extend(np.searchsorted(owners, documents[:, 0], side="left"))
        self._counts.extend(np.searchsorted(owners, documents[:, 0], side="right") - self._firsts.values)
        self._ordinals = {document_id: ordinal for ordinal, document_id in enumerate(documents[:, 0].tolist())}
        self._chunk_ids.extend([row[0] for row in chunks])
        self._chunk_documents.extend(np.searchsorted(documents[:, 0], owners))
        self._chunk_slots.extend([row[2] for row in chunks])
        self._chunk_quality.extend([row[3] for row in chunks])
        self._chunk_alive.extend(np.ones(len(chunks), dtype=np.bool_))

    def put_document(self, document_id: DocumentId, title_slot: int, chunks: Sequence[ChunkRow]) -> None:
        """Put a document's chunks, in order of position, in the place of those that it had."""
        with self._lock:
            self._view = None
            self._stretch(max((title_slot, *(chunk.slot for chunk in chunks))))
            ordinal = self._ordinals.get(document_id)
            if ordinal is None:
                ordinal = self._add_document(document_id)
            self._bury_chunks(ordinal)
            self._title_slots.values[ordinal] = title_slot
            self._firsts.values[ordinal] = self._chunk_ids.length
            self._counts.values[ordinal] = len(chunks)
            self._chunk_ids.extend([chunk.chunk_id for chunk in chunks])
            self._chunk_documents.extend([ordinal] * len(chunks))
            self._chunk_slots.extend([chunk.slot for chunk in chunks])
            self._chunk_quality.extend([chunk.quality for chunk in chunks])
            self._chunk_alive.extend([True] * len(chunks))
            self._renew_norms(np.array([ordinal]))
            self._compact_if_worthwhile()

    def drop_documents(self, document_ids: Sequence[DocumentId]) -> None:
        """Take documents out."""
        with self._lock:
            self._view = None
            for document_id in document_ids:
                ordinal = self._ordinals.pop(document_id, None)
                if ordinal is not None:
                    self._bury_chunks(ordinal)
                    self._document_alive.values[ordinal] = False
                    self._counts.values[ordinal] = 0
                    self._norms.values[ordinal] = 0.0
                    self._dead += 1
            self._compact_if_worthwhile()

    def put_vectors(self, slots: Ids, vectors: Matrix) -> None:
        """Give slots their vectors."""
        if not len(slots):
            return
        with self._lock:
            self._view = None
            self._stretch(int(slots.max()))
            self._ready.values[slots] = True
            if self._matrix is not None:
                self._matrix.values[slots] = vectors
            self._renew_norms(self._documents_at(slots))

    def drop_vectors(self, slots: Ids) -> None:
        """These slots no longer have a vector."""
        with self._lock:
            self._view = None
            known = slots[slots < self._ready.length]
            self._ready.values[known] = False
            self._renew_norms(self._documents_at(known))

    def reset_vectors(self, dimension: int) -> None:
        """No slot has a vector any more, and the next ones have this length."""
        with self._lock:
            length = self._ready.length
            self._clear_vectors(dimension)
            self._stretch(length - 1)
            self._norms.values[:] = 0.0

    def _documents_at(self, slots: Ids) -> Ids:
        """Ordinals of the documents of which a chunk points to one of these slots."""
        is_meant = np.zeros(self._ready.length, dtype=np.bool_)
        is_meant[slots] = True
        found: Ids = np.unique(
            self._chunk_documents.values[is_meant[self._chunk_slots.values] & self._chunk_alive.values]
        )
        return found

    def _renew_norms(self, documents: Ids) -> None:
        """Work out the lengths of these documents' sums anew; vectors that are not at hand have none."""
        if self._matrix is None or not len(documents):
            return
        self._norms.values[documents] = means.norms_of_sums(
            self._matrix.values,
            self._ready.values,
            self._chunk_slots.values,
            firsts=self._firsts.values[documents],
            counts=self._counts.values[documents],
        )

    def _add_document(self, document_id: DocumentId) -> int:
        ordinal = self._document_ids.length
        self._ordinals[document_id] = ordinal
        self._document_ids.extend([document_id])
        self._title_slots.extend([0])
        self._firsts.extend([0])
        self._counts.extend([0])
        self._norms.extend([0.0])
        self._document_alive.extend([True])
        return ordinal

    def _bury_chunks(self, ordinal: int) -> None:
        first, count = int(self._firsts.values[ordinal]), int(self._counts.values[ordinal])
        self._chunk_alive.values[first : first + count] = False
        self._dead += count

    def _stretch(self, last_slot: int) -> None:
        self._ready.stretch(last_slot + 1)
        if self._matrix is not None:
            self._matrix.stretch(last_slot + 1)

    def _compact_if_worthwhile(self) -> None:
        """Close the gaps when more than half of the ordinals are dead."""
        total = self._chunk_ids.length + self._document_ids.length
        if self._dead < _COMPACT_FROM or 2 * self._dead < total:
            return
        chunks, documents = self._chunk_alive.values.copy(), self._document_alive.values.copy()
        new_chunk = np.cumsum(chunks) - 1
        new_document = np.cumsum(documents) - 1
        firsts = self._firsts.values[documents]
        has_chunks = self._counts.values[documents] > 0
        kept_firsts = np.zeros(len(firsts), dtype=np.int64)
        kept_firsts[has_chunks] = new_chunk[firsts[has_chunks]]
        self._chunk_documents = _column(new_document[self._chunk_documents.values[chunks]])
        self._chunk_ids = _column(self._chunk_ids.values[chunks])
        self._chunk_slots = _column(self._chunk_slots.values[chunks])
        self._chunk_quality = _column(self._chunk_quality.values[chunks])
        self._chunk_alive = _column(np.ones(np.count_nonzero(chunks), dtype=np.bool_))
        self._document_ids = _column(self._document_ids.values[documents])
        self._title_slots = _column(self._title_slots.values[documents])
        self._counts = _column(self._counts.values[documents])
        self._norms = _column(self._norms.values[documents])
        self._firsts = _column(kept_firsts)
        self._document_alive = _column(np.ones(np.count_nonzero(documents), dtype=np.bool_))
        self._ordinals = {document: ordinal for ordinal, document in enumerate(self._document_ids.values.tolist())}
        self._dead = 0

    # ---- searches, from any thread ----

    def scan(self, query: Vector) -> "Similarities":
        """Compare a unit vector with all vectors.

        Raises:
            EmbedderMismatch: the vector has another length than those of the index.
        """
        view = self.view()
        if view.dimension and len(query) != view.dimension:
            raise EmbedderMismatch(
                f"the query has {len(query)} numbers, the vectors of the index have {view.dimension}",
                hint="run `groovectl reindex --force`",
            )
        vector = np.ascontiguousarray(query, dtype=np.float32)
        if view.matrix is None:
            return Similarities(view, _TableScores(self._database, vector))
        return Similarities(view, _MatrixScores(_product(view, vector)))

    def documents_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, DocumentId]:
        """The document of each chunk that is there."""
        view = self.view()
        ordinals = view.chunk_ordinals(chunk_ids)
        documents = view.document_ids[view.chunk_documents[ordinals]] if len(view.chunk_ids) else ordinals
        return {
            chunk_id: DocumentId(document)
            for chunk_id, ordinal, document in zip(chunk_ids, ordinals.tolist(), documents.tolist(), strict=True)
            if ordinal >= 0
        }

    def passages_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]:
        """The slot of each chunk that is there: equal for chunks with the same passage, embedded or not."""
        view = self.view()
        ordinals = view.chunk_ordinals(chunk_ids)
        slots = view.chunk_slots[ordinals] if len(view.chunk_ids) else ordinals
        return {
            chunk_id: slot
            for chunk_id, ordinal, slot in zip(chunk_ids, ordinals.tolist(), slots.tolist(), strict=True)
            if ordinal >= 0
        }

    def copies_of(self, chunk_ids: Sequence[ChunkId], *, allowed: Allowed) -> Mapping[ChunkId, Sequence[ChunkId]]:
        """All other allowed chunks with the same passage, by id; a chunk without any is missing."""
        slots = self.passages_of(chunk_ids)
        view = self.view()
        same: dict[int, list[ChunkId]] = {slot: [] for slot in slots.values()}
        found = np.flatnonzero(np.isin(view.chunk_slots, as_ids(same)) & allowed.chunk_mask(view))
        for slot, other in zip(view.chunk_slots[found].tolist(), view.chunk_ids[found].tolist(), strict=True):
            same[slot].append(ChunkId(other))
        copies = {key: sorted(other for other in same[slot] if other != key) for key, slot in slots.items()}
        return {key: others for key, others in copies.items() if others}

    def vectors_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, Vector]:
        """The vector of each chunk that has one."""
        view = self.view()
        slots = {
            chunk_id: int(view.chunk_slots[ordinal])
            for chunk_id, ordinal in zip(chunk_ids, view.chunk_ordinals(chunk_ids), strict=True)
            if ordinal >= 0 and view.chunk_ready[ordinal]
        }
        vectors = self._vectors(view, as_ids(sorted(set(slots.values()))))
        return {chunk_id: vectors[slot] for chunk_id, slot in slots.items() if slot in vectors}

    def rows_of(self, chunk_ids: Sequence[ChunkId]) -> Matrix:
        """The vectors of chunks, one row for each, shape (n, dimension); zeros for one that has no vector."""
        view = self.view()
        ordinals = view.chunk_ordinals(chunk_ids)
        if not len(view.chunk_ids):
            return np.zeros((len(ordinals), view.dimension), dtype=np.float32)
        is_known = (ordinals >= 0) & view.chunk_ready[ordinals]
        slots = view.chunk_slots[ordinals]
        if view.matrix is None:
            found, matrix = vector_table.read(self._database(), np.unique(slots[is_known]), view.dimension)
            is_known &= np.isin(slots, found)
            rows = np.zeros((len(slots), view.dimension), dtype=np.float32)
            rows[is_known] = matrix[np.searchsorted(found, slots[is_known])]
            return rows
        rows = view.matrix[slots]
        if not is_known.all():
            rows[~is_known] = 0.0
        return rows

    def mean_vector_of(self, document_id: DocumentId) -> Vector | None:
        """The unit vector in the direction of the mean of a document's vectors; None when that has no direction."""
        view = self.view()
        (ordinal,) = view.document_ordinals([document_id])
        if ordinal < 0:
            return None
        first = int(view.document_firsts[ordinal])
        own = np.arange(first, first + int(view.document_counts[ordinal]))
        slots = view.chunk_slots[own[view.chunk_ready[own]]]
        vectors = self._vectors(view, np.unique(slots))
        return means.direction([vectors[slot] for slot in slots.tolist() if slot in vectors])

    def title_vectors_of(self, document_ids: Sequence[DocumentId]) -> Mapping[DocumentId, Vector]:
        """The title's vector of each document that has one."""
        view = self.view()
        slots = {
            document_id: int(view.title_slots[ordinal])
            for document_id, ordinal in zip(document_ids, view.document_ordinals(document_ids), strict=True)
            if ordinal >= 0 and view.title_ready[ordinal]
        }
        vectors = self._vectors(view, as_ids(sorted(set(slots.values()))))
        return {document_id: vectors[slot] for document_id, slot in slots.items() if slot in vectors}

    def _vectors(self, view: View, slots: Ids) -> dict[int, Vector]:
        if not len(slots):
            return {}
        if view.matrix is not None:
            return {int(slot): view.matrix[slot].copy() for slot in slots}
        found, matrix = vector_table.read(self._database(), slots, view.dimension)
        return {int(slot): matrix[row] for row, slot in enumerate(found)}


class _MatrixScores:
    """Cosines of all slots, computed at once."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def of(self, slots: Ids) -> Scores:
        """The cosine of each slot."""
        scores: Scores = self._scores[slots]
        return scores

    def best(self, slots: Ids, _k: int) -> Scores:
        """The cosine of each slot."""
        return self.of(slots)

    def means(self, view: View, _visible: Mask, _k: int) -> means.Norms:
        """By document ordinal: the cosine of the mean of its vectors; minus infinity for one without vectors."""
        ready = np.flatnonzero(view.chunk_ready)
        return means.mean_cosines(self.of(view.chunk_slots[ready]), view.chunk_documents[ready], view.document_norms)


class _TableScores:
    """Cosines from the table, computed as they are asked for."""

    def __init__(self, database: Callable[[], Database], query: Vector) -> None:
        self._database = database
        self._query = query

    def of(self, slots: Ids) -> Scores:
        """The cosine of each slot."""
        found, matrix = vector_table.read(self._database(), np.unique(slots), len(self._query))
        return _spread(slots, found, np.vecdot(matrix, self._query))

    def best(self, slots: Ids, k: int) -> Scores:
        """The cosine of each of the `k` best distinct slots; minus infinity for the others."""
        return _spread(slots, *vector_table.nearest(self._database(), self._query, k, np.unique(slots)))

    def means(self, view: View, visible: Mask, k: int) -> means.Norms:
        """The same of the `visible` documents that hold one of the nearest passages; minus infinity for others."""
        scores = np.full(len(view.document_ids), -np.inf)
        ready = np.flatnonzero(view.chunk_ready & visible[view.chunk_documents])
        if not len(ready):
            return scores
        slots = view.chunk_slots[ready]
        is_near = self.best(slots, _NEAR_PASSAGES * k) > -np.inf
        near = np.unique(view.chunk_documents[ready[is_near]])
        own = ready[np.isin(view.chunk_documents[ready], near)]
        found, matrix = vector_table.read(self._database(), np.unique(view.chunk_slots[own]), len(self._query))
        vectors = matrix[np.searchsorted(found, view.chunk_slots[own])]
        owners = np.searchsorted(near, view.chunk_documents[own])
        order = np.argsort(owners, kind="stable")
        scores[near] = means.mean_cosines_of(vectors[order], owners[order], self._query, len(near))
        return scores


class Similarities:
    """How near each chunk and each title is to one query.  Scores are cosines, -1 to 1; ties go to the smaller id.

    With vectors in the file instead of memory, `top_chunks` and `top_titles` look at 4,096 distinct passages at most,
    and `top_means` only at documents with a chunk among the nearest passages.
    """

    def __init__(self, view: View, scores: _MatrixScores | _TableScores) -> None:
        self._view = view
        self._scores = scores

    def top_chunks(
        self, k: int, *, allowed: Allowed, excluded: frozenset[ChunkId] = frozenset()
    ) -> Sequence[tuple[ChunkId, float]]:
        """The `k` nearest chunks that are allowed and not excluded, best first."""
        view = self._view
        usable = view.chunk_ready & self._visible(allowed, excluded)
        ordinals = np.flatnonzero(usable)
        best = self._top(view.chunk_ids[ordinals], view.chunk_slots[ordinals], k)
        return [(ChunkId(chunk_id), score) for chunk_id, score in best]

    def top_titles(self, k: int, *, allowed: Allowed) -> Sequence[tuple[DocumentId, float]]:
        """The `k` documents with the nearest titles, best first."""
        view = self._view
        ordinals = np.flatnonzero(view.title_ready & allowed.document_mask(view))
        best = self._top(view.document_ids[ordinals], view.title_slots[ordinals], k)
        return [(DocumentId(document_id), score) for document_id, score in best]

    def top_means(self, k: int, *, allowed: Allowed) -> Sequence[tuple[DocumentId, float]]:
        """The `k` documents whose mean vector is nearest, best first; all of a document's vectors count."""
        view = self._view
        if k <= 0:
            return []
        visible = allowed.document_mask(view)
        ordinals = np.flatnonzero(visible)
        scores = self._scores.means(view, visible, k)[ordinals]
        return [
            (DocumentId(document_id), score) for document_id, score in _best(view.document_ids[ordinals], scores, k)
        ]

    def best_chunks(
        self, document_ids: Sequence[DocumentId], *, allowed: Allowed, excluded: frozenset[ChunkId] = frozenset()
    ) -> Mapping[DocumentId, tuple[ChunkId, float]]:
        """The nearest allowed chunk of each document; of one without vectors its first allowed chunk, with 0.0.

        Documents without an allowed chunk are left out.
        """
        view = self._view
        wanted = as_ids(document_ids)
        ordinals = view.document_ordinals(wanted)
        wanted, ordinals = wanted[ordinals >= 0], ordinals[ordinals >= 0]
        own, owners = means.rows_of(view.document_firsts[ordinals], view.document_counts[ordinals])
        is_visible = self._visible(allowed, excluded)[own]
        own, owners = own[is_visible], owners[is_visible]
        if not len(own):
            return {}
        is_ready = view.chunk_ready[own]
        scores = np.full(len(own), -np.inf)
        if is_ready.any():
            scores[is_ready] = self._scores.of(view.chunk_slots[own[is_ready]])
        present, firsts = np.unique(owners, return_index=True)
        # The first of each owner in this order is its best.
        best = np.lexsort((view.chunk_ids[own], -scores, owners))[firsts]
        has_vector = scores[best] > -np.inf
        best = np.where(has_vector, best, firsts)
        return {
            DocumentId(document_id): (ChunkId(chunk_id), score)
            for document_id, chunk_id, score in zip(
                wanted[present].tolist(),
                view.chunk_ids[own[best]].tolist(),
                np.where(has_vector, scores[best], 0.0).tolist(),
                strict=True,
            )
        }

    def _visible(self, allowed: Allowed, excluded: frozenset[ChunkId]) -> Mask:
        mask = allowed.chunk_mask(self._view)
        if not excluded:
            return mask
        ordinals = self._view.chunk_ordinals(excluded)
        mask = mask.copy()
        mask[ordinals[ordinals >= 0]] = False
        return mask

    def _top(self, ids: Ids, slots: Ids, k: int) -> list[tuple[int, float]]:
        if k <= 0 or not len(ids):
            return []
        return _best(ids, self._scores.best(slots, k), k)


def _best(ids: Ids, scores: Scores | means.Norms, k: int) -> list[tuple[int, float]]:
    """The `k` highest scores above minus infinity, best first, ties by id."""
    if len(ids) > k:
        # Everything that ties with the k-th, so that the cut is the same in every run.
        at_least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= at_least)
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:k]
    return [(int(ids[at]), float(scores[at])) for at in order if scores[at] > -np.inf]


def _column(values: NDArray[Any]) -> _Column:
    column = _Column(values.dtype)
    column.extend(values)
    return column


def _product(view: View, query: Vector) -> Scores:
    """Dot product of the query with every row; one BLAS call a row, which stays on the calling thread."""
    assert view.matrix is not None
    if view.matrix.shape[1] != len(query):
        return np.zeros(len(view.matrix), dtype=np.float32)
    scores: Scores = np.vecdot(view.matrix, query)
    return scores


def _spread(slots: Ids, found: Ids, scores: Scores) -> Scores:
    """Scores of `found` slots (in any order) for each of `slots`; minus infinity where there is none."""
    result = np.full(len(slots), -np.inf, dtype=np.float32)
    if len(found):
        order = np.argsort(found)
        places = np.minimum(np.searchsorted(found[order], slots), len(found) - 1)
        is_found = found[order][places] == slots
        result[is_found] = scores[order][places[is_found]]
    return result
