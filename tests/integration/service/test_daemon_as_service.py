"""The daemon itself as a service: under the restrictions of the unit, in the bare environment of a manager."""

import json
import sys
import time
from pathlib import Path

import pytest

from groove_daemon.service import commands
from support.service import Installation

NOTE = """\
# Birds of the pond

The heron stands in the shallow water every morning and waits for the small fish that come with the light.
The kingfisher prefers the alder on the other bank, from where it dives a dozen times in an hour.
"""
WITHIN_S = 30.0
GROOVECTL = str(Path(sys.executable).with_name("groovectl"))


@pytest.fixture
def service(root_installation: Installation) -> Installation:
    """A daemon that is installed from a configuration and for notes whose paths have blanks."""
    notes = root_installation.state / "My Notes"
    notes.mkdir()
    (notes / "birds.md").write_text(NOTE)
    write_config(root_installation, f'[[collections]]\npath = {json.dumps(str(notes))}\n[models]\nembedder = "none"\n')
    return root_installation


def write_config(installation: Installation, text: str) -> Path:
    file = installation.state / "My Config.toml"
    file.write_text(text)
    return file


def install(installation: Installation) -> tuple[int, list[str]]:
    lines: list[str] = []
    file = installation.state / "My Config.toml"
    code = commands.install("default", lines.append, config=file, host=installation.systemd.host)
    return code, lines


def found(installation: Installation, *prefix: str) -> list[str]:
    """Search until there is a hit; return the paths."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        done = installation.manager.run([*prefix, GROOVECTL, "search", "--json", "kingfisher heron"])
        hits = json.loads(done.output)["results"] if done.output else []
        if hits or time.monotonic() > deadline:
            return [hit["path"] for hit in hits]
        time.sleep(0.05)


def test_service_answers_searches(service: Installation) -> None:
    code, lines = install(service)
    state = service.status()

    assert (code, state.state, state.restarts) == (0, "running", 0), lines
    assert found(service) == ["birds.md"]


def test_client_without_the_sessions_variables_meets_the_same_daemon(service: Installation) -> None:
    install(service)
    pid = service.status().pid

    assert found(service, "env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS") == ["birds.md"]
    assert service.status().pid == pid


def test_stop_is_prompt_and_clean(service: Installation) -> None:
    install(service)
    begun = time.monotonic()
    service.manager.run(["systemctl", "--user", "stop", "groove.socket", "groove.service"])
    took = time.monotonic() - begun
    asked = service.manager.run(["systemctl", "--user", "show", "--property=Result,ExecMainStatus", "groove.service"])

    assert took < 10
    assert asked.output.split() == ["Result=success", "ExecMainStatus=0"]
    assert service.manager.run(["test", "-e", str(service.socket)]).code == 1


def test_killed_daemon_comes_back(service: Installation) -> None:
    service.drop_in("[Service]\nRestartSec=20ms\n")
    install(service)
    pid = service.status().pid
    service.manager.run(["kill", "-KILL", str(pid)])
    state = service.eventually(lambda state: state.state == "running" and state.pid != pid)

    assert state.restarts == 1
    assert found(service) == ["birds.md"]


def test_wrong_configuration_ends_the_service_and_says_why(service: Installation) -> None:
    file = write_config(service, "[search]\nlimti = 5\n")
    service.drop_in("[Service]\nRestartSec=0\n")
    code, lines = install(service)
    state = service.eventually(lambda state: state.state == "failed")

    assert code == 1
    assert (state.reason, state.restarts) == ("exit status 2", 0)
    assert lines[-1].endswith(f"{file}:2: search.limti: there is no such key; did you mean search.limit?")


def test_reload_reads_the_configuration_again(service: Installation) -> None:
    install(service)
    found(service)
    pid = service.status().pid
    write_config(service, "[search]\nlimti = 5\n")
    service.manager.run(["systemctl", "--user", "reload", "groove.service"])
    deadline = time.monotonic() + WITHIN_S
    while "config.not_reloaded" not in service.manager.journal("groove") and time.monotonic() < deadline:
        time.sleep(0.05)

    assert "search.limti: there is no such key" in service.manager.journal("groove")
    assert service.status().pid == pid
