import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future

import pytest

from groove_daemon.scheduling.scheduler import Job, Scheduler
from support.library import wait_until


def test_scheduler_runs_a_job_at_its_interval() -> None:
    runs: list[int] = []
    scheduler = Scheduler([Job("tick", 0.02, lambda: runs.append(1))])
    scheduler.start()
    wait_until(lambda: len(runs) >= 3)
    scheduler.stop()

    assert scheduler.status()[0].runs >= 3
    assert scheduler.status()[0].last_at is not None


def test_scheduler_goes_on_after_a_job_failed() -> None:
    runs: list[int] = []

    def fail() -> None:
        runs.append(1)
        raise RuntimeError("broken")

    scheduler = Scheduler([Job("fail", 0.02, fail)])
    scheduler.start()
    wait_until(lambda: len(runs) >= 2)
    scheduler.stop()

    assert scheduler.status()[0].error == "RuntimeError: broken"


def test_scheduler_starts_no_second_run_while_the_first_is_at_work_elsewhere() -> None:
    pending: list[Future[object]] = []

    def hand_over() -> Future[object]:
        pending.append(Future())
        return pending[-1]

    scheduler = Scheduler([Job("long", 3600, hand_over)])
    scheduler.run_now("long")
    scheduler.run_now("long")

    assert len(pending) == 1

    pending[0].set_exception(RuntimeError("disk"))
    scheduler.run_now("long")

    assert len(pending) == 2


def test_scheduler_keeps_the_error_of_work_that_was_handed_over() -> None:
    future: Future[object] = Future()
    scheduler = Scheduler([Job("long", 3600, lambda: future)])
    scheduler.run_now("long")
    future.set_exception(RuntimeError("disk"))

    assert scheduler.status()[0].error == "RuntimeError: disk"


def test_scheduler_knows_its_jobs() -> None:
    with pytest.raises(KeyError):
        Scheduler([]).run_now("nothing")


def test_scheduler_does_not_wait_for_a_job_when_it_stops() -> None:
    gate = threading.Event()
    entered = threading.Event()

    def hang() -> None:
        entered.set()
        gate.wait()

    scheduler = Scheduler([Job("hang", 0.01, hang)])
    scheduler.start()
    assert entered.wait(5)
    started = time.monotonic()
    scheduler.stop()
    took = time.monotonic() - started
    gate.set()

    assert took < 2


SLEEPER = """
import sys, time
from groove_daemon.scheduling.scheduler import Job, Scheduler
def tick():
    print("tick", flush=True)
scheduler = Scheduler([Job("hourly", 0.8, tick)])
scheduler.start()
print("ready", flush=True)
sys.stdin.read()
"""


def test_scheduler_runs_a_missed_job_once_after_the_process_was_stopped() -> None:
    """Three intervals pass while the process stands still: the job runs once at once, neither never nor three times."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    assert process.stdout.readline() == "tick\n"
    os.kill(process.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    wait_until(lambda: time.monotonic() - stopped > 2.6)
    os.kill(process.pid, signal.SIGCONT)
    woken = time.monotonic()
    first = process.stdout.readline()
    first_after = time.monotonic() - woken
    second = process.stdout.readline()
    second_after = time.monotonic() - woken
    process.stdin.close()
    process.wait(10)

    assert (first, second) == ("tick\n", "tick\n")
    assert first_after < 0.5
    assert second_after - first_after > 0.15
