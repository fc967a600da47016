"""Collections are added and removed without a trace in the rest of the file, or the file is not touched."""

import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groove_daemon.config.edit import add_collection, remove_collection
from groove_daemon.config.load import load
from groove_daemon.errors import ConfigError

FULL = """\
# my notes
[search] # defaults
limit = 7 # seven

# the first
[[collections]]
path = "/n/a" # A
ignore = [
  "*.log", # logs
]

# the second
[[collections]]
path = '/n/b'

# how to watch
[watch]
rescan = "1h"
"""


def names(file: Path) -> list[str]:
    return [collection.name for collection in load(file, {}, flags={}).settings.collections]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(FULL)
    return file


def test_add_makes_a_private_file_in_a_private_folder(tmp_path: Path) -> None:
    file = tmp_path / "groove" / "config.toml"
    old_umask = os.umask(0)
    try:
        text = add_collection(file, "/n/a")
    finally:
        os.umask(old_umask)

    assert text == file.read_text() == '[[collections]]\npath = "/n/a"\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_add_puts_a_table_behind_the_others(file: Path) -> None:
    add_collection(file, "/n/c", name="c", source="global")
    added = '[[collections]]\npath = "/n/c"\nname = "c"\nsource = "global"\n\n# how'

    assert names(file) == ["a", "b", "c"]
    assert sorted(file.read_text().split("\n")) == sorted(FULL.replace("# how", added).split("\n"))
    assert file.read_text().index("# the second") < file.read_text().index('"/n/c"') < file.read_text().index("[watch]")


def test_add_takes_a_relative_path_from_the_working_directory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    add_collection(file, "notes/../My Notes")

    assert names(file) == ["a", "b", "My-Notes"]
    assert tomllib.loads(file.read_text())["collections"][2] == {"path": f"{file.parent}/My Notes"}


@pytest.mark.parametrize(
    "text",
    ["", "[search]\nlimit = 3", "collections = []\n[search]\nlimit = 3", "collections = [{path = '/n/x'}]\n", "# only"],
)
def test_add_and_remove_gives_the_same_values(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    before = load(file, {}, flags={}).settings
    add_collection(file, "/n/a")
    between = load(file, {}, flags={}).settings
    remove_collection(file, "a")

    assert [collection.name for collection in between.collections][-1] == "a"
    assert load(file, {}, flags={}).settings == before


def test_remove_takes_the_table_and_nothing_else(file: Path) -> None:
    remove_collection(file, "a")

    assert names(file) == ["b"]
    assert file.read_text() == FULL.replace(
        '[[collections]]\npath = "/n/a" # A\nignore = [\n  "*.log", # logs\n]\n', ""
    )


def test_remove_keeps_the_comment_above_what_follows(file: Path) -> None:
    remove_collection(file, "b")

    assert "\n# how to watch\n[watch]\n" in file.read_text()
    assert "# the second" in file.read_text()


def test_remove_of_the_last_leaves_a_right_file(file: Path) -> None:
    remove_collection(file, "a")
    remove_collection(file, "b")

    assert names(file) == []
    assert load(file, {}, flags={}).settings.watch.rescan == 3600


def test_remove_of_an_unknown_name_gives_the_nearest(file: Path) -> None:
    add_collection(file, "/n/journal")

    with pytest.raises(ConfigError, match=r'there is no collection "jurnal"; did you mean journal\?'):
        remove_collection(file, "jurnal")
    with pytest.raises(ConfigError, match="there are: a, b, journal"):
        remove_collection(file, "zzz")


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("/n/a", "", "is the folder of the collection"),
        ("/n/a/sub", "", "lies within the folder of"),
        ("/m/b", "", 'is also the name of "/n/b"'),
        ("/m/c", "a b", "may have 1 to 64 letters"),
        ("", "", "path must be a path, is empty"),
        (__file__, "", "is a file, not a folder"),
    ],
)
def test_change_that_would_be_wrong_is_refused(file: Path, path: str, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        add_collection(file, path, name=name)

    assert file.read_text() == FULL
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("text", ["[search\n", "[search]\nlimti = 5\n", "\xff"])
def test_broken_file_is_not_touched(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError):
        add_collection(file, "/n/a")
    with pytest.raises(ConfigError):
        remove_collection(file, "a")

    assert file.read_bytes() == text.encode("latin-1")


def test_mode_of_the_file_is_kept(file: Path) -> None:
    file.chmod(0o640)
    add_collection(file, "/n/c")

    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.toml"
    link.symlink_to(file)
    add_collection(link, "/n/c")

    assert link.is_symlink()
    assert names(file) == ["a", "b", "c"]


def test_relative_paths_beside_a_link_start_where_they_did(tmp_path: Path) -> None:
    """A file that is read through a link has its relative paths beside the link; an edit must see them alike."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "config.toml").write_text("[[collections]]\npath = 'notes'\n")
    (tmp_path / "config.toml").symlink_to("real/config.toml")

    with pytest.raises(ConfigError, match="is the folder of the collection"):
        add_collection(tmp_path / "config.toml", str(tmp_path / "notes"), name="again")


def test_line_ends_and_byte_order_mark_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf# hi\r\n[search]\r\nlimit = 3\r\n")
    add_collection(file, "/n/a")

    assert file.read_bytes() == (
        b'\xef\xbb\xbf# hi\r\n[search]\r\nlimit = 3\r\n\r\n[[collections]]\r\npath = "/n/a"\r\n'
    )


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match=r"/file/groove: cannot be written: not a directory"):
        add_collection(tmp_path / "file" / "groove" / "config.toml", "/n/a")


COMMENTS = st.sampled_from(["", "# comment", "# [watch]", "\n", '# "'])
TABLES = st.sampled_from(
    [
        '[search]\nlimit = 3 # inline\nprofile = """notes"""',
        "[search.mmr]\nenabled = true",
        "[watch]\n  rescan   =  '1h'",
        'index = {formats = ["md"], chunk_overlap = 8}',
        '[[collections]]\npath = "/n/one" # first\n',
        "[[collections]]\nname = 'two'\npath = '/n/2'",
        '[[collections]]\npath = "/n/three"\nignore = [\n  "a", # why\n  "b",\n]',
    ]
)


@settings(deadline=None)
@given(
    st.lists(TABLES, unique=True),
    st.lists(COMMENTS, min_size=8, max_size=8),
    st.booleans(),
)
def test_any_file_keeps_its_comments_and_values(
    tmp_path_factory: pytest.TempPathFactory, tables: list[str], comments: list[str], ends: bool
) -> None:
    tables.sort(key=lambda table: table.startswith("["))
    parts = [part for pair in zip(comments, [*tables, ""], strict=False) for part in pair if part]
    text = "\n".join(parts) + ("\n" if ends else "")
    file = tmp_path_factory.mktemp("edit") / "config.toml"
    file.write_text(text)
    before = load(file, {}, flags={}).settings
    add_collection(file, "/n/new")
    added = load(file, {}, flags={}).settings
    for collection in before.collections:
        remove_collection(file, collection.name)
    left = file.read_text()

    assert added.collections[:-1] == before.collections
    assert names(file) == ["new"]
    assert (added.search, added.watch, added.index) == (before.search, before.watch, before.index)
    assert all(left.count(part.strip()) == parts.count(part) for part in set(parts) if part.startswith("# c"))
