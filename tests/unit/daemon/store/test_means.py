"""Mean vectors are never stored, so what is worked out in their place must equal them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.document import DocumentId
from groove_daemon.domain.query import Filters
from groove_daemon.store import means
from groove_daemon.store.index import Index
from groove_daemon.store.vectors import ChunkRow, VectorSpace
from support.store import allowed, embed_pending, make_chunk, make_document_draft, make_vector, open_index, put

# Each document is a list of slots; odd slots have no vector.
DOCUMENTS = st.lists(st.lists(st.integers(0, 19), max_size=6), min_size=1, max_size=12)


def brute_force(matrix: np.ndarray, slots: list[int], query: np.ndarray) -> float | None:
    own = [matrix[slot].astype(np.float64) for slot in slots if slot % 2 == 0]
    if not own:
        return None
    mean = np.mean(own, axis=0)
    return float(query @ mean / np.linalg.norm(mean))


def space_of(documents: list[list[int]], matrix: np.ndarray) -> VectorSpace:
    space = VectorSpace(resident=True, database=lambda: pytest.fail("no database is needed"))
    space.reset_vectors(matrix.shape[1])
    for number, slots in enumerate(documents, start=1):
        rows = [ChunkRow(100 * number + place, slot, 1.0) for place, slot in enumerate(slots)]
        space.put_document(DocumentId(number), 19, rows)
    even = np.arange(0, 20, 2)
    space.put_vectors(even, matrix[even])
    return space


@given(DOCUMENTS, st.integers(0, 2**32 - 1))
def test_the_cosine_of_a_mean_equals_the_brute_force(documents: list[list[int]], seed: int) -> None:
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(20, 5))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    query = matrix[7]
    space = space_of(documents, matrix)
    view = space.view()
    expected = {number: brute_force(matrix, slots, query) for number, slots in enumerate(documents, start=1)}
    ready = np.flatnonzero(view.chunk_ready)

    cosines = (matrix @ query)[view.chunk_slots[ready]]
    found = means.mean_cosines(cosines, view.chunk_documents[ready], view.document_norms)

    assert {number: score for number, score in enumerate(found, start=1) if score > -np.inf} == pytest.approx(
        {number: score for number, score in expected.items() if score is not None}, abs=1e-5
    )


def test_large_documents_are_summed_in_blocks() -> None:
    matrix = np.eye(3, dtype=np.float32)
    counts = np.array([5000, 0, 3, 5000])
    slots = np.concatenate([np.zeros(5000), [0, 1, 2], np.ones(5000)]).astype(np.int64)
    firsts = np.array([0, 5000, 5000, 5003])

    norms = means.norms_of_sums(matrix, np.ones(3, dtype=np.bool_), slots, firsts=firsts, counts=counts)

    assert norms.tolist() == pytest.approx([5000.0, 0.0, 3**0.5, 5000.0])


def test_opposite_vectors_have_no_mean() -> None:
    space = space_of([[0, 2], [0]], np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], *[[0.0, 1.0]] * 17], np.float32))

    view = space.view()
    found = means.mean_cosines(np.array([1.0, -1.0, 1.0], np.float32), view.chunk_documents, view.document_norms)

    assert found.tolist() == [-np.inf, 1.0]


@pytest.mark.parametrize("resident", [True, False])
def test_documents_rank_by_the_mean_of_their_chunks(tmp_path: Path, resident: bool) -> None:
    index: Index = open_index(tmp_path / "index.db", resident=resident)
    both = put(index, make_document_draft("both.md", "alpha", "beta"))
    one = put(index, make_document_draft("one.md", "alpha", "gamma", "delta"))
    put(index, make_document_draft("poor.md", make_chunk("alpha", quality=0.1)))
    embed_pending(index)
    put(index, make_document_draft("waiting.md", "epsilon"))
    alpha, beta = make_vector("alpha"), make_vector("beta")
    query = (alpha + beta) / np.linalg.norm(alpha + beta)
    admitted = allowed(index, Filters(min_quality=0.3))

    ranking = index.vectors.scan(query).top_means(5, allowed=admitted)
    mean = alpha + make_vector("gamma") + make_vector("delta")

    assert [document_id for document_id, _ in ranking] == [both, one]
    assert ranking[0][1] == pytest.approx(1.0, abs=1e-6)
    assert ranking[1][1] == pytest.approx(float(query @ mean / np.linalg.norm(mean)), abs=1e-6)
    assert index.vectors.scan(query).top_means(1, allowed=admitted) == ranking[:1]
    assert index.vectors.scan(query).top_means(0, allowed=admitted) == []
    index.close()
