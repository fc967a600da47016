"""Starting and stopping the daemon: through systemd or launchd where its service is installed, else as a process.

What always holds: a started daemon outlives the command, holds none of its files, and writes its messages to a file of
bounded size; every wait ends.  Two commands that start a daemon at once do no harm: the second daemon leaves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

from groove_client.errors import DaemonNotResponding, DaemonNotRunning, StartFailed
from groove_client.transport import Channel, connect, deadline_after
from groove_wire.paths import DEFAULT_INSTANCE, state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

START_WAIT_S = 10.0
STOP_WAIT_S = 30.0
LOG_FILE = "grooved.log"
LOG_BYTES = 4 * 1024 * 1024
_POLL_S = 0.02
# A daemon that listens in the last moment is still given time to take the connection.
_CONNECT_S = 1.0
_TOOL_WAIT_S = 30.0
_LONGEST_LINE = 500
_MOST_LINES = 10
# Exit codes of grooved.
_BAD_CONFIGURATION, _ALREADY_SERVED = 2, 5


@dataclass(frozen=True, slots=True)
class Target:
    """Which daemon: where it listens, its instance, and whether the place was chosen on the command line."""

    socket_paths: tuple[str, ...]
    instance: str
    is_chosen_socket: bool

    @property
    def unit(self) -> str | None:
        """Name of the installed service of this daemon; None when there is none."""
        if self.is_chosen_socket or os.environ.get("GROOVE_SOCKET"):
            return None
        return _installed_unit(self.instance)


def start_daemon(target: Target, *, wait_s: float = START_WAIT_S) -> Channel:
    """Start the daemon and connect to it.

    Raises:
        DaemonNotRunning: there is no program to start, or it does not listen in time.
        StartFailed: it ended at once; the message is its own.
    """
    deadline = time.monotonic() + wait_s
    unit = target.unit
    if unit is not None and _start_unit(unit):
        return _wait_for_socket(target, deadline, log=None)
    log = _Log(os.path.join(state_dir(target.instance), LOG_FILE))
    child = _spawn(target, log)
    return _wait_for_socket(target, deadline, child, log)


def _wait_for_socket(
    target: Target, deadline: float, child: subprocess.Popen[bytes] | None = None, log: _Log | None = None
) -> Channel:
    while True:
        # Looked at before the socket: a daemon that ended after it was asked has not left a socket behind.
        code = None if child is None else child.poll()
        try:
            return connect(target.socket_paths, deadline=deadline + _CONNECT_S)
        except DaemonNotRunning as error:
            if not error.may_start:
                raise
        if code not in (None, 0, _ALREADY_SERVED) and log is not None:
            raise StartFailed(*log.complaint(code), is_configuration=code == _BAD_CONFIGURATION)
        if time.monotonic() >= deadline:
            raise DaemonNotRunning(
                f"the daemon was started but does not listen at {target.socket_paths[0]}; `groovectl logs` tells more"
            )
        time.sleep(_POLL_S)


def _spawn(target: Target, log: _Log) -> subprocess.Popen[bytes]:
    program = find_grooved()
    if program is None:
        raise DaemonNotRunning("no daemon is running, and grooved is not installed here; install the package groove")
    words = [program, "run"]
    if target.instance != DEFAULT_INSTANCE:
        words += ["--instance", target.instance]
    environment = dict(os.environ)
    if target.is_chosen_socket:
        environment["GROOVE_SOCKET"] = target.socket_paths[0]
    with log.opened() as file:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd="/",
            env=environment,
            start_new_session=True,
        )


def find_grooved() -> str | None:
    """Return the daemon's program: beside this one, beside the interpreter, or on the search path."""
    beside = [os.path.dirname(os.path.abspath(place)) for place in (sys.argv[0], sys.executable) if place]
    for folder in beside:
        program = os.path.join(folder, "grooved")
        if os.access(program, os.X_OK) and os.path.isfile(program):
            return program
    return shutil.which("grooved")


