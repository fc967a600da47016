"""The installer for launchd: a property list that its parser takes, and the calls around it."""

import plistlib
from pathlib import Path
from typing import Any

import pytest

from groove_daemon.errors import ConfigError
from groove_daemon.service.base import Completed, ServiceRequest
from groove_daemon.service.launchd import Launchd, exit_code
from support.tools import Tools, make_host

COMMAND = ("/opt/My <Python> & co/bin/python", "-P", "-m", "groove_daemon", "run", "--instance=default")
GONE = Completed(113, errors="Could not find service")
KNOWN_KEYS: dict[str, type] = {
    "Label": str,
    "ProgramArguments": list,
    "EnvironmentVariables": dict,
    "WorkingDirectory": str,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "ThrottleInterval": int,
    "ExitTimeOut": int,
    "StandardOutPath": str,
    "StandardErrorPath": str,
    "ProcessType": str,
    "Nice": int,
    "Umask": str,
    "SoftResourceLimits": dict,
}
LOADED = """\
dev.groove.grooved = {
	active count = 1
	state = running
	runs = 3
	pid = 4711
	last exit code = 17
}
"""


def launchd(home: Path, tools: Tools) -> Launchd:
    return Launchd(make_host(home, tools, platform="darwin"), pause=lambda _seconds: None)


def plist(home: Path, label: str = "dev.groove.grooved") -> dict[str, Any]:
    with (home / "Library" / "LaunchAgents" / f"{label}.plist").open("rb") as stream:
        loaded: dict[str, Any] = plistlib.load(stream, fmt=plistlib.FMT_XML)
    return loaded


def test_property_list_holds_what_was_asked_for(tmp_path: Path) -> None:
    tools = Tools({"launchctl print": GONE})
    launchd(tmp_path, tools).install(
        ServiceRequest("default", COMMAND, {"XDG_DATA_HOME": "/My <Data>"}, socket="/tmp/s.sock")
    )
    loaded = plist(tmp_path)

    assert loaded["ProgramArguments"] == list(COMMAND)
    assert loaded["EnvironmentVariables"] == {
        "XDG_DATA_HOME": "/My <Data>",
        "GROOVE_SOCKET": "/tmp/s.sock",
        "GROOVE_SUPERVISOR": "launchd",
    }
    assert loaded["KeepAlive"] == {"SuccessfulExit": False}
    assert (loaded["Umask"], loaded["RunAtLoad"]) == ("0077", True)
    assert loaded["StandardErrorPath"] == f"{tmp_path}/Library/Logs/groove/default.log"


@pytest.mark.parametrize("instance", ["default", "work"])
def test_property_list_has_only_known_keys_and_absolute_paths(tmp_path: Path, instance: str) -> None:
    launchd(tmp_path, Tools({"launchctl print": GONE})).install(ServiceRequest(instance, COMMAND))
    (path,) = (tmp_path / "Library" / "LaunchAgents").iterdir()
    loaded = plist(tmp_path, path.stem)

    assert {key: type(value) for key, value in loaded.items()} == KNOWN_KEYS
    assert loaded["Label"] == path.stem
    assert all(loaded[key].startswith("/") for key in ("WorkingDirectory", "StandardOutPath", "StandardErrorPath"))
    assert "~" not in path.read_text()
    assert "$HOME" not in path.read_text()


def test_install_replaces_an_agent_only_when_the_old_one_is_gone(tmp_path: Path) -> None:
    tools = Tools({"launchctl print": [Completed(0, LOADED), Completed(0, LOADED), GONE]})
    report = launchd(tmp_path, tools).install(ServiceRequest("default", COMMAND))
    path = tmp_path / "Library" / "LaunchAgents" / "dev.groove.grooved.plist"

    assert report.is_done
    assert tools.calls == [
        "launchctl bootout gui/1000/dev.groove.grooved",
        *["launchctl print gui/1000/dev.groove.grooved"] * 3,
        "launchctl enable gui/1000/dev.groove.grooved",
        f"launchctl bootstrap gui/1000 {path}",
    ]


def test_install_without_enable_only_writes(tmp_path: Path) -> None:
    tools = Tools()
    report = launchd(tmp_path, tools).install(ServiceRequest("default", COMMAND, enable=False))

    assert report.is_done
    assert tools.calls == []
    assert plist(tmp_path)["Label"] == "dev.groove.grooved"


def test_install_that_fails_says_what_launchd_said(tmp_path: Path) -> None:
    tools = Tools(
        {
            "launchctl print": GONE,
            "launchctl bootstrap": Completed(5, errors="Bootstrap failed: 5: Input/output error\n"),
        }
    )
    report = launchd(tmp_path, tools).install(ServiceRequest("default", COMMAND))

    assert not report.is_done
    assert report.lines[-1] == "it could not be started: Bootstrap failed: 5: Input/output error"


def test_uninstall_removes_the_agent_and_is_no_error_again(tmp_path: Path) -> None:
    tools = Tools({"launchctl print": GONE})
    agent = launchd(tmp_path, tools)
    agent.install(ServiceRequest("default", COMMAND))
    first, second = agent.uninstall("default"), agent.uninstall("default")

    assert (first.is_done, second.is_done) == (True, True)
    assert first.lines[0].startswith("removed ")
    assert second.lines == ("there is no agent dev.groove.grooved of this program",)


def test_agent_that_does_not_go_away_is_told(tmp_path: Path) -> None:
    agent = launchd(tmp_path, Tools({"launchctl print": Completed(0, LOADED)}))
    agent.install(ServiceRequest("default", COMMAND, enable=False))
    report = agent.uninstall("default")

    assert not report.is_done
    assert report.lines[0] == "dev.groove.grooved is still running"


def test_agent_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "Library" / "LaunchAgents" / "dev.groove.grooved.plist"
    path.parent.mkdir(parents=True)
    path.write_text("mine")

    with pytest.raises(ConfigError, match="was not written by this program"):
        launchd(tmp_path, Tools()).install(ServiceRequest("default", COMMAND))
    assert path.read_text() == "mine"


def test_status_reads_what_launchd_prints(tmp_path: Path) -> None:
    state = launchd(tmp_path, Tools({"launchctl print": Completed(0, LOADED)})).status("default")

    assert (state.state, state.pid, state.restarts, state.at_boot) == ("running", 4711, 2, False)


@pytest.mark.parametrize(
    ("output", "code", "state"),
    [
        (LOADED.replace("\tpid = 4711\n", ""), 0, "failed"),
        (LOADED.replace("\tpid = 4711\n", "").replace("code = 17", "code = 0"), 0, "stopped"),
        ("", 113, "not installed"),
        ("", 127, "unknown"),
    ],
)
def test_status_tells_the_states_apart(tmp_path: Path, output: str, code: int, state: str) -> None:
    assert launchd(tmp_path, Tools({"launchctl print": Completed(code, output)})).status("default").state == state


@pytest.mark.parametrize(("code", "ends_with"), [(0, 0), (1, 1), (2, 0), (5, 0), (17, 17)])
def test_mistake_that_only_the_user_can_repair_ends_with_nought_under_launchd(code: int, ends_with: int) -> None:
    assert exit_code(code, environment={"GROOVE_SUPERVISOR": "launchd"}) == ends_with
    assert exit_code(code, environment={}) == code
