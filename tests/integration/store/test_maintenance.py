import stat
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.domain.query import Filters
from groove_daemon.errors import StoreFull
from groove_daemon.store.index import Index
from support.store import allowed, embed_pending, make_document_draft, make_vector, open_index, put


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return open_index(tmp_path / "index.db")


def test_merging_full_text_changes_no_answer(index: Index) -> None:
    for number in range(100):
        put(index, make_document_draft(f"{number}.md", f"bird number {number} " * 20))
    before = index.reader().trigram(["number 7 ", "bird"], [], limit=20, allowed=allowed(index))
    segments = index.writer.database.value("SELECT count(DISTINCT segid) FROM chunks_trigram_idx")

    assert not index.writer.optimize_full_text(should_stop=lambda: True)
    assert index.writer.optimize_full_text()
    assert index.reader().trigram(["number 7 ", "bird"], [], limit=20, allowed=allowed(index)) == before
    assert index.writer.database.value("SELECT count(DISTINCT segid) FROM chunks_trigram_idx") <= segments
    assert index.writer.check_full_text()
    index.close()


def test_write_ahead_file_is_folded_back_and_stays_bounded(index: Index) -> None:
    for number in range(300):
        put(index, make_document_draft("a.md", f"bird {number}"))
    grown = index.writer.wal_bytes()
    report = index.writer.checkpoint()

    assert 0 < grown < 32 * 1024 * 1024
    assert report.is_complete
    assert (report.wal_bytes_before, report.wal_bytes) == (grown, 0)
    index.close()


def test_checkpoint_does_not_wait_for_a_reader(index: Index) -> None:
    put(index, make_document_draft("a.md", "one"))
    with index.reader().snapshot():
        put(index, make_document_draft("b.md", "two"))
        report = index.writer.checkpoint()

    assert not report.is_complete
    assert report.wal_bytes > 0
    assert index.writer.checkpoint().is_complete
    index.close()


def test_snapshot_is_a_complete_index(index: Index, tmp_path: Path) -> None:
    put(index, make_document_draft("a.md", "one bird"))
    embed_pending(index)
    target = tmp_path / "copy.db"
    target.write_bytes(b"an older copy")
    index.writer.snapshot(target)
    copy = Index.open(target)

    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert copy.reader().counts().vectors == 1
    assert copy.generation == index.generation
    assert len(copy.reader().trigram(["bird"], [], limit=5, allowed=allowed(copy))) == 1
    copy.close()
    index.close()


def test_snapshot_that_cannot_be_written_leaves_nothing(index: Index, tmp_path: Path) -> None:
    with pytest.raises(StoreFull):
        index.writer.snapshot(tmp_path / "nowhere" / "copy.db")
    assert sorted(one.name for one in tmp_path.iterdir() if "copy" in one.name) == []
    index.close()


def test_size_levels_off_and_optimizing_gives_space_back(index: Index, tmp_path: Path) -> None:
    sizes = []
    for _ in range(4):
        for number in range(150):
            put(index, make_document_draft(f"{number}.md", *[f"{number} {part} " + "text " * 60 for part in range(20)]))
        embed_pending(index)
        known = index.writer.known_documents("notes")
        index.writer.delete_documents([one.document_id for one in known.values()])
        index.writer.prune_embeddings(orphaned_before=1e12)
        index.writer.checkpoint()
        sizes.append((tmp_path / "index.db").stat().st_size)
    put(index, make_document_draft("last.md", "last bird"))
    embed_pending(index)
    index.writer.optimize()
    index.writer.checkpoint()

    assert sizes[3] <= 1.01 * sizes[2]
    assert sizes[3] <= 1.3 * sizes[0]
    assert (tmp_path / "index.db").stat().st_size < sizes[0] / 4
    assert len(index.vectors.view().ready) < 10
    assert index.vectors.scan(make_vector("last bird")).top_chunks(1, allowed=allowed(index))[0][1] == pytest.approx(
        1.0
    )
    assert index.reader().disagreements() == []
    index.close()


def test_bulk_loading_equals_the_rows_of_the_table(index: Index) -> None:
    put(index, make_document_draft("a.md", *[f"text {number}" for number in range(2500)]))
    embed_pending(index)
    rows = index.writer.database.rows("SELECT rowid, embedding FROM vectors")
    index.vectors.load(index.writer.database, index.vectors.dimension)
    matrix = index.vectors.view().matrix

    assert matrix is not None
    assert len(rows) == 2501
    assert all(np.array_equal(matrix[slot], np.frombuffer(vector, np.float32)) for slot, vector in rows)
    assert index.reader().documents(Filters(), offset=0, limit=1)[0] == 1
    index.close()
