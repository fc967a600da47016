"""The index as a whole: one file, its writer, its readers, its resident arrays, and the lock that makes it ours.

What always holds: one process has the index open, which a kernel lock beside the file ensures and a crash releases; the
file and its folder belong to the user alone; a file that is not ours or is newer than us is left as it is.
"""

import fcntl
import os
import threading
import weakref
from pathlib import Path

import structlog

from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.errors import StoreError, StoreFull, StoreLocked
from groove_daemon.store import full_text, migrate
from groove_daemon.store.connection import Database, open_database, open_reader
from groove_daemon.store.full_text import Health
from groove_daemon.store.reader import Reader
from groove_daemon.store.sampling import PhraseSample
from groove_daemon.store.state import read_dimension, read_fingerprint
from groove_daemon.store.vectors import VectorSpace
from groove_daemon.store.writer import Writer

log = structlog.get_logger()


class Index:
    """An open index.  `writer` is for one thread at a time, `reader()` gives each thread its own."""

    def __init__(self, path: Path, lock: "IndexLock", database: Database, *, resident: bool, clock: Clock) -> None:
        self.path = path
        self._lock = lock
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._readers_lock = threading.Lock()
        self._local = threading.local()
        self._is_closed = False
        self._sample = PhraseSample()
        self._database = database
        self.health = Health()
        self.vectors = VectorSpace(resident=resident, database=lambda: self.reader().database)
        self.writer = Writer(database, self.vectors, health=self.health, clock=clock)

    @classmethod
    def open(cls, path: Path, *, resident: bool = True, clock: Clock | None = None) -> "Index":
        """Open an index, making file and folder when there are none, and load the resident arrays.

        Damaged full text is rebuilt here.

        Raises:
            StoreLocked: another process has it open.
            StoreTooNew: a newer program made it; it was not touched.
            StoreCorrupt: it is damaged, or not an index of ours; it was not touched.
            StoreFull: the folder cannot be written.
        """
        _make_folder(path.parent)
        lock = IndexLock(path.with_name(f"{path.name}.lock"))
        database: Database | None = None
        try:
            database = _open_file(path)
            index = cls(path, lock, database, resident=resident, clock=clock or SystemClock())
            index._prepare()
        except BaseException:
            if database is not None:
                database.close()
            lock.release()
            raise
        return index

    def _prepare(self) -> None:
        if not full_text.looks_complete(self._database):
            self.writer.rebuild_full_text()
        self.vectors.load(self._database, read_dimension(self._database))
        log.info("store.opened", path=str(self.path), generation=self.generation)

    @property
    def generation(self) -> int:
        """The last committed generation: it rises with every change that an answer can show."""
        return self.writer.generation

    @property
    def embedder(self) -> tuple[str, int] | None:
        """Fingerprint and dimension of the embedder whose vectors are in the index."""
        database = self.reader().database
        fingerprint = read_fingerprint(database)
        return None if fingerprint is None else (fingerprint, read_dimension(database))

    @property
    def full_text_is_damaged(self) -> bool:
        """Whether a search found full text damaged and the writer has not yet repaired it."""
        return self.health.is_damaged

    def reader(self) -> Reader:
        """The calling thread's reader.

        Raises:
            StoreError: the index is closed.
        """
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is not None and not self._is_closed:
            return reader
        with self._readers_lock:
            if self._is_closed:
                raise StoreError(f"{self.path} is closed")
            reader = Reader(open_reader(self.path), self.vectors, health=self.health, sample=self._sample)
            self._readers.add(reader)
        self._local.reader = reader
        return reader

    def close(self) -> None:
        """Stop running reads, fold the write-ahead file back, and release the lock; closing twice is fine."""
        with self._readers_lock:
            if self._is_closed:
                return
            self._is_closed = True
            readers = list(self._readers)
        for reader in readers:
            reader.close()
        # Closing the last connection folds the write-ahead file back.
        self._database.close()
        self._lock.release()


class IndexLock:
    """A kernel lock on a file beside the index: it ends with the process, however that ends.

    Raises:
        StoreLocked: another process holds it.
        StoreFull: the lock file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreFull(
                f"{path} cannot be opened: {(error.strerror or '').lower()}", hint="check the folder of the index"
            ) from error
        os.fchmod(self._handle, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(self._handle, 32, 0).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise StoreLocked(
                f"{path.with_suffix('')} is in use by process {owner or 'unknown'}",
                hint="stop the other daemon, or use another instance",
                owner=owner,
            ) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the index free; the file stays, because deleting it would let two processes hold two locks."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    try:
        folder.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
    except OSError as error:
        raise StoreFull(
            f"the folder {folder} cannot be made: {(error.strerror or '').lower()}",
            hint="set XDG_DATA_HOME to a folder that can be written",
            path=str(folder),
        ) from error


def _open_file(path: Path) -> Database:
    if not path.exists() or path.stat().st_size == 0:
        migrate.create(path)
    migrate.check_file(path)
    migrate.make_private_file(path)
    database = open_database(path)
    try:
        migrate.migrate(database)
    except BaseException:
        database.close()
        raise
    return database
