"""Groove under launchd: one agent of the user's session.

What always holds: only `launchctl` is spoken to, in the user's graphical session; the property list is the only file
written.  Its behaviour on a real macOS has not been tried; the property list and the calls are tested without one.
"""

import re
import time
from collections.abc import Callable, Mapping
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

LABEL = "dev.groove.grooved"
SUPERVISOR_VARIABLE = "GROOVE_SUPERVISOR"
NO_RESTART_CODES = frozenset({2, 5})
_GONE_WITHIN_S = 20.0
_TEMPLATE = "dev.groove.grooved.plist.in"


def label(instance: str) -> str:
    """Return the label of an instance's agent, which is also the name of its file.

    Raises:
        ConfigError: an instance cannot have this name.
    """
    check_instance(instance)
    return LABEL if instance == DEFAULT_INSTANCE else f"{LABEL}.{instance}"


def exit_code(code: int, *, environment: Mapping[str, str]) -> int:
    """Return the status that the daemon should end with under its supervisor.

    launchd starts an agent again after every status but 0, so what only the user can repair (a wrong configuration,
    another daemon of the same instance) has to end with 0 there; the log has the reason.
    """
    if environment.get(SUPERVISOR_VARIABLE) == "launchd" and code in NO_RESTART_CODES:
        return 0
    return code


@dataclass(frozen=True, slots=True)
class Launchd:
    """The user's launchd on a machine.

    Args:
        pause: waits for some seconds while an old agent goes away.
    """

    host: Host
    pause: Callable[[float], None] = time.sleep

    def install(self, request: ServiceRequest) -> Report:
        """Write the property list and, if asked, load it in place of an old one."""
        path = self._path(request.instance)
        log = self._log(request.instance)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = [f"{'wrote' if files.put(path, self._rendered(request, log)) else 'unchanged'} {path}"]
        if not request.enable:
            lines.append(f"nothing was started; launchctl bootstrap {self._domain()} '{path}' does it")
            return Report(tuple(lines))
        self._remove(request.instance)
        self._launchctl("enable", self._target(request.instance))
        loaded = self._launchctl("bootstrap", self._domain(), str(path))
        if loaded.code:
            return Report((*lines, f"it could not be started: {_said(loaded)}"), is_done=False)
        lines.append(f"started {label(request.instance)}; it starts at login, and its log is {log}")
        return Report(tuple(lines))

    def uninstall(self, instance: str) -> Report:
        """Unload the agent and remove its property list."""
        path = self._path(instance)
        if not files.owned(path):
            return Report((f"there is no agent {label(instance)} of this program",))
        is_gone = self._remove(instance)
        lines = [] if is_gone else [f"{label(instance)} is still running"]
        files.remove(path)
        return Report((*lines, f"removed {path}", "the index and the configuration stay"), is_done=is_gone)

    def status(self, instance: str) -> ServiceState:
        """Ask launchd for the agent."""
        name = label(instance)
        asked = self._launchctl("print", self._target(instance))
        is_installed = self._path(instance).exists()
        if asked.code == 127:
            return ServiceState(name, "unknown", reason=asked.errors)
        if asked.code and not is_installed:
            return ServiceState(name, "not installed", hints=("grooved service install sets it up",))
        if asked.code:
            hint = f"launchctl bootstrap {self._domain()} '{self._path(instance)}' starts it"
            return ServiceState(name, "stopped", at_boot=False, hints=(hint,))
        return self._loaded_state(instance, asked.output)

    def _loaded_state(self, instance: str, output: str) -> ServiceState:
        pid = re.search(r"^\s*pid = (\d+)", output, re.MULTILINE)
        last = re.search(r"^\s*last exit code = (\d+)", output, re.MULTILINE)
        runs = re.search(r"^\s*runs = (\d+)", output, re.MULTILINE)
        is_failed = pid is None and last is not None and last[1] != "0"
        return ServiceState(
            label(instance),
            "running" if pid else "failed" if is_failed else "stopped",
            is_enabled=True,
            at_boot=False,
            pid=int(pid[1]) if pid else None,
            restarts=max(0, int(runs[1]) - 1) if runs else 0,
            reason=f"exit status {last[1]}" if is_failed and last else "",
            hints=() if pid else (f"the log is {self._log(instance)}",),
        )

    def _rendered(self, request: ServiceRequest, log: Path) -> str:
        environment = dict(request.environment) | {SUPERVISOR_VARIABLE: "launchd"}
        if request.socket:
            environment["GROOVE_SOCKET"] = request.socket
        values = {
            "LABEL": label(request.instance),
            "PROGRAM_ARGUMENTS": render.plist_strings(request.command, field="command"),
            "ENVIRONMENT": render.plist_entries(environment, field="environment"),
            "LOG": render.plist_text(str(log), field="log"),
        }
        return render.fill(read_template("launchd", _TEMPLATE), values)

    def _remove(self, instance: str) -> bool:
        """Unload the agent and wait until it is gone, because loading it again before that fails."""
        self._launchctl("bootout", self._target(instance))
        waited = 0.0
        while self._launchctl("print", self._target(instance)).code == 0:
            if waited >= _GONE_WITHIN_S:
                return False
            self.pause(0.25)
            waited += 0.25
        return True

    def _launchctl(self, *arguments: str) -> Completed:
        return self.host.run(["launchctl", *arguments])

    def _domain(self) -> str:
        return f"gui/{self.host.uid}"

    def _target(self, instance: str) -> str:
        return f"{self._domain()}/{label(instance)}"

    def _path(self, instance: str) -> Path:
        return self.host.home / "Library" / "LaunchAgents" / f"{label(instance)}.plist"

    def _log(self, instance: str) -> Path:
        return self.host.home / "Library" / "Logs" / "groove" / f"{instance}.log"


def _said(done: Completed) -> str:
    return " ".join((done.errors or done.output).split()) or f"exit status {done.code}"
