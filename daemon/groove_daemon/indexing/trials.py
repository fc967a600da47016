"""Files that should be in the index and are not: how often each was tried, why it failed, when it is tried again.

Kept in memory and in the store, so that delays survive a restart.  A file whose stat is still the one it failed with
is left alone until it is due.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from groove_daemon.domain.change import Change
from groove_daemon.domain.clock import Clock
from groove_daemon.domain.document import FileStat
from groove_daemon.indexing.embedding import delay_after
from groove_daemon.store.records import FailureRecord


class FailureWriter(Protocol):
    """What is needed of the store."""

    def record_failure(
        self, collection: str, path: str, reason: str, *, stat: FileStat | None, now: float, next_try_at: float | None
    ) -> None:
        """Note one more failure."""
        ...

    def clear_failure(self, collection: str, path: str) -> None:
        """The file is fine, or gone."""
        ...

    def failures(self) -> Sequence[FailureRecord]:
        """All of them."""
        ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One file's failures; `next_try_at` is in seconds since the epoch, None when only a change of the file helps."""

    reason: str
    attempts: int
    next_try_at: float | None
    stat: FileStat | None


class Trials:
    """The failed files of all collections."""

    def __init__(self, writer: FailureWriter, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock
        self._trials: dict[tuple[str, str], Trial] = {}

    def load(self) -> None:
        """Take over what an earlier run left."""
        self._trials = {
            (record.collection, record.path): Trial(record.reason, record.attempts, record.next_try_at, record.stat)
            for record in self._writer.failures()
        }

    def failed(
        self, collection: str, path: str, reason: str, stat: FileStat | None, *, is_final: bool = False
    ) -> Trial:
        """Note a failure and work out when the file is tried again: never by itself when it `is_final`."""
        before = self._trials.get((collection, path))
        attempts = before.attempts + 1 if before else 1
        now = self._clock.now()
        trial = Trial(reason, attempts, None if is_final else now + delay_after(attempts), stat)
        self._writer.record_failure(collection, path, reason, stat=stat, now=now, next_try_at=trial.next_try_at)
        self._trials[collection, path] = trial
        return trial

    def succeeded(self, collection: str, path: str) -> None:
        """Forget a file that is fine now, or gone."""
        if (collection, path) in self._trials:
            self._writer.clear_failure(collection, path)
            del self._trials[collection, path]

    def forget(self, collection: str) -> None:
        """Forget a whole collection, which the store has removed."""
        self._trials = {key: trial for key, trial in self._trials.items() if key[0] != collection}

    def holds_back(self, change: Change) -> bool:
        """Whether a file failed in just this state and is not due yet."""
        trial = self._trials.get((change.collection, change.path))
        if trial is None or change.stat is None or trial.stat != change.stat:
            return False
        return not self._has_come(trial)

    def due(self, *, without: Collection[str] = ()) -> Sequence[tuple[str, str]]:
        """Collection and path of every file whose time has come; `without` names collections to leave alone."""
        return [key for key, trial in self._trials.items() if self._has_come(trial) and key[0] not in without]

    def is_due(self, collection: str, path: str) -> bool:
        """Whether a failed file's time has come."""
        trial = self._trials.get((collection, path))
        return trial is not None and self._has_come(trial)

    def next_in(self, *, without: Collection[str] = ()) -> float | None:
        """Seconds until the next one is due, None when there is none."""
        times = (trial.next_try_at for key, trial in self._trials.items() if key[0] not in without)
        first = min((time for time in times if time is not None), default=None)
        return None if first is None else max(0.0, first - self._clock.now())

    def of(self, collection: str) -> Mapping[str, str]:
        """Path and reason of the failed files of a collection."""
        return {path: trial.reason for (name, path), trial in list(self._trials.items()) if name == collection}

    def unread(self, collection: str) -> Mapping[str, str]:
        """Path and reason of those whose content is not known: an answer may lack it, or have an older one."""
        return {
            path: trial.reason
            for (name, path), trial in list(self._trials.items())
            if name == collection and trial.next_try_at is not None
        }

    def _has_come(self, trial: Trial) -> bool:
        return trial.next_try_at is not None and trial.next_try_at <= self._clock.now()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(list(self._trials))
