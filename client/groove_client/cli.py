"""`groovectl`: read the command line, run the command, turn what went wrong into one line and an exit code.

Exit codes: 0 done, an empty result included; 1 the request failed; 2 usage or configuration; 3 no daemon;
4 incompatible daemon; 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys

from groove_client.command_table import COMMANDS, GLOBAL_OPTIONS, find
from groove_client.errors import (
    ClientError,
    DaemonIncompatible,
    DaemonNotResponding,
    DaemonNotRunning,
    RequestFailed,
    StartFailed,
)
from groove_client.render import OutputClosed, OutputFailed, Screen
from groove_client.session import Session
from groove_client.syntax import Arguments, Command, UsageError, nearest, parse, split_global
from groove_wire.framing import EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Runner = Callable[[Session], int]

DONE, FAILED, USAGE, NO_DAEMON, INCOMPATIBLE, INTERRUPTED = 0, 1, 2, 3, 4, 130
# What the daemon refuses because of what the user typed or configured, as numbers: the table of names loads slowly.
_CONFIG_INVALID, _INVALID_PARAMS, _BAD_QUERY = 100, 501, 502


def main(argv: Sequence[str] | None = None) -> int:
    """Run `groovectl`.

    With `argv` the exit code is returned.  Without it the process ends here and at once: taking the interpreter down
    in good order costs a tenth of a whole search, and all output is written already.
    """
    if argv is not None:
        return run(argv)
    # One command makes too little garbage for collecting it to be worth its time.
    gc.disable()
    os._exit(run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    screen = Screen()
    try:
        return _run(argv)
    except OutputClosed:
        return DONE
    except StartFailed as error:
        for line in error.lines:
            screen.note(line)
        return USAGE if error.is_configuration else NO_DAEMON
    except (UsageError, OutputFailed, ClientError) as error:
        # The error's dotted name is for programs; a person reads what happened and what to do.
        screen.note(error.message if isinstance(error, RequestFailed) else str(error))
        return _exit_code(error)
    except EncodeError as error:
        screen.note(f"{error.path}: {error.reason}" if error.path else error.reason)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def _exit_code(error: Exception) -> int:
    if isinstance(error, UsageError):
        return USAGE
    if isinstance(error, DaemonIncompatible):
        return INCOMPATIBLE
    if isinstance(error, (DaemonNotRunning, DaemonNotResponding)):
        return NO_DAEMON
    if isinstance(error, RequestFailed) and error.code in (_CONFIG_INVALID, _INVALID_PARAMS, _BAD_QUERY):
        return USAGE
    return FAILED


def _run(argv: Sequence[str]) -> int:
    before, rest = split_global(argv, GLOBAL_OPTIONS)
    if before.flag("version"):
        rest = ["version", *rest]
    if before.flag("help"):
        rest = ["help", *rest[:1]]
    if not rest:
        raise UsageError("no command; `groovectl help` lists them")
    command = find(rest[0])
    if command is None:
        names = [each.name for each in COMMANDS]
        hint = nearest(rest[0], names) or f"; to search, write: groovectl search {rest[0]}"
        raise UsageError(f"unknown command {rest[0]!r}{hint}")
    arguments = parse(command, rest[1:], GLOBAL_OPTIONS)
    for key, value in before.values.items():
        arguments.values.setdefault(key, value)
    if command.name != "help" and arguments.flag("help"):
        command, arguments = _help_about(command)
    return _run_command(command, arguments)


def _help_about(command: Command) -> tuple[Command, Arguments]:
    arguments = Arguments()
    arguments.operands.append(command.name)
    (helper,) = (each for each in COMMANDS if each.name == "help")
    return helper, arguments


def _run_command(command: Command, arguments: Arguments) -> int:
    session = Session(arguments, Screen(arguments.text("color") or "auto"))
    try:
        return _runners(command.module)[command.name](session)
    finally:
        session.close()


def _runners(module: str) -> Mapping[str, Runner]:
    """The commands of one module; only the module that is needed is loaded."""
    if module == "search":
        from groove_client.commands.search import RUNNERS
    elif module == "status":
        from groove_client.commands.status import RUNNERS
    elif module == "indexing":
        from groove_client.commands.indexing import RUNNERS
    elif module == "reading":
        from groove_client.commands.reading import RUNNERS
    elif module == "similar":
        from groove_client.commands.similar import RUNNERS
    elif module == "listing":
        from groove_client.commands.listing import RUNNERS
    elif module == "configuring":
        from groove_client.commands.configuring import RUNNERS
    else:
        from groove_client.commands.lifecycle import RUNNERS
    return RUNNERS
