from pathlib import PurePosixPath

import pytest

from groove_daemon.formats import document_title, parser_for
from groove_daemon.formats.path_fields import category_of, topic_of
from support.documents import parse


@pytest.mark.parametrize(
    ("suffix", "enabled", "name"),
    [
        (".md", ("md", "txt"), "md"),
        (".MD", ("md",), "md"),
        (".Markdown", ("MD",), "md"),
        (".mdown", ("md",), "md"),
        (".mkd", ("md",), "md"),
        (".txt", ("md", "txt"), "txt"),
        (".text", ("txt",), "txt"),
        (".txt", ("md",), None),
        (".pdf", ("md", "txt"), None),
        ("", ("md",), None),
    ],
)
def test_parser_for_knows_suffixes_in_any_case(suffix: str, enabled: tuple[str, ...], name: str | None) -> None:
    parser = parser_for(suffix, enabled)

    assert (parser.name if parser else None) == name


@pytest.mark.parametrize(
    ("path", "category", "topic"),
    [("note.md", None, None), ("a/note.md", "a", None), ("a/b/note.md", "a", "b"), ("a/b/c/d.md", "a", "b")],
)
def test_category_and_topic_come_from_the_folders(path: str, category: str | None, topic: str | None) -> None:
    assert (category_of(PurePosixPath(path)), topic_of(PurePosixPath(path))) == (category, topic)


@pytest.mark.parametrize(
    ("content", "path", "title"),
    [
        ("---\ntitle: Front\n---\n# Head", "x.md", "Front"),
        ("## Second\n# First *one*\n# Other", "x.md", "First one"),
        ("## Second\ntext", "a/my-note_2.md", "my note 2"),
        ("", "2026-06-16.md", "2026 06 16"),
        ("", "_.md", "_.md"),
        ("# no title", "a.b.txt", "a.b"),
    ],
)
def test_a_document_always_has_a_title(content: str, path: str, title: str) -> None:
    assert document_title(parse(content, path), PurePosixPath(path)) == title
