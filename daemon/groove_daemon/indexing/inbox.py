"""What other threads hand to the writer's thread: hints, searches that wait, tasks, and what the embedder made.

What always holds: one lock guards all of it, together with whether a pass is being worked on, so that a search which
finds nothing to wait for can be sure of it; what was put in is taken out, and at the end nobody is left waiting.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar, cast

from groove_daemon.domain.change import PathHint
from groove_daemon.errors import ShuttingDown
from groove_daemon.indexing.report import SyncReport
from groove_daemon.indexing.ticket import Ticket
from groove_daemon.indexing.vector_phase import Answer

R = TypeVar("R")
Action = Callable[[], None]
Task = tuple[Callable[[], object], "Future[object]"]


class HintBuffer(Protocol):
    """Where hints wait until their paths are quiet; the inbox alone calls it, under its lock."""

    def add(self, hints: Iterable[PathHint]) -> None:
        """Take hints; none is ever lost."""
        ...

    def take_due(self) -> Sequence[PathHint]:
        """Those whose time has come."""
        ...

    def take_all(self) -> Sequence[PathHint]:
        """All of them, at once."""
        ...

    def next_in(self) -> float | None:
        """Seconds until the next is due, None when there is none."""
        ...

    def __len__(self) -> int: ...


class Inbox:
    """Filled by any thread, emptied by one.

    Args:
        hints: where hints wait.
    """

    def __init__(self, hints: HintBuffer) -> None:
        self._hints = hints
        # The writer's thread looks into the inbox while it holds the lock to choose what is next.
        self._lock = threading.RLock()
        self._arrived = threading.Condition(self._lock)
        self._tickets: list[Ticket] = []
        self._tasks: deque[Task] = deque()
        self._answers: deque[Answer] = deque()
        self._is_in_pass = False
        self._is_closed = False

    # -- by any thread -----------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether the writer's thread is to end."""
        return self._is_closed

    @property
    def is_in_pass(self) -> bool:
        """Whether hints were taken out whose changes are not all stored, or work of that kind goes on."""
        return self._is_in_pass

    @property
    def has_tickets(self) -> bool:
        """Whether a search waits to be looked at."""
        return bool(self._tickets)

    @property
    def hint_count(self) -> int:
        """How many hints wait."""
        with self._lock:
            return len(self._hints)

    def hint(self, hints: Iterable[PathHint]) -> None:
        """Put hints in."""
        with self._lock:
            self._hints.add(hints)
            self._arrived.notify_all()

    def enter(self, ticket: Ticket, *, at_once: Callable[[], SyncReport | None]) -> SyncReport | None:
        """Let a search wait, unless `at_once`, which is called under the lock, has the report already."""
        with self._lock:
            if report := at_once():
                return report
            self._tickets.append(ticket)
            self._arrived.notify_all()
        return None

    def leave(self, ticket: Ticket) -> None:
        """The search waits no longer."""
        with self._lock:
            if ticket in self._tickets:
                self._tickets.remove(ticket)

    def submit(self, task: Callable[[], R]) -> "Future[R]":
        """Put a task in; its future fails with ShuttingDown when it will not be run."""
        future: Future[R] = Future()
        with self._lock:
            if self._is_closed:
                future.set_exception(ShuttingDown("the daemon is stopping"))
                return future
            self._tasks.append((task, cast("Future[object]", future)))
            self._arrived.notify_all()
        return future

    def answer(self, answer: Answer) -> None:
        """Put in what the embedder made of a batch."""
        with self._lock:
            self._answers.append(answer)
            self._arrived.notify_all()

    def wake(self) -> None:
        """Something elsewhere changed that the writer's thread should look at."""
        with self._lock:
            self._arrived.notify_all()

    def close(self) -> None:
        """Take no more tasks, and let the writer's thread end."""
        with self._lock:
            self._is_closed = True
            self._arrived.notify_all()

    # -- by the writer's thread --------------------------------------------------------------------------------------

    def await_action(self, choose: Callable[[], Action | None], idle_for: Callable[[], float | None]) -> Action | None:
        """Wait until `choose`, which is called under the lock, finds something to do; None when the thread is to end.

        Args:
            choose: the next thing to do, None when there is nothing now.
            idle_for: seconds after which to ask again, although nothing came in; None for never.
        """
        with self._lock:
            self._is_in_pass = False
            while not self._is_closed:
                if action := choose():
                    return action
                self._arrived.wait(idle_for())
        return None

    def begin_pass(self) -> None:
        """Until the next `await_action`, searches must wait; call it from `choose`."""
        self._is_in_pass = True

    def take_all_hints(self) -> Sequence[PathHint]:
        """All hints, due or not."""
        with self._lock:
            return self._hints.take_all()

    def take_due_hints(self) -> Sequence[PathHint]:
        """The hints whose paths are quiet."""
        with self._lock:
            return self._hints.take_due()

    def next_hint_in(self) -> float | None:
        """Seconds until a hint is due; None when none waits."""
        with self._lock:
            return self._hints.next_in()

    def take_tickets(self) -> list[Ticket]:
        """All searches that wait."""
        with self._lock:
            tickets, self._tickets = self._tickets, []
        return tickets

    def give_back(self, hints: Iterable[PathHint], tickets: Iterable[Ticket]) -> None:
        """Put in again what was taken out and could not be dealt with."""
        with self._lock:
            self._hints.add(hints)
            self._tickets.extend(tickets)

    def take_task(self) -> Task | None:
        """The oldest task; None when there is none."""
        with self._lock:
            return self._tasks.popleft() if self._tasks else None

    def first_answer(self) -> Answer | None:
        """The oldest answer, which stays until `drop_answer`; None when there is none."""
        with self._lock:
            return self._answers[0] if self._answers else None

    def drop_answer(self) -> None:
        """Take the oldest answer out."""
        with self._lock:
            self._answers.popleft()

    def refuse_tasks(self) -> None:
        """Let everybody go who waits for a task that will not run."""
        while task := self.take_task():
            if task[1].set_running_or_notify_cancel():
                task[1].set_exception(ShuttingDown("the daemon is stopping"))
