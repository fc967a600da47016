"""Plain values to checked dataclasses, and dataclasses to plain values.

A request's dataclass is its schema: `param` gives a field its document and its limits, and `from_params` reads a map
by it.  What always holds: an unknown key, a wrong type, a value out of range and a nil are errors that name the key; a
value that was left out is the field's default; `to_plain` leaves out what is None, so no nil stands for "not given".
"""

import dataclasses
import difflib
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

MAX_LIST_ENTRIES = 64
MAX_ENTRY_BYTES = 1024

Params = TypeVar("Params")


class ParamsError(ValueError):
    """A parameter is wrong; `field` is its key, `message` says how, and the text is both in one line."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What a value of a field may be: an inclusive range, a length, one of a few texts."""

    doc: str = ""
    low: float | None = None
    high: float | None = None
    max_bytes: int = MAX_ENTRY_BYTES
    max_chars: int | None = None
    choices: tuple[str, ...] = ()
    length: int | None = None


def param(
    default: Any = dataclasses.MISSING,
    *,
    doc: str,
    low: float | None = None,
    high: float | None = None,
    max_bytes: int = MAX_ENTRY_BYTES,
    max_chars: int | None = None,
    choices: tuple[str, ...] = (),
    length: int | None = None,
) -> Any:
    """Describe one parameter.

    Args:
        default: value when it is left out; a field without one is required.
        doc: one sentence for the reference.
        low: least number.
        high: greatest number.
        max_bytes: longest text, or longest entry of a list, in bytes of UTF-8.
        max_chars: longest text in characters, in place of `max_bytes`.
        choices: allowed texts, or allowed entries of a list.
        length: exact length of a list.
    """
    limits = Limits(doc, low, high, max_bytes, max_chars, choices, length)
    return dataclasses.field(default=default, metadata={"limits": limits})


def limits_of(field: "dataclasses.Field[Any]") -> Limits:
    """The limits of a field; none for a field that was not made by `param`."""
    limits = field.metadata.get("limits", Limits())
    assert isinstance(limits, Limits)
    return limits


@functools.cache
def hints_of(cls: type) -> Mapping[str, Any]:
    """The types of a dataclass's fields."""
    return types.MappingProxyType(typing.get_type_hints(cls))


def from_params(cls: type[Params], params: Mapping[str, object]) -> Params:
    """Make a request out of the map that came over the wire.

    Raises:
        ParamsError: a key is unknown, missing, nil, of the wrong type, or out of range.
    """
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    not_offered: tuple[str, ...] = getattr(cls, "NOT_OFFERED", ())
    hints = hints_of(typing.cast(type, cls))
    values: dict[str, object] = {}
    for key, value in params.items():
        if key in not_offered:
            _refuse_not_offered(key, value)
        elif key not in fields:
            raise ParamsError(_short(key), "unknown parameter" + _nearest(key, [*fields, *not_offered]))
        else:
            values[key] = _checked(key, value, hint=hints[key], limits=limits_of(fields[key]))
    for name, field in fields.items():
        if name not in values and field.default is dataclasses.MISSING:
            raise ParamsError(name, "is required")
    return cls(**values)


def _refuse_not_offered(key: str, value: object) -> None:
    if value is not False:
        raise ParamsError(key, "is not offered by this daemon; hello lists what is")


def _nearest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key[:64], known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known are {', '.join(sorted(known))}" if known else "; this method takes none"


def _short(key: str) -> str:
    return key if key.isprintable() and len(key) <= 64 else ascii(key[:64])


def _checked(key: str, value: object, *, hint: Any, limits: Limits) -> object:
    """The value as the field holds it; `hint` is the field's type, perhaps a union with None."""
    if value is None:
        raise ParamsError(key, "is nil; leave it out instead")
    if hint is object:
        return value
    if typing.get_origin(hint) is types.UnionType:
        members = [member for member in typing.get_args(hint) if member is not types.NoneType]
    else:
        members = [hint]
    for member in members:
        if _is_of(value, member):
            return _in_limits(key, value, kind=member, limits=limits)
    raise ParamsError(key, f"must be {' or '.join(_name_of(member, limits) for member in members)}")


