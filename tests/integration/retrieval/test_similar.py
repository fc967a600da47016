"""What is near by vectors alone, on a real index with vectors of two numbers that are worked by hand."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Filters
from groove_daemon.errors import InvalidParams, ModelUnavailable, NotIndexed
from groove_daemon.retrieval.similar import SimilarCall, SimilarResult, Source, find_similar
from groove_daemon.store.index import Index
from support.retrieval import FixedEmbedder
from support.store import make_chunk, make_document_draft, open_index, put

ROOTS = {"notes": "/home/me/notes"}
EAST, NORTH, WEST, SOUTH = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)
NORTH_EAST = (math.sqrt(0.5), math.sqrt(0.5))
STEEP = (0.6, 0.8)
VECTORS = {"east": EAST, "north": NORTH, "west": WEST, "south": SOUTH, "steep": STEEP, "north-east": NORTH_EAST}


class Shelf:
    """An index whose passages have the vectors of `VECTORS`, by their text."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.embedder = lambda: FixedEmbedder(VECTORS)

    def add(self, path: str, *contents: object, **fields: object) -> DocumentId:
        return put(self.index, make_document_draft(path, *contents, **fields))

    def embed(self, *texts: str) -> None:
        """Give these passages their vectors, or all that have one."""
        waiting = [
            one for one in self.index.writer.pending(100) if one.text in VECTORS and (not texts or one.text in texts)
        ]
        self.index.writer.store_vectors(
            [one.embed_key for one in waiting], np.array([VECTORS[one.text] for one in waiting], dtype=np.float32)
        )

    def source(self, path: str, position: int | None = None) -> Source:
        document = self.index.reader().document("notes", path)
        assert document is not None
        if position is None:
            return document
        return self.index.reader().document_chunks(document.document_id)[position]

    def near(self, source: Source, kind: str = "documents", *, limit: int = 10, **filters: object) -> SimilarResult:
        call = SimilarCall(source, kind, limit, Filters(**filters))
        return find_similar(call, index=self.index, embedder=lambda: self.embedder(), roots=ROOTS)

    def documents(self, source: Source, **options: object) -> list[tuple[str, float]]:
        return [(near.document.path, round(near.score, 5)) for near in self.near(source, **options).documents]

    def chunks(self, source: Source, **options: object) -> list[tuple[str, str, float]]:
        hits = self.near(source, "chunks", **options).chunks
        return [(hit.chunk.document.path, hit.content, round(hit.score, 5)) for hit in hits]


@pytest.fixture(params=[True, False], ids=["resident", "in the file"])
def shelf(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shelf]:
    index = open_index(tmp_path / "index.db", resident=request.param, bind=False)
    index.writer.bind_vector_space("fixed", 2)
    made = Shelf(index)
    made.add("mixed.md", "east", "north")
    made.add("east.md", "east")
    made.add("west.md", "west", tags=["far"])
    made.add("steep.md", "steep")
    made.embed()
    yield made
    index.close()


def test_documents_near_a_document_by_the_cosines_of_their_means(shelf: Shelf) -> None:
    # The mean of east and north points north-east: to steep (0.6 + 0.8) / sqrt(2), to east 1 / sqrt(2), to west less.
    assert shelf.documents(shelf.source("mixed.md")) == [
        ("steep.md", 0.98995), ("east.md", 0.70711), ("west.md", -0.70711),
    ]  # fmt: skip


def test_chunks_near_a_document_are_those_of_others(shelf: Shelf) -> None:
    assert shelf.chunks(shelf.source("mixed.md")) == [
        ("steep.md", "steep", 0.98995), ("east.md", "east", 0.70711), ("west.md", "west", -0.70711),
    ]  # fmt: skip


def test_chunks_near_a_chunk_leave_only_that_chunk_out(shelf: Shelf) -> None:
    # The chunk of east.md is a copy, and stands as such.
    assert shelf.chunks(shelf.source("mixed.md", 0), limit=3) == [
        ("east.md", "east", 1.0), ("steep.md", "steep", 0.6), ("mixed.md", "north", 0.0),
    ]  # fmt: skip


def test_documents_near_a_chunk_leave_its_document_out(shelf: Shelf) -> None:
    assert shelf.documents(shelf.source("mixed.md", 1)) == [("steep.md", 0.8), ("east.md", 0.0), ("west.md", 0.0)]


def test_near_a_text_nothing_is_left_out(shelf: Shelf) -> None:
    assert shelf.documents("north") == [
        ("steep.md", 0.8), ("mixed.md", 0.70711), ("east.md", 0.0), ("west.md", 0.0),
    ]  # fmt: skip
    assert shelf.chunks("north", limit=1) == [("mixed.md", "north", 1.0)]


def test_each_passage_is_shown_once_and_names_its_other_places(shelf: Shelf) -> None:
    for number in range(30):
        shelf.add(f"copy {number:02}.md", "east")

    first, second = shelf.near("north-east", "chunks", limit=2, path_globs=("copy*", "east.md", "steep.md")).chunks

    assert (first.content, first.also_in_count) == ("steep", 0)
    assert (second.content, second.also_in_count, len(second.also_in)) == ("east", 30, 20)


