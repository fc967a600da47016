"""What every supervisor offers and answers, and the machine it is asked on.

What always holds: nothing here changes anything; an implementation changes only what `install` and `uninstall` name in
their report.
"""

import os
import pwd
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from groove_daemon.errors import ConfigError

DEFAULT_INSTANCE = "default"
TOOL_TIMEOUT_S = 240.0
_INSTANCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_instance(instance: str) -> None:
    """Refuse a name that could not be part of the name of a file.

    Raises:
        ConfigError: anything but 1 to 64 ASCII letters, digits, `_` and `-`.
    """
    if not _INSTANCE.fullmatch(instance):
        raise ConfigError(f"service: instance {instance!a}: a name has 1 to 64 letters, digits, '_' or '-'")


@dataclass(frozen=True, slots=True)
class Completed:
    """How a tool ended: exit status (124 too slow, 127 not there), and what it said."""

    code: int
    output: str = ""
    errors: str = ""


Runner = Callable[[Sequence[str]], Completed]


def run_tool(arguments: Sequence[str]) -> Completed:
    """Run a tool of the platform to its end and return what it said; never raises for a failure of the tool."""
    try:
        done = subprocess.run(
            arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=TOOL_TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        return Completed(127, errors=f"{arguments[0]} is not installed")
    except subprocess.TimeoutExpired:
        return Completed(124, errors=f"{arguments[0]} did not end within {TOOL_TIMEOUT_S:.0f} s")
    return Completed(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Host:
    """The machine and the user: what the commands of a service read and where they write.

    Args:
        run: runs a tool of the platform.
        linger_folder: where systemd's login manager notes users whose services run without a session.
    """

    platform: str
    home: Path
    environment: Mapping[str, str]
    uid: int
    user: str
    run: Runner = run_tool
    linger_folder: Path = Path("/var/lib/systemd/linger")

    @classmethod
    def current(cls) -> "Host":
        """Return the machine and the user of this process."""
        uid = os.getuid()
        return cls(sys.platform, Path.home(), dict(os.environ), uid, pwd.getpwuid(uid).pw_name)


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """What is to be installed.

    Args:
        instance: name of the daemon's instance: ASCII letters, digits, `_`, `-`.
        command: program by absolute path, and its arguments.
        environment: variables that the daemon gets beside those of the supervisor.
        socket: absolute path of the socket; empty for the default place.
        enable: start now and at each login; otherwise the files are only written.
    """

    instance: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    socket: str = ""
    enable: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """What was done, one line each, and whether all of it worked."""

    lines: tuple[str, ...]
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class ServiceState:
    """How a service stands.

    Args:
        name: the supervisor's own name of it.
        state: `running`, `waiting` (starts at the first request), `starting`, `restarting`, `stopped`, `failed`,
            `not installed` or `unknown`.
        is_enabled: whether it starts at login.
        at_boot: whether it starts without a login and stays after logout; None when that cannot be known.
        pid: process id; None when none runs.
        restarts: how often it was restarted since it was last started by somebody.
        text: what the daemon says of itself.
        reason: why it failed or cannot be asked; empty otherwise.
        hints: what can be done, one line each.
    """

    name: str
    state: str
    is_enabled: bool = False
    at_boot: bool | None = None
    pid: int | None = None
    restarts: int = 0
    text: str = ""
    reason: str = ""
    hints: tuple[str, ...] = ()


class Supervisor(Protocol):
    """The platform's way to keep a program running."""

    def install(self, request: ServiceRequest) -> Report:
        """Write the files, and unless told otherwise enable and start the service; again is no error.

        Raises:
            ConfigError: a value that the files cannot hold, or a file of the same name that is somebody else's.
        """
        ...

    def uninstall(self, instance: str) -> Report:
        """Stop and disable the service and remove its files; index and configuration stay.  Again is no error.

        Raises:
            ConfigError: a file of the same name that is somebody else's.
        """
        ...

    def status(self, instance: str) -> ServiceState:
        """Ask the supervisor; changes nothing."""
        ...
