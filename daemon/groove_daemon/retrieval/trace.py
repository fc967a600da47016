"""What happened in one query: every step with its status, reason, time and sizes.

A trace belongs to one query.  Legs of a fusion record into it from two threads at once, hence the lock.  It is also
where a query learns that it was cancelled or that its budget is spent: `run` checks before each stage.
"""

import threading
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Literal, TypeVar

from groove_daemon.errors import Cancelled, DeadlineExceeded

Status = Literal["ran", "skipped", "failed"]
Result = TypeVar("Result", bound=Sized)


class StageSkipped(Exception):
    """The stage has nothing to do in this query; the message is the reason, for example `off`."""


class StageFailed(StageSkipped):
    """The stage should have run and could not; the answer goes on without it and says so."""


@dataclass(frozen=True, slots=True)
class Step:
    """One stage in one query.  `took_ms` is wall time; `size_in` and `size_out` count candidates."""

    stage: str
    status: Status
    reason: str
    took_ms: float
    size_in: int
    size_out: int


class Trace:
    """The steps of one query, and its right to go on.

    Args:
        is_cancelled: asked before each stage; True stops the query with `Cancelled`.
        deadline: monotonic seconds after which the query stops with `DeadlineExceeded`; None for no limit.
    """

    def __init__(self, *, is_cancelled: Callable[[], bool] = lambda: False, deadline: float | None = None) -> None:
        self._lock = threading.Lock()
        self._steps: list[Step] = []
        self._notes: list[str] = []
        self._is_cancelled = is_cancelled
        self.deadline = deadline
        self.query_vector: object | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps so far, in the order in which they ended."""
        with self._lock:
            return tuple(self._steps)

    @property
    def notes(self) -> tuple[str, ...]:
        """One-line remarks for the answer's `warnings`, each once."""
        with self._lock:
            return tuple(dict.fromkeys(self._notes))

    def note(self, text: str) -> None:
        """Add a remark."""
        with self._lock:
            self._notes.append(text)

    def check(self) -> None:
        """Stop here if the query may not go on.

        Raises:
            Cancelled: the caller cancelled or went away.
            DeadlineExceeded: the deadline is over.
        """
        if self._is_cancelled():
            raise Cancelled("the request was cancelled")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlineExceeded("the time allowed for the search is over")

    def run(self, stage: str, work: Callable[[], Result], *, size_in: int, fallback: Result) -> Result:
        """Run one stage, time it, and record it; a skipped or failed stage yields `fallback`."""
        self.check()
        began = time.perf_counter()
        status: Status = "ran"
        reason = ""
        try:
            result = work()
        except StageFailed as failure:
            status, reason, result = "failed", str(failure), fallback
        except StageSkipped as skip:
            status, reason, result = "skipped", str(skip), fallback
        self.record(stage, status, reason, (time.perf_counter() - began) * 1000, size_in, len(result))
        return result

    def record(
        self, stage: str, status: Status, reason: str, took_ms: float, size_in: int = 0, size_out: int = 0
    ) -> None:
        """Record a step that was timed elsewhere."""
        with self._lock:
            self._steps.append(Step(stage, status, reason, took_ms, size_in, size_out))
