"""A short private folder: socket paths have a limit that pytest's own folders can pass."""

import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(prefix="groove-test-", dir="/tmp"))
    yield path
    shutil.rmtree(path)
