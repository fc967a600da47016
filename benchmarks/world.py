"""Where measurements happen: folders of notes, a built index that is kept, and daemons of their own.

Nothing of the user's is touched: every daemon gets its own configuration, data, state and socket in a temporary folder.
What is costly to make lies in `benchmarks/results` and is made anew when what it was made from has changed.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import corpus
from groove_client.client import Client
from groove_client.errors import ClientError

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SHARED = ROOT.parent / "shared" / "data"
BIN = Path(sys.executable).parent

SECTIONS = 10_000
_DECIDES_THE_INDEX = ("chunking", "domain", "formats", "models", "store")
_LONGEST_START_S, _LONGEST_INDEX_S = 180.0, 3600.0


class World:
    """The surroundings of one run.

    Args:
        keep_index: use the kept index although code that may change it has changed.
    """

    def __init__(self, *, keep_index: bool = False) -> None:
        self.cache = RESULTS / "cache"
        self.keep_index = keep_index
        # Taken before anything is built, so that code that changes meanwhile makes the index stale.
        self._index_key = _index_key()
        self._sections: Sequence[corpus.Section] | None = None

    @property
    def sections(self) -> Sequence[corpus.Section]:
        """All texts of the corpus."""
        if self._sections is None:
            self._sections = corpus.remembered_sections(RESULTS)
        return self._sections

    @property
    def notes(self) -> Path:
        """The folder of notes with `SECTIONS` sections; not to be changed by a measurement."""
        folder = RESULTS / f"notes-{SECTIONS}-{corpus.corpus_key()}"
        if not folder.exists():
            for stale in RESULTS.glob(f"notes-{SECTIONS}-*"):
                shutil.rmtree(stale)
            unfinished = folder.with_name("unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            corpus.write_notes(unfinished, self.sections[:SECTIONS])
            unfinished.rename(folder)
        return folder

    def more_notes(self, folder: Path, count: int, *, part: int) -> Path:
        """Another folder of notes, with texts that no other part has."""
        start = SECTIONS + part * count
        texts = self.sections[start : start + count]
        if len(texts) < count:
            raise SystemExit("the installed packages do not hold enough text")
        corpus.write_notes(folder, texts, name=f"Extra {part}")
        return folder

    def questions(self, count: int, *, seed: int = 7) -> list[str]:
        """Different queries about the notes."""
        return corpus.questions(self.sections[:SECTIONS], count, seed=seed)

    # -- the kept index ----------------------------------------------------------------------------------------------

    @property
    def kept_index(self) -> Path:
        """Where the index of `notes` is kept, if it is there."""
        if self.keep_index:
            found = sorted(RESULTS.glob("index-*.db"))
            if found:
                return found[-1]
        return RESULTS / f"index-{self._index_key}.db"

    def keep(self, index: Path) -> None:
        """Keep this closed index of `notes`."""
        for stale in RESULTS.glob("index-*.db"):
            stale.unlink()
        shutil.copy(index, RESULTS / f"index-{self._index_key}.db")

    def index(self) -> Path:
        """The kept index of `notes`, made now if it is missing or stale."""
        if not self.kept_index.exists():
            say("building the index of 10,000 chunks ...")
            with tempfile_folder() as home, Daemon(home, {"notes": self.notes}, cache=self.cache) as daemon:
                daemon.start()
                daemon.wait_indexed()
                daemon.until(lambda: "job.full_text_merged" in daemon.log.read_text(errors="replace"), 120.0)
                daemon.stop()
                self.keep(daemon.index)
        return self.kept_index

    @contextmanager
    def daemon(self, *, notes: Path | None = None, settings: str = "", with_index: bool = True) -> Iterator["Daemon"]:
        """A daemon that is not started yet, with a copy of the kept index."""
        with tempfile_folder() as home:
            daemon = Daemon(home, {"notes": notes or self.notes}, cache=self.cache, settings=settings)
            with daemon:
                if with_index:
                    daemon.index.parent.mkdir(parents=True)
                    shutil.copy(self.index(), daemon.index)
                yield daemon


def _index_key() -> str:
    """Changes whenever an index of the same notes may look different."""
    digest = hashlib.sha256(corpus.corpus_key().encode())
    package = ROOT / "daemon" / "groove_daemon"
    for folder in _DECIDES_THE_INDEX:
        for file in sorted((package / folder).rglob("*")):
            if file.suffix in (".py", ".sql"):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def tempfile_folder() -> Iterator[Path]:
    """A folder of our own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="groove-bench-") as name:
        yield Path(name)


