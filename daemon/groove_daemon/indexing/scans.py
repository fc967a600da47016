"""Collections that wait to be compared with the disk, and the rescan that somebody asked for.

What always holds: at most one rescan runs.  Used by the writer's thread; `begin`, `cancel` and the state of the rescan
by any thread.
"""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from groove_daemon.errors import Busy
from groove_daemon.indexing.rescan import RescanJob


@dataclass(slots=True, eq=False)
class Scan:
    """Names of collections; `job` is the rescan that asked for them."""

    names: deque[str]
    job: RescanJob | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left to be looked at."""
        return not self.names or (self.job is not None and self.job.is_cancelled)


class Scans:
    """The row of scans."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._row: deque[Scan] = deque()
        self._job: RescanJob | None = None

    def __len__(self) -> int:
        return len(self._row)

    @property
    def job(self) -> RescanJob | None:
        """The rescan that runs."""
        job = self._job
        return None if job is None or job.is_done else job

    def add(self, names: Iterable[str]) -> None:
        """Put collections at the end of the row."""
        with self._lock:
            self._row.append(Scan(deque(names)))

    def begin(self, job: RescanJob, names: Iterable[str]) -> None:
        """Put a rescan of these collections at the end of the row.

        Raises:
            Busy: another rescan runs; the message names it and since when.
        """
        with self._lock:
            if running := self.job:
                raise Busy(f"{running.describe()} is running", hint="wait for it or cancel it")
            self._job = job
            self._row.append(Scan(deque(names), job))

    def cancel(self) -> bool:
        """Ask the rescan that runs to end; False when there is none."""
        job = self.job
        if job is None:
            return False
        job.cancel()
        return True

    @property
    def first(self) -> Scan:
        """The scan whose turn it is; there must be one."""
        return self._row[0]

    def drop_first(self) -> None:
        """The first scan is over."""
        with self._lock:
            self._row.popleft()

    def drop(self, job: RescanJob) -> None:
        """Take out what a rescan asked for."""
        with self._lock:
            self._row = deque(scan for scan in self._row if scan.job is not job)

    def has_any_of(self, job: RescanJob) -> bool:
        """Whether collections of a rescan are still to be looked at."""
        return any(scan.job is job for scan in list(self._row))
