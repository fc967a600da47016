"""The installer for systemd: what it writes, what it calls, what it says, and what it leaves alone."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groove_daemon.errors import ConfigError
from groove_daemon.service.base import Completed, ServiceRequest
from groove_daemon.service.systemd import Systemd, unit_name
from groove_wire.paths import socket_path
from support.tools import Tools, make_host
from support.units import arguments, assignments, words

COMMAND = ("/opt/My Python/bin/python", "-P", "-m", "groove_daemon", "run", "--instance=default")
VERSION_252 = {"systemctl --version": Completed(0, "systemd 252 (252.38-1~deb12u1)\n+PAM\n")}
VERSION_256 = {"systemctl --version": Completed(0, "systemd 256 (256.4)\n")}
RUNNING = """\
LoadState=loaded
ActiveState=active
SubState=running
Result=success
UnitFileState=enabled
MainPID=4711
NRestarts=2
StatusText=3 collections = fresh
ExecMainStatus=0
NeedDaemonReload=no

LoadState=loaded
ActiveState=active
SubState=running
Result=success
"""


def units(home: Path, name: str = "groove") -> tuple[str, str]:
    folder = home / ".config" / "systemd" / "user"
    return (folder / f"{name}.service").read_text(), (folder / f"{name}.socket").read_text()


def shown(service: Mapping[str, str], socket: Mapping[str, str]) -> Tools:
    """Tools whose `systemctl show` gives these properties."""
    base = {"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead", "Result": "success"}
    blocks = ["\n".join(f"{key}={value}" for key, value in (base | dict(unit)).items()) for unit in (service, socket)]
    return Tools({"systemctl --user --no-pager show": Completed(0, "\n\n".join(blocks) + "\n")})


def test_units_hold_what_was_asked_for(tmp_path: Path) -> None:
    Systemd(make_host(tmp_path, Tools(VERSION_252))).install(
        ServiceRequest("default", COMMAND, {"XDG_DATA_HOME": "/My Data"})
    )
    service, socket = units(tmp_path)

    assert arguments(assignments(service, "ExecStart")[0]) == list(COMMAND)
    assert words(assignments(service, "Environment")[0]) == ["XDG_DATA_HOME=/My Data"]
    assert assignments(service, "WantedBy") == ["default.target"]
    assert assignments(service, "RestartPreventExitStatus") == ["2 5"]
    assert assignments(socket, "WantedBy") == ["sockets.target"]
    assert assignments(socket, "SocketMode") == ["0600"]
    assert "@" not in service.replace("@system-service", "").replace("@privileged", "") + socket


def test_socket_is_where_clients_look_first(tmp_path: Path) -> None:
    Systemd(make_host(tmp_path, Tools())).install(ServiceRequest("work", COMMAND))
    _service, socket = units(tmp_path, "groove-work")
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    expected = socket_path("work", {"XDG_RUNTIME_DIR": str(runtime)}, platform="linux")

    assert assignments(socket, "ListenStream")[0].replace("%t", str(runtime)) == expected


def test_delay_between_restarts_grows_where_systemd_can(tmp_path: Path) -> None:
    for version, keys in (
        (VERSION_252, ["RestartSec"]),
        (VERSION_256, ["RestartSec", "RestartSteps", "RestartMaxDelaySec"]),
    ):
        Systemd(make_host(tmp_path, Tools(version))).install(ServiceRequest("default", COMMAND))
        service, _socket = units(tmp_path)

        assert [
            line.split("=")[0]
            for line in service.split("\n")
            if line.startswith(("RestartSec", "RestartS", "RestartM"))
        ] == keys


def test_install_enables_and_starts_both_units(tmp_path: Path) -> None:
    tools = Tools(VERSION_252)
    report = Systemd(make_host(tmp_path, tools)).install(ServiceRequest("default", COMMAND))
    folder = tmp_path / ".config" / "systemd" / "user"

    assert report.lines == (
        f"wrote {folder}/groove.socket",
        f"wrote {folder}/groove.service",
        "enabled and started groove.socket and groove.service; both start at login",
        "lingering is off: it stops at logout and does not start before login; "
        "`loginctl enable-linger ann` turns it on",
    )
    assert tools.calls == [
        "systemctl --version",
        "systemctl --user --no-pager daemon-reload",
        "systemctl --user --no-pager enable groove.socket groove.service",
        "systemctl --user --no-pager reset-failed groove.socket groove.service",
        "systemctl --user --no-pager restart groove.socket groove.service",
    ]


def test_install_never_turns_lingering_on_but_says_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "linger").mkdir()
    (tmp_path / "linger" / "ann").touch()
    tools = Tools()
    report = Systemd(make_host(tmp_path, tools)).install(ServiceRequest("default", COMMAND))

    assert report.lines[-1] == "lingering is on: it starts at boot and stays after logout"
    assert not [call for call in tools.calls if "loginctl" in call]


def test_install_without_enable_only_writes(tmp_path: Path) -> None:
    tools = Tools(VERSION_252)
    report = Systemd(make_host(tmp_path, tools)).install(ServiceRequest("default", COMMAND, enable=False))

    assert report.is_done
    assert tools.calls[1:] == ["systemctl --user --no-pager daemon-reload"]
    assert (
        "nothing was enabled or started; systemctl --user enable --now groove.socket groove.service" in report.lines[2]
    )


def test_install_again_says_that_nothing_changed(tmp_path: Path) -> None:
    systemd = Systemd(make_host(tmp_path, Tools()))
    systemd.install(ServiceRequest("default", COMMAND))
    report = systemd.install(ServiceRequest("default", COMMAND))

    assert [line.split()[0] for line in report.lines[:2]] == ["unchanged", "unchanged"]


def test_install_writes_where_the_users_configuration_is(tmp_path: Path) -> None:
    host = make_host(tmp_path, Tools(), environment={"XDG_CONFIG_HOME": str(tmp_path / "etc")})
    Systemd(host).install(ServiceRequest("default", COMMAND))

    assert (tmp_path / "etc" / "systemd" / "user" / "groove.service").exists()


def test_install_leaves_a_unit_of_somebody_else_alone(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "systemd" / "user" / "groove.service"
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\nExecStart=/bin/true\n")
    systemd = Systemd(make_host(tmp_path, Tools()))

    with pytest.raises(ConfigError, match=r"groove\.service: was not written by this program"):
        systemd.install(ServiceRequest("default", COMMAND))
    with pytest.raises(ConfigError, match=r"groove\.service: was not written by this program"):
        systemd.uninstall("default")
    assert path.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_install_leaves_a_masked_unit_alone(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "systemd" / "user" / "groove.socket"
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/null")

    with pytest.raises(ConfigError, match="was not written by this program"):
        Systemd(make_host(tmp_path, Tools())).install(ServiceRequest("default", COMMAND))
    assert path.is_symlink()


def test_install_without_a_manager_says_so(tmp_path: Path) -> None:
    tools = Tools({"systemctl --user": Completed(1, errors="Failed to connect to bus: No medium found\n")})
    report = Systemd(make_host(tmp_path, tools)).install(ServiceRequest("default", COMMAND))

    assert not report.is_done
    assert report.lines[2] == (
        "systemd's manager of the user cannot be reached: Failed to connect to bus: No medium found"
    )


def test_install_that_cannot_start_shows_the_last_lines_of_the_log(tmp_path: Path) -> None:
    tools = Tools(
        {
            "systemctl --user --no-pager restart": Completed(1, errors="Job for groove.service failed.\n"),
            "journalctl": Completed(0, "one\ntwo\n"),
        }
    )
    report = Systemd(make_host(tmp_path, tools)).install(ServiceRequest("default", COMMAND))

    assert not report.is_done
    assert report.lines[2:] == (
        "it could not be started: Job for groove.service failed.",
        "journal: one",
        "journal: two",
    )


def test_uninstall_stops_and_removes_both_units(tmp_path: Path) -> None:
    tools = Tools()
    systemd = Systemd(make_host(tmp_path, tools))
    systemd.install(ServiceRequest("default", COMMAND))
    tools.calls.clear()
    report = systemd.uninstall("default")

    assert report.is_done
    assert report.lines[-1] == "the index and the configuration stay"
    assert tools.calls[0] == "systemctl --user --no-pager disable --now groove.socket groove.service"
    assert list((tmp_path / ".config" / "systemd" / "user").iterdir()) == []


def test_status_of_a_running_service(tmp_path: Path) -> None:
    tools = Tools({"systemctl --user --no-pager show": Completed(0, RUNNING)})
    state = Systemd(make_host(tmp_path, tools)).status("default")

    assert (state.name, state.state, state.pid, state.restarts) == ("groove.service", "running", 4711, 2)
    assert (state.text, state.is_enabled, state.at_boot, state.hints) == ("3 collections = fresh", True, False, ())


@pytest.mark.parametrize(
    ("service", "socket", "state"),
    [
        ({"LoadState": "not-found"}, {}, "not installed"),
        ({}, {}, "stopped"),
        ({}, {"ActiveState": "active"}, "waiting"),
        ({"ActiveState": "activating", "SubState": "start"}, {"ActiveState": "active"}, "starting"),
        ({"ActiveState": "activating", "SubState": "auto-restart"}, {"ActiveState": "active"}, "restarting"),
        ({"ActiveState": "failed", "Result": "watchdog"}, {"ActiveState": "active"}, "failed"),
        ({}, {"ActiveState": "failed", "Result": "trigger-limit-hit"}, "failed"),
    ],
)
def test_status_tells_the_states_apart(
    tmp_path: Path, service: dict[str, str], socket: dict[str, str], state: str
) -> None:
    assert Systemd(make_host(tmp_path, shown(service, socket))).status("default").state == state


def test_status_says_how_to_go_on_after_too_many_starts(tmp_path: Path) -> None:
    failed = {"ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "17"}
    tools = shown(failed, {"ActiveState": "failed", "Result": "service-start-limit-hit"})
    state = Systemd(make_host(tmp_path, tools)).status("default")

    assert state.reason == "exit status 17"
    assert state.hints == (
        "journalctl --user -u groove -n 20 shows why",
        "after too many starts: systemctl --user reset-failed groove.socket groove.service",
        "then: systemctl --user start groove.socket groove.service",
    )


def test_status_without_a_manager_is_unknown(tmp_path: Path) -> None:
    tools = Tools({"systemctl": Completed(127, errors="systemctl is not installed")})
    state = Systemd(make_host(tmp_path, tools)).status("default")

    assert (state.state, state.reason) == ("unknown", "systemctl is not installed")


@pytest.mark.parametrize("instance", ["", "a/b", "../x", "a b", "ä", "x" * 65])
def test_instance_that_could_be_no_file_is_refused(instance: str) -> None:
    with pytest.raises(ConfigError, match="service: instance"):
        unit_name(instance)
