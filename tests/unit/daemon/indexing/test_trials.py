from collections.abc import Sequence

from groove_daemon.domain.change import Change, ChangeKind
from groove_daemon.domain.document import FileStat
from groove_daemon.indexing.trials import Trials
from groove_daemon.store.records import FailureRecord
from support.clock import FakeClock

STAT = FileStat(5, 1, 1, 1)


class Failures:
    """The store's list of failures, in memory."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], FailureRecord] = {}

    def record_failure(
        self, collection: str, path: str, reason: str, *, stat: FileStat | None, now: float, next_try_at: float | None
    ) -> None:
        before = self.records.get((collection, path))
        attempts = before.attempts + 1 if before else 1
        first = before.first_at if before else now
        self.records[collection, path] = FailureRecord(
            collection, path, reason, attempts, first, now, next_try_at, stat
        )

    def clear_failure(self, collection: str, path: str) -> None:
        self.records.pop((collection, path), None)

    def failures(self) -> Sequence[FailureRecord]:
        return list(self.records.values())


def change(stat: FileStat = STAT) -> Change:
    return Change("notes", "a.md", ChangeKind.MODIFIED, stat)


def test_trials_wait_longer_after_each_failure() -> None:
    clock, store = FakeClock(), Failures()
    trials = Trials(store, clock)
    delays = [trials.failed("notes", "a.md", "why", STAT).next_try_at - clock.now() for _ in range(4)]

    assert delays == [30.0, 60.0, 120.0, 240.0]
    assert store.records["notes", "a.md"].attempts == 4


def test_trials_hold_a_file_back_only_as_it_failed() -> None:
    clock = FakeClock()
    trials = Trials(Failures(), clock)
    trials.failed("notes", "a.md", "why", STAT)

    assert trials.holds_back(change())
    assert not trials.holds_back(change(FileStat(6, 2, 2, 1)))

    clock.advance(30.0)

    assert not trials.holds_back(change())
    assert trials.due() == [("notes", "a.md")]
    assert trials.due(without={"notes"}) == []


def test_trials_leave_a_file_that_is_no_text_alone_until_it_changes() -> None:
    clock, store = FakeClock(), Failures()
    Trials(store, clock).failed("notes", "a.md", "not text", STAT, is_final=True)
    trials = Trials(store, clock)
    trials.load()
    clock.advance(1_000_000.0)

    assert trials.holds_back(change())
    assert not trials.holds_back(change(FileStat(6, 2, 2, 1)))
    assert trials.due() == []
    assert trials.next_in() is None
    assert trials.of("notes") == {"a.md": "not text"}
    assert trials.unread("notes") == {}


def test_trials_survive_a_restart() -> None:
    clock, store = FakeClock(), Failures()
    Trials(store, clock).failed("notes", "a.md", "why", STAT)
    again = Trials(store, clock)
    again.load()

    assert again.of("notes") == {"a.md": "why"}
    assert again.next_in() == 30.0
    assert again.failed("notes", "a.md", "why", STAT).attempts == 2


def test_trials_forget_a_file_that_is_fine() -> None:
    store = Failures()
    trials = Trials(store, FakeClock())
    trials.failed("notes", "a.md", "why", STAT)
    trials.succeeded("notes", "a.md")

    assert not store.records
    assert trials.next_in() is None
