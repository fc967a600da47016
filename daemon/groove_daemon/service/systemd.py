"""Groove under systemd's manager of the user: a service, and the socket that starts it.

What always holds: only `systemctl --user` is spoken to; the two unit files are the only files written; changes of the
user's own in drop-ins are not touched.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from groove_daemon.service import files, render
from groove_daemon.service.base import (
    DEFAULT_INSTANCE,
    Completed,
    Host,
    Report,
    ServiceRequest,
    ServiceState,
    check_instance,
)
from groove_daemon.service.templates import read_template

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "UnitFileState",
    "MainPID",
    "NRestarts",
    "StatusText",
    "ExecMainStatus",
    "NeedDaemonReload",
)
_STATES = {
    "active": "running",
    "reloading": "running",
    "activating": "starting",
    "deactivating": "stopped",
    "inactive": "stopped",
    "failed": "failed",
}
_LIMIT_RESULTS = ("start-limit-hit", "service-start-limit-hit", "trigger-limit-hit")


def unit_name(instance: str) -> str:
    """Return the name of the units without their suffix: `groove`, or `groove-NAME`.

    Raises:
        ConfigError: an instance cannot have this name.
    """
    check_instance(instance)
    return "groove" if instance == DEFAULT_INSTANCE else f"groove-{instance}"


@dataclass(frozen=True, slots=True)
class Systemd:
    """The user's systemd on a machine."""

    host: Host

    def install(self, request: ServiceRequest) -> Report:
        """Write both units and, if asked, enable and start them."""
        unit = unit_name(request.instance)
        units = (f"{unit}.socket", f"{unit}.service")
        lines = [
            f"{'wrote' if files.put(path, text) else 'unchanged'} {path}"
            for path, text in self._rendered(request).items()
        ]
        reload = self._systemctl("daemon-reload")
        if reload.code:
            text = f"systemd's manager of the user cannot be reached: {_said(reload)}"
            return Report((*lines, text, "the files are in place; log in anew, then install again"), is_done=False)
        if not request.enable:
            lines.append(f"nothing was enabled or started; systemctl --user enable --now {' '.join(units)} does it")
            return Report((*lines, self._lingering()))
        started = self._start(units)
        if started.code:
            return Report((*lines, f"it could not be started: {_said(started)}", *self._journal(unit)), is_done=False)
        lines.append(f"enabled and started {' and '.join(units)}; both start at login")
        return Report((*lines, self._lingering()))

    def uninstall(self, instance: str) -> Report:
        """Stop and disable both units, then remove their files."""
        unit = unit_name(instance)
        paths = [self._folder() / f"{unit}.{kind}" for kind in ("socket", "service")]
        if not [path for path in paths if files.owned(path)]:
            return Report((f"there is no service {unit}.service of this program",))
        lines = []
        stopped = self._systemctl("disable", "--now", f"{unit}.socket", f"{unit}.service")
        if stopped.code:
            lines.append(f"it could not be stopped: {_said(stopped)}")
        lines += [f"removed {path}" for path in paths if files.remove(path)]
        self._systemctl("daemon-reload")
        self._systemctl("reset-failed", f"{unit}.socket", f"{unit}.service")
        left = [f"left your own changes in {path}.d" for path in paths if Path(f"{path}.d").exists()]
        return Report((*lines, *left, "the index and the configuration stay"), is_done=stopped.code == 0)

    def status(self, instance: str) -> ServiceState:
        """Ask for the properties of both units."""
        unit = unit_name(instance)
        asked = self._systemctl("show", f"--property={','.join(_PROPERTIES)}", f"{unit}.service", f"{unit}.socket")
        if asked.code:
            return ServiceState(f"{unit}.service", "unknown", reason=_said(asked))
        service, socket = _parse_properties(asked.output)
        if service.get("LoadState") == "not-found":
            return ServiceState(f"{unit}.service", "not installed", hints=("grooved service install sets it up",))
        state = _state(service, socket)
        return ServiceState(
            f"{unit}.service",
            state,
            is_enabled=service.get("UnitFileState") == "enabled",
            at_boot=self._lingers(),
            pid=int(service.get("MainPID", "0")) or None,
            restarts=int(service.get("NRestarts", "0")),
            # The manager keeps the last text of a daemon that is gone.
            text=service.get("StatusText", "") if state == "running" else "",
            reason=_reason(service, socket) if state == "failed" else "",
            hints=tuple(_hints(unit, state, service, socket)),
        )

    def _rendered(self, request: ServiceRequest) -> dict[Path, str]:
        unit = unit_name(request.instance)
        socket = request.socket
        values = {
            "UNIT": unit,
            "INSTANCE": request.instance,
            "EXEC_START": render.unit_command(request.command, field="command"),
            "ENVIRONMENT": render.unit_environment(request.environment),
            # %t is the folder that clients look in first: $XDG_RUNTIME_DIR of the user's manager.
            "SOCKET": render.unit_path(socket, field="socket") if socket else f"%t/groove/{request.instance}.sock",
        }
        version = self._version()
        return {
            self._folder() / f"{unit}.{kind}": render.fill(
                render.for_version(read_template("systemd", f"groove.{kind}.in"), version), values
            )
            for kind in ("socket", "service")
        }

    def _folder(self) -> Path:
        chosen = self.host.environment.get("XDG_CONFIG_HOME", "")
        base = Path(chosen) if os.path.isabs(chosen) else self.host.home / ".config"
        return base / "systemd" / "user"

    def _version(self) -> int:
        found = re.match(r"systemd (\d+)", self.host.run(["systemctl", "--version"]).output)
        return int(found[1]) if found else 0

    def _start(self, units: Sequence[str]) -> Completed:
        enabled = self._systemctl("enable", *units)
        if enabled.code:
            return enabled
        # Fails for units that never ran, which is no reason not to start them.
        self._systemctl("reset-failed", *units)
        # Not `start`: a daemon that runs already shall run with what was just written.
        return self._systemctl("restart", *units)

    def _systemctl(self, *arguments: str) -> Completed:
        return self.host.run(["systemctl", "--user", "--no-pager", *arguments])

    def _journal(self, unit: str) -> list[str]:
        # By name and user, not by --user -u: that finds nothing where a user's records are kept with the system's.
        match = ("-t", unit, f"_UID={self.host.uid}")
        read = self.host.run(["journalctl", "--no-pager", "-q", "-o", "cat", "-n", "3", *match])
        return [f"journal: {line}" for line in read.output.splitlines()]

    def _lingers(self) -> bool:
        return (self.host.linger_folder / self.host.user).exists()

    def _lingering(self) -> str:
        if self._lingers():
            return "lingering is on: it starts at boot and stays after logout"
        return (
            "lingering is off: it stops at logout and does not start before login; "
            f"`loginctl enable-linger {self.host.user}` turns it on"
        )


