"""A small program that takes the daemon's place under systemd: it notifies, serves its socket, and misbehaves.

Usage: notifying.py FOLDER [more arguments].  In FOLDER it reads `behaviour` (`serve`, `config-error`, `crash`; `serve`
when the file is not there), appends a line to `starts`, and writes what it was given to `given.json`.  A client that
sends `crash` or `hang` gets just that; any other text is answered with the process id.  It needs the standard library
only, so that any interpreter runs it.
"""

import json
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path

CONFIG_ERROR = 2
CRASH = 17


def main(arguments: list[str]) -> int:
    folder = Path(arguments[1])
    _write_down(folder, arguments)
    behaviour = folder / "behaviour"
    wanted = behaviour.read_text() if behaviour.exists() else "serve"
    if wanted == "config-error":
        print("collections[0].path: is missing", file=sys.stderr)
        return CONFIG_ERROR
    return CRASH if wanted == "crash" else _serve()


def _write_down(folder: Path, arguments: list[str]) -> None:
    with (folder / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    umask = os.umask(0)
    os.umask(umask)
    given = {
        "arguments": arguments,
        "environment": dict(os.environ),
        "status": Path("/proc/self/status").read_text(),
        "oom": int(Path("/proc/self/oom_score_adj").read_text()),
        "nice": os.nice(0),
        "umask": umask,
        "folder": os.getcwd(),
    }
    (folder / "given.json").write_text(json.dumps(given))


def _serve() -> int:
    stop, stopped = socket.socketpair()
    signal.signal(signal.SIGTERM, lambda *_ignored: stop.send(b"x"))
    listener = socket.socket(fileno=3)
    _notify("READY=1\nSTATUS=serving")
    while True:
        ping_every_s = int(os.environ["WATCHDOG_USEC"]) / 2_000_000
        readable, _, _ = select.select([listener, stopped], [], [], ping_every_s)
        _notify("WATCHDOG=1")
        if stopped in readable:
            return 0
        if listener in readable:
            _answer(listener)


def _notify(text: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])


def _answer(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        text = connection.recv(100)
        if text == b"crash":
            os._exit(CRASH)
        if text == b"hang":
            threading.Event().wait()
        connection.sendall(str(os.getpid()).encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv))
