"""A daemon that is not there is started, once, and its faults are told."""

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from groove_client.errors import DaemonNotRunning
from groove_client.service import Target, start_daemon
from support.answers import make_answer, make_hit
from support.fake_daemon import Failure, FakeDaemon
from support.fake_grooved import install_failing, install_groovectl, install_serving
from support.groovectl import Groovectl


@pytest.fixture
def own(tmp_path, socket_path):
    """A `groovectl` in a folder of its own, where tests put the daemon that they want it to find."""
    home = tmp_path / "home"
    home.mkdir()
    groovectl = Groovectl(home, socket_path, install_groovectl(tmp_path / "bin"))
    yield groovectl
    groovectl.run("--no-start", "stop")


def _log(groovectl):
    return groovectl.home / ".local/state/groove/default/grooved.log"


def test_search_starts_the_daemon_and_goes_on(own, tmp_path):
    install_serving(tmp_path / "bin")
    first = own.run("search", "x")
    second = own.run("search", "x")

    assert (first.code, first.err) == (0, "groovectl: started the daemon\n")
    assert first.out == second.out != ""
    assert second.err == ""


def test_started_daemon_leaves_folder_and_session_and_logs_to_a_private_file(own, tmp_path):
    install_serving(tmp_path / "bin")
    own.run("start", cwd=tmp_path)

    assert _log(own).read_text() == "serving / True\n"
    assert stat.S_IMODE(_log(own).stat().st_mode) == 0o600


def test_commands_that_start_at_once_share_one_daemon(own, tmp_path):
    install_serving(tmp_path / "bin")
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda _: own.run("search", "x"), range(3)))

    assert [run.code for run in runs] == [0, 0, 0]
    assert _log(own).read_text().count("serving") == 1


def test_start_stop_restart_tell_what_they_did(own, tmp_path):
    install_serving(tmp_path / "bin")
    started = own.run("start")
    again = own.run("start")
    restarted = own.run("restart")
    stopped = own.run("stop")
    nothing = own.run("stop")

    assert started.out.startswith("started, version 0.1.0, pid ")
    assert again.out == started.out.replace("started", "already running")
    assert restarted.out.startswith("started, version 0.1.0, pid ")
    assert restarted.out != started.out
    assert (stopped.out, nothing.out) == ("stopped\n", "no daemon is running\n")
    assert [run.code for run in (started, again, restarted, stopped, nothing)] == [0] * 5


def test_instance_is_handed_to_the_daemon(own, tmp_path):
    install_serving(tmp_path / "bin")
    runtime = tmp_path / "run"
    runtime.mkdir()
    env = {"GROOVE_SOCKET": None, "XDG_RUNTIME_DIR": str(runtime)}
    done = own.run("--instance", "work", "search", "x", **env)
    own.run("--instance", "work", "stop", **env)

    assert "1  work  " in done.out


def test_chosen_socket_is_handed_to_the_daemon(own, tmp_path, socket_path):
    install_serving(tmp_path / "bin")
    done = own.run("--socket", socket_path, "search", "x", GROOVE_SOCKET=None)

    assert done.code == 0


@pytest.mark.parametrize(("code_of_daemon", "code"), [(2, 2), (1, 3)])
def test_daemon_that_ends_at_once_is_quoted(own, tmp_path, code_of_daemon, code):
    install_failing(tmp_path / "bin", code_of_daemon)
    done = own.run("search", "x")

    assert done.code == code
    assert done.err.splitlines() == [
        "groovectl: config.toml: unknown key serach; did you mean search?",
        "groovectl: hint: grooved check-config",
    ]


def test_earlier_faults_in_the_log_are_not_quoted(own, tmp_path):
    install_failing(tmp_path / "bin", 2)
    own.run("search", "x")
    (tmp_path / "bin" / "grooved").write_text("#!/bin/sh\nexit 7\n")
    done = own.run("search", "x")

    assert done.err == "groovectl: grooved ended with exit code 7 and said nothing\n"


def test_long_log_is_put_aside(own, tmp_path):
    install_failing(tmp_path / "bin", 2)
    _log(own).parent.mkdir(parents=True)
    _log(own).write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    own.run("search", "x")

    assert _log(own).stat().st_size < 1000
    assert _log(own).with_name("grooved.log.1").stat().st_size > 4 * 1024 * 1024


def test_client_without_a_daemon_installed_says_so(tmp_path, socket_path, monkeypatch):
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("sys.argv", [str(tmp_path / "groovectl")])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    with pytest.raises(DaemonNotRunning, match="grooved is not installed here; install the package groove"):
        start_daemon(Target((socket_path,), "default", is_chosen_socket=True))


