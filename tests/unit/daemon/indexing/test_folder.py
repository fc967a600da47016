import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from groove_daemon.config.settings import IndexSettings
from groove_daemon.domain.change import ChangeKind, PathHint
from groove_daemon.domain.document import DocumentId, KnownDocument
from groove_daemon.indexing.folder import Folder, Survey
from groove_daemon.indexing.scan import RootUnavailable, ScanResult
from support.library import Library

KEY = "key"
EVERYTHING = PathHint("notes", "", 0.0, subtree=True)


class Shelf:
    """A folder with what an index would know of it."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.folder = Folder("notes", str(library.root), library.settings(), IndexSettings())
        self.known: dict[str, KnownDocument] = {}

    def survey(self, *hints: PathHint, trust: bool = False) -> Survey:
        return self.folder.survey(
            hints or (EVERYTHING,),
            self._known,
            parse_key=lambda _path: KEY,
            content_hash=lambda _path: None,
            trust=trust,
        )

    def take_in(self) -> None:
        """Know everything as it is now."""
        for path, stat in self.survey().files.items():
            self.known[path] = KnownDocument(DocumentId(len(self.known) + 1), path, stat, b"", KEY)

    def removed(self, *hints: PathHint, trust: bool = False) -> list[str]:
        changes = self.survey(*hints, trust=trust).changes
        return [change.path for change in changes if change.kind is ChangeKind.REMOVED]

    def _known(self, _seen: ScanResult) -> Mapping[str, KnownDocument]:
        return self.known


def make_shelf(tmp_path: Path, notes: int) -> Shelf:
    library = Library(tmp_path / "notes")
    for number in range(notes):
        library.write(f"x/n{number}.md", "text")
    shelf = Shelf(library)
    shelf.take_in()
    return shelf


def replace_root(shelf: Shelf) -> None:
    root = shelf.library.root
    root.rename(root.with_name("away"))
    root.mkdir()


def hint(path: str, *, subtree: bool = False) -> PathHint:
    return PathHint("notes", path, 0.0, subtree=subtree)


def test_folder_removes_what_is_gone(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 3)
    shelf.library.remove("x/n1.md")

    assert shelf.removed() == ["x/n1.md"]
    assert shelf.folder.unavailable == ""


def test_folder_removes_a_whole_subtree_that_moved_out(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 3)
    (shelf.library.root / "x").rename(tmp_path / "elsewhere")

    assert shelf.removed(hint("x", subtree=True)) == ["x/n0.md", "x/n1.md", "x/n2.md"]


@pytest.mark.parametrize("notes", [3, 50])
def test_folder_removes_nothing_while_the_root_is_missing(tmp_path: Path, notes: int) -> None:
    shelf = make_shelf(tmp_path, notes)
    shutil.move(shelf.library.root, tmp_path / "away")
    with pytest.raises(RootUnavailable):
        shelf.survey()

    assert "is missing" in shelf.folder.unavailable


@pytest.mark.parametrize("notes", [1, 50])
def test_folder_removes_nothing_when_an_empty_folder_takes_the_roots_place(tmp_path: Path, notes: int) -> None:
    shelf = make_shelf(tmp_path, notes)
    replace_root(shelf)

    assert shelf.removed() == []
    assert "suddenly empty" in shelf.folder.unavailable
    assert shelf.removed() == []
    assert "suddenly empty" in shelf.folder.unavailable


def test_folder_is_fine_again_when_the_root_is_back(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 5)
    replace_root(shelf)
    shelf.survey()
    shelf.library.root.rmdir()
    (tmp_path / "away").rename(shelf.library.root)
    survey = shelf.survey()

    assert not survey.changes
    assert shelf.folder.unavailable == ""


def test_folder_keeps_its_documents_when_a_folder_of_other_notes_takes_its_place(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 5)
    replace_root(shelf)
    shelf.library.write("other.md", "text")
    survey = shelf.survey()

    assert not survey.changes
    assert survey.kept == 5
    assert "5 documents are kept" in shelf.folder.unavailable


def test_folder_takes_a_copy_of_itself_for_the_root(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 5)
    replace_root(shelf)
    shutil.copytree(tmp_path / "away", shelf.library.root, dirs_exist_ok=True)
    shelf.library.remove("x/n4.md")

    assert shelf.removed() == ["x/n4.md"]
    assert shelf.folder.unavailable == ""


def test_folder_removes_what_was_seen_to_go_before_the_root_went(tmp_path: Path) -> None:
    """Removing a root file by file, and making it again, is no accident."""
    shelf = make_shelf(tmp_path, 2)
    shutil.rmtree(shelf.library.root)
    with pytest.raises(RootUnavailable):
        shelf.survey(hint("x/n0.md"), hint("x", subtree=True))
    shelf.library.write("merlin.md", "merlin")
    survey = shelf.survey()

    assert sorted((change.kind.value, change.path) for change in survey.changes) == [
        ("added", "merlin.md"),
        ("removed", "x/n0.md"),
        ("removed", "x/n1.md"),
    ]
    assert shelf.folder.unavailable == ""


def test_folder_takes_a_doubtful_root_for_what_it_is_when_told_to(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 3)
    replace_root(shelf)

    assert shelf.removed(trust=True) == ["x/n0.md", "x/n1.md", "x/n2.md"]


def test_folder_takes_a_few_notes_deleted_by_hand_for_deleted(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 1)
    shelf.library.remove("x")

    assert shelf.removed() == ["x/n0.md"]


def test_folder_doubts_an_empty_root_at_the_first_look(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 3)
    shelf.library.remove("x")
    first = Shelf(shelf.library)
    first.known = shelf.known

    assert first.removed() == []
    assert "suddenly empty" in first.folder.unavailable


def test_folder_keeps_what_lies_below_an_unreadable_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = make_shelf(tmp_path, 2)
    shelf.library.write("b.md", "text")
    shelf.take_in()
    shelf.library.remove("b.md")
    real = __import__("os").scandir

    def refuse(path: bytes) -> object:
        if path.endswith(b"/x"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("os.scandir", refuse)

    assert shelf.removed() == ["b.md"]
    assert shelf.folder.unreadable == {"x": "Permission denied"}


def test_folder_reads_its_rules_again_and_looks_at_everything(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path, 2)
    shelf.library.write(".grooveignore", "n0.md\n")

    assert shelf.folder.is_relevant(hint(".grooveignore"))
    assert shelf.removed(hint(".grooveignore")) == ["x/n0.md"]
    assert not shelf.folder.is_relevant(hint("x/n0.md"))
