"""How the text of one option becomes a value, and a value text again: durations, sizes, switches, paths, globs.

What always holds: a wrong value raises `FieldError` whose text can follow "KEY: " in a message, and
`parse_x(format_x(value)) == value` for every value that a setting may have.  Knows nothing about files or sections.
"""

import math
import os
import re
from decimal import Decimal
from pathlib import Path

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {
    "b": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
}
_SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_PATH_STARTS = ("/", "~", "./", "../")


class FieldError(ValueError):
    """A value that cannot be read; the text says what was expected and what was there."""


def parse_duration(value: object) -> float:
    """Return seconds from a number of seconds or from text such as `500ms`, `5m`, `1h30m`.

    Raises:
        FieldError: neither of these, negative, or not finite.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value)
    if isinstance(value, str):
        text = "".join(value.split())
        if _NUMBER.fullmatch(text):
            return _finite(float(text))
        if _DURATION.fullmatch(text):
            return _finite(_sum_of_parts(text))
    raise FieldError(
        f'must be a number of seconds or a text such as "500ms", "30s", "5m", "2h", "1d", is {show(value)}'
    )


def _sum_of_parts(text: str) -> float:
    # A division by 1000 is rounded correctly, a product with 0.001 is not.
    return sum(
        float(number) / 1000 if unit == "ms" else float(number) * _SECONDS[unit]
        for number, unit in _DURATION_PART.findall(text)
    )


def parse_size(value: object) -> int:
    """Return bytes from a whole number of bytes or from text such as `50MiB` (1024) or `1GB` (1000).

    Raises:
        FieldError: neither of these, or negative.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str):
        text = "".join(value.split()).lower()
        if text.isascii() and text.isdigit():
            return int(text)
        match = _SIZE.fullmatch(text)
        if match and match[2] in _BYTES:
            return round(float(match[1]) * _BYTES[match[2]])
    raise FieldError(f'must be a number of bytes or a text such as "50MiB" or "1GB", is {show(value)}')


def parse_switch(text: str) -> bool:
    """Return the truth value that a word of the environment or the command line stands for.

    Raises:
        FieldError: no such word.
    """
    try:
        return _SWITCHES[text.strip().lower()]
    except KeyError:
        raise FieldError(f"must be true or false, is {show(text)}") from None


def parse_path(value: object, *, base: Path) -> str:
    """Return an absolute path without `.` and `..`; `~` is the home, a relative path starts at `base`.

    Symbolic links are kept as they are, and nothing is looked up on the disk.

    Raises:
        FieldError: no text, empty, with a NUL, or the home of a user who does not exist.
    """
    if not isinstance(value, str):
        raise FieldError(f"must be a path, is {show(value)}")
    if not value.strip():
        raise FieldError("must be a path, is empty")
    if "\0" in value:
        raise FieldError(f"must be a path, {show(value)} contains a NUL")
    expanded = os.path.expanduser(value)
    if expanded.startswith("~"):
        raise FieldError(f"there is no home for {show(value.split('/')[0])}; write ./{value} if a folder has that name")
    return os.path.normpath(os.path.join(base, expanded))


def parse_name_or_path(value: object, *, base: Path) -> str:
    """Return a name as it is, and an absolute path for text that starts like one (`/`, `~`, `./`, `../`).

    Raises:
        FieldError: no text, or empty.
    """
    if not isinstance(value, str):
        raise FieldError(f"must be a name or a path, is {show(value)}")
    if not value.strip():
        raise FieldError("must be a name or a path, is empty")
    return parse_path(value, base=base) if value.startswith(_PATH_STARTS) else value


def parse_glob(value: object) -> str:
    """Return one pattern in the syntax of .gitignore.

    Raises:
        FieldError: no text, empty, more than one line, or a range in brackets that never ends.
    """
    if not isinstance(value, str):
        raise FieldError(f"must be a pattern, is {show(value)}")
    if not value.strip():
        raise FieldError("must be a pattern, is empty")
    if any(mark in value for mark in "\n\r\0"):
        raise FieldError(f"must be a pattern of one line, is {show(value)}")
    if re.search(r"(?<!\\)\[(?!.+\])", value):
        raise FieldError(f"has a '[' without its ']': {show(value)}")
    return value


def format_duration(seconds: float) -> str:
    """Return a short text, of one whole unit where that is exact, that `parse_duration` reads as `seconds`."""
    for unit in ("d", "h", "m", "s"):
        text = f"{round(seconds / _SECONDS[unit])}{unit}"
        if seconds and parse_duration(text) == seconds:
            return text
    text = f"{round(seconds * 1000)}ms"
    if seconds and parse_duration(text) == seconds:
        return text
    return f"{Decimal(repr(seconds)):f}s" if seconds else "0s"


def format_size(size_bytes: int) -> str:
    """Return the shortest text of whole units that `parse_size` reads as `size_bytes`."""
    for unit, name in (("gib", "GiB"), ("mib", "MiB"), ("kib", "KiB")):
        if size_bytes and size_bytes % _BYTES[unit] == 0:
            return f"{size_bytes // _BYTES[unit]}{name}"
    return f"{size_bytes}B"


def show(value: object) -> str:
    """Return a value as the file spells it, shortened, for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = '"' + ascii(value)[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(show(item) for item in value) + "]"
    elif isinstance(value, dict):
        text = "a table"
    else:
        text = str(value)
    return text if len(text) <= 80 else f"{text[:76]}..."


def _finite(seconds: float) -> float:
    try:
        exact = float(seconds)
    except OverflowError:
        exact = math.inf
    if not math.isfinite(exact) or exact < 0:
        raise FieldError(f"must be a duration of zero or more, is {show(seconds)}")
    return exact
