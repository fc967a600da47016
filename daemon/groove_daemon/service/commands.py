"""What `grooved service install|uninstall|status` do: choose the supervisor, ask it, say what it did.

What always holds: results go to the writer that is passed, one line each; the exit code is 0 done, 1 not done, 2 wrong
request, 3 no daemon runs (`status`).
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from groove_daemon.errors import ConfigError
from groove_daemon.service.base import Host, ServiceRequest, ServiceState, Supervisor
from groove_daemon.service.launchd import Launchd
from groove_daemon.service.systemd import Systemd

SUPERVISORS: Mapping[str, Callable[[Host], Supervisor]] = {"linux": Systemd, "darwin": Launchd}
# A session may have these from a shell's profile, which a supervisor does not read: then the daemon would look for its
# configuration and its index elsewhere than the commands do.
KEPT_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")

Write = Callable[[str], None]


def install(
    instance: str, write: Write, *, enable: bool = True, config: Path | None = None, host: Host | None = None
) -> int:
    """Install the service of an instance and say what was done.

    Args:
        instance: its name.
        write: takes one line.
        enable: start it now and at each login.
        config: the configuration file, if it is not at its usual place; `GROOVE_CONFIG` of the session when None.
        host: the machine; this one when None.

    Raises:
        ConfigError: a value that the files cannot hold, a file of somebody else, or no supervisor for this platform.
    """
    host = host or Host.current()
    chosen = config or (Path(host.environment["GROOVE_CONFIG"]) if host.environment.get("GROOVE_CONFIG") else None)
    request = ServiceRequest(
        instance=instance,
        command=daemon_command(instance, config=chosen),
        environment={name: host.environment[name] for name in KEPT_VARIABLES if _is_set(host, name)},
        socket=host.environment["GROOVE_SOCKET"] if _is_set(host, "GROOVE_SOCKET") else "",
        enable=enable,
    )
    report = _supervisor(host).install(request)
    for line in report.lines:
        write(line)
    return 0 if report.is_done else 1


def uninstall(instance: str, write: Write, *, host: Host | None = None) -> int:
    """Remove the service of an instance and say what was done.

    Raises:
        ConfigError: a file of somebody else, or no supervisor for this platform.
    """
    report = _supervisor(host or Host.current()).uninstall(instance)
    for line in report.lines:
        write(line)
    return 0 if report.is_done else 1


def status(instance: str, write: Write, *, host: Host | None = None) -> int:
    """Say how the service of an instance stands.

    Raises:
        ConfigError: no supervisor for this platform.
    """
    state = _supervisor(host or Host.current()).status(instance)
    for line in _lines(state):
        write(line)
    if state.state == "unknown":
        return 1
    return 0 if state.state in ("running", "waiting") else 3


def daemon_command(instance: str, *, config: Path | None = None) -> tuple[str, ...]:
    """Return how this installation's daemon is started, with nothing that is looked up by PATH.

    The interpreter is the one that runs now, by the path that belongs to its environment; `-P` keeps the working
    directory out of the places that it imports from.
    """
    command = (sys.executable, "-P", "-m", "groove_daemon", "run", f"--instance={instance}")
    return command if config is None else (*command, f"--config={os.path.abspath(os.path.expanduser(config))}")


def _is_set(host: Host, name: str) -> bool:
    return os.path.isabs(host.environment.get(name, ""))


def _supervisor(host: Host) -> Supervisor:
    try:
        return SUPERVISORS[host.platform](host)
    except KeyError:
        raise ConfigError(
            f"service: there is no supervisor for {host.platform}", hint="start `grooved run` yourself"
        ) from None


def _lines(state: ServiceState) -> list[str]:
    lines = [f"{state.name}: {state.state}"]
    if state.pid is not None:
        lines.append(f"process {state.pid}, restarted {state.restarts} times")
    if state.text:
        lines.append(f"says: {state.text}")
    if state.reason:
        lines.append(f"reason: {state.reason}")
    if state.state not in ("not installed", "unknown"):
        lines.append(f"starts at login: {'yes' if state.is_enabled else 'no'}")
        if state.at_boot is not None:
            lines.append(f"starts at boot and stays after logout: {'yes' if state.at_boot else 'no'}")
    return lines + [f"hint: {hint}" for hint in state.hints]
