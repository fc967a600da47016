"""Examples in docstrings show what the code really returns."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "daemon", ROOT / "client")
MODULES = sorted(
    ".".join(file.relative_to(folder).with_suffix("").parts)
    for folder in FOLDERS
    for file in folder.rglob("*.py")
    if "\n    >>> " in file.read_text(encoding="utf-8")
)


def test_there_are_examples():
    assert "groove_daemon.retrieval.words" in MODULES


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_true(module):
    result = doctest.testmod(importlib.import_module(module))

    assert result.attempted
    assert result.failed == 0
