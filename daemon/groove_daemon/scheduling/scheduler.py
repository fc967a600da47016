"""Runs jobs at intervals; the only module that imports apscheduler.

What always holds for every job: it is never dropped because it is late, however long the machine slept; several missed
runs become one; no two runs of it overlap, its work on another thread included; a failure is logged and ends that run
alone.  Knows nothing of what the jobs do.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from groove_daemon.domain.clock import Clock, SystemClock

log = structlog.get_logger()

_JOB_DEFAULTS = {"coalesce": True, "misfire_grace_time": None, "max_instances": 1}


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do every `every_s` seconds.

    `run` is quick; what takes long, or belongs to another thread, it hands over and returns the future of.
    """

    name: str
    every_s: float
    run: Callable[[], "Future[object] | None"]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How a job goes: `last_at` in seconds since the epoch, None before the first run; `error` of the last run."""

    name: str
    every_s: float
    runs: int
    last_at: float | None
    error: str


class _Runner:
    """One job with what became of it."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self.job = job
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: Future[object] | None = None
        self._runs = 0
        self._last_at: float | None = None
        self._error = ""

    def run(self) -> None:
        """Run the job unless its last run is still at work elsewhere."""
        with self._lock:
            if self._pending and not self._pending.done():
                return
            self._runs += 1
            self._last_at = self._clock.now()
        try:
            pending = self.job.run()
        except Exception as error:
            log.exception("job.failed", job=self.job.name)
            self._error = f"{type(error).__name__}: {error}"
            return
        self._error = ""
        with self._lock:
            self._pending = pending
        if pending:
            pending.add_done_callback(self._ended)

    def status(self) -> JobStatus:
        """How it goes."""
        return JobStatus(self.job.name, self.job.every_s, self._runs, self._last_at, self._error)

    def _ended(self, future: "Future[object]") -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        self._error = f"{type(error).__name__}: {error}"
        log.error("job.failed", job=self.job.name, reason=self._error)


class Scheduler:
    """Runs jobs in the background from `start` to `stop`."""

    def __init__(self, jobs: Sequence[Job], *, clock: Clock | None = None) -> None:
        self._runners = [_Runner(job, clock or SystemClock()) for job in jobs]
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(2)}, job_defaults=_JOB_DEFAULTS, timezone=UTC
        )

    def start(self) -> None:
        """Run each job for the first time after its interval, then at every interval."""
        for runner in self._runners:
            self._scheduler.add_job(runner.run, "interval", seconds=runner.job.every_s, id=runner.job.name)
        self._scheduler.start()

    def stop(self) -> None:
        """Start no more jobs; one that runs is not waited for."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def run_now(self, name: str) -> None:
        """Run one job at once, on the caller's thread.

        Raises:
            KeyError: there is no such job.
        """
        {runner.job.name: runner for runner in self._runners}[name].run()

    def status(self) -> tuple[JobStatus, ...]:
        """How each job goes."""
        return tuple(runner.status() for runner in self._runners)
