from groove_daemon.domain.document import ChunkId
from groove_daemon.store.index import Index
from support.store import embed_pending, make_document_draft, put


def ids_of(index: Index, document_id) -> list[ChunkId]:
    return [chunk.chunk_id for chunk in index.reader().document_chunks(document_id)]


def test_each_return_of_a_passage_counts(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", "two", "three"))
    one, two, three = ids_of(index, document_id)

    index.writer.record_accesses([one, two], now=10.0)
    index.writer.record_accesses([one, ChunkId(999)], now=20.0)

    assert index.reader().access_counts([three, two, one, ChunkId(999)]) == {one: 2, two: 1}
    assert index.writer.database.rows("SELECT count, last_at FROM accesses ORDER BY count") == [(1, 10.0), (2, 20.0)]


def test_a_clock_set_back_does_not_move_the_last_access(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one"))
    index.writer.record_accesses(ids_of(index, document_id), now=20.0)
    index.writer.record_accesses(ids_of(index, document_id), now=10.0)

    assert index.writer.database.rows("SELECT count, last_at FROM accesses") == [(2, 20.0)]


def test_counts_outlive_edits_renames_and_deleting_and_restoring(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "kept", "old"))
    embed_pending(index)
    index.writer.record_accesses(ids_of(index, document_id), now=10.0)

    put(index, make_document_draft("a.md", "new", "kept"))
    moved = put(index, make_document_draft("b.md", "newer", "kept"), document_id=document_id)
    assert list(index.reader().access_counts(ids_of(index, moved)).values()) == [1]

    index.writer.delete_documents([moved])
    again = put(index, make_document_draft("c.md", "kept"))
    assert list(index.reader().access_counts(ids_of(index, again)).values()) == [1]


def test_counts_of_passages_that_are_pruned_are_forgotten(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one"))
    put(index, make_document_draft("b.md", "two"))
    embed_pending(index)
    index.writer.record_accesses(ids_of(index, document_id), now=10.0)
    index.writer.delete_documents([document_id])
    assert index.writer.database.value("SELECT count(*) FROM accesses") == 1

    index.writer.prune_embeddings(orphaned_before=1e12)

    assert index.writer.database.value("SELECT count(*) FROM accesses") == 0


def test_counting_is_no_new_generation(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one"))
    generation = index.generation

    index.writer.record_accesses(ids_of(index, document_id), now=10.0)
    index.writer.record_accesses([], now=10.0)

    assert index.generation == generation
