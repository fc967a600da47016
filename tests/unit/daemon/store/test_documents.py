import pytest

from groove_daemon.domain.document import ChunkId, DocumentId, FileStat, Sibling
from groove_daemon.domain.passage import embed_key, passage
from groove_daemon.domain.query import Filters
from groove_daemon.errors import NotIndexed
from groove_daemon.store.index import Index
from support.store import allowed, embed_pending, make_chunk, make_document_draft, make_vector, put


def chunk_ids(index: Index, document_id: DocumentId) -> dict[str, ChunkId]:
    return {chunk.content: chunk.chunk_id for chunk in index.reader().document_chunks(document_id)}


def search(index: Index, phrase: str) -> list[str]:
    hits = index.reader().trigram([phrase], [], limit=9, allowed=allowed(index))
    return [index.reader().chunk(chunk_id).content for chunk_id, _ in hits]


def test_passage_puts_the_context_above_the_content() -> None:
    assert passage("Title > Part", "text") == "Title > Part\n\ntext"
    assert passage(None, "text") == "text"
    assert len(embed_key("text")) == 16


def test_stored_document_comes_back_as_it_was_given(index: Index) -> None:
    draft = make_document_draft("a.md", make_chunk("text", heading="H", context="T > H"), tags=["x", "é"], date="2024")
    document_id = put(index, draft, now=5.0)
    stored = index.reader().document("notes", "a.md")
    (chunk,) = index.reader().document_chunks(document_id)

    assert stored is not None
    assert (stored.title, stored.tags, stored.date, stored.format) == ("a", ("x", "é"), "2024", "md")
    assert (stored.stat, stored.indexed_at, stored.chunk_count) == (draft.stat, 5.0, 1)
    assert (chunk.heading, chunk.context, chunk.content, chunk.heading_path) == ("H", "T > H", "text", ("H",))
    assert not chunk.has_vector
    assert chunk.document == stored


def test_unchanged_chunks_keep_their_ids_when_the_document_changes(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", "two", "three"), now=1.0)
    before = chunk_ids(index, document_id)
    put(index, make_document_draft("a.md", "new", "three", "one"), now=2.0)
    after = chunk_ids(index, document_id)

    assert (after["one"], after["three"]) == (before["one"], before["three"])
    assert after["new"] not in before.values()
    assert list(after) == ["new", "three", "one"]
    assert [chunk.created_at for chunk in index.reader().document_chunks(document_id)] == [2.0, 1.0, 1.0]


def test_repeated_passages_keep_their_order(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "same", "same"))
    before = [chunk.chunk_id for chunk in index.reader().document_chunks(document_id)]
    put(index, make_document_draft("a.md", "new", "same", "same"))
    after = [chunk.chunk_id for chunk in index.reader().document_chunks(document_id)]

    assert after[1:] == before


def test_replaced_text_leaves_no_ghost(index: Index) -> None:
    put(index, make_document_draft("a.md", "zebra finch"))
    put(index, make_document_draft("a.md", "yak herd"))

    assert search(index, "zebra") == []
    assert search(index, "yak") == ["yak herd"]
    assert index.reader().document_words(["zebra"], [], limit=5, allowed=allowed(index)) == []
    assert index.writer.check_full_text()


