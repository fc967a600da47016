"""A process that is killed while it embeds, and the next one that goes on with its index."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from groove_daemon.store.index import Index
from support.indexing import CountingEmbedder, Rig, StandInModels
from support.killable_indexer import KillableIndexer
from support.library import Library

NOTES = 300


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "notes")
    for number in range(NOTES):
        library.write(f"n{number}.md", f"The heron{number} waits in shallow water until a fish comes by. " * 8)
    return library


@pytest.fixture
def indexer(library: Library, tmp_path: Path) -> Iterator[KillableIndexer]:
    started = KillableIndexer(tmp_path / "state", library.root)
    yield started
    started.kill()


def stored_vectors(state: Path) -> int:
    index = Index.open(state / "index.db")
    try:
        return index.reader().counts().vectors
    finally:
        index.close()


def test_embedding_goes_on_where_a_killed_process_left_it(
    library: Library, indexer: KillableIndexer, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    indexer.embed(batches=3)
    indexer.kill()
    kept = stored_vectors(state)

    assert 0 < kept < NOTES

    embedder = CountingEmbedder()
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
        counts = rig.index.reader().counts()
        database = rig.index.reader().database
        each = database.rows(
            "SELECT count(v.rowid) FROM chunks c LEFT JOIN vectors v ON v.rowid = c.slot GROUP BY c.chunk_id"
        )
        rows, slots = database.value("SELECT count(*) FROM vectors"), database.value("SELECT count(*) FROM embeddings")

        assert each == [(1,)] * NOTES
        assert rows == slots == 2 * NOTES
        assert (counts.chunks, counts.vectors, counts.pending) == (NOTES, NOTES, 0)
        assert len(embedder.texts) == len(set(embedder.texts))
        assert len([text for text in embedder.texts if "waits" in text]) == NOTES - kept
