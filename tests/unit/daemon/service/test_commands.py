"""What the commands of a service say, and with which code they end."""

import sys
from pathlib import Path

import pytest

from groove_daemon.errors import ConfigError
from groove_daemon.service import commands
from groove_daemon.service.base import Completed
from support.tools import Tools, make_host
from support.units import arguments, assignments, words

SHOW = "systemctl --user --no-pager show"


def test_daemon_is_started_by_the_interpreter_that_runs_now() -> None:
    command = commands.daemon_command("work", config=Path("My Notes/config.toml"))

    assert command == (
        sys.executable,
        "-P",
        "-m",
        "groove_daemon",
        "run",
        "--instance=work",
        f"--config={Path.cwd()}/My Notes/config.toml",
    )
    assert Path(command[0]).is_absolute()


def test_install_passes_on_what_the_users_shell_sets(tmp_path: Path) -> None:
    lines: list[str] = []
    environment = {
        "XDG_DATA_HOME": "/My Data",
        "XDG_STATE_HOME": "relative",
        "GROOVE_SOCKET": "/run/My s.sock",
        "PATH": "/usr/bin",
    }
    code = commands.install("default", lines.append, host=make_host(tmp_path, Tools(), environment=environment))
    folder = tmp_path / ".config" / "systemd" / "user"
    service, socket = (folder / "groove.service").read_text(), (folder / "groove.socket").read_text()

    assert code == 0
    assert [words(value) for value in assignments(service, "Environment")] == [["XDG_DATA_HOME=/My Data"]]
    assert assignments(socket, "ListenStream") == ["/run/My s.sock"]
    assert arguments(assignments(service, "ExecStart")[0])[0] == sys.executable
    assert lines[2].startswith("enabled and started")


def test_install_takes_the_configuration_that_the_session_names(tmp_path: Path) -> None:
    host = make_host(tmp_path, Tools(), environment={"GROOVE_CONFIG": "/etc/My Groove.toml"})
    commands.install("default", lambda _line: None, host=host)
    service = (tmp_path / ".config" / "systemd" / "user" / "groove.service").read_text()

    assert arguments(assignments(service, "ExecStart")[0])[-1] == "--config=/etc/My Groove.toml"


def test_install_that_failed_ends_with_one(tmp_path: Path) -> None:
    lines: list[str] = []
    tools = Tools({"systemctl --user": Completed(1, errors="no bus")})

    assert commands.install("default", lines.append, host=make_host(tmp_path, tools)) == 1
    assert "systemd's manager of the user cannot be reached: no bus" in lines


def test_uninstall_says_what_it_removed(tmp_path: Path) -> None:
    lines: list[str] = []
    host = make_host(tmp_path, Tools())
    commands.install("default", lambda _line: None, host=host)

    assert commands.uninstall("default", lines.append, host=host) == 0
    assert [line.split()[0] for line in lines] == ["removed", "removed", "the"]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("LoadState=loaded\nActiveState=active\nSubState=running\n\nActiveState=active\n", 0),
        ("LoadState=loaded\nActiveState=inactive\nSubState=dead\n\nActiveState=active\n", 0),
        ("LoadState=loaded\nActiveState=failed\nSubState=failed\n\nActiveState=active\n", 3),
        ("LoadState=not-found\n\nLoadState=not-found\n", 3),
    ],
)
def test_status_ends_with_whether_the_daemon_answers(tmp_path: Path, output: str, code: int) -> None:
    host = make_host(tmp_path, Tools({SHOW: Completed(0, output)}))

    assert commands.status("default", lambda _line: None, host=host) == code


def test_status_of_a_failed_service_says_all_there_is(tmp_path: Path) -> None:
    lines: list[str] = []
    output = "LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=2\nUnitFileState=enabled\n\n"
    commands.status("default", lines.append, host=make_host(tmp_path, Tools({SHOW: Completed(0, output)})))

    assert lines == [
        "groove.service: failed",
        "reason: exit status 2",
        "starts at login: yes",
        "starts at boot and stays after logout: no",
        "hint: the configuration is wrong: grooved check-config says where",
        "hint: journalctl --user -u groove -n 20 shows why",
        "hint: then: systemctl --user start groove.socket groove.service",
    ]


def test_status_that_cannot_be_had_ends_with_one(tmp_path: Path) -> None:
    lines: list[str] = []
    host = make_host(tmp_path, Tools({"systemctl": Completed(127, errors="systemctl is not installed")}))

    assert commands.status("default", lines.append, host=host) == 1
    assert lines == ["groove.service: unknown", "reason: systemctl is not installed"]


def test_platform_without_a_supervisor_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no supervisor for plan9; start `grooved run` yourself"):
        commands.status("default", lambda _line: None, host=make_host(tmp_path, Tools(), platform="plan9"))
