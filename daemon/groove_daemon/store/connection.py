"""The only import of apsw and sqlite-vec: opening files, pragmas, transactions, and the translation of every error.

What always holds: a `Database` is used by one thread at a time, which its lock ensures; an error of SQLite leaves this
module as an error of ours that names the file; a transaction ends with a commit or leaves nothing behind.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

from groove_daemon.errors import Cancelled, StoreCorrupt, StoreError, StoreFull, StoreLocked

BUSY_TIMEOUT_MS = 10_000
CHECKPOINT_TIMEOUT_MS = 50
WAL_LIMIT_BYTES = 16 * 1024 * 1024
CACHE_KIB = 16 * 1024

Row = tuple[Any, ...]

_configure_lock = threading.Lock()
_configured = False


class Database:
    """One connection with its lock.  Statements take positional values; results are plain tuples.

    Args:
        connection: the driver's connection, or a stand-in with the same methods.
        path: named in errors.
    """

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path
        self.lock = threading.RLock()

    @property
    def connection(self) -> apsw.Connection:
        """The driver's connection."""
        return self._connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement and return all rows."""
        with self.lock, self.translated():
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        """Run a statement and return its first row, or None."""
        with self.lock, self.translated():
            cursor = self._connection.execute(sql, values)
            first: Row | None = cursor.fetchone()
            cursor.close(True)
            return first

    def value(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        first = self.row(sql, values)
        return None if first is None else first[0]

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement for its effect."""
        with self.lock, self.translated():
            self._connection.execute(sql, values)

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each tuple of values."""
        with self.lock, self.translated():
            self._connection.executemany(sql, values)

    def rows_many(self, sql: str, values: Iterable[Sequence[object]]) -> list[Row]:
        """Run a statement once for each tuple of values and return all rows, in the same order."""
        with self.lock, self.translated():
            return self._connection.executemany(sql, values).fetchall()

    def insert(self, sql: str, values: Sequence[object]) -> int:
        """Run an INSERT and return the new row id."""
        with self.lock:
            self.run(sql, values)
            return int(self._connection.last_insert_rowid())

    @contextmanager
    def write_transaction(self) -> Iterator[None]:
        """Everything inside is committed together or not at all; takes the write lock at once, and waits for it.

        Raises:
            StoreLocked: another connection kept the write lock for longer than the busy timeout.
        """
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """Everything inside sees one state of the index."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self.lock:
            self.run(begin)
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        # SQLite rolls back by itself on some errors, such as a full disk.
        if self._connection.in_transaction:
            self.run("ROLLBACK")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        try:
            yield
        except apsw.Error as error:
            raise translate(error, self.path) from error

    @property
    def total_changes(self) -> int:
        """Rows changed through this connection so far, shadow tables included."""
        return int(self._connection.total_changes())

    def checkpoint(self) -> bool:
        """Fold the write-ahead file back and cut it to nothing; False when somebody kept part of it busy."""
        with self.lock:
            self._connection.set_busy_timeout(CHECKPOINT_TIMEOUT_MS)
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except (apsw.BusyError, apsw.LockedError):
                return False
            except apsw.Error as error:
                raise translate(error, self.path) from error
            finally:
                self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        return True

    def interrupt(self) -> None:
        """Stop the statement that runs in another thread; it raises `Cancelled` there.  Nothing if it is closed."""
        try:
            self._connection.interrupt()
        except apsw.ConnectionClosedError:
            return

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        with self.lock, self.translated():
            self._connection.close()


def open_database(path: Path) -> Database:
    """Open an existing index file for reading and writing, with all pragmas and sqlite-vec."""
    return _open(path, apsw.SQLITE_OPEN_READWRITE, "PRAGMA journal_mode = WAL")


def open_reader(path: Path) -> Database:
    """Open an existing index file on a connection that refuses to write."""
    return _open(path, apsw.SQLITE_OPEN_READWRITE, "PRAGMA query_only = ON")


def open_untouched(path: Path) -> Database:
    """Open a file without any chance of changing it."""
    return _open(path, apsw.SQLITE_OPEN_READONLY)


def open_plain(path: Path) -> Database:
    """Open a file, made when absent, with a rollback journal: for building a new index before it gets its name."""
    return _open(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)


def _open(path: Path, flags: int, *pragmas: str) -> Database:
    _configure()
    try:
        connection = apsw.Connection(str(path), flags=flags)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
    except apsw.Error as error:
        raise translate(error, path) from error
    database = Database(connection, path)
    settings = (
        "PRAGMA foreign_keys = ON",
        "PRAGMA synchronous = NORMAL",
        f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}",
        f"PRAGMA cache_size = -{CACHE_KIB}",
        "PRAGMA temp_store = MEMORY",
    )
    for pragma in (*pragmas, *settings):
        database.run(pragma)
    return database


def _configure() -> None:
    """Switch SQLite's memory statistics off: their lock makes concurrent full-text readers wait for each other.

    It can be set only while SQLite is shut down, so it is skipped when somebody already holds a connection.
    """
    global _configured
    with _configure_lock:
        if _configured:
            return
        if not apsw.connections():
            apsw.shutdown()
            apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)
            apsw.initialize()
        _configured = True


def int_array(numbers: Iterable[int] | NDArray[np.int64]) -> object:
    """A list of integers as one value, for `IN (SELECT value FROM carray(?))`."""
    array = np.ascontiguousarray(
        numbers if isinstance(numbers, np.ndarray) else np.fromiter(numbers, np.int64), dtype=np.int64
    )
    # An empty buffer is refused by the driver; no row has this id.
    return apsw.carray(array if len(array) else np.array([np.iinfo(np.int64).min]))


def blob_array(blobs: Sequence[bytes]) -> object:
    """The same for values of bytes; at least one."""
    return apsw.carray(tuple(blobs))


def translate(error: apsw.Error, path: Path) -> StoreError | Cancelled:
    """The error of ours that says what an error of the driver means for the file."""
    detail = str(error) or type(error).__name__
    if isinstance(error, apsw.InterruptError):
        return Cancelled("the statement was stopped")
    if isinstance(error, (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)):
        return StoreLocked(f"{path}: {detail}", hint="another process is using the index", path=str(path))
    if isinstance(error, (apsw.FullError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError)):
        return StoreFull(f"{path}: {detail}", hint="free space or make the folder writable", path=str(path))
    if isinstance(error, apsw.IOError):
        return StoreFull(f"{path}: {detail}", hint="the disk is full or failing", path=str(path))
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)):
        return StoreCorrupt(
            f"{path}: {detail}", hint="restart to repair full text, else remove the file to rebuild", path=str(path)
        )
    return StoreError(f"{path}: {detail}", path=str(path))
