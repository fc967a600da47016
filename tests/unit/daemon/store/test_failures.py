from groove_daemon.domain.document import FileStat
from groove_daemon.store.index import Index
from groove_daemon.store.records import FailureRecord
from support.store import make_document_draft, put


def test_failures_count_attempts_and_come_due(index: Index) -> None:
    stat = FileStat(1, 2, 3, 2**63 + 5)
    index.writer.record_failure("notes", "a.md", "first", stat=None, now=10.0, next_try_at=20.0)
    index.writer.record_failure("notes", "a.md", "second", stat=stat, now=21.0, next_try_at=60.0)
    index.writer.record_failure("notes", "b.md", "never", stat=None, now=21.0, next_try_at=None)

    first, second = index.writer.failures()
    assert first == FailureRecord("notes", "a.md", "second", 2, 10.0, 21.0, 60.0, stat)
    assert (second.path, second.next_try_at) == ("b.md", None)
    assert [one.path for one in index.writer.due_failures(60.0)] == ["a.md"]
    assert index.writer.due_failures(59.0) == []


def test_failure_is_gone_when_cleared_or_stored(index: Index) -> None:
    for path in ("a.md", "b.md"):
        index.writer.record_failure("notes", path, "bad", stat=None, now=1.0, next_try_at=2.0)
    index.writer.clear_failure("notes", "a.md")
    index.writer.clear_failure("notes", "a.md")
    put(index, make_document_draft("b.md", "text"))

    assert index.writer.failures() == []


def test_failures_change_no_generation(index: Index) -> None:
    before = index.generation
    index.writer.record_failure("notes", "a.md", "bad", stat=None, now=1.0, next_try_at=2.0)

    assert index.generation == before
