"""The second half of indexing: which passages are embedded next, and where their vectors go.

Runs on the writer's thread and never calls the model: batches go out, answers come back.  Every passage that lacks a
vector is in one of three states: waiting in the store, in flight, or held back after a failure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import structlog

from groove_daemon.domain.clock import Clock
from groove_daemon.errors import EmbedderMismatch, ModelError
from groove_daemon.indexing.embedding import ModelDown, NoVector, Quarantine, cut_batch
from groove_daemon.models.base import Embedder, Matrix, Vector
from groove_daemon.store.records import PendingPassage

log = structlog.get_logger()

_READ_AHEAD = 256
_LONGEST_PAUSE_S = 300.0


class HasState(Protocol):
    """How the model is: `state` is `off`, `loading`, `ready` or `failed`."""

    @property
    def state(self) -> str:
        """One of the four words."""
        ...

    @property
    def reason(self) -> str:
        """Why it is not ready, empty when it is."""
        ...


class EmbedderSource(Protocol):
    """Where the embedder comes from once it is loaded."""

    @property
    def embedder(self) -> Embedder:
        """The embedder; raises ModelLoading or ModelUnavailable."""
        ...

    def state(self) -> HasState:
        """How it is now."""
        ...

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Call back each time the model becomes usable."""
        ...


