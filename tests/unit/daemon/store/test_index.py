import hashlib
import os
import stat
import threading
from pathlib import Path

import apsw
import pytest

from groove_daemon.errors import Cancelled, StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreTooNew
from groove_daemon.store.connection import translate
from groove_daemon.store.index import Index
from groove_daemon.store.migrate import APPLICATION_ID, SCHEMA_VERSION
from support.store import allowed, embed_pending, make_document_draft, make_vector, open_index, put


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        index = open_index(tmp_path / "data" / "index.db")
        put(index, make_document_draft("a.md", "one"))
        found = {path.name: permissions(path) for path in (tmp_path / "data").iterdir()}
        folder = permissions(tmp_path / "data")
        index.close()
    finally:
        os.umask(before)

    assert found == dict.fromkeys(("index.db", "index.db-wal", "index.db-shm", "index.db.lock"), 384)
    assert folder == 0o700


def test_reopened_index_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = open_index(path)
    put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    generation, query = index.generation, make_vector("two")
    hits = index.vectors.scan(query).top_chunks(5, allowed=allowed(index))
    index.close()
    again = open_index(path)

    assert again.generation == generation
    assert again.vectors.scan(query).top_chunks(5, allowed=allowed(again)) == hits
    again.close()


def test_second_opener_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")

    with pytest.raises(StoreLocked, match=f"process {os.getpid()}"):
        Index.open(tmp_path / "index.db")
    index.close()
    open_index(tmp_path / "index.db").close()


def test_file_has_the_application_id_and_version_before_any_checkpoint(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    header = (tmp_path / "index.db").read_bytes()[:100]
    index.close()

    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID
    assert int.from_bytes(header[60:64], "big") == SCHEMA_VERSION


def test_newer_schema_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    open_index(path).close()
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    before = digest(path)

    with pytest.raises(StoreTooNew, match=f"schema {SCHEMA_VERSION + 1}.*schema {SCHEMA_VERSION}"):
        Index.open(path)
    assert digest(path) == before


def test_newer_schema_that_stands_only_in_the_write_ahead_file_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    open_index(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for suffix in ("", "-wal"):
        (tmp_path / f"copy.db{suffix}").write_bytes((tmp_path / f"index.db{suffix}").read_bytes())
    connection.close()
    copy = tmp_path / "copy.db"
    before = digest(copy)

    with pytest.raises(StoreTooNew):
        Index.open(copy)
    assert digest(copy) == before


@pytest.mark.parametrize("content", [b"hello, this is a text file\n" * 20, b"x", b"SQLite format 3\x00" + bytes(200)])
def test_foreign_file_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(content)

    with pytest.raises(StoreCorrupt, match="not an index"):
        Index.open(path)
    assert path.read_bytes() == content
    assert sorted(one.name for one in tmp_path.iterdir()) == ["index.db", "index.db.lock"]


def test_foreign_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = digest(path)

    with pytest.raises(StoreCorrupt, match="not an index"):
        Index.open(path)
    assert digest(path) == before


def test_empty_file_and_leftovers_of_an_unfinished_start_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.touch()
    (tmp_path / "index.db.new").write_bytes(b"half a file")
    open_index(path).close()

    assert not (tmp_path / "index.db.new").exists()
    assert path.stat().st_size > 0


def test_damaged_file_is_reported_by_name(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = open_index(path)
    put(index, make_document_draft("a.md", "one"))
    index.close()
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)

    with pytest.raises(StoreCorrupt, match=r"index\.db"):
        Index.open(path)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreFull, match="file"):
        Index.open(tmp_path / "file" / "index.db")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (apsw.FullError("full"), StoreFull),
        (apsw.IOError("disk I/O error"), StoreFull),
        (apsw.CorruptError("malformed"), StoreCorrupt),
        (apsw.NotADBError("no"), StoreCorrupt),
        (apsw.BusyError("locked"), StoreLocked),
        (apsw.InterruptError("interrupted"), Cancelled),
        (apsw.SQLError("no such table"), StoreError),
    ],
)
def test_errors_of_the_driver_become_ours(error: apsw.Error, expected: type[Exception]) -> None:
    translated = translate(error, Path("/x/index.db"))

    assert type(translated) is expected
    assert expected is Cancelled or "/x/index.db" in str(translated)


def test_each_thread_has_a_reader_of_its_own(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    readers = [index.reader(), index.reader()]
    thread = threading.Thread(target=lambda: readers.append(index.reader()))
    thread.start()
    thread.join()

    assert readers[0] is readers[1]
    assert readers[2] is not readers[0]
    index.close()
    index.close()
    with pytest.raises(StoreError, match="closed"):
        index.reader()


def test_reader_cannot_write(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")

    with pytest.raises(StoreError):
        index.reader().database.run("DELETE FROM documents")
    index.close()


def test_snapshot_sees_one_state_while_the_writer_goes_on(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    put(index, make_document_draft("a.md", "one"))
    reader = index.reader()
    with reader.snapshot() as generation:
        put(index, make_document_draft("b.md", "two"))
        inside = reader.counts().documents

    assert inside == 1
    assert generation == index.generation - 1
    assert reader.counts().documents == 2
    index.close()


def test_running_statement_can_be_interrupted(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    reader = index.reader()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    done = threading.Event()

    def interrupt_until_done() -> None:
        while not done.wait(0.01):
            reader.interrupt()

    thread = threading.Thread(target=interrupt_until_done)
    thread.start()
    with pytest.raises(Cancelled):
        reader.database.rows(endless)
    done.set()
    thread.join()

    assert reader.counts().documents == 0
    index.close()


def test_write_waits_for_nothing_but_another_writer(tmp_path: Path) -> None:
    """A second program that writes to the file for a moment delays us and breaks nothing."""
    path = tmp_path / "index.db"
    index = open_index(path)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE; CREATE TABLE scratch (x)")
    timer = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    timer.start()
    put(index, make_document_draft("a.md", "one"))
    timer.join()
    other.close()

    assert index.reader().counts().documents == 1
    index.close()
