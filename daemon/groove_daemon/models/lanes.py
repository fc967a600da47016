"""Queries before indexing: a search never waits for a rebuild.

All work of an embedder goes through its lane.  Indexing goes in batches of bounded size, one at a time.  While a query
waits no batch starts, so a query waits for one batch at most; with an embedder that serves side by side it does not
wait at all.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence

import numpy as np

from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.models.base import Matrix, RuntimeEmbedder, Tokenizer, Vector


class Turns:
    """One at a time, and queries first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self._queries_waiting = 0

    @contextlib.contextmanager
    def query(self) -> Iterator[None]:
        """The turn of a query."""
        with self._changed:
            self._queries_waiting += 1
            try:
                self._changed.wait_for(lambda: not self._busy)
            finally:
                self._queries_waiting -= 1
            self._busy = True
        try:
            yield
        finally:
            self._done()

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """The turn of a batch: when nothing runs and no query waits."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy and not self._queries_waiting)
            self._busy = True
        try:
            yield
        finally:
            self._done()

    def _done(self) -> None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()


class EmbedderLane:
    """An embedder whose work is put in order.

    Args:
        embedder: does the work.
        batch_tokens: tokens in one batch of indexing, the shorter texts counted as long as the longest; a text that is
            longer is a batch of its own.
        clock: tells when the embedder was used last.
    """

    def __init__(self, embedder: RuntimeEmbedder, *, batch_tokens: int, clock: Clock | None = None) -> None:
        self._embedder = embedder
        self._batch_tokens = batch_tokens
        self._clock = clock or SystemClock()
        self._turns = Turns()
        self._used_at = self._clock.monotonic()

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._embedder.dimension

    @property
    def runtime(self) -> str:
        """What makes the vectors."""
        return self._embedder.runtime

    @property
    def side_by_side(self) -> bool:
        """As the embedder says."""
        return self._embedder.side_by_side

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        return self._embedder.tokenizer

    @property
    def idle_s(self) -> float:
        """Seconds since the embedder was used."""
        return self._clock.monotonic() - self._used_at

    def warm_up(self) -> None:
        """Load everything; raises ModelUnavailable."""
        self._embedder.warm_up()
        self._used_at = self._clock.monotonic()

    def release(self) -> None:
        """Give the memory back, between two pieces of work."""
        with self._turns.batch():
            self._embedder.release()

    def embed_query(self, text: str) -> Vector:
        """One unit vector, before all waiting batches."""
        turn = contextlib.nullcontext() if self._embedder.side_by_side else self._turns.query()
        with turn:
            vector = self._embedder.embed_query(text)
        self._used_at = self._clock.monotonic()
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of `texts`, in batches that let queries through."""
        tokenizer = self._embedder.tokenizer
        lengths = [min(len(tokenizer.offsets(text)), tokenizer.max_tokens) for text in texts]
        parts: list[Matrix] = []
        order: list[int] = []
        for batch in batches(lengths, limit=self._batch_tokens):
            with self._turns.batch():
                parts.append(self._embedder.embed_passages([texts[number] for number in batch]))
            order.extend(batch)
            self._used_at = self._clock.monotonic()
        rows = np.empty((len(texts), self._embedder.dimension), dtype=np.float32)
        if parts:
            rows[order] = np.concatenate(parts)
        return rows


def batches(lengths: Sequence[int], *, limit: int) -> Iterator[list[int]]:
    """Group the numbers of texts by length, shortest first; no group's count times its longest passes `limit`.

    A text that is longer than `limit` is a group of its own.  Every number comes exactly once.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * max(1, lengths[number]) > limit:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
