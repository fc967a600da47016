"""The command as a process of its own, in an environment that holds nothing of the developer's."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("groovectl"))


@dataclass(frozen=True)
class Finished:
    """How a run ended."""

    code: int
    out: str
    err: str


class Groovectl:
    """Runs `groovectl` with a home of its own and a given socket.

    Args:
        home: folder for everything that the command remembers.
        socket: where the daemon is.
        program: which `groovectl`; the installed one when left out.
    """

    def __init__(self, home: Path, socket: str, program: str = PROGRAM) -> None:
        self.program = program
        self.home = home
        self.socket = socket
        self.env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "GROOVE_SOCKET": socket}

    def environment(self, **changes: str | None) -> dict[str, str]:
        """The environment with some variables set, or taken out by None."""
        merged: dict[str, str | None] = {**self.env, **changes}
        return {name: value for name, value in merged.items() if value is not None}

    def run(self, *words: str | bytes, cwd: Path | None = None, **env: str | None) -> Finished:
        """Run to the end; output as text, whatever bytes it has."""
        done = subprocess.run(
            [self.program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environment(**env),
            cwd=cwd or self.home,
            timeout=60,
            check=False,
        )
        return Finished(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))
