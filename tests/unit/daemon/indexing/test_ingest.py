import os
from pathlib import Path

import pytest

from groove_daemon.domain.change import Failed, Skipped
from groove_daemon.indexing.ingest import FileContent, Unsettled, read_file
from support.library import Library

LIMIT = 100


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "notes")


def test_read_file_gives_bytes_and_stat(library: Library) -> None:
    library.write("x/a.md", "heron")
    content = read_file(str(library.root), "x/a.md", LIMIT)

    assert isinstance(content, FileContent)
    assert content.data == b"heron"
    assert content.stat.size_bytes == 5
    assert content.stat.inode == (library.root / "x/a.md").stat().st_ino
    assert len(content.digest) == 16


def test_read_file_reads_a_name_that_is_not_utf8(library: Library) -> None:
    with open(os.fsencode(library.root) + b"/caf\xe9.md", "w") as file:
        file.write("fulmar")
    content = read_file(str(library.root), "bytes:caf%E9.md", LIMIT)

    assert isinstance(content, FileContent)
    assert content.data == b"fulmar"


def test_read_file_does_not_hang_on_a_pipe(library: Library) -> None:
    os.mkfifo(library.root / "pipe.md")

    assert read_file(str(library.root), "pipe.md", LIMIT) == Skipped("not a regular file")


def test_read_file_follows_no_link(library: Library, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("wren")
    (library.root / "link.md").symlink_to(tmp_path / "secret.md")
    (library.root / "folder").symlink_to(tmp_path)

    assert read_file(str(library.root), "link.md", LIMIT) == Skipped("a link; links are not followed")
    assert not isinstance(read_file(str(library.root), "folder/secret.md", LIMIT), FileContent)


def test_read_file_skips_what_is_too_large(library: Library) -> None:
    library.write("a.md", "x" * (LIMIT + 1))

    assert read_file(str(library.root), "a.md", LIMIT) == Skipped("101 bytes; the limit is 100")


def test_read_file_takes_a_file_of_just_the_limit(library: Library) -> None:
    library.write("a.md", "x" * LIMIT)

    assert isinstance(read_file(str(library.root), "a.md", LIMIT), FileContent)


def test_read_file_looks_again_later_for_a_file_that_went_away(library: Library) -> None:
    assert isinstance(read_file(str(library.root), "gone.md", LIMIT), Unsettled)


def test_read_file_fails_on_a_folder_by_that_name(library: Library) -> None:
    (library.root / "a.md").mkdir()

    assert isinstance(read_file(str(library.root), "a.md", LIMIT), (Skipped, Failed))
