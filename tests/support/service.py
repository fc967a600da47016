"""A service in a private manager: the real installer, the program that misbehaves, and questions to both."""

import json
import os
import pwd
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groove_daemon.service.base import Host, Report, ServiceRequest, ServiceState
from groove_daemon.service.systemd import Systemd
from support import notifying
from support.systemd import UserManager

WITHIN_S = 20.0
_CLIENT = """
import socket, sys
channel = socket.socket(socket.AF_UNIX)
channel.settimeout(20)
channel.connect(sys.argv[1])
channel.sendall(sys.argv[2].encode())
print(channel.recv(100).decode())
"""


@dataclass(frozen=True)
class Installation:
    manager: UserManager
    state: Path
    interpreter: str

    @property
    def systemd(self) -> Systemd:
        manager = self.manager
        uid = pwd.getpwnam(manager.user).pw_uid
        return Systemd(Host("linux", manager.home, {}, uid, manager.user, manager.run, Path("/nonexistent")))

    @property
    def units(self) -> Path:
        return self.manager.home / ".config" / "systemd" / "user"

    @property
    def socket(self) -> Path:
        return self.manager.runtime / "groove" / "default.sock"

    def install(self, *arguments: str, enable: bool = True, environment: dict[str, str] | None = None) -> Report:
        program = shutil.copy(notifying.__file__, self.manager.home)
        command = (self.interpreter, program, str(self.state), *arguments)
        request = ServiceRequest("default", command, environment=environment or {}, enable=enable)
        # The installer runs as root in this process, and as the user in life.
        self.units.mkdir(parents=True, exist_ok=True)
        self._give_to_user()
        return self.systemd.install(request)

    def drop_in(self, text: str) -> None:
        """Add settings of the user's own beside the unit."""
        folder = self.units / "groove.service.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "override.conf").write_text(text)
        self._give_to_user()

    def _give_to_user(self) -> None:
        uid = pwd.getpwnam(self.manager.user).pw_uid
        for folder, folders, files in os.walk(self.manager.home):
            for name in (".", *folders, *files):
                os.chown(os.path.join(folder, name), uid, -1, follow_symlinks=False)

    def behave(self, behaviour: str) -> None:
        (self.state / "behaviour").write_text(behaviour)

    def starts(self) -> int:
        path = self.state / "starts"
        return len(path.read_text().split()) if path.exists() else 0

    def given(self) -> dict[str, Any]:
        given: dict[str, Any] = json.loads((self.state / "given.json").read_text())
        return given

    def status(self) -> ServiceState:
        return self.systemd.status("default")

    def ask(self, text: str) -> str:
        """Send a text to the socket and return the answer; empty when there was none."""
        return self.manager.run([self.interpreter, "-c", _CLIENT, str(self.socket), text]).output.strip()

    def eventually(self, holds: Callable[[ServiceState], bool]) -> ServiceState:
        """Return the first state that is as wanted; fails when none is in time."""
        deadline = time.monotonic() + WITHIN_S
        while not holds(state := self.status()):
            assert time.monotonic() < deadline, state
            time.sleep(0.02)
        return state
