"""One state of the resident arrays, frozen: what a query computes with while the writer goes on.

Chunks and documents have ordinals, their places in the arrays.  An ordinal whose `alive` is False belongs to nothing
any more.  The chunks of a document lie side by side, in the order of their positions.  A view knows no SQL.
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Scores = NDArray[np.float32]


class View:
    """Arrays by chunk ordinal, by document ordinal, and by slot.

    `ready[slot]` says that the slot has a vector; `matrix[slot]` is that vector, when vectors are resident.
    `document_norms` is the length of the sum of a document's vectors, kept when vectors are resident.
    """

    def __init__(
        self,
        *,
        chunk_ids: Ids,
        chunk_documents: Ids,
        chunk_slots: Ids,
        chunk_quality: NDArray[np.float64],
        chunk_alive: Mask,
        document_ids: Ids,
        document_firsts: Ids,
        document_counts: Ids,
        document_alive: Mask,
        document_norms: NDArray[np.float64],
        title_slots: Ids,
        ready: Mask,
        matrix: Matrix | None,
        dimension: int,
    ) -> None:
        self.chunk_ids = chunk_ids
        self.chunk_documents = chunk_documents
        self.chunk_slots = chunk_slots
        self.chunk_quality = chunk_quality
        self.chunk_alive = chunk_alive
        self.document_ids = document_ids
        self.document_firsts = document_firsts
        self.document_counts = document_counts
        self.document_alive = document_alive
        self.document_norms = document_norms
        self.title_slots = title_slots
        self.ready = ready
        self.matrix = matrix
        self.dimension = dimension

    @property
    def chunk_count(self) -> int:
        """How many chunks there are."""
        return int(np.count_nonzero(self.chunk_alive))

    @cached_property
    def chunk_ready(self) -> Mask:
        """By chunk ordinal: whether it is there and has a vector."""
        ready: Mask = self.chunk_alive & self.ready[self.chunk_slots]
        return ready

    @cached_property
    def title_ready(self) -> Mask:
        """By document ordinal: whether it is there and its title has a vector."""
        ready: Mask = self.document_alive & self.ready[self.title_slots]
        return ready

    def chunk_ordinals(self, chunk_ids: Iterable[int] | Ids) -> Ids:
        """The ordinal of each chunk, -1 for one that is not here."""
        return _ordinals(self._chunk_order, chunk_ids)

    def document_ordinals(self, document_ids: Iterable[int] | Ids) -> Ids:
        """The ordinal of each document, -1 for one that is not here."""
        return _ordinals(self._document_order, document_ids)

    @cached_property
    def _chunk_order(self) -> tuple[Ids, Ids]:
        return _sorted_ids(self.chunk_ids, self.chunk_alive)

    @cached_property
    def _document_order(self) -> tuple[Ids, Ids]:
        return _sorted_ids(self.document_ids, self.document_alive)


def as_ids(ids: Iterable[int] | Ids) -> Ids:
    """Ids as an array."""
    return ids if isinstance(ids, np.ndarray) else np.fromiter(ids, dtype=np.int64)


def _sorted_ids(ids: Ids, alive: Mask) -> tuple[Ids, Ids]:
    living = np.flatnonzero(alive)
    order = living[np.argsort(ids[living], kind="stable")]
    return ids[order], order


def _ordinals(order: tuple[Ids, Ids], wanted: Iterable[int] | Ids) -> Ids:
    keys, ordinals = order
    ids = as_ids(wanted)
    if not len(keys):
        return np.full(len(ids), -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(keys, ids), len(keys) - 1)
    return np.where(keys[places] == ids, ordinals[places], -1)