class _Log:
    """The file that takes the messages of a daemon that no service manager keeps."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._begin = 0

    def opened(self) -> BinaryIO:
        """Open it for appending; a long one is put aside first.

        Raises:
            StartFailed: it cannot be written.
        """
        try:
            return self._opened()
        except OSError as error:
            said = (error.strerror or "").lower()
            raise StartFailed(
                f"the daemon's log {self.path} cannot be written: {said}; `grooved run` logs to the terminal"
            ) from error

    def _opened(self) -> BinaryIO:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        if os.path.exists(self.path) and os.path.getsize(self.path) > LOG_BYTES:
            os.replace(self.path, self.path + ".1")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._begin = os.fstat(descriptor).st_size
        return os.fdopen(descriptor, "ab")

    def complaint(self, code: int | None) -> list[str]:
        """Return the last lines that the daemon wrote for people; if it wrote none, the last of its log."""
        with open(self.path, "rb") as file:
            file.seek(self._begin)
            text = file.read().decode("utf-8", "replace")
        lines = [line.strip()[:_LONGEST_LINE] for line in text.split("\n") if line.strip()]
        meant = [line.removeprefix("grooved: ") for line in lines if line.startswith("grooved: ")]
        return meant[-_MOST_LINES:] or lines[-1:] or [f"grooved ended with exit code {code} and said nothing"]


def _installed_unit(instance: str) -> str | None:
    if sys.platform == "darwin":
        label = _label(instance)
        plist = os.path.join(os.path.expanduser("~/Library/LaunchAgents"), f"{label}.plist")
        return label if os.path.exists(plist) else None
    unit = unit_name(instance)
    return unit if any(os.path.exists(os.path.join(folder, unit)) for folder in _unit_folders()) else None


def unit_name(instance: str) -> str:
    """Return the name of an instance's systemd service."""
    return "groove.service" if instance == DEFAULT_INSTANCE else f"groove-{instance}.service"


def _label(instance: str) -> str:
    return "dev.groove.grooved" if instance == DEFAULT_INSTANCE else f"dev.groove.grooved.{instance}"


def _unit_folders() -> list[str]:
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    own = [os.path.join(folder, "systemd", "user") for folder in (config, data)]
    return [*own, "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"]


def _start_unit(unit: str) -> bool:
    """Ask the service manager; False when there is none to ask.

    Raises:
        StartFailed: it was asked and could not.
    """
    if sys.platform == "darwin":
        done = _tool("launchctl", "kickstart", f"gui/{os.getuid()}/{unit}")
        return done is not None and done.returncode == 0
    done = _systemctl("start", unit)
    if done is None or _has_no_manager(done):
        return False
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it did not say why"])[0]
        raise StartFailed(f"systemd cannot start {unit}: {said}; see `systemctl --user status {unit}`")
    return True


def stop_unit(unit: str) -> bool:
    """Stop the installed service, and its socket, which would start it again; False when it does not run there."""
    if sys.platform == "darwin":
        done = _tool("launchctl", "kill", "SIGTERM", f"gui/{os.getuid()}/{unit}")
        return done is not None and done.returncode == 0
    active = _systemctl("is-active", "--quiet", unit)
    if active is None or active.returncode:
        return False
    socket_unit = unit.removesuffix(".service") + ".socket"
    done = _systemctl("stop", socket_unit, unit)
    return done is not None and done.returncode == 0


def _has_no_manager(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode != 0 and "connect to bus" in done.stderr


def _systemctl(*words: str) -> subprocess.CompletedProcess[str] | None:
    return _tool("systemctl", "--user", *words)


def _tool(*words: str) -> subprocess.CompletedProcess[str] | None:
    """Run a tool of the system; None when it is not there or does not come back."""
    environment = {**os.environ, "LC_ALL": "C"}
    runtime = f"/run/user/{os.getuid()}"
    if "XDG_RUNTIME_DIR" not in environment and os.path.isdir(runtime):
        environment["XDG_RUNTIME_DIR"] = runtime
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=_TOOL_WAIT_S,
            check=False,
        )
    except (FileNotFoundError, PermissionError, subprocess.TimeoutExpired):
        return None


def wait_until_gone(socket_paths: Sequence[str], pid: int, *, wait_s: float = STOP_WAIT_S) -> None:
    """Wait until nobody listens and the process has ended.

    Raises:
        DaemonNotResponding: it is still there when the time is over.
    """
    deadline = time.monotonic() + wait_s
    while _listens(socket_paths, deadline) or _is_alive(pid):
        if time.monotonic() >= deadline:
            raise DaemonNotResponding(f"the daemon (pid {pid}) has not ended after {wait_s:.0f} s")
        time.sleep(_POLL_S)


def _listens(socket_paths: Sequence[str], deadline: float) -> bool:
    try:
        connect(socket_paths, deadline=deadline_after(max(deadline - time.monotonic(), _POLL_S))).close()
    except DaemonNotRunning:
        return False
    except DaemonNotResponding:
        return True
    return True


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # The number belongs to somebody else's process by now.
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False
