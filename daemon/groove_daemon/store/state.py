"""What is known about the index as a whole: its generation, its embedder and its collections; and the frame of a write.

What always holds: a change is committed together with the next generation, and the resident arrays follow before the
next write begins.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from groove_daemon.domain.clock import Clock
from groove_daemon.domain.document import CollectionId
from groove_daemon.errors import NotIndexed, StoreCorrupt
from groove_daemon.store import full_text
from groove_daemon.store.connection import Database
from groove_daemon.store.full_text import Health
from groove_daemon.store.numbers import to_number
from groove_daemon.store.vectors import VectorSpace

log = structlog.get_logger()


@dataclass(slots=True)
class Effects:
    """What has to follow a commit: changes of the resident arrays, in order."""

    after_commit: list[Callable[[], None]] = field(default_factory=list)


def read_generation(database: Database) -> int:
    """The last committed generation, from 0."""
    return int(database.value("SELECT value FROM meta WHERE key = 'generation'") or 0)


def read_dimension(database: Database) -> int:
    """Length of the vectors, 0 before an embedder was bound."""
    return int(database.value("SELECT value FROM meta WHERE key = 'embedder_dimension'") or 0)


def read_fingerprint(database: Database) -> str | None:
    """Which embedder made the vectors."""
    fingerprint: str | None = database.value("SELECT value FROM meta WHERE key = 'embedder_fingerprint'")
    return fingerprint


def read_calibration(database: Database) -> str | None:
    """What was learned about confidence, as it was stored."""
    text: str | None = database.value("SELECT value FROM meta WHERE key = 'calibration'")
    return text


def write_meta(database: Database, key: str, value: str | int) -> None:
    """Record a fact."""
    database.run("INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value))


class WriteSide:
    """What every part of the writer has.

    Args:
        database: the one connection that writes.
        space: the resident arrays, kept in step.
        health: where damage of the full-text tables is noted.
        clock: for the time at which passages lose their last chunk.
    """

    def __init__(self, database: Database, space: VectorSpace, *, health: Health, clock: Clock) -> None:
        self.database = database
        self.space = space
        self.health = health
        self.clock = clock
        self.generation = read_generation(database)

    @contextmanager
    def _write(self, *, is_visible: bool = True) -> Iterator[Effects]:
        """One transaction; `is_visible` changes get the next generation."""
        effects = Effects()
        with self.database.lock:
            self.repair_full_text()
            try:
                with self.database.write_transaction():
                    yield effects
                    generation = self.generation + is_visible
                    if is_visible:
                        write_meta(self.database, "generation", generation)
            except StoreCorrupt:
                self.health.is_damaged = True
                raise
            self.generation = generation
            for effect in effects.after_commit:
                effect()

    def repair_full_text(self) -> bool:
        """Rebuild the full-text tables if somebody found them damaged; True when they were rebuilt."""
        if not self.health.is_damaged:
            return False
        self.rebuild_full_text()
        return True

    def rebuild_full_text(self) -> None:
        """Make the full-text tables again from the stored text, in one transaction."""
        with self.database.lock:
            with self.database.write_transaction():
                full_text.rebuild(self.database)
            self.health.is_damaged = False
        log.warning("store.full_text_rebuilt", path=str(self.database.path))

    def _collection_id(self, name: str) -> CollectionId:
        collection_id = self.database.value("SELECT collection_id FROM collections WHERE name = ?", (name,))
        if collection_id is None:
            raise NotIndexed(f"there is no collection {name!r}", collection=name)
        return CollectionId(collection_id)


class CollectionWriter(WriteSide):
    """The collections of the index, and what was learned about it."""

    def store_calibration(self, text: str) -> None:
        """Keep what was learned about confidence, in place of what was learned before; generation unchanged."""
        with self._write(is_visible=False):
            write_meta(self.database, "calibration", text)

    def ensure_collection(self, name: str, root: str) -> CollectionId:
        """Make a collection known, or note that its folder is another one now."""
        known = self.database.row("SELECT collection_id, root FROM collections WHERE name = ?", (name,))
        if known is not None and known[1] == root:
            return CollectionId(known[0])
        with self._write():
            self.database.run(
                "INSERT INTO collections (name, root) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET root = excluded.root, root_device = NULL, root_inode = NULL",
                (name, root),
            )
        return self._collection_id(name)

    def root_identity(self, name: str) -> tuple[int, int] | None:
        """Device and inode of a collection's folder as last noted; None when they never were for this folder."""
        row = self.database.row("SELECT root_device, root_inode FROM collections WHERE name = ?", (name,))
        return None if row is None or row[0] is None else (int(row[0]), int(row[1]))

    def note_root_identity(self, name: str, device: int, inode: int) -> None:
        """Note which folder a collection's root was when all of it was seen; generation unchanged."""
        if self.root_identity(name) == (device, inode):
            return
        with self._write(is_visible=False):
            self.database.run(
                "UPDATE collections SET root_device = ?, root_inode = ? WHERE name = ?",
                (to_number(device), to_number(inode), name),
            )

    def collections(self) -> Mapping[str, CollectionId]:
        """All collections by name."""
        return {
            name: CollectionId(collection_id)
            for name, collection_id in self.database.rows("SELECT name, collection_id FROM collections ORDER BY name")
        }
