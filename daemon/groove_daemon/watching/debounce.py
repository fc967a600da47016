"""Hints that wait until their path is quiet.

What always holds: no path is ever lost; a hint waits at least the quiet time after the last one for its path and never
longer than the longest wait after the first; a hint for a subtree stays one.  Past a bound, the paths of a collection
become one hint for its whole root, which covers them.  Pure but for the clock; not thread-safe.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from groove_daemon.domain.change import PathHint
from groove_daemon.domain.clock import Clock

MOST_PATHS = 20_000


@dataclass(slots=True)
class _Waiting:
    first_at: float
    last_at: float
    subtree: bool


class Debouncer:
    """The hints that wait.

    Args:
        quiet: seconds without another hint for the path.
        longest_wait: seconds after which a path that is never quiet is due all the same.
        clock: its monotonic time is that of the hints.
        most_paths: of one collection.
    """

    def __init__(self, *, quiet: float, longest_wait: float, clock: Clock, most_paths: int = MOST_PATHS) -> None:
        self._quiet = quiet
        self._longest_wait = max(quiet, longest_wait)
        self._clock = clock
        self._most_paths = most_paths
        self._waiting: dict[str, dict[str, _Waiting]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, hints: Iterable[PathHint]) -> None:
        """Take hints; one for a path that waits already restarts its quiet time."""
        for hint in hints:
            paths = self._waiting.setdefault(hint.collection, {})
            if waiting := paths.get(hint.path):
                waiting.last_at = max(waiting.last_at, hint.at)
                waiting.subtree |= hint.subtree
                continue
            paths[hint.path] = _Waiting(hint.at, hint.at, hint.subtree)
            if len(paths) > self._most_paths:
                self._waiting[hint.collection] = {"": _merged(paths.values())}

    def take_due(self) -> Sequence[PathHint]:
        """The hints whose time has come, oldest first."""
        now = self._clock.monotonic()
        return self._take(lambda waiting: self._due_at(waiting) <= now)

    def take_all(self) -> Sequence[PathHint]:
        """All hints, oldest first."""
        return self._take(lambda _waiting: True)

    def next_in(self) -> float | None:
        """Seconds until the next hint is due, 0 when one is, None when none waits."""
        times = [self._due_at(waiting) for paths in self._waiting.values() for waiting in paths.values()]
        return max(0.0, min(times) - self._clock.monotonic()) if times else None

    def _due_at(self, waiting: _Waiting) -> float:
        return min(waiting.last_at + self._quiet, waiting.first_at + self._longest_wait)

    def _take(self, is_wanted: Callable[[_Waiting], bool]) -> Sequence[PathHint]:
        taken = []
        for collection, paths in self._waiting.items():
            for path in [path for path, waiting in paths.items() if is_wanted(waiting)]:
                waiting = paths.pop(path)
                taken.append(PathHint(collection, path, waiting.first_at, waiting.subtree))
        self._waiting = {collection: paths for collection, paths in self._waiting.items() if paths}
        return sorted(taken, key=lambda hint: hint.at)


def _merged(waiting: Iterable[_Waiting]) -> _Waiting:
    everything = list(waiting)
    return _Waiting(min(one.first_at for one in everything), max(one.last_at for one in everything), subtree=True)
