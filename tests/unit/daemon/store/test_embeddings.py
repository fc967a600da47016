from pathlib import Path

import numpy as np
import pytest

from groove_daemon.domain.passage import embed_key
from groove_daemon.errors import EmbedderMismatch
from groove_daemon.store.index import Index
from support.store import (
    DIMENSION,
    FINGERPRINT,
    allowed,
    embed_pending,
    make_chunk,
    make_document_draft,
    make_matrix,
    make_vector,
    open_index,
    put,
)


def test_pending_gives_what_the_embedder_reads_newest_document_first(index: Index) -> None:
    put(index, make_document_draft("old.md", make_chunk("text", context="Old > Part"), mtime_ns=1))
    put(index, make_document_draft("new.md", "fresh", mtime_ns=2))

    assert [one.text for one in index.writer.pending(10)] == ["new", "fresh", "old", "Old > Part\n\ntext"]
    assert [one.text for one in index.writer.pending(1)] == ["new"]
    assert all(one.embed_key == embed_key(one.text) for one in index.writer.pending(10))


def test_stored_vectors_are_found_and_no_longer_pending(index: Index) -> None:
    put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    best = index.vectors.scan(make_vector("two")).top_chunks(1, allowed=allowed(index))

    assert index.writer.pending_count() == 0
    assert index.reader().chunk(best[0][0]).content == "two"
    assert best[0][1] == pytest.approx(1.0, abs=1e-6)


def test_storing_vectors_again_replaces_them(index: Index) -> None:
    put(index, make_document_draft("a.md", "one"))
    embed_pending(index)
    for seed in ("x", "y"):
        index.writer.store_vectors([embed_key("one")], make_matrix([seed]))
    (hit,) = index.vectors.scan(make_vector("y")).top_chunks(5, allowed=allowed(index))

    assert hit[1] == pytest.approx(1.0, abs=1e-6)
    assert index.reader().disagreements() == []


def test_vectors_of_text_that_is_gone_are_passed_over(index: Index) -> None:
    put(index, make_document_draft("a.md", "one"))
    put(index, make_document_draft("a.md", "two"))
    index.writer.store_vectors([embed_key("one"), embed_key("two")], make_matrix(["one", "two"]))

    assert index.reader().counts().vectors == 1
    assert index.reader().disagreements() == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_unusable_vector_never_ranks(index: Index, bad: float) -> None:
    put(index, make_document_draft("a.md", "one"))
    index.writer.store_vectors([embed_key("one")], np.full((1, DIMENSION), bad, dtype=np.float32))

    assert index.vectors.scan(make_vector("one")).top_chunks(5, allowed=allowed(index)) == []
    assert index.reader().counts().unembeddable == 1
    assert embed_key("one") not in {one.embed_key for one in index.writer.pending(10)}


def test_vector_of_another_length_is_refused(index: Index) -> None:
    put(index, make_document_draft("a.md", "one"))

    with pytest.raises(ValueError, match="shape"):
        index.writer.store_vectors([embed_key("one")], make_matrix(["one"], 4))
    with pytest.raises(ValueError, match="unit"):
        index.writer.store_vectors([embed_key("one")], 2 * make_matrix(["one"]))


def test_unembeddable_passage_is_not_tried_again_until_its_text_changes(index: Index) -> None:
    put(index, make_document_draft("a.md", "one", title="T"))
    index.writer.mark_unembeddable([embed_key("one")], "no tokens")
    put(index, make_document_draft("a.md", "one", "more", title="T"))

    assert {one.text for one in index.writer.pending(9)} == {"T", "more"}
    put(index, make_document_draft("a.md", "changed", title="T"))
    assert {one.text for one in index.writer.pending(9)} == {"T", "changed"}


def test_pruned_slots_are_used_again(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", "two", title="T"))
    embed_pending(index)
    index.writer.delete_documents([document_id])

    assert index.writer.prune_embeddings(orphaned_before=0.0) == 0
    assert index.writer.prune_embeddings(orphaned_before=1e12) == 3
    put(index, make_document_draft("b.md", "three", title="U"))
    embed_pending(index)
    slots = index.writer.database.value("SELECT max(slot) FROM embeddings")
    best = index.vectors.scan(make_vector("three")).top_chunks(3, allowed=allowed(index))
    assert slots == 3
    assert [hit[1] for hit in best] == pytest.approx([1.0])
    assert index.reader().disagreements() == []


def test_other_embedder_is_refused_until_the_vectors_are_reset(index: Index) -> None:
    put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    index.writer.bind_vector_space(FINGERPRINT, DIMENSION)

    with pytest.raises(EmbedderMismatch, match="other/4"):
        index.writer.bind_vector_space("other/4", 4)
    index.writer.reset_vector_space("other/4", 4)
    assert index.writer.pending_count() == 3
    assert index.vectors.scan(make_vector("one", 4)).top_chunks(5, allowed=allowed(index)) == []
    embed_pending(index)
    assert len(index.vectors.scan(make_vector("one", 4)).top_chunks(5, allowed=allowed(index))) == 2
    with pytest.raises(EmbedderMismatch, match="8 numbers"):
        index.vectors.scan(make_vector("one", 8))
    assert index.embedder == ("other/4", 4)


def test_index_without_an_embedder_works_by_words(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db", bind=False)
    put(index, make_document_draft("a.md", "one bird"))

    assert len(index.reader().trigram(["bird"], [], limit=5, allowed=allowed(index))) == 1
    assert index.vectors.scan(make_vector("x")).top_chunks(5, allowed=allowed(index)) == []
    assert index.embedder is None
    assert index.reader().disagreements() == []
    index.close()


def test_storing_a_document_does_not_walk_all_that_waits_for_a_vector(index: Index) -> None:
    few = _steps_of_an_edit(index, documents=20)
    embed_pending(index)
    put(index, make_document_draft("one.md", "one more"))
    index.writer.optimize()
    many = _steps_of_an_edit(index, documents=1000)

    assert many < 2 * few


def _steps_of_an_edit(index: Index, *, documents: int) -> int:
    """How many instructions SQLite runs to store a changed document while so many wait."""
    for number in range(documents):
        put(index, make_document_draft(f"n{number}.md", f"text {number}"))
    connection, steps = index.writer.database.connection, 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    connection.set_progress_handler(count, 1)
    put(index, make_document_draft("n0.md", f"another text {documents}"))
    connection.set_progress_handler(None)
    return steps
