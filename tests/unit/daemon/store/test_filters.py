import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groove_daemon.domain.query import Filters
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


@pytest.fixture
def library(index: Index) -> Index:
    put(
        index,
        make_document_draft("work/a.md", "bird alpha", tags=["x", "y"], date="2024-01-31", topic="t1", category="c1"),
    )
    put(index, make_document_draft("work/b.txt", "bird beta", tags=["y"], date="2024-02-01", form="txt", topic="t2"))
    put(index, make_document_draft("home/c.md", "bird gamma", mtime_ns=1_800_000_000_123_456_789))
    embed_pending(index)
    return index


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"work/a.md", "work/b.txt", "home/c.md"}),
        (Filters(path_globs=("work/*",)), {"work/a.md", "work/b.txt"}),
        (Filters(path_globs=("*.md", "!home/*")), {"work/a.md"}),
        (Filters(tags_any=("x", "z")), {"work/a.md"}),
        (Filters(tags_all=("x", "y")), {"work/a.md"}),
        (Filters(tags_all=("y",)), {"work/a.md", "work/b.txt"}),
        (Filters(date_from="2024-02-01"), {"work/b.txt"}),
        (Filters(date_to="2024-01-31"), {"work/a.md"}),
        (Filters(date_from="2000"), {"work/a.md", "work/b.txt"}),
        (Filters(formats=("txt",)), {"work/b.txt"}),
        (Filters(topic="t1"), {"work/a.md"}),
        (Filters(topic="T1"), set()),
        (Filters(category="c1"), {"work/a.md"}),
        (Filters(modified_from=1_750_000_000.0), {"home/c.md"}),
        (Filters(modified_to=1_700_000_000.0), {"work/a.md", "work/b.txt"}),
        (Filters(modified_from=1_800_000_000 + 1e-9 * 123_456_789), {"home/c.md"}),
        (Filters(collections=("notes",)), {"work/a.md", "work/b.txt", "home/c.md"}),
        (Filters(collections=("other",)), set()),
        (Filters(path_globs=("work/*",), tags_any=("y",), formats=("md",)), {"work/a.md"}),
    ],
)
def test_filters_apply_to_every_leg(library: Index, filters: Filters, expected: set[str]) -> None:
    reader = library.reader()
    admitted = allowed(library, filters)
    total, documents = reader.documents(filters, offset=0, limit=10)
    by_document = reader.documents_by_id(
        [hit[0] for hit in reader.document_words(["bird"], [], limit=9, allowed=admitted)]
    )
    similar = library.vectors.scan(make_vector("bird"))

    assert set(found_paths(library, reader.trigram(["bird"], [], limit=9, allowed=admitted))) == expected
    assert set(found_paths(library, reader.chunk_words(["bird"], [], limit=9, allowed=admitted))) == expected
    assert set(found_paths(library, similar.top_chunks(9, allowed=admitted))) == expected
    assert {document.path for document in by_document.values()} == expected
    assert len(similar.top_titles(9, allowed=admitted)) == len(expected)
    assert {document.path for document in documents} == expected
    assert total == len(expected)


def test_modified_bound_from_a_real_file_includes_that_file(index: Index, tmp_path: Path) -> None:
    for number in range(20):
        path = tmp_path / f"{number}.md"
        path.write_text("x")
        os.utime(path, ns=(0, 1_712_345_678_000_000_001 + number * 123_456_789))
        found = path.stat()
        put(index, make_document_draft(f"{number}.md", "text", mtime_ns=found.st_mtime_ns))
        total, _ = index.reader().documents(
            Filters(modified_from=found.st_mtime, modified_to=found.st_mtime), offset=0, limit=0
        )

        assert total == 1


def test_file_far_in_the_future_counts_as_later(index: Index) -> None:
    mtime_ns = 10**19
    put(index, make_document_draft("future.md", "text", mtime_ns=mtime_ns))
    stored = index.reader().document("notes", "future.md")

    assert stored is not None
    assert stored.stat.mtime_ns == mtime_ns
    assert index.reader().documents(Filters(modified_from=4e9), offset=0, limit=9)[0] == 1
    assert index.reader().documents(Filters(modified_to=4e9), offset=0, limit=9)[0] == 0


def test_quality_threshold_is_inclusive(index: Index) -> None:
    put(index, make_document_draft("a.md", make_chunk("bird one", quality=0.3), make_chunk("bird two", quality=0.29)))
    embed_pending(index)
    admitted = allowed(index, Filters(min_quality=0.3))
    hits = index.reader().trigram(["bird"], [], limit=5, allowed=admitted)

    assert [index.reader().chunk(chunk_id).content for chunk_id, _ in hits] == ["bird one"]
    assert len(index.vectors.scan(make_vector("x")).top_chunks(5, allowed=admitted)) == 1
    assert not admitted.everything
    assert admitted.chunk_count == 1


