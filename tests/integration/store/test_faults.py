"""A statement that fails, a process that is killed: the index is as it was before or as it should be after."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from groove_daemon.domain.document import DocumentId
from groove_daemon.domain.query import Filters
from groove_daemon.errors import StoreCorrupt, StoreFull
from groove_daemon.store.index import Index
from groove_daemon.store.writer import Writer
from support.store import (
    COLLECTION,
    allowed,
    embed_pending,
    failing_writer,
    make_chunk,
    make_document_draft,
    make_matrix,
    open_index,
    put,
)

Change = Callable[[Writer, DocumentId], object]

OLD = make_document_draft("a.md", "one bird", "two birds", make_chunk("three", heading="H"), title="Old")
NEW = make_document_draft("a.md", "new bird", "two birds", make_chunk("three", heading="Other"), "four", title="New")


def replace(writer: Writer, document_id: DocumentId) -> object:
    return writer.replace_document(COLLECTION, NEW, now=9.0)


def move(writer: Writer, document_id: DocumentId) -> object:
    moved = make_document_draft("b.md", "one bird", "new", title="Moved")
    return writer.replace_document(COLLECTION, moved, document_id=document_id, now=9.0)


def delete(writer: Writer, document_id: DocumentId) -> object:
    return writer.delete_documents([document_id])


def store_vectors(writer: Writer, document_id: DocumentId) -> object:
    waiting = writer.pending(9)
    return writer.store_vectors([one.embed_key for one in waiting], make_matrix([one.text for one in waiting]))


def prune(writer: Writer, document_id: DocumentId) -> object:
    writer.delete_documents([document_id])
    return writer.prune_embeddings(orphaned_before=1e12)


def reset(writer: Writer, document_id: DocumentId) -> object:
    return writer.reset_vector_space("other", 8)


def compact(writer: Writer, document_id: DocumentId) -> object:
    writer._compact_slots()
    return None


def prepared(path: Path) -> tuple[Index, DocumentId]:
    index = open_index(path)
    document_id = put(index, OLD, now=1.0)
    embed_pending(index)
    put(index, make_document_draft("b.md", "one bird", "waiting", title="B"), now=1.0)
    return index, document_id


def state(index: Index) -> object:
    reader = index.reader()
    documents = reader.documents(Filters(), offset=0, limit=9)[1]
    texts = {one.path: [chunk.content for chunk in reader.document_chunks(one.document_id)] for one in documents}
    full_text = reader.trigram(["bird", "new"], [], limit=9, allowed=allowed(index))
    words = reader.document_words(["bird", "old", "new"], [], limit=9, allowed=allowed(index))
    return texts, sorted(hit[0] for hit in full_text), sorted(hit[0] for hit in words), reader.counts()


@pytest.mark.parametrize("change", [replace, move, delete, store_vectors, prune, reset, compact])
def test_each_statement_may_fail_once(tmp_path: Path, change: Change) -> None:
    index, _ = prepared(tmp_path / "dry.db")
    writer, proxy = failing_writer(index, fail_at=0)
    change(writer, DocumentId(1))
    statements = proxy.statements
    index.close()

    assert statements >= 5
    for fail_at in range(1, statements + 1):
        index, document_id = prepared(tmp_path / f"{fail_at}.db")
        before, generation = state(index), index.generation
        writer, _ = failing_writer(index, fail_at=fail_at)
        with pytest.raises(StoreFull, match="disk is full"):
            change(writer, document_id)
        assert index.reader().disagreements() == []
        if change is not prune:
            assert state(index) == before
            assert writer.generation == generation
        change(writer, document_id)
        assert index.reader().disagreements() == []
        assert writer.check_full_text()
        index.close()
        again = Index.open(tmp_path / f"{fail_at}.db")
        assert again.reader().disagreements() == []
        again.close()


def test_corrupt_full_text_met_in_a_write_is_repaired_before_the_next(tmp_path: Path) -> None:
    index, _ = prepared(tmp_path / "index.db")
    writer, _ = failing_writer(index, fail_at=9, error=apsw.CorruptError("malformed"))

    with pytest.raises(StoreCorrupt):
        writer.replace_document(COLLECTION, NEW, now=2.0)
    assert index.full_text_is_damaged
    writer.replace_document(COLLECTION, NEW, now=2.0)
    assert not index.full_text_is_damaged
    assert index.reader().disagreements() == []
    index.close()


def test_full_disk_keeps_what_is_there_and_goes_on_when_there_is_space(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    put(index, make_document_draft("first.md", "first bird"))
    pages = index.writer.database.value("PRAGMA page_count")
    index.writer.database.run(f"PRAGMA max_page_count = {pages + 40}")
    drafts = [make_document_draft(f"{number}.md", f"bird {number} " + "text " * 500) for number in range(200)]
    stored: list[DocumentId] = []

    with pytest.raises(StoreFull, match="full"):
        stored.extend(put(index, draft) for draft in drafts)
    assert 0 < len(stored) < 200
    assert index.reader().counts().documents == len(stored) + 1
    assert len(index.reader().trigram(["first"], [], limit=5, allowed=allowed(index))) == 1
    assert index.reader().disagreements() == []
    index.writer.database.run("PRAGMA max_page_count = 1000000")
    for draft in drafts:
        put(index, draft)
    assert index.reader().counts().documents == 201
    assert index.writer.check_full_text()
    index.close()


WRITE_FOREVER = """
import sys
from pathlib import Path
from support.store import embed_pending, make_document_draft, open_index, put
index = open_index(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    put(index, make_document_draft(f"{number % 7}.md", *[f"bird {number} {part}" for part in range(number % 5)]))
    if number % 3 == 0:
        embed_pending(index)
    if number % 11 == 0:
        index.writer.delete_documents([index.writer.known_documents("notes").popitem()[1].document_id])
        index.writer.prune_embeddings(orphaned_before=1e12)
    if number % 50 == 0:
        index.writer.checkpoint()
"""


def test_killed_writer_leaves_a_consistent_index(tmp_path: Path) -> None:
    tests = Path(__file__).parents[2]
    for attempt in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOREVER, str(tmp_path / "index.db")],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(tests)},
        )
        assert process.stdout is not None
        while b"ready" not in process.stdout.readline():
            assert process.poll() is None
        wait_for_growth(tmp_path / "index.db-wal", seconds=0.05 + 0.07 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        index = Index.open(tmp_path / "index.db")

        assert index.reader().disagreements() == []
        assert index.writer.check_full_text()
        assert index.generation > 0
        index.close()


def wait_for_growth(path: Path, *, seconds: float) -> None:
    """Let the writer work for about this long, and until it has written something."""
    deadline, limit = time.monotonic() + seconds, time.monotonic() + 20
    while time.monotonic() < deadline or not path.exists():
        assert time.monotonic() < limit
        os.sched_yield()
