from pathlib import Path

import numpy as np
import pytest

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Filters
from groove_daemon.store.index import Index
from groove_daemon.store.vectors import ChunkRow, VectorSpace
from support.store import allowed, embed_pending, make_chunk, make_document_draft, make_vector, open_index, put


def contents(index: Index, chunk_ids: list[ChunkId]) -> list[str]:
    return [chunk.content for chunk in index.reader().chunks(chunk_ids).values()]


def test_similarity_is_the_cosine_best_first(index: Index) -> None:
    texts = [f"text {number}" for number in range(50)]
    put(index, make_document_draft("a.md", *texts))
    embed_pending(index)
    query = make_vector("some query")
    hits = index.vectors.scan(query).top_chunks(10, allowed=allowed(index))
    expected = sorted(((float(make_vector(text) @ query), text) for text in texts), reverse=True)[:10]

    assert contents(index, [hit[0] for hit in hits]) == [text for _, text in expected]
    assert [hit[1] for hit in hits] == pytest.approx([score for score, _ in expected], abs=1e-6)


def test_ties_go_to_the_smaller_id_even_at_the_cut(index: Index) -> None:
    put(index, make_document_draft("a.md", *["same"] * 9))
    embed_pending(index)
    hits = index.vectors.scan(make_vector("q")).top_chunks(4, allowed=allowed(index))

    assert [hit[0] for hit in hits] == [1, 2, 3, 4]


def test_excluded_chunks_do_not_rank(index: Index) -> None:
    put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    similar = index.vectors.scan(make_vector("one"))
    first = similar.top_chunks(1, allowed=allowed(index))[0][0]
    rest = similar.top_chunks(5, allowed=allowed(index), excluded=frozenset([first, ChunkId(999)]))

    assert contents(index, [hit[0] for hit in rest]) == ["two"]


def test_no_hits_are_asked_for(index: Index) -> None:
    put(index, make_document_draft("a.md", "one"))
    embed_pending(index)

    assert index.vectors.scan(make_vector("one")).top_chunks(0, allowed=allowed(index)) == []
    assert index.vectors.scan(make_vector("one")).top_titles(0, allowed=allowed(index)) == []


def test_best_chunk_of_each_document(index: Index) -> None:
    first = put(index, make_document_draft("a.md", "alpha", "beta"))
    embed_pending(index)
    waiting = put(index, make_document_draft("b.md", make_chunk("low", quality=0.1), "second", "third"))
    empty = put(index, make_document_draft("c.md"))
    admitted = allowed(index, Filters(min_quality=0.3))
    best = index.vectors.scan(make_vector("beta")).best_chunks(
        [first, waiting, empty, DocumentId(99)], allowed=admitted
    )

    assert set(best) == {first, waiting}
    assert contents(index, [best[first][0], best[waiting][0]]) == ["beta", "second"]
    assert best[first][1] == pytest.approx(1.0, abs=1e-6)
    assert best[waiting][1] == 0.0


def test_titles_rank_by_their_own_vectors(index: Index) -> None:
    put(index, make_document_draft("a.md", "x", title="first title"))
    second = put(index, make_document_draft("b.md", "x", title="second title"))
    embed_pending(index)
    (best, _) = index.vectors.scan(make_vector("second title")).top_titles(2, allowed=allowed(index))

    assert best == (second, pytest.approx(1.0, abs=1e-6))
    assert index.vectors.title_vectors_of([second])[second] == pytest.approx(make_vector("second title"))


def test_vectors_and_documents_of_chunks(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    put(index, make_document_draft("a.md", "one", "two", "waiting"))
    one, two, waiting = (chunk.chunk_id for chunk in index.reader().document_chunks(document_id))
    vectors = index.vectors.vectors_of([two, one, waiting, ChunkId(99)])

    assert set(vectors) == {one, two}
    assert vectors[one] == pytest.approx(make_vector("one"))
    assert index.vectors.documents_of([waiting, ChunkId(99), one]) == {waiting: document_id, one: document_id}


@pytest.mark.parametrize("resident", [True, False])
def test_rows_of_chunks_are_in_their_order_and_zero_without_a_vector(tmp_path: Path, resident: bool) -> None:
    index = open_index(tmp_path / "rows.db", resident=resident)
    document_id = put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    put(index, make_document_draft("a.md", "one", "two", "waiting"))
    one, two, waiting = (chunk.chunk_id for chunk in index.reader().document_chunks(document_id))
    rows = index.vectors.rows_of([two, waiting, ChunkId(99), one, two])

    assert rows.shape == (5, index.vectors.dimension)
    assert rows[[0, 3, 4]] == pytest.approx(np.array([make_vector("two"), make_vector("one"), make_vector("two")]))
    assert not rows[1:3].any()
    index.close()


def test_rows_of_an_empty_index_are_zero(index: Index) -> None:
    assert index.vectors.rows_of([ChunkId(1)]).tolist() == [[0.0] * index.vectors.dimension]
    assert index.vectors.passages_of([ChunkId(1)]) == {}


def test_a_scan_keeps_its_state_while_the_index_changes(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one"))
    embed_pending(index)
    similar = index.vectors.scan(make_vector("one"))
    admitted = allowed(index)
    before = similar.top_chunks(5, allowed=admitted)
    index.writer.delete_documents([document_id])

    assert similar.top_chunks(5, allowed=admitted) == before
    assert index.vectors.scan(make_vector("one")).top_chunks(5, allowed=admitted) == []


def test_arrays_close_their_gaps_when_most_of_them_is_dead() -> None:
    space = VectorSpace(resident=True, database=lambda: pytest.fail("no database is needed"))
    space.put_vectors(np.arange(1, 5), np.eye(4, dtype=np.float32)[:, :0])
    kept = [ChunkRow(1, 1, 0.5), ChunkRow(2, 2, 0.6)]
    space.put_document(DocumentId(1), 3, kept)
    for number in range(3000):
        space.put_document(DocumentId(2), 4, [ChunkRow(10 + number, 4, 1.0)])
    view = space.view()

    assert len(view.chunk_ids) < 2500
    assert sorted(view.chunk_ids[view.chunk_alive].tolist()) == [1, 2, 3009]
    assert space.documents_of([ChunkId(1), ChunkId(2), ChunkId(3009), ChunkId(10)]) == {1: 1, 2: 1, 3009: 2}
    assert view.document_firsts[view.document_ordinals([1])[0]] == view.chunk_ordinals([1])[0]