def say(line: str) -> None:
    """Tell how far it is, on stderr, so that the table can be redirected."""
    print(line, file=sys.stderr, flush=True)


class Daemon:
    """One `grooved run` in surroundings of its own.

    Args:
        home: an empty folder for everything that it writes.
        collections: its folders by name.
        cache: where exported models are kept, shared by all daemons of the benchmarks.
        settings: more lines of configuration.
    """

    def __init__(self, home: Path, collections: Mapping[str, Path], *, cache: Path, settings: str = "") -> None:
        self.home = home
        self.cache = cache
        self.log = home / "log"
        self.index = home / "data" / "groove" / "default" / "index.db"
        self.socket = home / "run" / "groove.sock"
        self.socket.parent.mkdir(mode=0o700)
        config = home / "config" / "groove" / "config.toml"
        config.parent.mkdir(parents=True)
        tables = [f'[[collections]]\nname = "{name}"\npath = "{path}"\n' for name, path in collections.items()]
        config.write_text("\n".join([*tables, settings]), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def env(self) -> dict[str, str]:
        """The environment in which clients find it."""
        folders = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GROOVE_", "XDG_", "PYTHON"))}
        return {**kept, **folders, "XDG_CACHE_HOME": str(self.cache), "GROOVE_SOCKET": str(self.socket)}

    @property
    def pid(self) -> int:
        """Its process."""
        if self._process is None:
            raise RuntimeError("the daemon was not started")
        return self._process.pid

    def spawn(self) -> float:
        """Start the process and return the moment before, in seconds of `time.perf_counter`."""
        with self.log.open("ab") as log:
            began = time.perf_counter()
            self._process = subprocess.Popen(
                [str(BIN / "grooved"), "run"], env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        return began

    def start(self) -> None:
        """Start it and wait until the model is ready and the folders are compared with the index."""
        self.spawn()
        with self.client(_LONGEST_START_S) as client:
            self.until(lambda: _is_ready(client), _LONGEST_START_S)

    def client(self, within_s: float = 10.0) -> Client:
        """A connection, as soon as the daemon takes one."""
        deadline = time.monotonic() + within_s
        while True:
            try:
                return Client.connect(socket=str(self.socket), timeout_s=60)
            except ClientError:
                if time.monotonic() > deadline or self.has_ended:
                    raise
                time.sleep(0.002)

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process is None or self._process.poll() is not None

    def until(self, is_so: Callable[[], bool], within_s: float) -> None:
        """Poll until it is so."""
        deadline = time.monotonic() + within_s
        try:
            while not is_so():
                if time.monotonic() > deadline:
                    raise SystemExit(f"the daemon did not get so far in {within_s:.0f} s; {self._end_of_log()}")
                time.sleep(0.05)
        except ClientError as error:
            code = None if self._process is None else self._process.poll()
            raise SystemExit(f"{error} (exit code {code}); {self._end_of_log()}") from error

    def _end_of_log(self) -> str:
        return f"its log ends with:\n{self.log.read_text(errors='replace')[-3000:]}"

    def wait_indexed(self) -> None:
        """Wait until every passage has its vector."""
        with self.client() as client:
            self.until(lambda: is_indexed(client), _LONGEST_INDEX_S)

    def memory(self) -> dict[str, int]:
        """Resident memory now and at its highest, in bytes, and the part of it that is no file."""
        fields: dict[str, int] = {}
        for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM", "RssAnon", "RssFile"):
                fields[name] = int(value.split()[0]) * 1024
        return fields

    def stop(self) -> None:
        """Stop it in good order."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_ready(client: Client) -> bool:
    status = client.status()
    (embedder,) = (model for model in status.models if model.role == "embedder")
    if embedder.state == "failed":
        raise SystemExit(f"the model cannot be used: {embedder.reason}")
    compared = all(collection.last_reconcile_at for collection in status.collections)
    return embedder.state == "ready" and status.state == "ready" and compared


def is_indexed(client: Client) -> bool:
    """Whether nothing is left to read and to embed."""
    status = client.status()
    waiting = sum(collection.pending for collection in status.collections)
    return (
        status.progress.phase == "idle"
        and not waiting
        and not status.index.pending_vectors
        and all(collection.last_reconcile_at for collection in status.collections)
    )
