from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.change import Change, ChangeKind
from groove_daemon.domain.document import DocumentId, FileStat, KnownDocument
from groove_daemon.indexing.reconcile import reconcile, settled

KEY = "md/1"


def known(path: str, content: str, *, at: int = 1, key: str = KEY) -> KnownDocument:
    return KnownDocument(DocumentId(hash(path)), path, FileStat(len(content), at), content.encode(), key)


def plan(
    documents: list[KnownDocument],
    files: Mapping[str, tuple[str, int]],
    *,
    covered: bool = True,
    unreadable: frozenset[str] = frozenset(),
) -> list[tuple[str, str, str | None]]:
    """Changes as (kind, path, moved from); files are path to (content, mtime)."""
    changes = reconcile(
        "notes",
        known={document.path: document for document in documents},
        seen={path: FileStat(len(content), at) for path, (content, at) in files.items()},
        is_covered=lambda _path: covered,
        parse_key=lambda _path: KEY,
        content_hash=lambda path: None if path in unreadable else files[path][0].encode(),
    )
    return [(change.kind.value, change.path, change.moved_from) for change in changes]


def test_reconcile_tells_added_modified_removed_and_unchanged_apart() -> None:
    documents = [known("same.md", "a"), known("edited.md", "b"), known("gone.md", "c")]
    files = {"same.md": ("a", 1), "edited.md": ("bb", 2), "new.md": ("dd", 3)}

    assert plan(documents, files) == [
        ("removed", "gone.md", None),
        ("added", "new.md", None),
        ("modified", "edited.md", None),
    ]


def test_reconcile_finds_moves_by_content() -> None:
    documents = [known("a.md", "heron"), known("b.md", "egret")]

    assert plan(documents, {"x/b.md": ("egret", 5), "x/a.md": ("heron", 5)}) == [
        ("moved", "x/a.md", "a.md"),
        ("moved", "x/b.md", "b.md"),
    ]


def test_reconcile_moves_each_document_once() -> None:
    documents = [known("a.md", "heron")]

    assert plan(documents, {"b.md": ("heron", 5), "c.md": ("heron", 5)}) == [
        ("moved", "b.md", "a.md"),
        ("added", "c.md", None),
    ]


def test_reconcile_takes_a_copy_for_a_new_document() -> None:
    assert plan([known("a.md", "heron")], {"a.md": ("heron", 1), "b.md": ("heron", 5)}) == [("added", "b.md", None)]


def test_reconcile_calls_a_file_of_other_content_no_move() -> None:
    assert plan([known("a.md", "heron")], {"b.md": ("egret", 5)}) == [
        ("removed", "a.md", None),
        ("added", "b.md", None),
    ]


def test_reconcile_calls_a_file_that_cannot_be_read_no_move() -> None:
    changes = plan([known("a.md", "heron")], {"b.md": ("heron", 5)}, unreadable=frozenset({"b.md"}))

    assert changes == [("removed", "a.md", None), ("added", "b.md", None)]


def test_reconcile_removes_nothing_that_was_not_seen_to_be_gone() -> None:
    assert plan([known("a.md", "heron")], {}, covered=False) == []


def test_reconcile_parses_again_when_the_parser_changed() -> None:
    assert plan([known("a.md", "heron", key="md/0")], {"a.md": ("heron", 1)}) == [("modified", "a.md", None)]


def test_reconcile_notices_a_new_inode_or_change_time_alone() -> None:
    before = KnownDocument(DocumentId(1), "a.md", FileStat(5, 1, 10, 100), b"heron", KEY)
    for now in (FileStat(5, 1, 11, 100), FileStat(5, 1, 10, 101)):
        changes = reconcile(
            "notes",
            known={"a.md": before},
            seen={"a.md": now},
            is_covered=lambda _path: True,
            parse_key=lambda _path: KEY,
            content_hash=lambda _path: None,
        )

        assert [change.kind for change in changes] == [ChangeKind.MODIFIED]


def test_settled_keeps_the_stat_of_a_file_that_was_quiet_for_two_seconds() -> None:
    stat = FileStat(5, 100_000_000_000, 100_000_000_000, 7)

    assert settled(stat, read_at=102.5) == stat
    assert settled(stat, read_at=101.5) == FileStat(5, 100_000_000_000)
    assert settled(stat, read_at=50.0) == FileStat(5, 100_000_000_000)


LIBRARY = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "c.md", "x/a.md", "x/b.md"]),
    st.tuples(st.sampled_from(["one", "two", "three"]), st.integers(1, 3)),
)


def apply(documents: dict[str, KnownDocument], change: Change, files: Mapping[str, tuple[str, int]]) -> None:
    if change.moved_from:
        documents.pop(change.moved_from, None)
    documents.pop(change.path, None)
    if change.kind is not ChangeKind.REMOVED:
        content, at = files[change.path]
        documents[change.path] = known(change.path, content, at=at)


@given(LIBRARY, LIBRARY)
def test_reconcile_gives_nothing_more_once_its_changes_are_applied(
    before: dict[str, tuple[str, int]], after: dict[str, tuple[str, int]]
) -> None:
    documents = {path: known(path, content, at=at) for path, (content, at) in before.items()}
    seen = {path: FileStat(len(content), at) for path, (content, at) in after.items()}
    for _ in range(2):
        changes = reconcile(
            "notes",
            known=dict(documents),
            seen=seen,
            is_covered=lambda _path: True,
            parse_key=lambda _path: KEY,
            content_hash=lambda path: after[path][0].encode(),
        )
        for change in changes:
            apply(documents, change, after)

    assert not changes
    assert {path: document.stat for path, document in documents.items()} == seen
