"""What reaches the manager's socket, and that nothing happens without one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from groove_daemon.service.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(5)
        channel.bind(path)
        yield path, channel


def test_messages_have_the_managers_spelling(manager: tuple[str, socket.socket]) -> None:
    path, channel = manager
    notifier = Notifier({"NOTIFY_SOCKET": path})
    notifier.ready("3 collections")
    notifier.status("embedding\n12 of 40")
    notifier.alive()
    notifier.extend(1.5)
    notifier.stopping()
    sent = [channel.recv(1000).decode() for _ in range(5)]

    assert sent == [
        "READY=1\nSTATUS=3 collections",
        "STATUS=embedding 12 of 40",
        "WATCHDOG=1",
        "EXTEND_TIMEOUT_USEC=1500000",
        "STOPPING=1",
    ]


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="needs Linux: abstract sockets")
def test_abstract_socket_is_reached(tmp_path: Path) -> None:
    name = f"groove-test-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(5)
        channel.bind(f"\0{name}")
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).ready()

        assert channel.recv(100) == b"READY=1"


def test_without_a_manager_nothing_happens(tmp_path: Path) -> None:
    silent = Notifier({})
    silent.ready()
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()

    assert not silent.is_connected


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_watchdog_is_fed_twice_as_often_as_it_bites(environment: dict[str, str], seconds: float | None) -> None:
    assert Notifier(environment, pid=7).ping_every_s == seconds


def test_manager_that_does_not_read_holds_nobody_up(manager: tuple[str, socket.socket]) -> None:
    path, _channel = manager
    notifier = Notifier({"NOTIFY_SOCKET": path})
    for _ in range(5000):
        notifier.alive()

    assert notifier.is_connected
