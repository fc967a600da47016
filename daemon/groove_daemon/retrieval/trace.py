"""What happened in one query: every step with its status, reason, time and sizes.

A trace belongs to one query.  Legs of a fusion record into it from two threads at once, hence the lock.  It is also
where a query learns that it was cancelled, that its time is over (the search fails) or that its budget is spent (stages
are left out): `run` checks before each stage.
"""

import threading
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Literal, TypeVar

from groove_daemon.domain.ranking import Ranking
from groove_daemon.errors import Cancelled, DeadlineExceeded
from groove_daemon.retrieval.costs import Costs

Status = Literal["ran", "skipped", "failed"]
Result = TypeVar("Result", bound=Sized)


class StageSkipped(Exception):
    """The stage has nothing to do in this query; the message is the reason, for example `off`."""


class StageFailed(StageSkipped):
    """The stage should have run and could not; the answer goes on without it and says so."""


OUT_OF_BUDGET = "out of budget"


class OutOfBudget(StageSkipped):
    """What is left of the query's budget does not suffice for the stage."""

    def __init__(self) -> None:
        super().__init__(OUT_OF_BUDGET)


@dataclass(frozen=True, slots=True)
class Step:
    """One stage in one query.  `took_ms` is wall time; `size_in` and `size_out` count candidates."""

    stage: str
    status: Status
    reason: str
    took_ms: float
    size_in: int
    size_out: int

    @property
    def is_missing(self) -> bool:
        """Whether the stage should have done its work and did not."""
        return self.status == "failed" or self.reason == OUT_OF_BUDGET


class Trace:
    """The steps of one query, and its right to go on.

    Args:
        is_cancelled: asked before each stage; True stops the query with `Cancelled`.
        deadline: monotonic seconds after which the query stops with `DeadlineExceeded`; None for no limit.
        budget_end: monotonic seconds after which stages are left out; None for no budget.
        costs: what stages have cost so far; it learns from this query.
        on_ranking: told of rankings on the way to the last one, with a name for how far they are.
    """

    def __init__(
        self,
        *,
        is_cancelled: Callable[[], bool] = lambda: False,
        deadline: float | None = None,
        budget_end: float | None = None,
        costs: Costs | None = None,
        on_ranking: Callable[[str, Ranking], None] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._steps: list[Step] = []
        self._notes: list[str] = []
        self._remarks: dict[str, str] = {}
        self._given_up: set[str] = set()
        self._is_cancelled = is_cancelled
        self._costs = costs or Costs()
        self._on_ranking = on_ranking
        self._shown: set[str] = set()
        self.deadline = deadline
        self.budget_end = budget_end

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
        """Add a remark for the answer's warnings."""
        with self._lock:
            self._notes.append(text)

    def remark(self, stage: str, text: str) -> None:
        """Say something about a stage that is running: it becomes the reason of its step."""
        with self._lock:
            self._remarks[stage] = text

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

    @property
    def is_followed(self) -> bool:
        """Whether somebody wants to see rankings on the way."""
        return self._on_ranking is not None

    def show(self, name: str, ranking: Ranking) -> None:
        """Tell of a ranking on the way; each name once, nothing that is empty, and nothing that costs the answer.

        In the thread of the query's reader.

        Raises:
            Cancelled: the caller cancelled or went away.
            DeadlineExceeded: the deadline is over.
        """
        if self._on_ranking is None or not ranking or name in self._shown or self.is_over_budget:
            return
        self.check()
        self._shown.add(name)
        self._on_ranking(name, ranking)

    @property
    def is_over_budget(self) -> bool:
        """Whether there is a budget and it is spent."""
        return self.budget_end is not None and time.monotonic() >= self.budget_end

    def expect(self, stage: str, size: int) -> float:
        """How long a stage is likely to take, in seconds; 0 when nothing is known."""
        return self._costs.expect(stage, size)

    def afford(self, stage: str, size: int = 0) -> None:
        """Begin a stage only when the budget is likely to suffice for `size` candidates.

        Raises:
            OutOfBudget: it is not.
        """
        if self.budget_end is None:
            return
        expected = self._costs.expect(stage, size)
        if self.budget_end - time.monotonic() <= expected:
            self._costs.fade(stage, size)
            raise OutOfBudget

    def observe(self, stage: str, size: int, seconds: float) -> None:
        """Learn what a stage costs."""
        self._costs.observe(stage, size, seconds)

    def run(self, stage: str, work: Callable[[], Result], *, size_in: int, fallback: Result) -> Result:
        """Run one stage, time it, and record it; a skipped or failed stage yields `fallback`.

        A statement that was stopped because the budget is spent counts as a stage left out.
        """
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
        except Cancelled:
            if self._is_cancelled() or not self.is_over_budget:
                raise
            status, reason, result = "skipped", OUT_OF_BUDGET, fallback
        seconds = time.perf_counter() - began
        if status == "ran":
            self._costs.observe(stage, size_in, seconds)
        self.record(stage, status, reason, seconds * 1000, size_in, len(result))
        return result

    def record(
        self, stage: str, status: Status, reason: str, took_ms: float, size_in: int = 0, size_out: int = 0
    ) -> None:
        """Record a step that was timed elsewhere; a stage that was given up is recorded no more."""
        with self._lock:
            said = self._remarks.pop(stage, "")
            if stage not in self._given_up:
                self._steps.append(Step(stage, status, reason or said, took_ms, size_in, size_out))

    def give_up(self, stage: str) -> None:
        """A stage that runs elsewhere is no longer waited for; nothing if it has ended."""
        with self._lock:
            if all(step.stage != stage for step in self._steps):
                self._steps.append(Step(stage, "skipped", OUT_OF_BUDGET, 0.0, 0, 0))
            self._given_up.add(stage)
