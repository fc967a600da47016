"""What the index worker says about itself: freshness, progress and state.  Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# Before that a rate would be a guess, and an estimate of the end a wild one.
_LEAST_ELAPSED_S = 0.25

Phase = Literal["starting", "idle", "text", "vectors", "stopped"]


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Whether everything that was announced before the call is searchable.

    `reason` is one line that says why not, empty when `fresh`.  `pending_vectors` counts distinct passages of the whole
    index without a vector.
    """

    fresh: bool
    reason: str
    pending_vectors: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How far one kind of work is: `rate` is per second over this stretch of work, `eta_s` None when unknown."""

    done: int = 0
    total: int = 0
    rate: float = 0.0
    eta_s: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What the worker does now: files for the text, passages for the vectors."""

    phase: Phase
    text: Tally = field(default_factory=Tally)
    vectors: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class IndexChanged:
    """Something was committed; `generation` is the newest and `collections` are those touched since the last event."""

    generation: int
    collections: tuple[str, ...]


WorkerEvent = IndexChanged | Progress


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """One collection: `unavailable` is empty when the root is fine; times are seconds since the epoch."""

    name: str
    root: str
    unavailable: str
    is_scanned: bool
    scanned_at: float | None
    pending_files: int
    folders: int
    skipped: Mapping[str, str]
    unreadable: Mapping[str, str]
    failed: Mapping[str, str]
    rule_problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The worker as a whole.

    `passes` counts looks at the disk since the start: it stands still while nothing happens.  `store_problem` and
    `vector_problem` are empty when all is well.  `held_passages` wait for another try at their embedding;
    `embedded_passages` were embedded since the start.
    """

    is_alive: bool
    progress: Progress
    passes: int
    waiting_hints: int
    pending_vectors: int
    held_passages: int
    embedded_passages: int
    store_problem: str
    vector_problem: str
    rescan: str
    collections: tuple[CollectionStatus, ...]


@dataclass(slots=True)
class Meter:
    """Counts one stretch of work; starts anew when the work before it was done."""

    started_at: float = 0.0
    done: int = 0

    def step(self, now: float, count: int = 1) -> None:
        """`count` more are done at `now`, monotonic seconds."""
        if not self.done:
            self.started_at = now
        self.done += count

    def reset(self) -> None:
        """The stretch is over."""
        self.done = 0

    def tally(self, now: float, left: int) -> Tally:
        """The figures at `now` with `left` still to do."""
        elapsed = now - self.started_at
        rate = self.done / elapsed if elapsed >= _LEAST_ELAPSED_S else 0.0
        return Tally(self.done, self.done + left, rate, left / rate if rate > 0 else None)