class VectorWriter(Protocol):
    """What is needed of the store."""

    def bind_vector_space(self, fingerprint: str, dimension: int) -> None:
        """Say whose vectors are stored; raises EmbedderMismatch."""
        ...

    def reset_vector_space(self, fingerprint: str, dimension: int) -> None:
        """Drop all vectors."""
        ...

    def pending(self, limit: int) -> Sequence[PendingPassage]:
        """Passages without a vector, those of the newest documents first."""
        ...

    def pending_count(self) -> int:
        """How many there are."""
        ...

    def store_vectors(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        """Store vectors in one transaction."""
        ...

    def mark_unembeddable(self, keys: Sequence[bytes], reason: str) -> None:
        """Give a passage up."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Passages that go to the embedder together."""

    passages: tuple[PendingPassage, ...]
    embedder: Embedder

    @property
    def keys(self) -> list[bytes]:
        """Their keys, in order."""
        return [passage.embed_key for passage in self.passages]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the embedder made of a batch."""

    batch: Batch
    result: list[Vector | NoVector] | ModelDown


class VectorPhase:
    """The state of embedding.

    `pending` is the count of distinct passages without a vector, as last looked up; `embedded` the count of vectors
    stored since the start.
    """

    def __init__(self, writer: VectorWriter, models: EmbedderSource, *, batch_tokens: int, clock: Clock) -> None:
        self._writer = writer
        self._models = models
        self._batch_tokens = batch_tokens
        self._clock = clock
        self._quarantine = Quarantine()
        self._in_flight: set[bytes] = set()
        self._ahead: list[PendingPassage] = []
        self._bound = ""
        self._mismatch = ""
        self._down = ""
        self._pauses = 0
        self._paused_until = 0.0
        self._reset_due = False
        self._is_stalled = False
        self.pending = 0
        self.embedded = 0

    @property
    def is_wanted(self) -> bool:
        """Whether there is to be an embedder at all."""
        return self._models.state().state != "off"

    @property
    def held(self) -> int:
        """How many passages wait for another try."""
        return len(self._quarantine)

    @property
    def problem(self) -> str:
        """Why no vectors are made now, empty when nothing is wrong."""
        state = self._models.state()
        if state.state in ("loading", "failed"):
            return f"the embedding model is {state.state}" + (f": {state.reason}" if state.reason else "")
        return self._mismatch or self._down

    def model_is_ready(self) -> None:
        """The model was loaded: forget pauses, and say to the store whose vectors come."""
        self._paused_until, self._pauses, self._down = 0.0, 0, ""
        self._is_stalled = False
        self._bind()

    def reset(self) -> None:
        """Drop all vectors, now or as soon as the model is there, because somebody asked to rebuild."""
        self._reset_due = True
        self._bind()

    def refresh(self) -> int:
        """Look up how many passages lack a vector; 0 when there is no embedder."""
        self.pending = self._writer.pending_count() if self.is_wanted else 0
        return self.pending

    def text_changed(self, new_passages: int) -> None:
        """Documents were stored or removed, which added up to so many passages without a vector."""
        self._ahead, self._is_stalled = [], False
        if self.is_wanted:
            self.pending += new_passages

    def can_embed(self) -> bool:
        """Whether passages wait that could be embedded now."""
        if not self.pending or self._usable() is None:
            return False
        return not self._is_stalled or self._quarantine.is_due(self._clock.monotonic())

    def next_batch(self) -> Batch | None:
        """The next passages in the store's order; None when there are none, or the model cannot take them."""
        embedder = self._usable()
        if embedder is None:
            return None
        now = self._clock.monotonic()
        if not self._ahead:
            waiting = self._writer.pending(_READ_AHEAD + len(self._quarantine) + len(self._in_flight))
            self._ahead = [passage for passage in waiting if not self._quarantine.holds_back(passage.embed_key, now)]
        batch = cut_batch(self._ahead, most_tokens=self._batch_tokens, without=self._in_flight)
        taken = {passage.embed_key for passage in batch}
        self._ahead = [passage for passage in self._ahead if passage.embed_key not in taken]
        # What is left then is held back or in flight: asking again before something changes would spin.
        self._is_stalled = not batch
        if not batch:
            self.refresh()
        return self._sent(batch, embedder)

    def first(self, count: int) -> tuple[Batch | None, set[bytes]]:
        """The `count` foremost passages: a batch of those that are not in flight yet, and the keys of all."""
        embedder = self._usable()
        if embedder is None or count <= 0:
            return None, set()
        now = self._clock.monotonic()
        waiting = self._writer.pending(count + len(self._quarantine))
        passages = [passage for passage in waiting if not self._quarantine.holds_back(passage.embed_key, now)][:count]
        new = [passage for passage in passages if passage.embed_key not in self._in_flight]
        self._ahead = []
        return self._sent(new, embedder), {passage.embed_key for passage in passages}

    def store(self, answer: Answer) -> None:
        """Store what came back.

        Raises:
            StoreError: the store could not take it; the answer is still good and may be given again.
        """
        keys = answer.batch.keys
        if isinstance(answer.result, ModelDown):
            self._pause(answer.result.reason)
        elif answer.batch.embedder.fingerprint == self._bound:
            self._store_rows(keys, answer.result)
            self._down, self._pauses = "", 0
        self._in_flight.difference_update(keys)
        self._is_stalled = False
        self.refresh()

    def wake_in(self) -> float | None:
        """Seconds until a pause or a delay ends; None when nothing is waited for."""
        if not self.is_wanted or not self.pending:
            return None
        now = self._clock.monotonic()
        ends = [at for at in (self._paused_until, self._quarantine.next_try_at()) if at is not None and at > now]
        return min(ends) - now if ends else None

    def _sent(self, passages: Sequence[PendingPassage], embedder: Embedder) -> Batch | None:
        if not passages:
            return None
        batch = Batch(tuple(passages), embedder)
        self._in_flight.update(batch.keys)
        return batch

    def _usable(self) -> Embedder | None:
        if self._clock.monotonic() < self._paused_until or self._models.state().state != "ready":
            return None
        if not self._bound or self._mismatch:
            return None
        try:
            embedder = self._models.embedder
        except ModelError:
            return None
        return embedder if embedder.fingerprint == self._bound else None

    def _bind(self) -> None:
        try:
            embedder = self._models.embedder
        except ModelError:
            return
        try:
            if self._reset_due:
                self._writer.reset_vector_space(embedder.fingerprint, embedder.dimension)
                self._ahead, self._reset_due = [], False
            else:
                self._writer.bind_vector_space(embedder.fingerprint, embedder.dimension)
        except EmbedderMismatch as error:
            self._mismatch = str(error)
            log.warning("index.embedder_mismatch", reason=self._mismatch)
            return
        self._bound, self._mismatch = embedder.fingerprint, ""
        self.refresh()

    def _store_rows(self, keys: Sequence[bytes], rows: Sequence[Vector | NoVector]) -> None:
        good = [(key, row) for key, row in zip(keys, rows, strict=True) if not isinstance(row, NoVector)]
        if good:
            self._writer.store_vectors([key for key, _ in good], np.stack([row for _, row in good]))
            self._quarantine.release(key for key, _ in good)
            self.embedded += len(good)
        now = self._clock.monotonic()
        for key, row in zip(keys, rows, strict=True):
            if not isinstance(row, NoVector):
                continue
            log.warning("index.passage_failed", key=key.hex(), reason=row.reason)
            if row.is_final or self._quarantine.failed(key, row.reason, now):
                self._writer.mark_unembeddable([key], row.reason)

    def _pause(self, reason: str) -> None:
        self._down = f"the embedding model fails: {reason}"
        self._paused_until = self._clock.monotonic() + min(2.0**self._pauses, _LONGEST_PAUSE_S)
        self._pauses = min(self._pauses + 1, 16)
        log.warning("index.embedder_down", reason=reason, pauses=self._pauses)
