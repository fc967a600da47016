import os
import socket
from pathlib import Path

import pytest

from groove_daemon.config.settings import IndexSettings
from groove_daemon.indexing.ignore import IgnoreRules
from groove_daemon.indexing.scan import RootUnavailable, look, open_folder, scan
from support.library import Library


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "notes")


def rules(library: Library) -> IgnoreRules:
    return IgnoreRules(library.root, IndexSettings(), library.settings())


def test_scan_finds_the_notes_and_nothing_else(library: Library) -> None:
    for path in ("a.md", "x/b.txt", "x/y/c.md", ".git/d.md", "x/e.pdf", ".hidden.md"):
        library.write(path, "text")
    result = scan(str(library.root), rules(library))

    assert sorted(result.files) == ["a.md", "x/b.txt", "x/y/c.md"]
    assert result.files["a.md"].size_bytes == 4
    assert result.folders == 3
    assert result.is_whole
    assert not result.unreadable


def test_scan_follows_no_link(library: Library, tmp_path: Path) -> None:
    outside = Library(tmp_path / "outside")
    outside.write("secret.md", "wren")
    library.write("a/w.md", "wren")
    (library.root / "a/up").symlink_to("..")
    (library.root / "link.md").symlink_to(outside.root / "secret.md")
    (library.root / "linked").symlink_to(outside.root)
    result = scan(str(library.root), rules(library))

    assert sorted(result.files) == ["a/w.md"]
    assert result.skipped == [("link.md", "a link; links are not followed")]


def test_scan_indexes_every_name_of_a_hard_linked_file(library: Library) -> None:
    library.write("a.md", "text")
    os.link(library.root / "a.md", library.root / "b.md")

    assert sorted(scan(str(library.root), rules(library)).files) == ["a.md", "b.md"]


def test_scan_skips_what_is_no_regular_file(library: Library) -> None:
    os.mkfifo(library.root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(library.root / "socket.md"))
        result = scan(str(library.root), rules(library))

    assert not result.files
    assert sorted(result.skipped) == [("pipe.md", "not a regular file"), ("socket.md", "not a regular file")]


def test_scan_skips_files_over_the_limit(library: Library) -> None:
    library.write("a.md", "12345")
    library.write("b.md", "123456")
    result = scan(str(library.root), rules(library), max_size=5)

    assert list(result.files) == ["a.md"]
    assert result.skipped == [("b.md", "6 bytes; the limit is 5")]


def test_scan_spells_names_that_are_not_utf8(library: Library) -> None:
    raw = os.fsencode(library.root) + b"/caf\xe9"
    os.mkdir(raw)
    with open(raw + b"/fulmar.md", "w") as file:
        file.write("fulmar")

    assert list(scan(str(library.root), rules(library)).files) == ["bytes:caf%E9/fulmar.md"]


def test_scan_keeps_composed_and_decomposed_names_apart(library: Library) -> None:
    composed, decomposed = "\u00e9.md", "e\u0301.md"
    library.write(composed, "one")
    library.write(decomposed, "two")

    assert sorted(scan(str(library.root), rules(library)).files) == sorted([composed, decomposed])


def test_scan_walks_one_folder_and_covers_it_alone(library: Library) -> None:
    library.write("x/b.md")
    library.write("xy.md")
    result = scan(str(library.root), rules(library), subtree="x")

    assert list(result.files) == ["x/b.md"]
    assert result.covers("x/gone.md")
    assert not result.covers("xy.md")


@pytest.mark.parametrize("subtree", ["gone", "gone/deeper", ".git", "file.md/x", "linked"])
def test_scan_covers_a_subtree_that_is_no_folder_to_enter(library: Library, subtree: str) -> None:
    library.write(".git/a.md")
    library.write("file.md")
    (library.root / "linked").symlink_to("/")
    result = scan(str(library.root), rules(library), subtree=subtree)

    assert not result.files
    assert result.covers(f"{subtree}/a.md")


def test_scan_takes_a_subtree_that_is_a_file(library: Library) -> None:
    library.write("x/b.md")

    assert list(scan(str(library.root), rules(library), subtree="x/b.md").files) == ["x/b.md"]


def test_scan_through_a_root_that_is_a_link(library: Library, tmp_path: Path) -> None:
    library.write("a.md")
    (tmp_path / "link").symlink_to(library.root)

    assert list(scan(str(tmp_path / "link"), rules(library)).files) == ["a.md"]


@pytest.mark.parametrize("name", ["missing", "file"])
def test_scan_refuses_a_root_that_is_no_folder(library: Library, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RootUnavailable, match=name):
        scan(str(tmp_path / name), rules(library))


def test_scan_says_that_a_root_is_bare_but_for_a_cookie(library: Library) -> None:
    (library.root / ".groove-cookie-1-1").touch()

    assert scan(str(library.root), rules(library)).is_bare

    library.write(".hidden")

    assert not scan(str(library.root), rules(library)).is_bare


def test_look_finds_single_files_in_their_exact_spelling(library: Library) -> None:
    library.write("x/b.md")
    library.write("c.md")
    result = look(str(library.root), rules(library), ["x/b.md", "x/gone.md", "nowhere/a.md", "X/b.md"])

    assert list(result.files) == ["x/b.md"]
    assert all(result.covers(path) for path in ("x/b.md", "x/gone.md", "nowhere/a.md"))
    assert not result.covers("c.md")


def test_look_enters_no_link_and_no_ignored_folder(library: Library, tmp_path: Path) -> None:
    Library(tmp_path / "outside").write("a.md")
    (library.root / "linked").symlink_to(tmp_path / "outside")
    library.write(".git/a.md")

    assert not look(str(library.root), rules(library), ["linked/a.md", ".git/a.md"]).files


def test_open_folder_refuses_a_link_on_the_way(library: Library, tmp_path: Path) -> None:
    Library(tmp_path / "outside").write("x/a.md")
    (library.root / "linked").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="linked"):
        os.close(open_folder(str(library.root), b"linked/x"))
