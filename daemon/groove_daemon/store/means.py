"""How near a document as a whole is to a query: the cosine between the query and the mean of its chunks' vectors.

No mean is ever stored.  For unit vectors the dot product of the query with the sum of a document's vectors is the sum
of its chunks' cosines, which a search has anyway; what is left is to divide by the length of that sum, one number a
document.  Pure arithmetic over arrays.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from groove_daemon.store.view import Ids, Mask, Matrix, Scores, Vector

Norms = NDArray[np.float64]

_BLOCK_ROWS = 4096
# Vectors that point in opposite directions leave no mean to compare with.
_SHORTEST = 1e-6


def norms_of_sums(matrix: Matrix, ready: Mask, slots: Ids, *, firsts: Ids, counts: Ids) -> Norms:
    """Length of the sum of each document's vectors, 0 for a document without any.

    Args:
        matrix: vectors by slot.
        ready: by slot, whether it has a vector.
        slots: by chunk ordinal.
        firsts: the first chunk ordinal of each document.
        counts: how many chunks follow from there, the first one included.
    """
    norms = np.zeros(len(firsts), dtype=np.float64)
    for block in _blocks(counts):
        rows, owners = rows_of(firsts[block], counts[block])
        has_vector = ready[slots[rows]]
        sums, present = _sums(matrix[slots[rows[has_vector]]], owners[has_vector])
        norms[block[present]] = np.linalg.norm(sums, axis=1)
    return norms


def direction(vectors: Sequence[Vector]) -> Vector | None:
    """The unit vector in the direction of the sum; None without vectors, and when they cancel each other out."""
    if not len(vectors):
        return None
    total = np.sum(np.asarray(vectors, dtype=np.float64), axis=0)
    length = float(np.linalg.norm(total))
    return (total / length).astype(np.float32) if length > _SHORTEST else None


def mean_cosines(cosines: Scores, owners: Ids, norms: Norms) -> Norms:
    """Cosine of the query to each document's mean vector; minus infinity for a document that has none.

    Args:
        cosines: of chunks.
        owners: the document's place in `norms`, for each of these chunks.
        norms: see `norms_of_sums`.
    """
    sums = np.bincount(owners, weights=cosines, minlength=len(norms))
    cosines_of_means: Norms = np.full(len(norms), -np.inf)
    np.divide(sums, norms, out=cosines_of_means, where=norms > _SHORTEST)
    return cosines_of_means


def mean_cosines_of(vectors: Matrix, owners: Ids, query: Vector, count: int) -> Norms:
    """The same for `count` documents from the vectors themselves; `owners` ascending, one for each vector."""
    scores = np.full(count, -np.inf)
    sums, present = _sums(vectors, owners)
    norms = np.linalg.norm(sums, axis=1)
    long_enough = norms > _SHORTEST
    scores[present[long_enough]] = (sums @ query)[long_enough] / norms[long_enough]
    return scores


def _blocks(counts: Ids) -> Iterator[Ids]:
    """Places of documents in blocks that have about `_BLOCK_ROWS` chunks together, so that no copy gets large."""
    number = np.cumsum(counts) // _BLOCK_ROWS
    yield from np.split(np.arange(len(counts)), np.flatnonzero(np.diff(number)) + 1)


def rows_of(firsts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """Chunk ordinals of these documents one after the other, and for each the document's place in `firsts`."""
    owners = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return firsts[owners] + within, owners


def _sums(vectors: Matrix, owners: Ids) -> tuple[NDArray[np.float64], Ids]:
    """Sum of the vectors of each owner, and the owners that have any; `owners` ascending."""
    present, starts = np.unique(owners, return_index=True)
    if not len(present):
        return np.zeros((0, vectors.shape[1])), present
    sums = np.empty((len(present), vectors.shape[1]), dtype=np.float64)
    # One sum a document takes a tenth of the time of `np.add.reduceat` over all of them.
    for place, (start, end) in enumerate(pairwise([*starts.tolist(), len(vectors)])):
        vectors[start:end].sum(axis=0, dtype=np.float64, out=sums[place])
    return sums, present
