"""The units as systemd's own checker reads them; it needs no manager, only the program."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groove_daemon.service.base import Completed, Host, ServiceRequest, run_tool
from groove_daemon.service.systemd import Systemd

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")


def _installed(home: Path, request: ServiceRequest) -> list[str]:
    """Write the units through the installer, on a machine where only the version is asked for."""

    def run(arguments: object) -> Completed:
        return run_tool(["systemctl", "--version"]) if arguments == ["systemctl", "--version"] else Completed(0)

    Systemd(Host("linux", home, {}, 1000, "user", run, home)).install(request)
    return sorted(str(path) for path in (home / ".config" / "systemd" / "user").iterdir())


def _analyze(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    runtime = home / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    return subprocess.run(["systemd-analyze", *arguments], env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("instance", ["default", "work-notes"])
def test_units_are_accepted_without_a_word(tmp_path: Path, instance: str) -> None:
    folder = tmp_path / 'My Notes 100% $HOME "x"'
    folder.mkdir()
    shutil.copy("/bin/true", folder / "python")
    command = (str(folder / "python"), "-P", "-m", "groove_daemon", "run", f"--config={folder}/config.toml")
    units = _installed(
        tmp_path, ServiceRequest(instance, command, {"XDG_DATA_HOME": str(folder)}, socket=f"{folder}/s.sock")
    )
    done = _analyze(tmp_path, "verify", "--user", *units)

    assert len(units) == 2
    # The exit status alone says nothing: an unknown key is only a line on stderr.
    assert (done.returncode, done.stderr) == (0, "")


def test_exposure_stays_below_what_the_restrictions_reach(tmp_path: Path) -> None:
    """A unit without any has 9.8 of 10; the rest needs rights that a user's manager lacks."""
    units = _installed(tmp_path, ServiceRequest("default", (sys.executable,)))
    done = _analyze(tmp_path, "security", "--offline=true", "--user", "--threshold=61", "--no-pager", units[0])

    assert done.returncode == 0, done.stdout[-300:]
