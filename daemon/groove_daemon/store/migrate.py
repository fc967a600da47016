"""The schema of an index file: making a new file, and bringing an older one up to date.

What always holds: a file that is not ours, or that a newer program made, is never changed; each migration is one
transaction that also sets the new version; a new file gets its name only when it is complete.
"""

import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from groove_daemon.errors import StoreCorrupt, StoreFull, StoreTooNew
from groove_daemon.store.connection import Database, open_plain, open_untouched

APPLICATION_ID = 0x67727665  # "grve"
SCHEMA_VERSION = 1

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_USER_VERSION_AT = 60
_APPLICATION_ID_AT = 68


def schema() -> str:
    """The current schema as SQL."""
    return files(__package__).joinpath("schema.sql").read_text("utf-8")


def migrations() -> Mapping[int, str]:
    """The SQL that leads to each version above 1."""
    found: dict[int, str] = {}
    for entry in files(__package__).joinpath("migrations").iterdir():
        if match := re.fullmatch(r"(\d{4})_\w+\.sql", entry.name):
            found[int(match[1])] = entry.read_text("utf-8")
    return found


def create(path: Path) -> None:
    """Make a complete, empty index beside `path` and then give it that name.

    Raises:
        StoreFull: the folder cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.new")
    try:
        for suffix in ("", "-journal"):
            unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)
        make_private_file(unfinished)
        database = open_plain(unfinished)
        with database.write_transaction():
            database.run(schema())
            database.run(f"PRAGMA application_id = {APPLICATION_ID}")
            database.run(f"PRAGMA user_version = {SCHEMA_VERSION}")
        database.close()
        os.replace(unfinished, path)
    except OSError as error:
        raise StoreFull(f"{path}: {error.strerror}", hint="check the folder of the index", path=str(path)) from error


def make_private_file(path: Path) -> None:
    """Create a file, if need be, that only its owner can read, whatever the umask."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def check_file(path: Path) -> None:
    """Look at a file that is not empty, without changing it.

    Raises:
        StoreCorrupt: it is not an index of ours, or it cannot be read as one.
        StoreTooNew: a newer program made it.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise StoreFull(f"{path}: {error.strerror}", hint="check the file's permissions", path=str(path)) from error
    if (
        len(header) < _HEADER_BYTES
        or not header.startswith(_MAGIC)
        or _number(header, _APPLICATION_ID_AT) != APPLICATION_ID
    ):
        raise StoreCorrupt(f"{path} is not an index of this program", hint="move it away", path=str(path))
    _refuse_newer(path, _number(header, _USER_VERSION_AT))
    # The header may lag behind the write-ahead file.
    database = open_untouched(path)
    try:
        _refuse_newer(path, int(database.value("PRAGMA user_version")))
    finally:
        database.close()


def migrate(database: Database, *, scripts: Mapping[int, str] | None = None, target: int = SCHEMA_VERSION) -> None:
    """Bring an open index up to `target`, one version after the other."""
    steps = migrations() if scripts is None else scripts
    for version in range(int(database.value("PRAGMA user_version")) + 1, target + 1):
        with database.write_transaction():
            database.run(steps[version])
            database.run(f"PRAGMA user_version = {version}")


def _refuse_newer(path: Path, found: int) -> None:
    if found > SCHEMA_VERSION:
        raise StoreTooNew(
            f"{path} has schema {found}, this program knows schema {SCHEMA_VERSION}",
            hint="update the program, or move the file away to index again",
            found=found,
            known=SCHEMA_VERSION,
        )


def _number(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 4], "big")
