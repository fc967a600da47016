from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import pytest

from groove_daemon.config.settings import MaintenanceSettings, ModelSettings, Settings, WatchSettings
from groove_daemon.errors import Busy
from groove_daemon.scheduling.jobs import MergeWhenIdle, make_jobs, take_snapshot
from groove_daemon.scheduling.scheduler import Job
from groove_daemon.store.index import Index
from support.clock import FakeClock

R = TypeVar("R")


class DirectWorker:
    """Runs tasks at once; a rescan runs already."""

    def __init__(self) -> None:
        self.rescans = 0

    def run(self, task: Callable[[], R]) -> "Future[R]":
        future: Future[R] = Future()
        future.set_result(task())
        return future

    def rescan(self) -> object:
        self.rescans += 1
        raise Busy("a rescan is running")

    def is_needed(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return False


@pytest.fixture
def index(tmp_path: Path):
    opened = Index.open(tmp_path / "state" / "index.db")
    yield opened
    opened.close()


def jobs(index: Index, folder: Path, settings: Settings, worker: DirectWorker | None = None) -> dict[str, Job]:
    made = make_jobs(
        settings,
        worker=worker or DirectWorker(),
        writer=index.writer,
        probe_watcher=lambda: None,
        release_models=lambda: None,
        snapshot_dir=folder,
        clock=FakeClock(),
    )
    return {job.name: job for job in made}


def test_jobs_follow_the_settings(index: Index, tmp_path: Path) -> None:
    plain = jobs(index, tmp_path, Settings(watch=WatchSettings(rescan=60)))

    assert plain["rescan"].every_s == 60
    assert plain["checkpoint"].every_s == 300
    assert "snapshot" not in plain
    assert "release_models" not in plain

    asked = jobs(
        index,
        tmp_path,
        Settings(maintenance=MaintenanceSettings(snapshot_every=3600), models=ModelSettings(idle_release=600)),
    )

    assert asked["snapshot"].every_s == 3600
    assert asked["release_models"].every_s == 150


def test_jobs_all_run_on_a_real_index(index: Index, tmp_path: Path) -> None:
    made = jobs(index, tmp_path / "copies", Settings(maintenance=MaintenanceSettings(snapshot_every=3600)))
    for job in made.values():
        future = job.run()

        assert future is None or future.exception(0) is None
    assert [path.name for path in (tmp_path / "copies").iterdir()] == ["index-20231114T221320Z.db"]


def test_rescan_job_is_left_out_while_another_runs(index: Index, tmp_path: Path) -> None:
    worker = DirectWorker()
    jobs(index, tmp_path, Settings(), worker)["rescan"].run()

    assert worker.rescans == 1


def test_take_snapshot_keeps_the_newest(tmp_path: Path) -> None:
    for now in (0.0, 100.0, 200.0):
        take_snapshot(lambda target: target.touch(), tmp_path, kept=2, now=now)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "index-19700101T000140Z.db",
        "index-19700101T000320Z.db",
    ]


def test_take_snapshot_removes_nothing_when_the_copy_fails(tmp_path: Path) -> None:
    def fail(_target: Path) -> None:
        raise OSError("disk full")

    for now in (0.0, 100.0):
        take_snapshot(lambda target: target.touch(), tmp_path, kept=2, now=now)
    with pytest.raises(OSError, match="disk full"):
        take_snapshot(fail, tmp_path, kept=2, now=200.0)

    assert len(list(tmp_path.iterdir())) == 2


class Merging:
    """Counts merges of an index whose generation and business a test sets."""

    def __init__(self) -> None:
        self.generation, self.is_busy, self.ends, self.merges = 0, False, True, 0
        self.job = MergeWhenIdle(generation=lambda: self.generation, merge=self._merge, is_busy=lambda: self.is_busy)

    def _merge(self) -> bool:
        self.merges += 1
        return self.ends


def test_merge_is_due_after_two_hundred_commits() -> None:
    merging = Merging()
    merging.generation = 199

    assert not merging.job.is_due

    merging.generation = 200
    assert merging.job.is_due
    merging.job()
    assert not merging.job.is_due
    merging.generation = 400
    assert merging.job.is_due


def test_merge_waits_while_texts_are_read() -> None:
    merging = Merging()
    merging.generation, merging.is_busy = 1000, True

    assert not merging.job.is_due


def test_merge_that_was_stopped_is_due_again() -> None:
    merging = Merging()
    merging.generation, merging.ends = 300, False

    merging.job()

    assert merging.job.is_due


def test_merge_job_leaves_an_idle_index_alone(index: Index, tmp_path: Path) -> None:
    assert jobs(index, tmp_path, Settings())["merge_full_text"].run() is None