def test_heading_alone_can_change_under_the_same_passage(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", make_chunk("text", heading="zebra")))
    before = chunk_ids(index, document_id)
    put(index, make_document_draft("a.md", make_chunk("text", heading="okapi")))

    assert chunk_ids(index, document_id) == before
    assert search(index, "zebra") == []
    assert search(index, "okapi") == ["text"]


def test_moved_document_keeps_its_id_and_needs_no_embedding(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    before = chunk_ids(index, document_id)
    moved = index.writer.replace_document(
        "notes", make_document_draft("sub/a.md", "one", "two"), document_id=document_id, now=2.0
    )

    assert (moved.document_id, moved.chunks, moved.pending) == (document_id, 2, 0)
    assert chunk_ids(index, document_id) == before
    assert index.reader().document("notes", "a.md") is None


def test_document_moved_over_another_replaces_it(index: Index) -> None:
    first = put(index, make_document_draft("a.md", "one"))
    put(index, make_document_draft("b.md", "two"))
    put(index, make_document_draft("b.md", "one"), document_id=first)

    assert search(index, "two") == []
    assert index.reader().counts().documents == 1
    assert index.reader().disagreements() == []


def test_document_can_move_to_another_collection(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one"))
    index.writer.ensure_collection("work", "/home/me/work")
    index.writer.replace_document("work", make_document_draft("a.md", "one"), document_id=document_id, now=2.0)

    assert index.reader().document("work", "a.md") is not None
    assert index.reader().document("notes", "a.md") is None


def test_unknown_identity_makes_a_new_document(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one"), document_id=DocumentId(99))

    assert index.reader().documents_by_id([document_id])[document_id].path == "a.md"


def test_passage_that_is_there_twice_is_embedded_once(index: Index) -> None:
    first = index.writer.replace_document("notes", make_document_draft("a.md", "same", "same", title="T"), now=1.0)
    second = index.writer.replace_document("notes", make_document_draft("b.md", "same", "own", title="T"), now=1.0)

    assert (first.pending, second.pending) == (2, 3)
    assert index.writer.pending_count() == 3
    assert embed_pending(index) == 3
    assert index.reader().counts().vectors == 4


def test_deleted_and_restored_text_needs_no_embedding(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", "two"))
    embed_pending(index)
    index.writer.delete_documents([document_id])
    restored = index.writer.replace_document("notes", make_document_draft("a.md", "one", "two"), now=3.0)

    assert restored.pending == 0
    assert len(index.vectors.scan(make_vector("one")).top_chunks(5, allowed=allowed(index))) == 2


def test_deleting_removes_every_trace(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one bird", "two"))
    embed_pending(index)

    assert index.writer.delete_documents([document_id, document_id, DocumentId(77)]) == 1
    assert search(index, "bird") == []
    assert index.vectors.scan(make_vector("one bird")).top_chunks(5, allowed=allowed(index)) == []
    assert index.vectors.scan(make_vector("a")).top_titles(5, allowed=allowed(index)) == []
    assert index.reader().disagreements() == []


def test_each_visible_change_raises_the_generation(index: Index) -> None:
    start = index.generation
    document_id = put(index, make_document_draft("a.md", "one"))
    embed_pending(index)
    index.writer.touch_document(document_id, FileStat(1, 2, 3, 4))
    index.writer.delete_documents([document_id])
    index.writer.delete_documents([document_id])

    assert index.generation == start + 3
    with index.reader().snapshot() as generation:
        assert generation == start + 3


def test_known_documents_tell_what_was_read(index: Index) -> None:
    draft = make_document_draft("a.md", "one")
    document_id = put(index, draft)
    stat = FileStat(7, 8, 9, 2**64 - 1)
    index.writer.touch_document(document_id, stat)
    known = index.writer.known_documents("notes")

    assert list(known) == ["a.md"]
    assert known["a.md"] == index.writer.known_document("notes", "a.md")
    assert (known["a.md"].stat, known["a.md"].content_hash) == (stat, draft.content_hash)
    assert index.writer.known_document("notes", "b.md") is None


def test_unknown_collection_is_named(index: Index) -> None:
    with pytest.raises(NotIndexed, match="'nope'"):
        index.writer.known_documents("nope")


def test_removed_collection_takes_its_documents_along(index: Index) -> None:
    put(index, make_document_draft("a.md", "one"))
    index.writer.ensure_collection("work", "/w")
    index.writer.replace_document("work", make_document_draft("b.md", "two"), now=1.0)

    assert index.writer.remove_collection("notes") == 1
    assert index.writer.remove_collection("notes") == 0
    assert list(index.writer.collections()) == ["work"]
    assert index.reader().documents(Filters(), offset=0, limit=9)[0] == 1
    assert index.reader().disagreements() == []


def test_counts_are_by_collection_and_add_up(index: Index) -> None:
    put(index, make_document_draft("a.md", "one", "two", "three"))
    waiting = index.writer.pending(10)
    keys = {one.text: one.embed_key for one in waiting}
    index.writer.mark_unembeddable([keys["two"]], "odd")
    index.writer.store_vectors([keys["one"]], make_vector("one").reshape(1, -1))
    counts = index.reader().counts()

    assert (counts.documents, counts.chunks, counts.vectors, counts.pending, counts.unembeddable) == (1, 3, 1, 1, 1)
    assert counts.collections["notes"].chunks == 3


def test_missing_chunk_is_reported(index: Index) -> None:
    assert index.reader().chunks([ChunkId(5)]) == {}
    with pytest.raises(NotIndexed):
        index.reader().chunk(ChunkId(5))


def test_document_that_moves_with_its_name_keeps_its_full_text(index: Index) -> None:
    document_id = put(index, make_document_draft("a.md", "one", title="T"))
    embed_pending(index)
    rows = index.writer.database.total_changes
    put(index, make_document_draft("b/a.md", "one", title="T"), document_id=document_id)
    moved = index.writer.database.total_changes - rows
    rows = index.writer.database.total_changes
    put(index, make_document_draft("b/other.md", "one", title="T"), document_id=document_id)
    renamed = index.writer.database.total_changes - rows
    found = index.reader().document_words(["other"], [], limit=9, allowed=allowed(index))

    assert moved == 2  # the document's row and the generation
    assert renamed > moved
    assert [found_id for found_id, _ in found] == [document_id]
    assert index.writer.check_full_text()


def test_root_of_a_collection_is_known_until_its_folder_is_another(index: Index) -> None:
    assert index.writer.root_identity("notes") is None
    assert index.writer.root_identity("no such collection") is None

    generation = index.generation
    index.writer.note_root_identity("notes", 40, 2**64 - 1)

    assert index.writer.root_identity("notes") == (40, 2**64 - 1)
    assert index.generation == generation

    index.writer.ensure_collection("notes", "/home/me/other")

    assert index.writer.root_identity("notes") is None


def test_siblings_of_several_documents_are_those_of_each(index: Index) -> None:
    first = put(index, make_document_draft("a.md", "one", "two", "three"))
    second = put(index, make_document_draft("b.md", make_chunk("four", heading="H", context="T > H"), "five"))
    # A chunk that enters later, and so with a higher id, before the others.
    put(index, make_document_draft("a.md", "new", "one", "two", "three"))
    reader = index.reader()

    found = reader.siblings([second, DocumentId(99), first])

    assert list(found) == [second, DocumentId(99), first]
    assert found[DocumentId(99)] == []
    assert [chunk.content for chunk in found[first]] == ["new", "one", "two", "three"]
    assert [chunk.content for chunk in found[second]] == ["four", "five"]
    for document_id in (first, second):
        fields = [
            tuple(getattr(chunk, name) for name in Sibling._fields[1:]) for chunk in reader.document_chunks(document_id)
        ]
        assert [sibling[1:] for sibling in found[document_id]] == fields
        assert {sibling.document_id for sibling in found[document_id]} == {document_id}


def test_siblings_of_no_document_are_none(index: Index) -> None:
    assert index.reader().siblings([]) == {}
