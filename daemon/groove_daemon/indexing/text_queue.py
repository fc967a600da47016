"""Changes that wait to be ingested, in two rows: what was just saved, and what a scan found.

Urgent work keeps its order, so that a fence put behind it falls when all of it is done.  Used by one thread; the counts
may be read by others.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from groove_daemon.domain.change import Change
from groove_daemon.indexing.rescan import RescanJob


@dataclass(frozen=True, slots=True)
class Work:
    """One change to apply; `force` parses the file even if nothing changed; `job` wants to know the outcome."""

    change: Change
    force: bool = False
    job: RescanJob | None = None


class TextQueue:
    """The two rows of work.  `Fence` objects stand among the urgent work and are handed back in their turn."""

    def __init__(self) -> None:
        self._urgent: deque[Work | object] = deque()
        self._bulk: deque[Work] = deque()
        self._behind: Counter[str] = Counter()
        self._fences = 0

    @property
    def has_urgent(self) -> bool:
        """Whether urgent work or a fence waits."""
        return bool(self._urgent)

    @property
    def has_bulk(self) -> bool:
        """Whether other work waits."""
        return bool(self._bulk)

    def __len__(self) -> int:
        return len(self._urgent) + len(self._bulk) - self._fences

    def behind(self, collection: str) -> int:
        """How many known differences between disk and index wait in one collection."""
        return self._behind[collection]

    def add_urgent(self, works: Iterable[Work]) -> None:
        """Put work at the end of the urgent row."""
        for work in works:
            self._urgent.append(work)
            self._behind[work.change.collection] += not work.force

    def add_fence(self, fence: object) -> None:
        """Put a fence behind all urgent work."""
        self._urgent.append(fence)
        self._fences += 1

    def add_bulk(self, works: Iterable[Work]) -> None:
        """Put work at the end of the other row."""
        for work in works:
            self._bulk.append(work)
            self._behind[work.change.collection] += not work.force

    def peek(self) -> Work | object | None:
        """The next work or fence; None when there is nothing."""
        if self._urgent:
            return self._urgent[0]
        return self._bulk[0] if self._bulk else None

    def done(self) -> None:
        """Take away what `peek` gave."""
        item = self._urgent.popleft() if self._urgent else self._bulk.popleft()
        if isinstance(item, Work):
            self._behind[item.change.collection] -= not item.force
        else:
            self._fences -= 1

    def fences(self) -> list[object]:
        """The fences that still stand."""
        return [item for item in self._urgent if not isinstance(item, Work)]

    def drop(self, is_unwanted: Callable[[Work], bool]) -> list[Work]:
        """Take away all work that is not wanted any more, and return it."""
        dropped = [item for item in self._urgent if isinstance(item, Work) and is_unwanted(item)]
        dropped += [item for item in self._bulk if is_unwanted(item)]
        self._urgent = deque(item for item in self._urgent if not isinstance(item, Work) or not is_unwanted(item))
        self._bulk = deque(item for item in self._bulk if not is_unwanted(item))
        for work in dropped:
            self._behind[work.change.collection] -= not work.force
        return dropped
