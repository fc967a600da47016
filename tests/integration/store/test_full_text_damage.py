from pathlib import Path

import apsw
import pytest

from groove_daemon.errors import StoreCorrupt
from groove_daemon.store.index import Index
from support.store import (
    allowed,
    embed_pending,
    found_paths,
    make_chunk,
    make_document_draft,
    make_vector,
    open_index,
    put,
)

TABLES = ("chunks_trigram", "chunks_words", "documents_words")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    index = open_index(tmp_path / "index.db")
    for number in range(20):
        put(
            index,
            make_document_draft(f"{number}.md", make_chunk(f"bird number{number} " * 50, heading="Heading"), "tail"),
        )
    embed_pending(index)
    index.close()
    return tmp_path / "index.db"


def damage(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def assert_whole(index: Index) -> None:
    reader = index.reader()
    assert found_paths(index, reader.trigram(["number7 "], [], limit=5, allowed=allowed(index))) == ["7.md"]
    assert found_paths(index, reader.chunk_words(["number7"], [], limit=5, allowed=allowed(index))) == ["7.md"]
    assert len(reader.document_words(["number7"], [], limit=5, allowed=allowed(index))) == 1
    assert len(reader.document_words(["heading"], [], limit=50, allowed=allowed(index))) == 20
    assert index.writer.check_full_text()
    assert reader.disagreements() == []


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {table}_data",
        "DELETE FROM {table}_data WHERE id = 10",
        "DELETE FROM {table}_data WHERE id > 10",
        "DELETE FROM {table}_docsize",
        "DELETE FROM {table}_docsize WHERE id = 7",
        "DROP TABLE {table}_idx",
        "DROP TABLE {table}_config",
        "ALTER TABLE {table} RENAME TO elsewhere",
    ],
)
def test_damage_is_found_and_repaired_at_start(path: Path, table: str, statement: str) -> None:
    damage(path, statement.format(table=table))
    index = open_index(path)

    assert_whole(index)
    index.close()


def test_damage_met_in_use_is_reported_and_repaired_with_the_next_write(path: Path) -> None:
    index = open_index(path)
    index.writer.database.run("DELETE FROM chunks_trigram_data WHERE id > 10")

    with pytest.raises(StoreCorrupt, match="full text is damaged"):
        index.reader().trigram(["number7 "], [], limit=5, allowed=allowed(index))
    assert index.full_text_is_damaged
    assert len(index.vectors.scan(make_vector("tail")).top_chunks(5, allowed=allowed(index))) == 5
    assert len(index.reader().chunk_words(["bird"], [], limit=5, allowed=allowed(index))) == 5
    put(index, make_document_draft("new.md", "text"))
    assert not index.full_text_is_damaged
    assert_whole(index)
    index.close()


def test_missing_table_is_reported_as_damage(path: Path) -> None:
    index = open_index(path)
    index.writer.database.run("ALTER TABLE chunks_trigram RENAME TO elsewhere")

    with pytest.raises(StoreCorrupt):
        index.reader().trigram(["bird"], [], limit=5, allowed=allowed(index))
    assert index.writer.repair_full_text()
    assert not index.writer.repair_full_text()
    assert_whole(index)
    index.close()


def test_thorough_check_finds_lost_pages(path: Path) -> None:
    index = open_index(path)

    assert index.writer.check_full_text()
    index.writer.database.run("DELETE FROM chunks_trigram_data WHERE id > 10")
    assert not index.writer.check_full_text()
    assert index.writer.repair_full_text()
    assert_whole(index)
    index.close()


def test_rebuilt_tables_rank_as_before(path: Path) -> None:
    index = open_index(path)
    before = index.reader().trigram(["number1", "tail"], [], limit=50, allowed=allowed(index))
    index.writer.rebuild_full_text()

    assert index.reader().trigram(["number1", "tail"], [], limit=50, allowed=allowed(index)) == before
    index.close()
