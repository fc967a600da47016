"""Where each key stands in the text of a TOML file: an aid for messages, not a parser.

What always holds: the text has been read by a real parser before, so only keys that exist are asked for; a key that
is not found gives the line of the nearest table above it, or none.  Knows nothing about settings.
"""

import re
from collections.abc import Iterator

_HEADER = re.compile(r"\s*(\[\[|\[)\s*([^\[\]]+?)\s*(?:\]\]|\])\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART = re.compile(r"[\w-]+|\"([^\"]*)\"|'([^']*)'")


def key_lines(text: str) -> dict[str, int]:
    """Return the line, from 1, of each table and key: `search.limit`, `collections[0].path`."""
    lines: dict[str, int] = {}
    for number, name, _is_header in _scan(text):
        lines.setdefault(name, number)
    return lines


def table_lines(text: str) -> list[tuple[int, str]]:
    """Return the line, from 1, and the name of each table, in the order of the text."""
    return [(number, name) for number, name, is_header in _scan(text) if is_header]


def _scan(text: str) -> Iterator[tuple[int, str, bool]]:
    counts: dict[str, int] = {}
    table = ""
    quote = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if quote:
            quote = _still_open(line, quote)
        elif header := _HEADER.match(line):
            table = _dotted(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            yield number, table, True
        elif key := _KEY.match(line):
            yield number, f"{table}.{_dotted(key[1])}".lstrip("."), False
            quote = _opened(line[key.end() :])


def line_of(lines: dict[str, int], key: str) -> int | None:
    """Return the line of a key, or of the nearest table around it that has one."""
    while key:
        if key in lines:
            return lines[key]
        cut = max(key.rfind("."), key.rfind("["))
        key = key[:cut] if cut > 0 else ""
    return None


def _dotted(text: str) -> str:
    return ".".join(match[1] or match[2] or match[0] for match in _PART.finditer(text))


def _opened(rest: str) -> str:
    for mark in ('"""', "'''"):
        if rest.count(mark) % 2:
            return mark
    return ""


def _still_open(line: str, quote: str) -> str:
    return "" if line.count(quote) % 2 else quote
