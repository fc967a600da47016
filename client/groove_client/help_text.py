"""The help texts, made from the tables that also read the command line."""

from __future__ import annotations

from groove_client.command_table import COMMANDS, GLOBAL_OPTIONS, find
from groove_client.syntax import Command, Option, UsageError, nearest

_EXIT_CODES = """\
Exit codes: 0 done (also when nothing was found), 1 the request failed, 2 wrong usage or configuration,
3 no daemon, 4 incompatible daemon.
"""


def overview() -> str:
    """Return the list of commands."""
    rows = [f"  {command.name:<13} {command.summary}\n" for command in COMMANDS]
    return "".join(
        [
            "groovectl - search your notes\n\nusage: groovectl [OPTION...] COMMAND ...\n\ncommands:\n",
            *rows,
            "\noptions of every command:\n",
            _options(GLOBAL_OPTIONS),
            "\n`groovectl help COMMAND` tells more.\n",
            _EXIT_CODES,
        ]
    )


def command_help(name: str) -> str:
    """Return the help of a command.

    Raises:
        UsageError: there is no such command.
    """
    command = find(name)
    if command is None:
        raise UsageError(f"unknown command {name!r}" + nearest(name, [each.name for each in COMMANDS]))
    parts = [f"groovectl {command.name} - {command.summary}\n\n{_usage(command)}"]
    if command.details:
        parts.append(f"\n{command.details}")
    if command.options:
        parts.append(f"\noptions:\n{_options(command.options)}")
    parts.append(f"\noptions of every command:\n{_options(GLOBAL_OPTIONS)}")
    return "".join(parts)


def _usage(command: Command) -> str:
    words = ["usage: groovectl", command.name, "[OPTION...]", command.operands]
    return " ".join(word for word in words if word) + "\n"


def _options(options: tuple[Option, ...]) -> str:
    return "".join(_row(spelling(option), option.help) for option in options)


def spelling(option: Option) -> str:
    """Return an option as it is written, for example `-n, --limit N`."""
    long = f"--[no-]{option.name}" if option.kind == "switch" else f"--{option.name}"
    if option.takes_value:
        long += f" {option.metavar}"
    return f"-{option.short}, {long}" if option.short else f"    {long}"


def _row(left: str, right: str) -> str:
    return f"  {left:<32} {right}\n" if len(left) <= 32 else f"  {left}\n{'':35}{right}\n"
