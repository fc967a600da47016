"""The command line as tables: what a command and an option are, and how a list of arguments is read by them.

What always holds: the same tables drive reading, the help texts and completion; an argument that is not understood is
an error that names it and the nearest that is; nothing is abbreviated by guessing.
This module is part of the command's start time: it imports nothing until something is wrong.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Value = str | int | float | bool | list[str]


class UsageError(Exception):
    """The command line is wrong; the message is one line for the user."""


class Option:
    """One option.

    Args:
        name: long name without dashes.
        kind: `flag` (present or not), `switch` (`--name` and `--no-name`), `text`, `int`, `float`, `choice`, `many`
            (may be repeated), or `commas` (may be repeated, and each value is a list).
        help: one line.
        short: one letter or digit; empty for none.
        metavar: what stands for the value in help texts.
        choices: the values of a `choice`.
        low: least number.
        high: greatest number.
        key: name of the parsed value; the name with `_` when empty.
    """

    __slots__ = ("choices", "help", "high", "key", "kind", "low", "metavar", "name", "short")

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,
        *,
        short: str = "",
        metavar: str = "",
        choices: tuple[str, ...] = (),
        low: float | None = None,
        high: float | None = None,
        key: str = "",
    ) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.short = short
        self.metavar = metavar or ("|".join(choices) if choices else kind.upper())
        self.choices = choices
        self.low = low
        self.high = high
        self.key = key or name.replace("-", "_")

    @property
    def takes_value(self) -> bool:
        """Whether an argument follows it."""
        return self.kind not in ("flag", "switch")


class Command:
    """One command.

    Args:
        name: the word on the command line.
        module: which module of `groove_client.commands` runs it.
        summary: one line.
        operands: how the operands look in the help; empty for none.
        least: fewest operands.
        most: most operands; None for no limit.
        options: its own options, in the order of the help.
        dashed_words: after the first operand, `-word` is an operand too unless it is an option.
        details: more lines for its help.
    """

    __slots__ = ("dashed_words", "details", "least", "module", "most", "name", "operands", "options", "summary")

    def __init__(
        self,
        name: str,
        module: str,
        summary: str,
        *,
        operands: str = "",
        least: int = 0,
        most: int | None = 0,
        options: tuple[Option, ...] = (),
        dashed_words: bool = False,
        details: str = "",
    ) -> None:
        self.name = name
        self.module = module
        self.summary = summary
        self.operands = operands
        self.least = least
        self.most = most
        self.options = options
        self.dashed_words = dashed_words
        self.details = details


class Arguments:
    """What was given: operands in order, and the values of the options that were there."""

    __slots__ = ("operands", "values")

    def __init__(self) -> None:
        self.operands: list[str] = []
        self.values: dict[str, Value] = {}

    def flag(self, key: str) -> bool:
        """Whether a flag was given."""
        return self.values.get(key) is True

    def text(self, key: str) -> str | None:
        """The value of a text or a choice; None when it was not given."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> float | None:
        """The value of a number; None when it was not given."""
        value = self.values.get(key)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def many(self, key: str) -> list[str]:
        """All values of a repeated option."""
        value = self.values.get(key)
        return value if isinstance(value, list) else []


def split_global(argv: Sequence[str], options: Sequence[Option]) -> tuple[Arguments, list[str]]:
    """Read the options before the command; return them and the rest, which begins with the command.

    Raises:
        UsageError: an argument is wrong.
    """
    reader = _Reader(argv, options, stop_at_operand=True)
    reader.read()
    return reader.arguments, list(argv[reader.at :])


def parse(command: Command, argv: Sequence[str], common: Sequence[Option] = ()) -> Arguments:
    """Read the arguments of a command.

    Raises:
        UsageError: an argument is wrong, or there are too few or too many operands.
    """
    reader = _Reader(argv, (*command.options, *common), dashed_words=command.dashed_words)
    reader.read()
    arguments = reader.arguments
    if not arguments.flag("help"):
        _check_count(command, arguments.operands)
    return arguments


def _check_count(command: Command, operands: list[str]) -> None:
    if len(operands) < command.least:
        raise UsageError(f"{command.name} needs {command.operands}")
    if command.most is not None and len(operands) > command.most:
        surplus = operands[command.most]
        wanted = f"takes {command.operands}" if command.operands else "takes no operands"
        raise UsageError(f"{command.name} {wanted}: unexpected {surplus!r}")


