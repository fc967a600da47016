"""A rescan that somebody asked for: what it covers, how far it is, and how it ended."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from groove_daemon.domain.change import Failed, Indexed, IngestOutcome, Removed, Skipped
from groove_daemon.indexing.report import Progress


@dataclass(frozen=True, slots=True)
class RescanReport:
    """What a rescan did: counts of files, and the collections that could not be looked at with the reason."""

    indexed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    unavailable: tuple[tuple[str, str], ...] = ()
    was_cancelled: bool = False
    took_s: float = 0.0


@dataclass(slots=True)
class RescanJob:
    """One rescan, from the call to its report.

    The text of all files is stored when it ends; vectors may follow.  `paths` empty means whole collections.
    """

    collections: tuple[str, ...]
    paths: tuple[str, ...]
    force: bool
    started_at: float
    on_progress: Callable[[Progress], None] | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)
    _report: RescanReport | None = None
    _counts: dict[str, int] = field(default_factory=dict)
    _unavailable: list[tuple[str, str]] = field(default_factory=list)
    _left: int = 0

    @property
    def is_done(self) -> bool:
        """Whether it ended, in whatever way."""
        return self._ended.is_set()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody asked it to end early."""
        return self._cancelled.is_set()

    def describe(self) -> str:
        """What it covers and since when it runs, for a sentence."""
        since = datetime.fromtimestamp(self.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        what = ", ".join(self.paths or self.collections) or "nothing"
        return f"a rescan of {what} since {since}"

    def cancel(self) -> None:
        """End after the document in hand."""
        self._cancelled.set()

    def wait(self, timeout: float | None = None) -> RescanReport | None:
        """The report, or None when it did not end within `timeout` seconds."""
        self._ended.wait(timeout)
        return self._report

    @property
    def has_work_left(self) -> bool:
        """Whether files that were found to differ are still to be ingested."""
        return self._left > 0

    def expect(self, count: int) -> None:
        """So many more files are to be ingested."""
        self._left += count

    def count(self, outcome: IngestOutcome) -> None:
        """Add one file's outcome to the report."""
        self._left -= 1
        match outcome:
            case Indexed():
                kind = "indexed"
            case Removed():
                kind = "removed"
            case Skipped():
                kind = "skipped"
            case Failed():
                kind = "failed"
            case _:
                kind = "unchanged"
        self._counts[kind] = self._counts.get(kind, 0) + 1

    def pass_over(self, count: int) -> None:
        """So many files were looked at and need nothing."""
        self._counts["unchanged"] = self._counts.get("unchanged", 0) + count

    def could_not_look(self, collection: str, reason: str) -> None:
        """Note a collection whose root is not available."""
        self._unavailable.append((collection, reason))

    def finish(self, *, took_s: float) -> None:
        """Make the report and wake everybody who waits for it; the first call wins."""
        if self._ended.is_set():
            return
        self._report = RescanReport(
            **self._counts,
            unavailable=tuple(self._unavailable),
            was_cancelled=self.is_cancelled,
            took_s=took_s,
        )
        self._ended.set()
