"""A daemon for each test: not started yet, and always gone at the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.daemon import DaemonProcess
from support.models import exported_model_cache


@pytest.fixture
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with the collection `notes` and the hashing embedder, not started."""
    with DaemonProcess.temporary() as made:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[DaemonProcess]:
    """A running daemon with one note about herons, for tests that leave it as it is."""
    with DaemonProcess.temporary() as made:
        made.write("heron.md", "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n")
        made.start()
        made.wait_fresh(vectors=True)
        yield made


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What goes into `XDG_CACHE_HOME` so that the default model need not be exported again."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "groove").symlink_to(exported_model_cache())
    return cache