class _Reader:
    """Reads one list of arguments from left to right."""

    def __init__(
        self,
        argv: Sequence[str],
        options: Sequence[Option],
        *,
        stop_at_operand: bool = False,
        dashed_words: bool = False,
    ) -> None:
        self.arguments = Arguments()
        self.at = 0
        self._argv = argv
        self._stop_at_operand = stop_at_operand
        self._dashed_words = dashed_words
        self._long = {option.name: option for option in options}
        self._short = {option.short: option for option in options if option.short}

    def read(self) -> None:
        operands = self.arguments.operands
        while self.at < len(self._argv):
            argument = self._argv[self.at]
            if argument == "--":
                operands += self._argv[self.at + 1 :]
                self.at = len(self._argv)
            elif argument.startswith("--"):
                self.at += 1
                self._read_long(argument[2:])
            elif argument.startswith("-") and argument != "-":
                self.at += 1
                self._read_short(argument)
            elif self._stop_at_operand:
                return
            else:
                self.at += 1
                operands.append(argument)

    def _read_long(self, argument: str) -> None:
        name, equals, value = argument.partition("=")
        option = self._long.get(name)
        if option is None and name.startswith("no-"):
            negated = self._long.get(name[3:])
            if negated is not None and negated.kind == "switch":
                self._refuse_value(f"--{name}", equals)
                self.arguments.values[negated.key] = False
                return
        if option is None:
            raise UsageError(f"unknown option --{name}" + self._suggestion(name))
        if not option.takes_value:
            self._refuse_value(f"--{name}", equals)
            self.arguments.values[option.key] = True
            return
        self._store(option, f"--{name}", value if equals else self._following(f"--{name}", option))

    def _read_short(self, argument: str) -> None:
        letter, rest = argument[1], argument[2:]
        option = self._short.get(letter)
        if option is not None and option.takes_value and (not rest or _is_number(rest.lstrip("="))):
            flag = f"-{letter}"
            self._store(option, flag, rest.lstrip("=") if rest else self._following(flag, option))
            return
        if option is not None and not option.takes_value and all(other in self._flags() for other in rest):
            for each in argument[1:]:
                self.arguments.values[self._short[each].key] = True
            return
        self._read_dashed_word(argument)

    def _read_dashed_word(self, argument: str) -> None:
        name = argument[1:].partition("=")[0]
        if name in self._long:
            hint = f"; did you mean --{name}?"
            if self._dashed_words:
                hint += f" To exclude the word, write -- {argument} at the end"
            raise UsageError(f"unknown option {argument}{hint}")
        if not self._dashed_words:
            raise UsageError(f"unknown option {argument}" + self._suggestion(name))
        if not self.arguments.operands:
            text = "; a word to exclude stands after the first word of the query, or anywhere after --"
            raise UsageError(f"unknown option {argument}{text}")
        self.arguments.operands.append(argument)

    def _flags(self) -> set[str]:
        return {short for short, option in self._short.items() if not option.takes_value}

    def _following(self, flag: str, option: Option) -> str:
        if self.at >= len(self._argv):
            raise UsageError(f"{flag} needs a value ({option.metavar})")
        self.at += 1
        return self._argv[self.at - 1]

    def _refuse_value(self, flag: str, equals: str) -> None:
        if equals:
            raise UsageError(f"{flag} takes no value")

    def _store(self, option: Option, flag: str, text: str) -> None:
        values = self.arguments.values
        if option.kind in ("many", "commas"):
            parts = [text] if option.kind == "many" else [part.strip() for part in text.split(",")]
            if not all(parts):
                raise UsageError(f"{flag}: empty value in {text!r}")
            known = values.setdefault(option.key, [])
            assert isinstance(known, list)
            known += parts
        elif option.kind in ("int", "float"):
            values[option.key] = _number(option, flag, text)
        elif option.kind == "choice" and text not in option.choices:
            raise UsageError(
                f"{flag}: {text!r} is none of {', '.join(option.choices)}" + _nearest(text, option.choices)
            )
        else:
            values[option.key] = text

    def _suggestion(self, name: str) -> str:
        names = [*self._long]
        names += [f"no-{option.name}" for option in self._long.values() if option.kind == "switch"]
        return _nearest(name, names, "--")


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _number(option: Option, flag: str, text: str) -> int | float:
    try:
        number = int(text) if option.kind == "int" else float(text)
    except ValueError:
        kind = "whole number" if option.kind == "int" else "number"
        raise UsageError(f"{flag}: {text!r} is no {kind}") from None
    if number != number or (option.low is not None and number < option.low):
        raise UsageError(
            f"{flag}: {text} is below {option.low}" if number == number else f"{flag}: {text} is no number"
        )
    if option.high is not None and number > option.high:
        raise UsageError(f"{flag}: {text} is above {option.high}")
    return number


def _nearest(text: str, candidates: Sequence[str], dashes: str = "") -> str:
    return nearest(text, candidates, prefix=dashes)


def nearest(text: str, candidates: Sequence[str], *, prefix: str = "") -> str:
    """Return `; did you mean ...?` with the candidate that looks most like `text`, or nothing."""
    import difflib

    close = difflib.get_close_matches(text, candidates, 1, 0.6)
    close = close or [candidate for candidate in candidates if text and candidate.startswith(text)]
    return f"; did you mean {prefix}{close[0]}?" if close else ""
