"""What is around the daemon: no network, a service manager that wants to hear of it, real notes of somebody else."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import namespaces
from support.daemon import DaemonProcess

HERON = "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n"
VAULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "obsidian-help" / "en"


@contextmanager
def service_manager(folder: Path) -> Iterator[socket.socket]:
    """The socket on which a service manager hears of its services."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(folder / "notify.sock"))
        channel.settimeout(20)
        yield channel


def heard(channel: socket.socket, word: str) -> str:
    """The first message with this word."""
    while True:
        message = channel.recv(4096).decode()
        if word in message:
            return message


def test_a_service_manager_hears_of_readiness_life_and_end(daemon: DaemonProcess) -> None:
    daemon.write("heron.md", HERON)
    with service_manager(daemon.folder) as channel:
        env = {"NOTIFY_SOCKET": str(daemon.folder / "notify.sock"), "WATCHDOG_USEC": "400000", "WATCHDOG_PID": None}
        process = daemon.spawn(**env)

        ready = heard(channel, "READY=1")
        assert daemon.answers()
        assert "STATUS=" in ready
        assert heard(channel, "WATCHDOG=1")
        assert heard(channel, "WATCHDOG=1")
        process.terminate()
        assert heard(channel, "STOPPING=1")

    assert daemon.wait().code == 0


def test_nothing_is_told_to_a_manager_that_asks_for_nothing(daemon: DaemonProcess) -> None:
    daemon.start(NOTIFY_SOCKET=None, WATCHDOG_USEC=None)

    assert daemon.terminate().code == 0


@pytest.mark.model
def test_indexing_and_searching_by_meaning_need_no_network(model_cache: Path) -> None:
    with DaemonProcess.temporary(
        embedder="all-MiniLM-L6-v2", cache=model_cache, wrap=namespaces.without_network()
    ) as daemon:
        daemon.write("heron.md", HERON)
        daemon.write("bread.md", "# Sourdough\n\nFeed the starter with flour and water, then bake the dough.\n")
        daemon.start()
        daemon.wait_fresh(vectors=True, within=60)

        found = daemon.ctl("search", "making", "pastry")

    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("1  Sourdough")


@pytest.mark.skipif(not VAULT.is_dir(), reason="the notes of ../shared/data/obsidian-help are not here")
def test_a_vault_of_somebody_else_is_indexed_whole_and_answers(daemon: DaemonProcess) -> None:
    os.rmdir(daemon.notes)
    os.symlink(VAULT, daemon.notes)
    daemon.start()
    daemon.wait_fresh(vectors=True, within=60)

    with daemon.client() as client:
        status = client.status()
    assert status.index.documents == len([path for path in VAULT.rglob("*.md") if ".obsidian" not in path.parts])
    assert [collection.failed for collection in status.collections] == [0]
    assert status.problems == ()
    assert "Plugins/Daily notes.md" in daemon.found("daily notes template")
    assert any("Callouts" in path for path in daemon.found("callout"))
    assert any("sync" in path.casefold() for path in daemon.found("obsidian sync encryption", limit=3))
