"""The parts that may come after the socket is served: watching, indexing, the scheduler.

They are imported here and nowhere before, because their libraries cost a quarter of a second that the first answer of a
fresh process need not wait for.  The watcher starts before the worker: what changes between the worker's first look and
the start of watching would be missed otherwise.
"""

from collections.abc import Mapping, Sequence

from groove_daemon.app.places import Places
from groove_daemon.chunking.by_heading import HeadingChunker
from groove_daemon.config.settings import CollectionSettings, Settings
from groove_daemon.domain.clock import SystemClock
from groove_daemon.indexing.worker import IndexWorker
from groove_daemon.models.host import ModelHost, ScorerHost
from groove_daemon.scheduling.jobs import make_jobs
from groove_daemon.scheduling.scheduler import Scheduler
from groove_daemon.store.index import Index
from groove_daemon.watching.debounce import Debouncer
from groove_daemon.watching.observer import Watcher


class LateParts:
    """Watcher, worker and scheduler of one daemon; `start` and `stop` are paired."""

    def __init__(
        self, settings: Settings, *, places: Places, index: Index, models: ModelHost, scorers: ScorerHost
    ) -> None:
        clock = SystemClock()
        debouncer = Debouncer(quiet=settings.watch.debounce, longest_wait=settings.watch.longest_wait, clock=clock)
        self.worker = IndexWorker(
            index,
            collections=settings.collections,
            index_settings=settings.index,
            watch=settings.watch,
            batch_tokens=settings.models.batch_tokens,
            models=models,
            chunker=HeadingChunker(settings.index, models.tokenizer),
            hints=debouncer,
            clock=clock,
            own_paths=(places.data, places.state, places.cache),
        )
        self.watcher = Watcher(settings.watch, settings.collections, on_hint=self.worker.hint, clock=clock)
        jobs = make_jobs(
            settings,
            worker=self.worker,
            writer=index.writer,
            probe_watcher=self.watcher.probe,
            release_models=lambda: (models.release_if_idle(), scorers.release_if_idle()),
            snapshot_dir=places.snapshots,
            clock=clock,
        )
        self.scheduler = Scheduler(jobs, clock=clock)

    def start(self) -> None:
        """Watch, compare folders with the index, and do what is due from time to time."""
        self.watcher.start()
        self.worker.start()
        self.scheduler.start()

    def stop(self, timeout_s: float) -> bool:
        """End all three; False when a thread did not end in time."""
        self.scheduler.stop()
        self.watcher.stop()
        return self.worker.stop(timeout_s)

    def set_collections(self, collections: Sequence[CollectionSettings]) -> None:
        """Watch and index other folders from now on; returns when the index has forgotten those that are gone."""
        self.watcher.set_collections(collections)
        self.worker.set_collections(collections).result()

    def unwatched(self) -> Mapping[str, tuple[str, ...]]:
        """Folders of each collection that are not watched live; `.` stands for all of it."""
        return {
            health.name: tuple(folder or "." for folder in health.unwatched) if health.is_watched else (".",)
            for health in self.watcher.health().collections
        }

    def watch_problems(self) -> list[str]:
        """What keeps the watcher from seeing everything, one line each."""
        health = self.watcher.health()
        problems = [health.reason] if health.reason else []
        for one in health.collections:
            if not one.is_watched:
                problems.append(one.reason)
            for reason in sorted(set(one.unwatched.values())):
                count = sum(1 for why in one.unwatched.values() if why == reason)
                problems.append(f"{count} folders of {one.name} are not watched live: {reason}")
        return problems
