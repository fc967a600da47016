"""A place for a socket, and the command that is told about it."""

import shutil
import tempfile
from pathlib import Path

import pytest

from support.groovectl import Groovectl


@pytest.fixture
def socket_path():
    """Short, because pytest's own folders are longer than a socket's address may be."""
    folder = tempfile.mkdtemp(prefix="gr")
    yield f"{folder}/d.sock"
    shutil.rmtree(folder)


@pytest.fixture
def groovectl(tmp_path: Path, socket_path: str) -> Groovectl:
    home = tmp_path / "home"
    home.mkdir()
    return Groovectl(home, socket_path)
