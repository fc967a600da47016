import os
from collections.abc import Callable
from pathlib import Path

import pytest

from groove_daemon.config.settings import IndexSettings
from groove_daemon.indexing.ignore import IgnoreRules
from support.library import Library


def rules(
    library: Library, *, index: IndexSettings | None = None, own: list[Path] | None = None, **changes: object
) -> IgnoreRules:
    return IgnoreRules(library.root, index or IndexSettings(), library.settings(**changes), own_paths=own or [])


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "notes")


@pytest.mark.parametrize(
    "path",
    [
        ".git/a.md", "x/.svn/a.md", ".hg/a.md", "node_modules/a.md",
        ".trash/a.md", ".obsidian/a.md", ".stversions/a.md", "TARGET/a.md", "x/Target/y/a.md",
        ".hidden.md", "x/.hidden/a.md",
        "~$a.md", ".~lock.a.md#", "a.md~", ".#a.md", "#a.md#", ".a.md.swp", "4913",
        ".groove-cookie-12-3", "a.pdf", "README",
    ],
)  # fmt: skip
def test_rules_ignore_by_default(library: Library, path: str) -> None:
    assert rules(library).is_ignored(path, False)


@pytest.mark.parametrize("path", ["a.md", "x/y/b.TXT", "git/a.md", "my.notes/a.md", "bytes:caf%E9.md", "target.md"])
def test_rules_let_notes_in(library: Library, path: str) -> None:
    assert rules(library).is_ignored(path, False) is None


def test_rules_never_ignore_the_root(library: Library) -> None:
    assert rules(library).is_ignored("", True) is None


def test_rules_apply_grooveignore_whatever_the_case(library: Library) -> None:
    library.write(".grooveignore", "Drafts/\n*.private.md\n!keep.private.md\n")
    found = rules(library)

    assert found.is_ignored("drafts/a.md", False) == ".grooveignore line 1: Drafts/"
    assert found.is_ignored("x/DRAFTS/a.md", False)
    assert found.is_ignored("a.Private.md", False)
    assert found.is_ignored("keep.private.md", False) is None
    assert found.is_ignored("drafts.md", False) is None


def test_rules_revive_nothing_below_an_ignored_folder(library: Library) -> None:
    library.write(".grooveignore", "drafts/\n!drafts/keep.md\n!.git/\n!.git/a.md\n!target/\n")
    found = rules(library)

    assert found.is_ignored("drafts/keep.md", False)
    assert found.is_ignored(".git/a.md", False)
    assert found.is_ignored("target/a.md", False)


def test_rules_read_a_file_with_byte_order_mark_and_windows_line_ends(library: Library) -> None:
    (library.root / ".grooveignore").write_bytes(b"\xef\xbb\xbfdrafts/\r\n# comment\r\nb.md\r\n")
    found = rules(library)

    assert found.is_ignored("drafts/a.md", False)
    assert found.is_ignored("b.md", False)
    assert found.problems == ()


def test_rules_note_lines_that_cannot_be_used(library: Library) -> None:
    (library.root / ".grooveignore").write_bytes(b"a.md\n\xff\xfe\n!\nb.md\n")
    found = rules(library)

    assert [problem.split(" is not")[0] for problem in found.problems] == [
        ".grooveignore line 2",
        ".grooveignore line 3",
    ]
    assert found.is_ignored("b.md", False) == ".grooveignore line 4: b.md"


def test_rules_use_a_thousand_patterns_at_most(library: Library) -> None:
    library.write(".grooveignore", "".join(f"n{number}.md\n" for number in range(1001)))
    found = rules(library)

    assert found.is_ignored("n999.md", False)
    assert found.is_ignored("n1000.md", False) is None
    assert found.problems == (".grooveignore has more than 1000 patterns; those from line 1001 are not used",)


def test_rules_leave_out_an_ignore_file_that_is_too_large(library: Library) -> None:
    library.write(".grooveignore", "a.md\n" + "#" * 65536)
    found = rules(library)

    assert found.is_ignored("a.md", False) is None
    assert len(found.problems) == 1


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("x")])
def test_rules_leave_out_an_ignore_file_that_is_none(library: Library, make: Callable[[Path], None]) -> None:
    make(library.root / ".grooveignore")

    assert len(rules(library).problems) == 1


def test_rules_use_gitignore_only_where_asked(library: Library) -> None:
    library.write(".gitignore", "Build/\n")

    assert rules(library).is_ignored("Build/a.md", False) is None
    assert rules(library, use_gitignore=True).is_ignored("Build/a.md", False) == ".gitignore line 1: Build/"
    assert rules(library, use_gitignore=True).is_ignored("build/a.md", False) is None


def test_rules_use_patterns_of_the_configuration(library: Library) -> None:
    assert rules(library, ignore=("/top.md",)).is_ignored("top.md", False)
    assert rules(library, ignore=("/top.md",)).is_ignored("x/top.md", False) is None


def test_rules_let_hidden_names_in_when_named(library: Library) -> None:
    found = rules(library, include_hidden=(".obsidian", ".git"))

    assert found.is_ignored(".obsidian/a.md", False) is None
    assert found.is_ignored(".trash/a.md", False)
    assert found.is_ignored(".git/a.md", False)


def test_rules_use_the_collections_own_formats(library: Library) -> None:
    found = rules(library, formats=("txt",))

    assert found.is_ignored("a.txt", False) is None
    assert found.is_ignored("a.md", False)


@pytest.mark.parametrize("name", ["state", ".state"])
def test_rules_ignore_the_daemons_own_files(library: Library, name: str) -> None:
    own = [library.root / name, library.root / "index.txt"]
    found = rules(library, own=own, include_hidden=(".state",))

    assert found.is_ignored(f"{name}/a.md", False)
    assert found.is_ignored("index.txt", False)
    assert found.is_ignored("state-of-things.md", False) is None
    assert found.is_ignored("index2.txt", False) is None


def test_rules_know_the_files_that_they_come_from(library: Library) -> None:
    assert rules(library).are_changed_by(".grooveignore")
    assert not rules(library).are_changed_by("x/.grooveignore")
    assert not rules(library).are_changed_by(".gitignore")
    assert rules(library, use_gitignore=True).are_changed_by(".gitignore")
