"""A place for a socket."""

import shutil
import tempfile

import pytest


@pytest.fixture
def socket_path():
    """Short, because pytest's own folders are longer than a socket's address may be."""
    folder = tempfile.mkdtemp(prefix="gr")
    yield f"{folder}/d.sock"
    shutil.rmtree(folder)
