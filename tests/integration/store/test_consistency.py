"""After any sequence of changes the tables agree, and the resident arrays are what a fresh start would load."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from groove_daemon.domain.document import DocumentId
from groove_daemon.domain.query import Filters
from groove_daemon.store.index import Index
from groove_daemon.store.vectors import VectorSpace
from groove_daemon.store.view import View
from support.store import (
    DIMENSION,
    allowed,
    embed_pending,
    make_chunk,
    make_document_draft,
    make_matrix,
    make_vector,
    open_index,
    put,
)

PATHS = st.sampled_from([f"{name}.md" for name in "abcd"])
TEXTS = st.lists(st.sampled_from(["one bird", "two birds", "three", "four words here", "five"]), max_size=4)


def living(view: View) -> list[tuple[int, int, int, float, bool]]:
    """Document by document and in order: what the arrays say of each chunk."""
    rows = []
    for ordinal in np.flatnonzero(view.document_alive):
        first, count = int(view.document_firsts[ordinal]), int(view.document_counts[ordinal])
        for chunk in range(first, first + count):
            assert view.chunk_alive[chunk]
            assert view.chunk_documents[chunk] == ordinal
            rows.append(
                (
                    int(view.document_ids[ordinal]),
                    int(view.chunk_ids[chunk]),
                    int(view.chunk_slots[chunk]),
                    float(view.chunk_quality[chunk]),
                    bool(view.chunk_ready[chunk]),
                )
            )
    assert len(rows) == view.chunk_count
    return sorted(rows, key=lambda row: row[0])


def titles(view: View) -> dict[int, tuple[int, bool]]:
    return {
        int(view.document_ids[ordinal]): (int(view.title_slots[ordinal]), bool(view.title_ready[ordinal]))
        for ordinal in np.flatnonzero(view.document_alive)
    }


def norms(view: View) -> dict[int, float]:
    living_documents = np.flatnonzero(view.document_alive)
    return {int(view.document_ids[ordinal]): float(view.document_norms[ordinal]) for ordinal in living_documents}


def assert_arrays_equal_a_fresh_load(index: Index) -> None:
    fresh = VectorSpace(resident=True, database=lambda: index.writer.database)
    fresh.load(index.writer.database, index.vectors.dimension)
    now, loaded = index.vectors.view(), fresh.view()
    assert living(now) == living(loaded)
    assert titles(now) == titles(loaded)
    assert norms(now) == pytest.approx(norms(loaded), abs=1e-6)
    assert now.matrix is not None
    assert loaded.matrix is not None
    ready = np.flatnonzero(loaded.ready)
    assert np.array_equal(np.flatnonzero(now.ready), ready)
    assert np.array_equal(now.matrix[ready], loaded.matrix[ready])


def assert_table_search_equals_resident_search(index: Index, filters: Filters) -> None:
    in_table = VectorSpace(resident=False, database=lambda: index.writer.database)
    in_table.load(index.writer.database, index.vectors.dimension)
    admitted, query = allowed(index, filters), make_vector("two birds")
    here, there = index.vectors.scan(query), in_table.scan(query)
    documents = [DocumentId(number) for number in titles(index.vectors.view())]
    for k in (1, 3, 100):
        assert_same(here.top_chunks(k, allowed=admitted), there.top_chunks(k, allowed=admitted))
        assert_same(here.top_titles(k, allowed=admitted), there.top_titles(k, allowed=admitted))
    means_here, means_there = here.top_means(100, allowed=admitted), there.top_means(100, allowed=admitted)
    assert dict(means_here) == pytest.approx(dict(means_there), abs=1e-5)
    best_here, best_there = (
        here.best_chunks(documents, allowed=admitted),
        there.best_chunks(documents, allowed=admitted),
    )
    assert {one: hit[0] for one, hit in best_here.items()} == {one: hit[0] for one, hit in best_there.items()}
    chunk_ids = [hit[0] for hit in best_here.values()]
    vectors_here, vectors_there = index.vectors.vectors_of(chunk_ids), in_table.vectors_of(chunk_ids)
    assert vectors_here.keys() == vectors_there.keys()
    assert all(np.array_equal(vectors_here[one], vectors_there[one]) for one in vectors_here)


def assert_same(here: object, there: object) -> None:
    hits_here, hits_there = list(here), list(there)  # type: ignore[call-overload]
    assert [hit[0] for hit in hits_here] == [hit[0] for hit in hits_there]
    assert [hit[1] for hit in hits_here] == pytest.approx([hit[1] for hit in hits_there], abs=1e-5)


class IndexMachine(RuleBasedStateMachine):
    """Random changes; a plain dict says what must be in the index."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "index.db"
        self.index = open_index(self.path)
        self.model: dict[str, tuple[list[str], DocumentId]] = {}

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
            self.folder.cleanup()

    @rule(path=PATHS, texts=TEXTS, quality=st.sampled_from([0.1, 1.0]))
    def replace(self, path: str, texts: list[str], quality: float) -> None:
        chunks = [make_chunk(text, context="Context", quality=quality) for text in texts]
        self.model[path] = (texts, put(self.index, make_document_draft(path, *chunks)))

    @rule(path=PATHS, destination=PATHS)
    def move(self, path: str, destination: str) -> None:
        if path not in self.model:
            return
        texts, document_id = self.model.pop(path)
        chunks = [make_chunk(text, context="Context") for text in texts]
        moved = put(self.index, make_document_draft(destination, *chunks), document_id=document_id)
        assert moved == document_id
        self.model[destination] = (texts, moved)

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if path in self.model:
            assert self.index.writer.delete_documents([self.model.pop(path)[1]]) == 1

    @rule()
    def embed(self) -> None:
        embed_pending(self.index)

    @rule()
    def embed_some(self) -> None:
        waiting = self.index.writer.pending(2)
        keys = [one.embed_key for one in waiting]
        self.index.writer.store_vectors(keys, make_matrix([one.text for one in waiting]))

    @rule()
    def mark_one(self) -> None:
        self.index.writer.mark_unembeddable([one.embed_key for one in self.index.writer.pending(1)], "odd")

    @rule()
    def prune(self) -> None:
        self.index.writer.prune_embeddings(orphaned_before=1e12)

    @rule()
    def change_embedder(self) -> None:
        self.index.writer.reset_vector_space("another", DIMENSION)

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = Index.open(self.path)

    @rule()
    def compact(self) -> None:
        self.index.writer._compact_slots()

    @invariant()
    def tables_agree(self) -> None:
        if not hasattr(self, "index"):
            return
        assert self.index.reader().disagreements() == []
        assert self.index.writer.check_full_text()
        stored = {
            document.path: [chunk.content for chunk in self.index.reader().document_chunks(document.document_id)]
            for document in self.index.reader().documents(Filters(), offset=0, limit=99)[1]
        }
        assert stored == {path: texts for path, (texts, _) in self.model.items()}

    @invariant()
    def arrays_agree(self) -> None:
        if not hasattr(self, "index"):
            return
        assert_arrays_equal_a_fresh_load(self.index)
        assert_table_search_equals_resident_search(self.index, Filters())
        assert_table_search_equals_resident_search(self.index, Filters(min_quality=0.3, path_globs=("[ab]*",)))

    @invariant()
    def full_text_agrees(self) -> None:
        if not hasattr(self, "index"):
            return
        expected = {path for path, (texts, _) in self.model.items() if any("bird" in text for text in texts)}
        hits = self.index.reader().trigram(["bird"], [], limit=99, allowed=allowed(self.index))
        chunks = self.index.reader().chunks([chunk_id for chunk_id, _ in hits])
        assert {chunk.document.path for chunk in chunks.values()} == expected
        words = self.index.reader().document_words(["bird"], [], limit=99, allowed=allowed(self.index))
        assert {self.model[path][1] for path in expected} == {document_id for document_id, _ in words}


IndexMachine.TestCase.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestIndexStaysConsistent = IndexMachine.TestCase


def test_table_search_equals_resident_search_on_many_chunks(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    for number in range(40):
        texts = [make_chunk(f"text {number} {part}", quality=part / 30) for part in range(30)]
        put(index, make_document_draft(f"{'ab'[number % 2]}/{number}.md", *texts))
    embed_pending(index)

    assert_table_search_equals_resident_search(index, Filters())
    assert_table_search_equals_resident_search(index, Filters(min_quality=0.5, path_globs=("a/*",)))
    assert_arrays_equal_a_fresh_load(index)
    index.close()


def test_index_with_vectors_in_the_file_answers_alike_and_asks_for_4096_at_most(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db", resident=False)
    put(index, make_document_draft("a.md", *[f"text {number}" for number in range(4500)]))
    embed_pending(index)
    similar = index.vectors.scan(make_vector("text 7"))

    assert len(similar.top_chunks(10_000, allowed=allowed(index))) == 4096
    assert similar.top_chunks(1, allowed=allowed(index))[0][1] == pytest.approx(1.0, abs=1e-5)
    assert index.vectors.memory_bytes == 0
    index.close()
