"""What keeps the file small and quick: merging full text, compacting vectors, folding the write-ahead file, copies.

Nothing here changes an answer.  Each step is its own transaction, so that indexing waits for one step at most.
"""

import os
from collections.abc import Callable
from pathlib import Path

import structlog

from groove_daemon.errors import StoreFull
from groove_daemon.store import full_text, vector_table
from groove_daemon.store.migrate import make_private_file
from groove_daemon.store.records import CheckpointReport
from groove_daemon.store.state import WriteSide, read_dimension
from groove_daemon.store.view import as_ids

log = structlog.get_logger()

_COMPACT_FROM_SLOTS = 1024
_VACUUM_FROM_PAGES = 256


class MaintenanceWriter(WriteSide):
    """The upkeep of the file."""

    def check_full_text(self) -> bool:
        """Check the full-text tables thoroughly; damage is remembered for `repair_full_text`.  True when sound."""
        with self.database.lock:
            is_sound = full_text.is_sound(self.database)
        if not is_sound:
            self.health.is_damaged = True
        return is_sound

    def optimize_full_text(self, *, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Merge full text into few segments, a bounded step at a time; False when stopped before the end."""
        self.repair_full_text()
        return full_text.merge(self.database, should_stop=should_stop)

    def optimize(self) -> None:
        """Give space back when much of the file is unused.

        Statistics are not gathered: those of a small index make SQLite walk whole tables for one document once the
        index has grown, and without any it looks everything up by the indexes of the schema.
        """
        if self._mostly_free_slots():
            self._compact_slots()
        with self.database.lock:
            free = int(self.database.value("PRAGMA freelist_count"))
            total = int(self.database.value("PRAGMA page_count"))
            if free >= _VACUUM_FROM_PAGES and 4 * free >= total:
                self.database.run("VACUUM")
                log.info("store.vacuumed", pages_before=total, pages_free=free)

    def checkpoint(self) -> CheckpointReport:
        """Fold the write-ahead file back into the index as far as readers allow."""
        before = self.wal_bytes()
        is_complete = self.database.checkpoint()
        return CheckpointReport(before, self.wal_bytes(), is_complete)

    def wal_bytes(self) -> int:
        """Size of the write-ahead file now."""
        wal = self.database.path.with_name(f"{self.database.path.name}-wal")
        return wal.stat().st_size if wal.exists() else 0

    def snapshot(self, target: Path) -> None:
        """Write a complete, compact copy of the index; `target` appears, or is replaced, only when it is complete.

        Raises:
            StoreFull: the copy cannot be written.
        """
        unfinished = target.with_name(f"{target.name}.new")
        try:
            unfinished.unlink(missing_ok=True)
            make_private_file(unfinished)
            self.database.run("VACUUM INTO ?", (str(unfinished),))
            _sync_to_disk(unfinished)
            os.replace(unfinished, target)
        except OSError as error:
            raise StoreFull(f"{target}: {error.strerror}", hint="check the folder of the copies") from error
        finally:
            unfinished.unlink(missing_ok=True)

    def _mostly_free_slots(self) -> bool:
        free, total = self.database.row("SELECT sum(state = 'free'), count(*) FROM embeddings") or (0, 0)
        return bool(total >= _COMPACT_FROM_SLOTS and 2 * (free or 0) > total)

    def _compact_slots(self) -> None:
        """Number the used slots from 1 and write their vectors into a new table; the only way to shrink one."""
        dimension = read_dimension(self.database)
        with self._write(is_visible=False) as effects:
            self.database.run("PRAGMA defer_foreign_keys = ON")
            rows = self.database.rows("SELECT slot FROM embeddings WHERE state <> 'free' ORDER BY slot")
            ready = self.database.rows("SELECT slot FROM embeddings WHERE state = 'ready' ORDER BY slot")
            renamed = {row[0]: number for number, row in enumerate(rows, start=1)}
            self.database.run("DELETE FROM embeddings WHERE state = 'free'")
            if dimension:
                slots, vectors = vector_table.read(self.database, as_ids(r[0] for r in ready), dimension)
                vector_table.create(self.database, dimension)
                new_slots = as_ids(renamed[int(slot)] for slot in slots)
                vector_table.write(self.database, new_slots, vectors)
            # Ascending, so that a number is free before it is given again.
            pairs = [(new, old) for old, new in renamed.items() if new != old]
            for statement in (
                "UPDATE embeddings SET slot = ? WHERE slot = ?",
                "UPDATE chunks SET slot = ? WHERE slot = ?",
                "UPDATE documents SET title_slot = ? WHERE title_slot = ?",
            ):
                self.database.run_many(statement, pairs)
            effects.after_commit.append(lambda: self.space.load(self.database, dimension))
        log.info("store.vectors_compacted", slots=len(renamed))


def _sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
