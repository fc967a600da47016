"""Files that should be in the index and are not, with when to try again."""

from collections.abc import Sequence

from groove_daemon.domain.document import FileStat
from groove_daemon.store.connection import Database, Row
from groove_daemon.store.numbers import stat_values, to_stat
from groove_daemon.store.records import FailureRecord
from groove_daemon.store.state import WriteSide

_SELECT = (
    "SELECT c.name, f.path, f.reason, f.attempts, f.first_at, f.last_at, f.next_try_at,"
    " f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode"
    " FROM failures f JOIN collections c USING (collection_id)"
)
_NO_STAT = (None, None, None, None)


class FailureWriter(WriteSide):
    """The list of failures; it changes no answer, so it has no part in the generation."""

    def record_failure(
        self,
        collection: str,
        path: str,
        reason: str,
        *,
        stat: FileStat | None,
        now: float,
        next_try_at: float | None,
    ) -> None:
        """Note one more failed attempt; `next_try_at` None waits for a change of the file."""
        with self._write(is_visible=False):
            self.database.run(
                """
                INSERT INTO failures VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9)
                ON CONFLICT (collection_id, path) DO UPDATE SET
                    reason = ?3, attempts = attempts + 1, last_at = ?4, next_try_at = ?5,
                    size_bytes = ?6, mtime_ns = ?7, ctime_ns = ?8, inode = ?9
                """,
                (
                    self._collection_id(collection),
                    path,
                    reason,
                    now,
                    next_try_at,
                    *(_NO_STAT if stat is None else stat_values(stat)),
                ),
            )

    def clear_failure(self, collection: str, path: str) -> None:
        """The file is indexed, or gone."""
        collection_id = self._collection_id(collection)
        known = self.database.row("SELECT 1 FROM failures WHERE collection_id = ? AND path = ?", (collection_id, path))
        if known is None:
            return
        with self._write(is_visible=False):
            self.database.run("DELETE FROM failures WHERE collection_id = ? AND path = ?", (collection_id, path))

    def due_failures(self, now: float) -> Sequence[FailureRecord]:
        """Failures whose next attempt is due, the longest overdue first."""
        return [
            _record(row)
            for row in self.database.rows(f"{_SELECT} WHERE f.next_try_at <= ? ORDER BY f.next_try_at, 1, 2", (now,))
        ]

    def failures(self) -> Sequence[FailureRecord]:
        """All failures, by collection and path."""
        return read_failures(self.database)


def read_failures(database: Database) -> Sequence[FailureRecord]:
    """All failures, by collection and path."""
    return [_record(row) for row in database.rows(f"{_SELECT} ORDER BY 1, 2")]


def _record(row: Row) -> FailureRecord:
    collection, path, reason, attempts, first_at, last_at, next_try_at = row[:7]
    stat = None if row[7] is None else to_stat(*row[7:11])
    return FailureRecord(collection, path, reason, attempts, first_at, last_at, next_try_at, stat)