def test_the_limit_and_filters_hold(shelf: Shelf) -> None:
    source = shelf.source("mixed.md")

    assert shelf.documents(source, limit=1) == [("steep.md", 0.98995)]
    assert shelf.documents(source, limit=0) == []
    assert shelf.chunks(source, limit=0) == []
    assert shelf.documents(source, limit=1, tags_any=("far",)) == [("west.md", -0.70711)]
    assert shelf.chunks(source, limit=1, tags_any=("far",)) == [("west.md", "west", -0.70711)]


def test_low_quality_is_left_out_on_demand(shelf: Shelf) -> None:
    shelf.add("rough.md", make_chunk("south", quality=0.1))
    shelf.embed()

    assert shelf.documents("south", limit=1) == [("rough.md", 1.0)]
    assert shelf.chunks("south", limit=1) == [("rough.md", "south", 1.0)]
    assert shelf.documents("south", limit=1, min_quality=0.3) == [("east.md", 0.0)]
    assert shelf.chunks("south", limit=1, min_quality=0.3) == [("mixed.md", "east", 0.0)]


def test_chunks_without_vector_are_counted(shelf: Shelf) -> None:
    shelf.add("new.md", "nothing yet", "nothing at all")

    assert shelf.near("north").without_vector == 2
    assert shelf.near("north", path_globs=("east.md",)).without_vector == 0


def test_a_document_that_is_embedded_in_part_counts_with_that_part(shelf: Shelf) -> None:
    shelf.add("part.md", "north-east", "nothing yet")
    shelf.embed()

    assert shelf.documents(shelf.source("part.md"), limit=1) == [("mixed.md", 1.0)]


def test_a_source_without_a_vector_is_an_error_that_says_so(shelf: Shelf) -> None:
    shelf.add("new.md", "nothing yet")
    shelf.add("empty.md")
    shelf.add("torn.md", "east", "west")

    with pytest.raises(NotIndexed, match=r"'new\.md' has no vector to compare yet; `groovectl wait-fresh --vectors`"):
        shelf.near(shelf.source("new.md"))
    with pytest.raises(NotIndexed, match=r"chunk \d+ has no vector to compare yet"):
        shelf.near(shelf.source("new.md", 0), "chunks")
    with pytest.raises(NotIndexed, match=r"'empty\.md' has no vector to compare because it has no text"):
        shelf.near(shelf.source("empty.md"))
    with pytest.raises(NotIndexed, match=r"'torn\.md' has no vector to compare"):
        shelf.near(shelf.source("torn.md"))


def test_a_text_needs_words_and_a_model(shelf: Shelf) -> None:
    with pytest.raises(InvalidParams, match="text: is empty"):
        shelf.near(" \n")
    shelf.embedder = lambda: None
    with pytest.raises(ModelUnavailable, match="without an embedder"):
        shelf.near("north")
    # What is in the index already can still be compared.
    assert len(shelf.documents(shelf.source("mixed.md"))) == 3


def test_an_index_without_an_embedder_says_so(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db", bind=False)
    shelf = Shelf(index)
    shelf.add("east.md", "east")

    with pytest.raises(NotIndexed, match="because no embedder has been in use"):
        shelf.near(shelf.source("east.md"))
    index.close()


def test_copies_and_places_are_known_without_vectors(shelf: Shelf) -> None:
    first = shelf.add("a.md", "twin", "single")
    shelf.add("b.md", make_chunk("twin", line_start=7))
    shelf.add("hidden.md", make_chunk("twin", quality=0.1))
    reader, vectors = shelf.index.reader(), shelf.index.vectors
    twin, single = [chunk.chunk_id for chunk in reader.document_chunks(first)]
    passages = vectors.passages_of([twin, single, ChunkId(999)])
    (other,) = vectors.copies_of([twin, single], allowed=reader.allowed(Filters(min_quality=0.5)))[twin]
    place = reader.places([other, ChunkId(999)])

    assert set(passages) == {twin, single}
    assert passages[twin] != passages[single]
    assert passages[twin] == vectors.passages_of([other])[other]
    assert [(spot.collection, spot.path, spot.line_start) for spot in place.values()] == [("notes", "b.md", 7)]
    assert len(vectors.copies_of([twin], allowed=reader.allowed(Filters()))[twin]) == 2


def test_equal_contents_are_told_whatever_stands_above_them(shelf: Shelf) -> None:
    shelf.add("a.md", make_chunk("twin", context="A"), make_chunk("twix", context="A"))
    shelf.add("b.md", make_chunk("twin", context="B"), make_chunk("twin", context="C"))
    reader = shelf.index.reader()
    ids = {}
    for path in ("a.md", "b.md"):
        document = reader.document("notes", path)
        assert document is not None
        ids[path] = [chunk.chunk_id for chunk in reader.document_chunks(document.document_id)]
    (twin, twix), (second, third) = ids["a.md"], ids["b.md"]

    assert reader.same_texts([third, twix, twin, second, ChunkId(999)]) == {twin: third, second: third}
    assert reader.same_texts([twin, twix]) == {}
    assert reader.same_texts([]) == {}
