"""YAML frontmatter: where it ends and what it says; the only module that imports yaml.

A block counts when it is closed and holds a mapping; a rule on the first line of a note swallows nothing.  Values are
texts and lists of texts, taken from the parser's events, so no tag, alias or number is ever constructed: an alias bomb
has nothing to expand, and `2026-05-18` or `yes` stays what was written.  A block that is not valid YAML but reads like
one is left out of the body too, with a problem that names line and column.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime

import yaml

from groove_daemon.domain.document import Metadata

_MAX_CHARS = 256 * 1024
_MAX_DEPTH = 32
_OPENING = re.compile(r"---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(r"[^\s#:-][^:\n]*:(?:[ \t].*)?$")
_OTHER_LINE = re.compile(r"(?:[ \t].*|#.*|-(?:[ \t].*)?|[\]}],?)?$")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:(?:[Tt]|[ \t]+)(.+))?$")
_MONTH_OR_YEAR = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?$")
_NOT_IN_YAML = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Value = str | list["_Value"] | dict[str, "_Value"] | None


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands before the body; `end` is the character offset at which the body begins, 0 without frontmatter."""

    end: int
    metadata: Metadata


class _NotUnderstood(Exception):
    """The block cannot be read; `line` and `column` are 0-based and relative to the block."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


def read_frontmatter(text: str) -> Frontmatter:
    """Read the frontmatter of a text with LF line ends; never raises."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None or closing.start() > _MAX_CHARS:
        return Frontmatter(0, Metadata())
    block = text[opening.end() : closing.start()]
    if not block.strip():
        return Frontmatter(closing.end(), Metadata())
    try:
        value = _load(block)
    except _NotUnderstood as error:
        if not _reads_like_a_mapping(block):
            return Frontmatter(0, Metadata())
        place = f"line {error.line + 2}, column {error.column + 1}"
        problem = f"frontmatter not understood at {place}: {error.reason}"
        return Frontmatter(closing.end(), Metadata(problems=(problem,)))
    if not isinstance(value, dict):
        return Frontmatter(0, Metadata())
    return Frontmatter(closing.end(), _metadata(value))


def _reads_like_a_mapping(block: str) -> bool:
    lines = block.rstrip("\n").split("\n")
    return any(map(_KEY_LINE.match, lines)) and all(_KEY_LINE.match(line) or _OTHER_LINE.match(line) for line in lines)


def _load(block: str) -> _Value:
    try:
        events = yaml.parse(block, Loader=_LOADER)
        return _document(iter(events))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join((error.problem or error.context or "invalid YAML").split())
        raise _NotUnderstood(reason, mark.line if mark else 0, mark.column if mark else 0) from error
    except yaml.YAMLError as error:
        raise _NotUnderstood("a character that YAML does not allow", *_forbidden_at(block)) from error


def _forbidden_at(block: str) -> tuple[int, int]:
    """Where the first character stands that YAML does not allow; its reader does not say."""
    found = _NOT_IN_YAML.search(block)
    before = block[: found.start()] if found else ""
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def _document(events: Iterator[yaml.Event]) -> _Value:
    """Build the first document's value, without recursion; an alias counts as no value."""
    root: list[_Value] = []
    open_: list[tuple[list[_Value], yaml.Event]] = [(root, yaml.StreamStartEvent())]
    for event in events:
        items, _start = open_[-1]
        if isinstance(event, yaml.ScalarEvent):
            items.append(None if event.implicit[0] and event.value in _NULLS else event.value)
        elif isinstance(event, yaml.AliasEvent):
            items.append(None)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_) > _MAX_DEPTH:
                mark = event.start_mark
                raise _NotUnderstood("nested too deeply", mark.line if mark else 0, mark.column if mark else 0)
            open_.append(([], event))
        elif isinstance(event, yaml.CollectionEndEvent):
            items, start = open_.pop()
            open_[-1][0].append(_mapping(items) if isinstance(start, yaml.MappingStartEvent) else items)
    return root[0] if root else None


def _mapping(items: list[_Value]) -> _Value:
    return {key: value for key, value in zip(items[::2], items[1::2], strict=True) if isinstance(key, str)}


def _metadata(values: dict[str, _Value]) -> Metadata:
    fields = {key.strip().lower(): value for key, value in values.items()}
    metadata = Metadata(
        title=_text(fields.get("title")),
        topic=_text(fields.get("topic")),
        tags=_tags(fields.get("tags") or fields.get("tag")),
        aliases=_distinct(_texts(fields.get("aliases") or fields.get("alias"))),
    )
    written = _text(fields.get("date")) or _text(fields.get("created"))
    if written is None:
        return metadata
    iso = _iso(written)
    problems = () if iso else (f"frontmatter date not understood: {written[:40]}",)
    return replace(metadata, date=iso, problems=problems)


def _text(value: _Value) -> str | None:
    """One line of text, or None; a list is what `[[a link]]` looks like to YAML."""
    return " ".join(_texts(value)) or None


def _texts(value: _Value) -> list[str]:
    if isinstance(value, str):
        line = " ".join(value.split())
        return [line] if line else []
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return []


def _tags(value: _Value) -> tuple[str, ...]:
    """A list, or one text with commas or spaces between the tags."""
    names = _texts(value)
    if isinstance(value, str):
        names = value.split(",") if "," in value else value.split()
    return _distinct([name.strip().lstrip("#").strip() for name in names])


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names without empty ones and repetitions; the first spelling wins."""
    kept: dict[str, str] = {}
    for name in names:
        if name:
            kept.setdefault(name.casefold(), name)
    return tuple(kept.values())


def _iso(written: str) -> str | None:
    """ISO 8601 text of a date or of a date with a time, or None; a month or a year alone is ISO text already."""
    if _MONTH_OR_YEAR.match(written):
        return written
    match = _DATE.match(written)
    if match is None:
        return None
    year, month, day, time = match.groups()
    day_text = f"{year}-{int(month):02}-{int(day):02}"
    try:
        if time is None:
            return date.fromisoformat(day_text).isoformat()
        return datetime.fromisoformat(f"{day_text}T{_padded(time)}").isoformat()
    except ValueError:
        return None


def _padded(time: str) -> str:
    """`7:05 +02` as `07:05+02:00`: YAML allows one digit for the hour and a space before the offset."""
    compact = time.replace(" ", "").replace("\t", "")
    compact = re.sub(r"^(\d):", r"0\1:", compact)
    return re.sub(r"([+-])(\d)?(\d)$", lambda match: f"{match[1]}{match[2] or '0'}{match[3]}:00", compact)
