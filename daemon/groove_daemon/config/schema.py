"""The options as a flat table of dotted keys, derived from the dataclasses of `settings`.

What always holds: every field of a section is a key here, in the order of the file, so the reader, the printed
effective values and the documents cannot know different options.  Knows nothing about files or where values come from.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groove_daemon.config import fields
from groove_daemon.config.fields import FieldError, show
from groove_daemon.config.settings import CollectionSettings, Settings


@dataclass(frozen=True, slots=True)
class Key:
    """One option.

    Args:
        name: dotted, as the file spells it: `search.mmr.lambda`; for a collection the bare key.
        attribute: name of the field in its dataclass.
        kind: `duration`, `size`, `path`, `name_or_path`, `glob` or empty.
        value_type: `bool`, `int`, `float`, `str`, or `tuple` of texts.
        optional: whether None stands for "not set".
    """

    name: str
    attribute: str
    kind: str
    value_type: type
    optional: bool
    default: Any
    doc: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]

    @property
    def environment_name(self) -> str:
        """The variable that sets this key: `GROOVE_SEARCH_LIMIT`."""
        return "GROOVE_" + self.name.upper().replace(".", "_")


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file: its dotted name, its dataclass, its document, and its own keys."""

    name: str
    settings: type
    doc: str
    keys: tuple[Key, ...]


def _section(name: str, settings: type) -> Section:
    hints = typing.get_type_hints(settings)
    keys = tuple(_key(name, item, hints[item.name]) for item in dataclasses.fields(settings) if item.metadata)
    return Section(name, settings, settings.__doc__ or "", keys)


def _key(section: str, item: "dataclasses.Field[Any]", hint: Any) -> Key:
    plain, optional = _plain_type(hint)
    default = item.default if item.default_factory is dataclasses.MISSING else item.default_factory()
    meta = item.metadata
    # A key that is a word of Python has an underscore behind it in the dataclass.
    name = f"{section}.{item.name.rstrip('_')}".lstrip(".")
    return Key(
        name, item.name, meta["kind"], plain, optional, default, meta["doc"], meta["low"], meta["high"], meta["choices"]
    )


def _plain_type(hint: Any) -> tuple[type, bool]:
    if isinstance(hint, types.UnionType):
        plain = next(part for part in typing.get_args(hint) if part is not type(None))
        return _plain_type(plain)[0], True
    origin = typing.get_origin(hint)
    return (tuple if origin is tuple else hint), False


def _sections(prefix: str, settings: type) -> Iterator[Section]:
    if prefix:
        yield _section(prefix, settings)
    hints = typing.get_type_hints(settings)
    for item in dataclasses.fields(settings):
        if dataclasses.is_dataclass(hints[item.name]):
            yield from _sections(f"{prefix}.{item.name}".lstrip("."), hints[item.name])


SECTIONS: tuple[Section, ...] = tuple(_sections("", Settings))
KEYS: Mapping[str, Key] = {key.name: key for section in SECTIONS for key in section.keys}
COLLECTION = _section("", CollectionSettings)


def read_value(key: Key, raw: object, *, base: Path) -> Any:
    """Return the value of a key from what a TOML parser made of the file.

    Raises:
        FieldError: wrong type, not readable, out of range, or none of the allowed values.
    """
    value = _READERS[key.value_type](key, raw, base)
    if key.choices:
        _check_choice(key, value)
    _check_range(key, value)
    return value


def read_text(key: Key, text: str, *, base: Path) -> Any:
    """Return the value of a key from a text of the environment or the command line.

    A list is separated by commas; a switch is a word such as `true` or `off`.

    Raises:
        FieldError: as `read_value`.
    """
    return read_value(key, _as_raw(key, text), base=base)


def _as_raw(key: Key, text: str) -> object:
    if key.value_type is bool:
        return fields.parse_switch(text)
    if key.value_type is tuple:
        return [item.strip() for item in text.split(",") if item.strip()]
    if key.kind or key.value_type is str:
        return text
    try:
        return key.value_type(text)
    except ValueError:
        raise FieldError(f"{_EXPECTED[key.value_type]}, is {show(text)}") from None


