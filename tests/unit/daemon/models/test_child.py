import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.child import ChildGone, ChildProcess

PROGRAM = """
import os, sys, threading, time
from groove_daemon.models.frames import read_frame, write_frame
count = 0
while True:
    try:
        request, _ = read_frame(sys.stdin.buffer)
    except EOFError:
        break
    count += 1
    if request["op"] == "raise":
        print("some words before", file=sys.stderr)
        raise ValueError("broken on purpose\\nand at length")
    if request["op"] == "die":
        os.kill(os.getpid(), 9)
    if request["op"] == "hang":
        open(request["file"], "w").close()
        threading.Event().wait()
    if request["op"] == "environment":
        write_frame(sys.stdout.buffer, dict(os.environ))
    write_frame(sys.stdout.buffer, {"count": count, "pid": os.getpid()}, b"bytes")
"""


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    process = ChildProcess((sys.executable, "-P", "-c", PROGRAM), name="stand-in", threads=3)
    yield process
    process.stop()


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_child_answers_with_header_and_payload(child: ChildProcess) -> None:
    header, payload = child.request({"op": "count"}, timeout_s=20)

    assert (header["count"], payload) == (1, b"bytes")


def test_child_stays_between_requests(child: ChildProcess) -> None:
    first, _ = child.request({"op": "count"}, timeout_s=20)
    second, _ = child.request({"op": "count"}, timeout_s=20)

    assert second == {"count": 2, "pid": first["pid"]}
    assert child.process_id == first["pid"]


def test_requests_of_many_threads_take_turns(child: ChildProcess) -> None:
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(child.request({"op": "count"}, timeout_s=20)[0]["count"]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(counts) == list(range(1, 9))


def test_exception_of_the_child_is_told_with_its_last_line(child: ChildProcess) -> None:
    with pytest.raises(ChildGone, match="broken on purpose") as caught:
        child.request({"op": "raise"}, timeout_s=20)

    assert caught.value.raised
    assert caught.value.last_words == "ValueError: broken on purpose"


def test_killed_child_is_no_exception_of_its_own(child: ChildProcess) -> None:
    with pytest.raises(ChildGone, match="status -9") as caught:
        child.request({"op": "die"}, timeout_s=20)

    assert not caught.value.raised
    assert child.process_id is None


def test_next_request_starts_another_child(child: ChildProcess) -> None:
    first, _ = child.request({"op": "count"}, timeout_s=20)
    with pytest.raises(ChildGone):
        child.request({"op": "die"}, timeout_s=20)

    again, _ = child.request({"op": "count"}, timeout_s=20)

    assert again["count"] == 1
    assert again["pid"] != first["pid"]


def test_child_that_takes_too_long_is_ended(child: ChildProcess, tmp_path: Path) -> None:
    with pytest.raises(ChildGone, match="took too long"):
        child.request({"op": "hang", "file": str(tmp_path / "reached")}, timeout_s=0.05)

    assert child.process_id is None


def test_stop_ends_a_request_under_way(child: ChildProcess, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    failures: list[ChildGone] = []

    def hang() -> None:
        try:
            child.request({"op": "hang", "file": str(reached)}, timeout_s=60)
        except ChildGone as gone:
            failures.append(gone)

    thread = threading.Thread(target=hang)
    thread.start()
    deadline = time.monotonic() + 20
    while not reached.exists():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    child.stop()
    thread.join(10)

    assert len(failures) == 1
    assert child.process_id is None


def test_stop_ends_an_idle_child_and_may_be_repeated(child: ChildProcess) -> None:
    pid = child.request({"op": "count"}, timeout_s=20)[0]["pid"]

    child.stop()
    child.stop()

    wait_until_gone(pid)
    assert child.process_id is None


def test_child_never_uses_the_network_and_few_threads(child: ChildProcess) -> None:
    environment, _ = child.request({"op": "environment"}, timeout_s=20)

    assert environment["HF_HUB_OFFLINE"] == environment["TRANSFORMERS_OFFLINE"] == "1"
    assert environment["OMP_NUM_THREADS"] == "3"


def test_command_that_does_not_exist_is_a_model_error() -> None:
    with pytest.raises(ModelUnavailable, match="cannot be started"):
        ChildProcess(("/nowhere/python",), name="stand-in", threads=1).request({}, timeout_s=5)
