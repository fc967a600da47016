"""What a person sees: `groovectl` on a pseudo terminal."""

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

from groove_client.width import width
from support.answers import make_answer, make_hit
from support.fake_daemon import Exchange, FakeDaemon
from support.groovectl import PROGRAM


def _on_terminal(groovectl, *words, columns=80, error_too=True, **env):
    """Run on a terminal; return exit code and everything that was written to it."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [PROGRAM, *words],
        stdin=slave,
        stdout=slave,
        stderr=slave if error_too else subprocess.DEVNULL,
        env=groovectl.environment(**{"TERM": "xterm-256color", **env}),
    )
    os.close(slave)
    parts = []
    # Reading a terminal that nobody holds open any more is an error on Linux.
    with contextlib.suppress(OSError):
        while part := os.read(master, 65536):
            parts.append(part)
    os.close(master)
    return process.wait(60), b"".join(parts).decode().replace("\r\n", "\n")


def _search(groovectl, socket_path, *words, hit=None, **options):
    with FakeDaemon(socket_path, {"search": make_answer(hit or make_hit())}):
        return _on_terminal(groovectl, *words, "search", "async", **options)[1]


def test_terminal_gets_colors_and_links(groovectl, socket_path):
    text = _search(groovectl, socket_path)

    assert "\x1b[1mAsync 1\x1b[0m" in text
    assert "The \x1b[1;33masync\x1b[0m runtime" in text
    assert "\x1b]8;;file:///home/ada/notes/rust/note%201.md\x1b\\" in text
    assert text.count("\x1b]8;;\x1b\\") == 1


@pytest.mark.parametrize(
    ("words", "env", "has_color", "has_links"),
    [
        ((), {"NO_COLOR": "1"}, False, True),
        ((), {"NO_COLOR": ""}, True, True),
        ((), {"TERM": "linux"}, True, False),
        ((), {"TERM": "screen.xterm"}, True, False),
        ((), {"TERM": "dumb"}, False, False),
        ((), {"TERM": None}, False, False),
        (("--color", "never"), {}, False, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True, True),
    ],
)
def test_colors_and_links_follow_terminal_and_user(groovectl, socket_path, words, env, has_color, has_links):
    text = _search(groovectl, socket_path, *words, **env)

    assert ("\x1b[1m" in text) == has_color
    assert ("\x1b]8;;" in text) == has_links


def test_pipe_gets_neither(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = groovectl.run("search", "x", TERM="xterm")

    assert "\x1b" not in done.out


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_lines_fit_the_terminal(groovectl, socket_path, columns):
    hit = make_hit(
        title="日本語の見出し" * 9, content="größere Sätze über Möwen und 日本 " * 30, path="a.md", match_spans=[]
    )
    text = _search(
        groovectl, socket_path, hit=hit | {"absolute_path": "/a.md"}, columns=columns, NO_COLOR="1", TERM="linux"
    )

    assert all(width(line) <= columns for line in text.splitlines())
    assert "…" in text


def test_controls_in_paths_are_shown_on_a_terminal_and_kept_in_a_pipe(groovectl, socket_path):
    hit = make_hit(absolute_path="/n/a\x1b[2J.md")
    with FakeDaemon(socket_path, {"search": make_answer(hit)}):
        _, seen = _on_terminal(groovectl, "search", "x", "--paths")
        piped = groovectl.run("search", "x", "--paths").out

    assert seen == "/n/a\\x1b[2J.md\n"
    assert piped == "/n/a\x1b[2J.md\n"


def test_progress_is_a_bar_that_goes_away(groovectl, socket_path):
    def reindex(exchange: Exchange) -> dict[str, object]:
        exchange.notify("progress", phase="embedding", done=1, total=4, rate_per_s=2.0, eta_s=1.5, msgid=exchange.msgid)
        return {"is_done": True, "indexed": 4, "took_ms": 2000.0}

    with FakeDaemon(socket_path, {"reindex": reindex}):
        code, text = _on_terminal(groovectl, "reindex")

    assert code == 0
    assert "\r\x1b[K[######..................] embedding 1/4, 2/s, 2 s left\r\x1b[K4 indexed," in text


def test_interrupt_ends_quietly_and_closes_the_connection(groovectl, socket_path):
    def slow(exchange: Exchange) -> dict[str, object]:
        os.kill(process.pid, 2)
        exchange.cancelled.wait(60)
        return {}

    with FakeDaemon(socket_path, {"search": slow}) as daemon:
        process = subprocess.Popen(
            [PROGRAM, "search", "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=groovectl.environment()
        )
        out, err = process.communicate(timeout=60)
        was_closed = daemon.closed_connections.acquire(timeout=60)

    assert (process.returncode, out, err) == (130, b"", b"")
    assert was_closed
