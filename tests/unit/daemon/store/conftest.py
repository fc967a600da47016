from collections.abc import Iterator
from pathlib import Path

import pytest

from groove_daemon.store.index import Index
from support.store import open_index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = open_index(tmp_path / "index.db")
    yield opened
    opened.close()