def _is_of(value: object, kind: Any) -> bool:
    if kind is bool:
        return isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is str:
        return isinstance(value, str)
    return isinstance(value, (list, tuple))


def _name_of(kind: Any, limits: Limits) -> str:
    if kind is bool:
        return "true or false"
    if kind in (int, float):
        return ("a whole number" if kind is int else "a number") + _range_text(limits)
    if kind is str:
        return "text"
    entry = typing.get_args(kind)[0]
    return "a list of whole numbers" if entry is int else "a list of texts"


def _range_text(limits: Limits) -> str:
    if limits.low is not None and limits.high is not None:
        return f" from {limits.low:.10g} to {limits.high:.10g}"
    return f" of at least {limits.low:.10g}" if limits.low is not None else ""


def _in_limits(key: str, value: object, *, kind: Any, limits: Limits) -> object:
    if kind is bool:
        return value
    if isinstance(value, (int, float)):
        return _in_range(key, value, kind=kind, limits=limits)
    if isinstance(value, str):
        return _in_length(key, value, limits=limits)
    assert isinstance(value, (list, tuple))
    return _checked_list(key, value, entry=typing.get_args(kind)[0], limits=limits)


def _in_range(key: str, value: float, *, kind: Any, limits: Limits) -> float:
    low = -math.inf if limits.low is None else limits.low
    high = math.inf if limits.high is None else limits.high
    if not math.isfinite(value) or not low <= value <= high:
        raise ParamsError(key, f"must be {_name_of(kind, limits)}")
    return float(value) if kind is float else value


def _in_length(key: str, value: str, *, limits: Limits) -> str:
    if limits.choices and value not in limits.choices:
        raise ParamsError(key, f"must be one of {', '.join(limits.choices)}")
    if limits.max_chars is not None:
        if len(value) > limits.max_chars:
            raise ParamsError(key, f"has {len(value)} characters, at most {limits.max_chars} are allowed")
        return value
    size = len(value.encode())
    if size > limits.max_bytes:
        raise ParamsError(key, f"has {size} bytes, at most {limits.max_bytes} are allowed")
    return value


def _checked_list(key: str, value: list[Any] | tuple[Any, ...], *, entry: Any, limits: Limits) -> tuple[object, ...]:
    if limits.length is not None and len(value) != limits.length:
        raise ParamsError(key, f"must have {limits.length} entries")
    if len(value) > MAX_LIST_ENTRIES:
        raise ParamsError(key, f"has {len(value)} entries, at most {MAX_LIST_ENTRIES} are allowed")
    for place, item in enumerate(value):
        if not _is_of(item, entry):
            raise ParamsError(f"{key}[{place}]", f"must be {_name_of(entry, limits)}")
    return tuple(_in_limits(f"{key}[{place}]", item, kind=entry, limits=limits) for place, item in enumerate(value))


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{key!r} cannot be a key of a message: keys are text")
    return key


_ATOMS = (bool, int, float, str, bytes)


@functools.cache
def _names_of(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


def to_plain(value: object) -> Any:
    """Turn a message into maps, lists and atoms; fields and keys whose value is None are left out.

    Values that are none of these stay as they are: encoding refuses them with their place.

    Raises:
        TypeError: a key of a map is not text.
    """
    if value is None or isinstance(value, _ATOMS):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((name, getattr(value, name)) for name in _names_of(type(value)))
        return {name: to_plain(item) for name, item in pairs if item is not None}
    if isinstance(value, Mapping):
        return {_text_key(key): to_plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


class Message:
    """Base of all requests: `NOT_OFFERED` names parameters that the protocol knows and this version refuses."""

    __slots__ = ()
    NOT_OFFERED: ClassVar[tuple[str, ...]] = ()