def format_value(key: Key, value: object) -> str:
    """Return a value as the file spells it; `not set` for None."""
    if value is None:
        return "not set"
    if key.kind == "duration" and isinstance(value, float | int):
        return f'"{fields.format_duration(float(value))}"'
    if key.kind == "size" and isinstance(value, int):
        return f'"{fields.format_size(value)}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{toml_text(item)}"' for item in value) + "]"
    if isinstance(value, str):
        return f'"{toml_text(value)}"'
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def toml_text(text: str) -> str:
    """Return a text as it stands between the double quotes of a TOML string, in ASCII."""
    return "".join(_TOML_ESCAPES.get(mark) or _toml_character(mark) for mark in text)


def _toml_character(mark: str) -> str:
    if " " <= mark <= "~":
        return mark
    return f"\\u{ord(mark):04x}" if ord(mark) <= 0xFFFF else f"\\U{ord(mark):08x}"


_TOML_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def range_text(key: Key) -> str:
    """Return the allowed range in the key's own units, for example `10s to 7d`; empty when there is none."""
    if key.low is None or key.high is None:
        return ""
    return f"{_bound(key, key.low)} to {_bound(key, key.high)}"


def _bound(key: Key, bound: float) -> str:
    if key.kind == "duration":
        return fields.format_duration(float(bound))
    if key.kind == "size":
        return fields.format_size(int(bound))
    return f"{bound:g}" if bound != int(bound) else f"{int(bound)}"


def _check_range(key: Key, value: Any) -> None:
    if key.low is not None and key.high is not None and not key.low <= value <= key.high:
        raise FieldError(f"must be {range_text(key)}, is {format_value(key, value)}".replace('"', ""))


def _check_choice(key: Key, value: str) -> None:
    if value in key.choices:
        return
    wanted = ", ".join(f'"{choice}"' for choice in key.choices)
    raise FieldError(f"must be one of {wanted}, is {show(value)}")


def _read_bool(_key: Key, raw: object, _base: Path) -> bool:
    if not isinstance(raw, bool):
        raise FieldError(f"{_EXPECTED[bool]}, is {show(raw)}")
    return raw


def _read_int(key: Key, raw: object, _base: Path) -> int:
    if key.kind == "size":
        return fields.parse_size(raw)
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise FieldError(f"{_EXPECTED[int]}, is {show(raw)}")
    return raw


def _read_float(key: Key, raw: object, _base: Path) -> float:
    if key.kind == "duration":
        return fields.parse_duration(raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise FieldError(f"{_EXPECTED[float]}, is {show(raw)}")
    try:
        return float(raw)
    except OverflowError:
        raise FieldError(f"must be {range_text(key)}, is {show(raw)}") from None


def _read_str(key: Key, raw: object, base: Path) -> str:
    if key.kind == "path":
        return fields.parse_path(raw, base=base)
    if key.kind == "name_or_path":
        return fields.parse_name_or_path(raw, base=base)
    if not isinstance(raw, str):
        raise FieldError(f"{_EXPECTED[str]}, is {show(raw)}")
    return raw


def _read_tuple(key: Key, raw: object, _base: Path) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        raise FieldError(f"{_EXPECTED[tuple]}, is {show(raw)}")
    return tuple(fields.parse_glob(item) if key.kind == "glob" else item for item in raw)


_EXPECTED: Mapping[type, str] = {
    bool: "must be true or false",
    int: "must be a whole number",
    float: "must be a number",
    str: "must be a text in quotes",
    tuple: 'must be a list of texts such as ["a", "b"]',
}
_READERS: Mapping[type, Callable[[Key, object, Path], Any]] = {
    bool: _read_bool,
    int: _read_int,
    float: _read_float,
    str: _read_str,
    tuple: _read_tuple,
}
