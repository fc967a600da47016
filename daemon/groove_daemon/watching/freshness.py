"""Barrier and sync together: the one question that a search asks before it looks anything up.

An answer may call itself fresh only when every change that was complete before the question has been announced by the
watcher and is in the index with its vectors.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from groove_daemon.indexing.report import SyncReport
from groove_daemon.indexing.worker import IndexWorker
from groove_daemon.watching.observer import Watcher


@dataclass(frozen=True, slots=True)
class Freshness:
    """The watcher and the worker that it hints to."""

    watcher: Watcher
    worker: IndexWorker

    def sync(self, *, collections: Iterable[str] = (), deadline: float) -> SyncReport:
        """Bring the index up to this moment, or say why not; never later than `deadline`, monotonic seconds.

        What has been announced is taken in even if the barrier did not come through.
        """
        names = tuple(collections)
        barrier = self.watcher.barrier(names, deadline=deadline)
        report = self.worker.sync(collections=names, deadline=deadline)
        return report if barrier.complete else replace(report, fresh=False, reason=barrier.reason)