def _said(done: Completed) -> str:
    return " ".join((done.errors or done.output).split()) or f"exit status {done.code}"


def _parse_properties(output: str) -> tuple[dict[str, str], dict[str, str]]:
    blocks = [dict(line.split("=", 1) for line in block.split("\n") if "=" in line) for block in output.split("\n\n")]
    return blocks[0], blocks[1] if len(blocks) > 1 else {}


def _state(service: dict[str, str], socket: dict[str, str]) -> str:
    if service.get("SubState") == "auto-restart":
        return "restarting"
    state = _STATES.get(service.get("ActiveState", ""), "unknown")
    if state == "stopped" and socket.get("ActiveState") == "active":
        return "waiting"
    return "failed" if state == "stopped" and socket.get("ActiveState") == "failed" else state


def _reason(service: dict[str, str], socket: dict[str, str]) -> str:
    if service.get("Result") == "exit-code":
        return f"exit status {service.get('ExecMainStatus')}"
    results = [unit.get("Result", "") for unit in (service, socket)]
    return next((result for result in results if result not in ("", "success")), "")


def _hints(unit: str, state: str, service: dict[str, str], socket: dict[str, str]) -> list[str]:
    hints = []
    if service.get("NeedDaemonReload") == "yes":
        hints.append("the unit changed on disk: systemctl --user daemon-reload")
    if state != "failed":
        return hints
    if service.get("ExecMainStatus") == "2":
        hints.append("the configuration is wrong: grooved check-config says where")
    hints.append(f"journalctl --user -u {unit} -n 20 shows why")
    if {service.get("Result"), socket.get("Result")} & set(_LIMIT_RESULTS):
        hints.append(f"after too many starts: systemctl --user reset-failed {unit}.socket {unit}.service")
    hints.append(f"then: systemctl --user start {unit}.socket {unit}.service")
    return hints
