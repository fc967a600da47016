"""Who is told of commits and progress, and which collections were touched since they were last told.

Subscribing is for any thread; the rest is the writer's thread's.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from groove_daemon.domain.clock import Clock
from groove_daemon.indexing.report import IndexChanged, Progress, WorkerEvent

Listener = Callable[[WorkerEvent], None]

_EVENT_EVERY_S = 0.5


class Listeners:
    """The subscribers and the news that they have not heard."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()
        self._touched: set[str] = set()
        self._told_at = 0.0

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns how to take it out."""
        with self._lock:
            self._listeners = (*self._listeners, listener)
        return partial(self._unsubscribe, listener)

    def _unsubscribe(self, listener: Listener) -> None:
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

    def __iter__(self) -> Iterator[Listener]:
        return iter(self._listeners)

    @property
    def has_news(self) -> bool:
        """Whether something was committed that nobody was told of."""
        return bool(self._touched)

    @property
    def is_due(self) -> bool:
        """Whether the last news are old enough for new ones, while work goes on."""
        return self._clock.monotonic() - self._told_at >= _EVENT_EVERY_S

    def touch(self, collections: Iterable[str]) -> None:
        """Something of these collections was committed."""
        self._touched.update(collections)

    def news(self, generation: int, progress: Progress) -> Sequence[WorkerEvent]:
        """What to tell now; it counts as told."""
        touched, self._touched = self._touched, set()
        self._told_at = self._clock.monotonic()
        changed: list[WorkerEvent] = [IndexChanged(generation, tuple(sorted(touched)))] if touched else []
        return [*changed, progress]