def test_daemon_that_does_not_listen_in_time_is_told(tmp_path, socket_path, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(tmp_path / "groovectl")])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "grooved").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "grooved").chmod(0o755)

    with pytest.raises(DaemonNotRunning, match="was started but does not listen"):
        start_daemon(Target((socket_path,), "default", is_chosen_socket=True), wait_s=0.1)


def test_installed_service_is_started_by_its_manager(own, tmp_path):
    """systemctl is a script here that does what systemd would."""
    install_serving(tmp_path / "bin")
    units = own.home / ".config/systemd/user"
    units.mkdir(parents=True)
    (units / "groove.service").touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n'
        f"case $2 in start) {tmp_path}/bin/grooved run >/dev/null 2>&1 & ;; is-active) exit 3 ;; esac\n"
    )
    (tools / "systemctl").chmod(0o755)
    runtime = tmp_path / "run"
    runtime.mkdir()
    env = {"PATH": f"{tools}:/usr/bin:/bin", "GROOVE_SOCKET": None, "XDG_RUNTIME_DIR": str(runtime)}
    done = own.run("search", "x", **env)
    own.run("stop", **env)

    assert done.code == 0
    assert (tmp_path / "calls").read_text().splitlines()[0] == "--user start groove.service"
    assert not _log(own).exists()


@pytest.mark.parametrize(
    ("complaint", "code", "message"),
    [
        ("Job for groove.service failed.", 3, "systemd cannot start groove.service: Job for groove.service failed."),
        ("Failed to connect to bus: No medium found", 0, "started the daemon"),
    ],
)
def test_manager_that_fails_is_quoted_and_one_that_is_absent_replaced(own, tmp_path, complaint, code, message):
    install_serving(tmp_path / "bin")
    (own.home / ".config/systemd/user").mkdir(parents=True)
    (own.home / ".config/systemd/user/groove.service").touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "systemctl").write_text(f"#!/bin/sh\necho '{complaint}' >&2\nexit 1\n")
    (tools / "systemctl").chmod(0o755)
    runtime = tmp_path / "run"
    runtime.mkdir()
    env = {"PATH": f"{tools}:/usr/bin:/bin", "GROOVE_SOCKET": None, "XDG_RUNTIME_DIR": str(runtime)}
    done = own.run("search", "x", **env)
    own.run("stop", **env)

    assert done.code == code
    assert message in done.err


def test_socket_left_by_a_crash_does_not_keep_the_daemon_from_starting(own, tmp_path, socket_path):
    install_serving(tmp_path / "bin")
    import socket

    with socket.socket(socket.AF_UNIX) as left:
        left.bind(socket_path)
    done = own.run("--no-start", "search", "x")

    assert done.code == 3
    assert f"nobody listens at {socket_path}" in done.err


def test_stop_and_status_work_across_protocols(groovectl, socket_path):
    """The daemon refuses the greeting of another protocol, and still tells its state and stops."""
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    incompatible = Failure(
        506, "request.incompatible: the client speaks protocol 1.0, this daemon 2.0; update the client"
    )
    with FakeDaemon(socket_path, {"hello": incompatible, "status": {"state": "ready", "pid": ended.pid}}) as daemon:
        daemon.answers["shutdown"] = lambda exchange: daemon.stop_listening() or {"pid": ended.pid}
        status = groovectl.run("status")
        search = groovectl.run("search", "x")
        stop = groovectl.run("stop")

    assert (status.code, search.code, stop.code) == (0, 4, 0)
    assert "protocol 1.0" in status.err
    assert stop.out == "stopped\n"


def test_logs_shows_the_last_lines_of_the_file(own):
    _log(own).parent.mkdir(parents=True)
    _log(own).write_text("one\ntwo\nthree\n")

    assert own.run("logs", "-n", "2").out == "two\nthree\n"


def test_logs_without_a_log_says_where_it_would_be(own):
    done = own.run("logs")

    assert done.code == 3
    assert os.fspath(_log(own)) in done.err


def test_version_names_both_sides_and_starts_nothing(groovectl, socket_path):
    alone = groovectl.run("--version")
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        both = groovectl.run("version")

    assert (alone.code, alone.out) == (0, "groovectl 0.1.0, protocol 1.0\nno daemon is running\n")
    assert both.out.startswith("groovectl 0.1.0, protocol 1.0\ngrooved 0.1.0, pid ")
