"""A real daemon as a process of its own, with a home of its own, and the command beside it.

What always holds: nothing of the developer's environment is seen; the socket's path is short whatever pytest's folders
are; when the `with` ends, no process is left, neither one that was started here nor one that `groovectl` started.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from groove_client import Client
from groove_client.errors import ClientError
from support.library import wait_until

GROOVED = str(Path(sys.executable).with_name("grooved"))
GROOVECTL = str(Path(sys.executable).with_name("groovectl"))
# A start on a busy machine; a healthy one takes a tenth of a second.
START_WITHIN_S = 20.0
COMMAND_WITHIN_S = 60.0


@dataclass(frozen=True)
class Ended:
    """How a daemon's process ended, and how long after it was asked to."""

    code: int
    seconds: float


class DaemonProcess:
    """One daemon with its own home, notes, configuration, index and socket.

    Args:
        folder: for everything; its name must be short, because the socket lies in it.
        embedder: the model; `hashing` loads nothing and knows no meaning.
        settings: more of the configuration file, put before the collections.
        collections: names of collections, each a folder of that name; `notes` is there at any rate, as a folder.
        cache: a cache to share, so that an exported model is made once; its own when left out.
        env: variables of the daemon and of the command.
        wrap: words in front of every command, such as `unshare -n`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        embedder: str = "hashing",
        settings: str = "",
        collections: Sequence[str] = ("notes",),
        cache: Path | None = None,
        env: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.notes = folder / "notes"
        self.runtime = folder / "run"
        self.config_file = self.home / ".config" / "groove" / "config.toml"
        self.index_file = self.home / ".local" / "share" / "groove" / "default" / "index.db"
        self.socket = str(self.runtime / "groove" / "default.sock")
        self.log_file = folder / "grooved.log"
        self.wrap = list(wrap)
        self.process: subprocess.Popen[bytes] | None = None
        self.env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin")),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.runtime),
            # Leaves no other place: without it, a daemon of the developer's own would be found and used.
            "GROOVE_SOCKET": self.socket,
            **({"XDG_CACHE_HOME": str(cache)} if cache else {}),
            **(env or {}),
        }
        self.notes.mkdir(parents=True, exist_ok=True)
        self.runtime.mkdir(mode=0o700, exist_ok=True)
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        self.configure(_config(folder, embedder, settings, collections))

    @classmethod
    @contextlib.contextmanager
    def temporary(cls, **options: Any) -> "Iterator[Self]":
        """A daemon that is not started yet, in a new folder; both are gone afterwards."""
        folder = Path(tempfile.mkdtemp(prefix="gr-", dir="/tmp"))
        daemon = cls(folder, **options)
        try:
            yield daemon
        finally:
            daemon.end()
            shutil.rmtree(folder, ignore_errors=True)

    # -- its life ----------------------------------------------------------------------------------------------------

    def start(self, *words: str, **env: str | None) -> Self:
        """Start `grooved run` and return when it answers; fails with its log when it does not."""
        process = self.spawn(*words, **env)
        wait_until(
            lambda: process.poll() is not None or self.answers(), within=START_WITHIN_S, what="the daemon serves"
        )
        if process.poll() is not None:
            raise AssertionError(f"grooved ended with {process.returncode}:\n{self.log_text()}")
        return self

    def spawn(self, *words: str, **env: str | None) -> "subprocess.Popen[bytes]":
        """Start `grooved run` and return at once."""
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.wrap, GROOVED, "run", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment(**env),
                cwd=self.folder,
            )
        return self.process

    def answers(self) -> bool:
        """Whether a daemon answers at the socket now."""
        try:
            self.client(timeout_s=5.0).close()
        except ClientError:
            return False
        return True

    def terminate(self, number: int = signal.SIGTERM, *, within: float = 30.0) -> Ended:
        """Send a signal to the daemon started here and wait for its end."""
        assert self.process is not None, "it was not started"
        began = time.monotonic()
        self.process.send_signal(number)
        return self.wait(began, within=within)

    def wait(self, began: float | None = None, *, within: float = 30.0) -> Ended:
        """Wait for the end of the daemon started here; `began` is a monotonic time, now when left out."""
        assert self.process is not None, "it was not started"
        began = time.monotonic() if began is None else began
        code = self.process.wait(within)
        self.process = None
        return Ended(code, time.monotonic() - began)

    def kill9(self) -> None:
        """End it as a crash would: nothing is tidied."""
        self.terminate(signal.SIGKILL)

    def restart(self, **env: str | None) -> Self:
        """Stop it in good order and start it again."""
        ended = self.terminate()
        assert ended.code == 0, self.log_text()
        return self.start(**env)

    def end(self) -> None:
        """Kill whatever still runs with this home: what was started here, and what the command started."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        for pid in _with_home(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not _with_home(self.home), what="every process has ended")

    # -- asking it ---------------------------------------------------------------------------------------------------

    def environment(self, **changes: str | None) -> dict[str, str]:
        """The environment with some variables set, or taken out by None."""
        merged: dict[str, str | None] = {**self.env, **changes}
        return {name: value for name, value in merged.items() if value is not None}

    def ctl(
        self, *words: str, cwd: Path | None = None, wrap: Sequence[str] | None = None, **env: str | None
    ) -> "subprocess.CompletedProcess[str]":
        """Run `groovectl` to its end."""
        return self._run([GROOVECTL, *words], cwd=cwd, wrap=wrap, env=env)

    def grooved(
        self, *words: str, cwd: Path | None = None, wrap: Sequence[str] | None = None, **env: str | None
    ) -> "subprocess.CompletedProcess[str]":
        """Run `grooved` to its end: for starts that must fail, and for `check-config`."""
        return self._run([GROOVED, *words], cwd=cwd, wrap=wrap, env=env)

    def _run(
        self, words: Sequence[str], *, cwd: Path | None, wrap: Sequence[str] | None, env: Mapping[str, str | None]
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*(self.wrap if wrap is None else wrap), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            env=self.environment(**env),
            cwd=cwd or self.folder,
            timeout=COMMAND_WITHIN_S,
            check=False,
        )

    def client(self, *, timeout_s: float = 30.0) -> Client:
        """A new connection."""
        return Client.connect(socket=self.socket, timeout_s=timeout_s, client="e2e")

    def ctl_json(self, *words: str) -> Any:
        """The answer of a command that takes `--json`; it must succeed."""
        done = self.ctl(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def found(self, query: str, **options: Any) -> list[str]:
        """The paths that a search returns, best first."""
        with self.client() as client:
            return [hit.path for hit in client.search(query, **options).results]

    def wait_fresh(self, *, vectors: bool = False, within: float = 30.0) -> None:
        """Wait until every change made so far can be found."""
        with self.client(timeout_s=within + 10) as client:
            answer = client.wait_fresh(vectors=vectors, deadline_ms=int(within * 1000))
        assert answer.fresh, f"{answer}\n{self.log_text()}"

    # -- its files ---------------------------------------------------------------------------------------------------

    def write(self, path: str, text: str) -> Path:
        """Write a note, `path` relative to the notes."""
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def configure(self, text: str) -> None:
        """Replace the configuration file."""
        self.config_file.write_text(text, encoding="utf-8")

    def log_text(self) -> str:
        """Everything that the daemons started here have written."""
        return self.log_file.read_text(encoding="utf-8", errors="replace") if self.log_file.exists() else ""

    def log_lines(self, event: str = "") -> list[dict[str, Any]]:
        """The lines of the log, or those of one event; each line must be JSON."""
        lines = [json.loads(line) for line in self.log_text().splitlines() if line.startswith("{")]
        return [line for line in lines if not event or line["event"] == event]


def _config(folder: Path, embedder: str, settings: str, collections: Sequence[str]) -> str:
    parts = [settings] if "[models]" in settings else [settings, f'[models]\nembedder = "{embedder}"\n']
    parts += [f'[[collections]]\nname = "{name}"\npath = "{folder / name}"\n' for name in collections]
    return "\n".join(part for part in parts if part)


def _with_home(home: Path) -> list[int]:
    """The processes that were given this home; Linux only, elsewhere none is found."""
    mark = f"HOME={home}".encode()
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if mark in _environment(entry).split(b"\0")]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
