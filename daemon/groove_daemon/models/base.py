"""Contracts of the machine-learning models, and the one function that makes a vector.

An implementation has a light constructor; everything costly happens in `warm_up`, which may be called again after
`release`.  Implementations may be called from several threads; they serialise by themselves where they must.
Failures are `ModelUnavailable` or `ModelLoading` of `groove_daemon.errors`, never a library's own exception.
"""

import contextlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groove_daemon.errors import ModelError

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]


class Tokenizer(Protocol):
    """Cuts text as the model does.  Cheap to make; usable before the model is loaded."""

    @property
    def name(self) -> str:
        """Identity, part of every document's `parse_key`."""
        ...

    @property
    def max_tokens(self) -> int:
        """How many tokens of text the model reads, special tokens not counted."""
        ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character ranges of all tokens of `text`, in order, never cut off at `max_tokens`."""
        ...


class Embedder(Protocol):
    """Text to unit vectors.

    `fingerprint` changes whenever the vectors would (model, weights, dimension, prompts, pooling, maximum length).
    """

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        ...

    def warm_up(self) -> None:
        """Load everything; raises ModelUnavailable."""
        ...

    def release(self) -> None:
        """Give the memory back; the next call or `warm_up` loads again."""
        ...

    def embed_query(self, text: str) -> Vector:
        """One unit vector, shape (dimension,), float32."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dimension), float32, in the order of `texts`.

        A row of NaN stands for a text for which the model gave no usable vector; `as_vector` refuses it.
        """
        ...


class RuntimeEmbedder(Embedder, Protocol):
    """An embedder that says what runs it; every implementation of this package is one."""

    @property
    def runtime(self) -> str:
        """What makes the vectors, for status: for example `onnx int8`, `torch`, `hashing`."""
        ...

    @property
    def side_by_side(self) -> bool:
        """Whether a query may be embedded while passages are, without waiting for them."""
        ...


class PairScorer(Protocol):
    """A cross-encoder: reads query and passage together."""

    @property
    def fingerprint(self) -> str:
        """Identity of the scale."""
        ...

    def warm_up(self) -> None:
        """Load everything; raises ModelUnavailable."""
        ...

    def release(self) -> None:
        """Give the memory back."""
        ...

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """The model's raw output for each pair, higher is better, in the order of `passages`."""
        ...


def as_vector(raw: object, dimension: int) -> Vector:
    """Make a float32 unit vector out of anything array-like.

    Raises:
        ModelError: wrong shape, NaN, infinity, or zero length; such a vector would head every cosine ranking.
    """
    vector = np.asarray(raw, dtype=np.float32).reshape(-1)
    if vector.shape != (dimension,):
        raise ModelError(f"embedding has {vector.shape[0]} numbers, expected {dimension}")
    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(norm) or norm < 1e-12:
        raise ModelError("embedding is not finite or has zero length")
    return (vector / np.float32(norm)).astype(np.float32)


def unit_rows(raw: Matrix, dimension: int) -> Matrix:
    """Make unit vectors of all rows; a row that `as_vector` refuses becomes NaN.

    Shapes: `(n, dimension)` in and out.

    Raises:
        ModelError: the rows have another length than `dimension`.
    """
    if raw.ndim != 2 or raw.shape[1] != dimension:
        raise ModelError(f"embeddings have the shape {raw.shape}, expected rows of {dimension} numbers")
    rows = np.full(raw.shape, np.nan, dtype=np.float32)
    for number, row in enumerate(raw):
        with contextlib.suppress(ModelError):
            rows[number] = as_vector(row, dimension)
    return rows
