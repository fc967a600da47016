"""`start`, `stop`, `restart`, `logs`, `version` and `help`: what works with any daemon, or with none."""

from __future__ import annotations

import os
import shutil
import sys

from groove_client.commands.output import show
from groove_client.errors import DaemonIncompatible, DaemonNotResponding, DaemonNotRunning
from groove_client.help_text import command_help, overview
from groove_client.service import LOG_FILE, stop_unit, wait_until_gone
from groove_client.session import as_map
from groove_client.table import number_of, text_of
from groove_client.transport import connect, deadline_after, hello_params
from groove_wire.version import PROTOCOL_VERSION, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.render import Screen
    from groove_client.session import Session

_LOG_LINES = 50


def _start(session: Session) -> int:
    running = _greeting(session)
    if running is not None:
        session.screen.write(f"already running, {_described(running)}\n")
        return 0
    session.start()
    running = _greeting(session) or {}
    session.screen.write(f"started, {_described(running)}\n")
    return 0


def _stop(session: Session) -> int:
    session.screen.write("stopped\n" if _end(session) else "no daemon is running\n")
    return 0


def _restart(session: Session) -> int:
    _end(session)
    session.start()
    session.screen.write(f"started, {_described(_greeting(session) or {})}\n")
    return 0


def _described(greeting: dict[str, object]) -> str:
    return f"version {text_of(greeting, 'version')}, pid {number_of(greeting, 'pid'):.0f}"


def _greeting(session: Session) -> dict[str, object] | None:
    """What the daemon says about itself, whatever its version; None when there is none."""
    deadline = deadline_after(session.timeout_s)
    try:
        channel = connect(session.socket_paths, deadline=deadline)
    except DaemonNotRunning as error:
        if not error.may_start:
            raise
        return None
    try:
        return as_map(channel.call("hello", hello_params(), deadline=deadline))
    except DaemonIncompatible as error:
        session.screen.note(str(error))
        # A daemon of another protocol still tells its process in `status`, which every version answers.
        return as_map(channel.call("status", deadline=deadline))
    finally:
        channel.close()


def _end(session: Session) -> bool:
    """Stop the daemon and wait for its end; False when there was none."""
    greeting = _greeting(session)
    if greeting is None:
        return False
    unit = session.target().unit
    if unit is None or not stop_unit(unit):
        _shut_down(session)
    wait_until_gone(session.socket_paths, int(number_of(greeting, "pid")))
    return True


def _shut_down(session: Session) -> None:
    deadline = deadline_after(session.timeout_s)
    channel = connect(session.socket_paths, deadline=deadline)
    try:
        channel.call("shutdown", deadline=deadline)
    except DaemonNotResponding:
        # It may end before the answer is out; whether it has ended is looked at next.
        return
    finally:
        channel.close()


def _logs(session: Session) -> int:
    count = session.arguments.number("lines")
    lines = str(int(count) if count is not None else _LOG_LINES)
    follow = session.arguments.flag("follow")
    words = _log_command(session, lines, follow)
    os.execvp(words[0], words)


def _log_command(session: Session, lines: str, follow: bool) -> list[str]:
    unit = session.target().unit
    if unit is not None and sys.platform == "linux" and shutil.which("journalctl"):
        return ["journalctl", "--user", "--unit", unit, "--lines", lines, *(["--follow"] if follow else ["--no-pager"])]
    path = os.path.join(session.state_dir, LOG_FILE)
    if not os.path.exists(path):
        raise DaemonNotRunning(f"there is no log: {path} does not exist; a daemon in a terminal writes there")
    return ["tail", "-n", lines, *(["-F"] if follow else []), path]


def _version(session: Session) -> int:
    protocol = ".".join(str(part) for part in PROTOCOL_VERSION)
    answer: dict[str, object] = {"version": VERSION, "protocol": protocol}
    daemon = _greeting(session)
    if daemon:
        answer["daemon"] = {"version": text_of(daemon, "version"), "pid": int(number_of(daemon, "pid"))}
    show(session, answer, _version_lines)
    return 0


def _version_lines(answer: dict[str, object], _screen: Screen) -> str:
    lines = f"groovectl {answer['version']}, protocol {answer['protocol']}\n"
    daemon = as_map(answer.get("daemon"))
    if not daemon:
        return lines + "no daemon is running\n"
    return lines + f"grooved {daemon['version']}, pid {daemon['pid']}\n"


def _help(session: Session) -> int:
    topic = session.arguments.operands
    session.screen.write(command_help(topic[0]) if topic else overview())
    return 0


RUNNERS = {
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "logs": _logs,
    "version": _version,
    "help": _help,
}
