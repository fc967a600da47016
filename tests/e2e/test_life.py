"""How the daemon begins and ends: by the command, by signals, by a crash."""

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.daemon import DaemonProcess
from support.library import wait_until

MANY = 500
STOP_WITHIN_S = 5.0


@pytest.fixture
def busy(daemon: DaemonProcess) -> DaemonProcess:
    """A daemon in the middle of its first index."""
    for number in range(MANY):
        lines = "\n\n".join(f"Line {line} of note {number} tells of mill {number * line}." for line in range(25))
        daemon.write(f"{number % 20}/n{number}.md", f"# Note {number}\n\n{lines}\n")
    daemon.start()
    wait_until(lambda: 0 < _documents(daemon) < MANY, what="indexing has begun")
    return daemon


def _documents(daemon: DaemonProcess) -> int:
    with daemon.client() as client:
        return client.status().index.documents


def assert_is_complete(daemon: DaemonProcess) -> None:
    """Everything is indexed, and the parts of the index agree with each other."""
    daemon.wait_fresh(vectors=True, within=60)
    with daemon.client() as client:
        status = client.status()
    index = status.index
    assert index.documents == MANY
    assert (index.pending_vectors, index.vectors) == (0, index.chunks)
    assert status.problems == ()


# -- by the command ------------------------------------------------------------------------------------------------


def test_the_first_command_starts_the_daemon_and_stop_ends_it(daemon: DaemonProcess) -> None:
    daemon.write("heron.md", "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n")

    found = daemon.ctl("search", "heron")
    again = daemon.ctl("start")
    stopped = daemon.ctl("stop")
    gone = daemon.ctl("stop")

    assert found.returncode == 0, found.stderr
    assert "already running" in again.stdout
    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n")
    assert (gone.returncode, gone.stdout) == (0, "no daemon is running\n")
    assert not daemon.answers()


def test_no_start_leaves_with_3_and_says_what_to_do(daemon: DaemonProcess) -> None:
    done = daemon.ctl("--no-start", "search", "heron")

    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "groovectl start" in done.stderr
    assert not daemon.answers()


def test_restart_gives_a_new_process(daemon: DaemonProcess) -> None:
    first = re.findall(r"pid (\d+)", daemon.ctl("start").stdout)
    second = re.findall(r"pid (\d+)", daemon.ctl("restart").stdout)

    assert (len(first), len(second)) == (1, 1)
    assert first != second


def test_many_first_commands_at_once_give_one_daemon(daemon: DaemonProcess) -> None:
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda _number: daemon.ctl("status"), range(6)))

    assert [one.returncode for one in done] == [0] * 6, [one.stderr for one in done]
    pids = {match.group(1) for one in done if (match := re.search(r"pid (\d+)", one.stdout))}
    assert len(pids) == 1


# -- by signals, also in the middle of work ------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order_while_it_indexes(busy: DaemonProcess, number: int) -> None:
    ended = busy.terminate(number)

    assert ended.code == 0, busy.log_text()
    assert ended.seconds < STOP_WITHIN_S
    assert busy.log_lines()[-1]["event"] == "daemon.stopped"
    busy.start()
    assert_is_complete(busy)


def test_a_clients_shutdown_ends_it_while_it_indexes(busy: DaemonProcess) -> None:
    began = time.monotonic()
    with busy.client() as client:
        client.shutdown()
    ended = busy.wait(began)

    assert ended.code == 0
    assert ended.seconds < STOP_WITHIN_S
    assert not busy.answers()


def test_a_signal_right_after_the_start_ends_it(daemon: DaemonProcess) -> None:
    daemon.spawn()
    wait_until(Path(daemon.socket).exists, what="it listens")

    ended = daemon.terminate()

    assert ended.code == 0, daemon.log_text()
    assert ended.seconds < STOP_WITHIN_S


def test_a_crash_while_it_indexes_leaves_nothing_half_done(busy: DaemonProcess) -> None:
    busy.kill9()

    busy.start()

    assert_is_complete(busy)


def test_hangup_reads_the_configuration_again(daemon: DaemonProcess) -> None:
    (daemon.folder / "more").mkdir()
    (daemon.folder / "more" / "wren.md").write_text("# Wren\n\nThe wren sings in the hedge behind the old house.\n")
    daemon.start()
    daemon.wait_fresh()
    text = daemon.config_file.read_text()
    daemon.configure(f'{text}\n[[collections]]\npath = "{daemon.folder / "more"}"\n')
    assert daemon.process is not None

    daemon.process.send_signal(signal.SIGHUP)

    wait_until(lambda: daemon.found("wren") == ["wren.md"], what="the new collection is searched")


def test_hangup_with_a_mistake_changes_nothing_and_is_logged(daemon: DaemonProcess) -> None:
    daemon.write("wren.md", "# Wren\n\nThe wren sings in the hedge behind the old house.\n")
    daemon.start()
    daemon.wait_fresh()
    daemon.configure("[serach]\nlimit = 3\n")
    assert daemon.process is not None

    daemon.process.send_signal(signal.SIGHUP)

    wait_until(lambda: daemon.log_lines("config.not_reloaded"), what="the mistake is logged")
    assert "serach" in daemon.log_lines("config.not_reloaded")[0]["reason"]
    assert daemon.found("wren") == ["wren.md"]


def test_a_client_that_comes_during_the_start_is_answered(daemon: DaemonProcess) -> None:
    daemon.write("wren.md", "# Wren\n\nThe wren sings in the hedge behind the old house.\n")
    daemon.start()

    with daemon.client() as client:
        fresh = client.wait_fresh(deadline_ms=20_000)
        failures = client.failures()
        rescan = client.reindex()

    assert fresh.fresh
    assert failures.total == 0
    assert rescan.unchanged + rescan.indexed == 1