def test_allowed_says_when_it_leaves_nothing_out(index: Index) -> None:
    assert allowed(index).everything


def test_document_whose_chunks_are_all_below_the_threshold_is_not_allowed(index: Index) -> None:
    put(index, make_document_draft("low.md", make_chunk("bird", quality=0.1)))
    put(index, make_document_draft("empty-bird.md", title="bird"))
    admitted = allowed(index, Filters(min_quality=0.3))
    hits = index.reader().document_words(["bird"], [], limit=5, allowed=admitted)

    assert [one.path for one in index.reader().documents_by_id([hit[0] for hit in hits]).values()] == ["empty-bird.md"]


def test_ten_allowed_among_many_come_back(index: Index) -> None:
    for number in range(30):
        put(index, make_document_draft(f"big/{number}.md", *[f"bird bird bird {number} {part}" for part in range(20)]))
    for number in range(10):
        put(
            index,
            make_document_draft(f"small/{number}.md", f"a long text that names a bird only once, number {number}"),
        )
    embed_pending(index)
    admitted = allowed(index, Filters(path_globs=("small/*",)))
    full_text = index.reader().trigram(["bird"], [], limit=10, allowed=admitted)
    near = index.vectors.scan(make_vector("bird")).top_chunks(10, allowed=admitted)

    assert len(set(found_paths(index, full_text))) == 10
    assert len(set(found_paths(index, near))) == 10


def test_wide_filter_gives_the_same_as_filtering_everything(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groove_daemon.store.reader._LIST_ROWS", 0)
    for number in range(60):
        quality = 0.1 if number < 20 else 0.9
        put(index, make_document_draft(f"{number}.md", make_chunk("bird " * (60 - number), quality=quality)))
    reader = index.reader()
    everything = reader.trigram(["bird"], [], limit=100, allowed=allowed(index))
    admitted = allowed(index, Filters(min_quality=0.3))
    filtered = reader.trigram(["bird"], [], limit=15, allowed=admitted)

    assert filtered == [hit for hit in everything if admitted.admits(hit[0])][:15]
    assert len(filtered) == 15


def test_chunk_stored_after_the_filters_were_judged_is_left_out(index: Index) -> None:
    put(index, make_document_draft("a.md", "bird one"))
    admitted = allowed(index, Filters(path_globs=("*",)))
    put(index, make_document_draft("b.md", "bird two"))
    embed_pending(index)

    assert found_paths(index, index.reader().trigram(["bird"], [], limit=5, allowed=admitted)) == ["a.md"]
    assert found_paths(index, index.vectors.scan(make_vector("x")).top_chunks(5, allowed=admitted)) == ["a.md"]


def test_topics_group_by_category_and_topic(library: Index) -> None:
    topics = library.reader().topics(Filters())

    assert [(one.category, one.topic, one.file_count, one.titles) for one in topics] == [
        (None, None, 1, ("c",)),
        (None, "t2", 1, ("b",)),
        ("c1", "t1", 1, ("a",)),
    ]
    assert topics[0].last_modified == pytest.approx(1_800_000_000.123)


def test_documents_are_paged_by_path(library: Index) -> None:
    total, page = library.reader().documents(Filters(), offset=1, limit=1)

    assert total == 3
    assert [document.path for document in page] == ["work/a.md"]


TAGS = ["a", "b", 'a"b', "\\", "ä", "a\nb", '","', "A"]


@given(
    st.lists(st.lists(st.sampled_from(TAGS), unique=True, max_size=4), min_size=1, max_size=5),
    st.lists(st.sampled_from(TAGS), max_size=3),
    st.lists(st.sampled_from(TAGS), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_tags_are_compared_whole(documents: list[list[str]], wanted: list[str], needed: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = open_index(Path(folder) / "index.db")
        for number, tags in enumerate(documents):
            put(index, make_document_draft(f"{number}.md", "text", tags=tags))
        filters = Filters(tags_any=tuple(wanted), tags_all=tuple(needed))
        _, found = index.reader().documents(filters, offset=0, limit=10)
        index.close()

    assert [document.path for document in found] == [
        f"{number}.md"
        for number, tags in enumerate(documents)
        if (not wanted or set(wanted) & set(tags)) and set(needed) <= set(tags)
    ]
