"""The table of what the daemon does by itself.

Everything that touches the writer goes to the index worker as a task, between two documents.  Failed files need no job:
the worker tries each again when its own delay is over.
"""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import structlog

from groove_daemon.config.settings import Settings
from groove_daemon.domain.clock import Clock
from groove_daemon.errors import Busy, ShuttingDown
from groove_daemon.scheduling.scheduler import Job
from groove_daemon.store.writer import Writer

log = structlog.get_logger()
R = TypeVar("R")

# The scheduler's own wait ends with this job, so a machine that wakes from sleep is noticed within as many seconds.
_PROBE_EVERY_S = 2.0
# After so many commits full text lies in many pieces, and queries take up to twice as long.
_MERGE_AFTER_COMMITS = 200
_MERGE_CHECK_EVERY_S = 10.0
_PRUNE_EVERY_S = 24 * 3600.0
_ORPHANS_KEPT_S = 30 * 24 * 3600.0
_RELEASE_CHECKS = 4
_SNAPSHOT_NAME = "index-%Y%m%dT%H%M%SZ.db"


class Worker(Protocol):
    """What the jobs need of the index worker."""

    def run(self, task: Callable[[], R]) -> "Future[R]":
        """Run a task on the writer's thread."""
        ...

    def rescan(self) -> object:
        """Compare all collections with the disk; raises Busy."""
        ...

    def is_needed(self) -> bool:
        """Whether a task had better end soon, because more urgent work waits."""
        ...

    def is_reading(self) -> bool:
        """Whether texts are being read, so that full text changes with every document."""
        ...


def make_jobs(
    settings: Settings,
    *,
    worker: Worker,
    writer: Writer,
    probe_watcher: Callable[[], None],
    release_models: Callable[[], object],
    snapshot_dir: Path,
    clock: Clock,
) -> tuple[Job, ...]:
    """All jobs that the settings ask for."""
    maintenance = settings.maintenance

    def task(work: Callable[[], object]) -> Callable[[], "Future[object]"]:
        return lambda: worker.run(work)

    def snapshot() -> None:
        take_snapshot(writer.snapshot, snapshot_dir, kept=maintenance.snapshots_kept, now=clock.now())

    merge = MergeWhenIdle(
        generation=lambda: writer.generation,
        merge=lambda: writer.optimize_full_text(should_stop=worker.is_needed),
        is_busy=lambda: worker.is_needed() or worker.is_reading(),
    )

    def prune() -> None:
        writer.prune_embeddings(orphaned_before=clock.now() - _ORPHANS_KEPT_S)

    jobs = [
        Job("rescan", settings.watch.rescan, partial(_rescan, worker)),
        Job("probe_watcher", _PROBE_EVERY_S, _without_future(probe_watcher)),
        Job(
            "optimize_full_text",
            maintenance.optimize_every,
            task(lambda: writer.optimize_full_text(should_stop=worker.is_needed)),
        ),
        Job("merge_full_text", _MERGE_CHECK_EVERY_S, lambda: worker.run(merge) if merge.is_due else None),
        Job("optimize", maintenance.optimize_every, task(writer.optimize)),
        Job("checkpoint", maintenance.checkpoint_every, task(writer.checkpoint)),
        Job("prune_embeddings", _PRUNE_EVERY_S, task(prune)),
    ]
    if maintenance.snapshot_every:
        jobs.append(Job("snapshot", maintenance.snapshot_every, task(snapshot)))
    if settings.models.idle_release:
        jobs.append(
            Job("release_models", settings.models.idle_release / _RELEASE_CHECKS, _without_future(release_models))
        )
    return tuple(jobs)


class MergeWhenIdle:
    """Merges full text soon after many commits, when nothing more urgent waits.

    Args:
        generation: the index's generation, which rises with each commit.
        merge: merges; False when it was stopped before the end.
        is_busy: whether full text is about to change again, or more urgent work waits.
    """

    def __init__(
        self, *, generation: Callable[[], int], merge: Callable[[], bool], is_busy: Callable[[], bool]
    ) -> None:
        self._generation = generation
        self._merge = merge
        self._is_busy = is_busy
        self._merged_at: int | None = None

    @property
    def is_due(self) -> bool:
        """Whether there is something worth merging, and time for it.

        What an earlier process left is not known, so the first look counts as many commits.
        """
        commits = self._generation() - (self._merged_at or 0)
        return commits >= _MERGE_AFTER_COMMITS and not self._is_busy()

    def __call__(self) -> None:
        """Merge; what is left when it is stopped is merged next time."""
        generation = self._generation()
        if self._merge():
            self._merged_at = generation
            log.info("job.full_text_merged", generation=generation)


def take_snapshot(copy: Callable[[Path], None], folder: Path, *, kept: int, now: float) -> Path:
    """Copy the index into `folder` under the time `now` (seconds since the epoch), and keep the newest `kept` copies.

    Old copies go after the new one is whole.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / datetime.fromtimestamp(now, UTC).strftime(_SNAPSHOT_NAME)
    copy(target)
    for old in sorted(folder.glob("index-*Z.db"))[:-kept]:
        old.unlink(missing_ok=True)
    return target


def _rescan(worker: Worker) -> None:
    try:
        worker.rescan()
    except (Busy, ShuttingDown) as error:
        log.debug("job.rescan_left_out", reason=error.message)


def _without_future(work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        work()

    return run
