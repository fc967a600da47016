"""Each third-party package has one owner: the files that may import it, and no others."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [*sorted((ROOT / "daemon").rglob("*.py")), *sorted((ROOT / "client").rglob("*.py"))]

OWNERS = {
    "apsw": {"groove_daemon/store/connection.py"},
    "sqlite_vec": {"groove_daemon/store/connection.py"},
    "watchdog": {"groove_daemon/watching/observer.py"},
    "apscheduler": {"groove_daemon/scheduling/scheduler.py"},
    "tomlkit": {"groove_daemon/config/edit.py"},
    "yaml": {"groove_daemon/formats/frontmatter.py"},
    "pathspec": {"groove_daemon/indexing/ignore.py"},
    "torch": {"groove_daemon/models/torch_child.py"},
    "sentence_transformers": {"groove_daemon/models/torch_child.py"},
    "msgpack": {"groove_wire/framing.py"},
}
INSIDE = {"onnxruntime": "groove_daemon/models/", "tokenizers": "groove_daemon/models/"}
BLIND_CATCHES = {
    "groove_daemon/rpc/dispatch.py",
    "groove_daemon/indexing/worker.py",
    "groove_daemon/scheduling/scheduler.py",
}


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix().split("/", 1)[1]


def imported_packages(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


IMPORTS = {name_of(file): imported_packages(file) for file in SOURCES}


@pytest.mark.parametrize("package", OWNERS)
def test_package_is_imported_by_its_owner_alone(package):
    assert {name for name, packages in IMPORTS.items() if package in packages} == OWNERS[package]


@pytest.mark.parametrize("package", INSIDE)
def test_package_stays_inside_its_folder(package):
    users = {name for name, packages in IMPORTS.items() if package in packages}

    assert users
    assert all(name.startswith(INSIDE[package]) for name in users)


def test_blind_catches_stand_in_three_places_alone():
    found = set()
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception":
                found.add(name_of(file))

    assert found <= BLIND_CATCHES


def test_documents_have_no_line_of_a_single_machine():
    homes = ("/root/", "/home/runner", "/Users/")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]

    assert [page.name for page in pages if any(home in page.read_text(encoding="utf-8") for home in homes)] == []
