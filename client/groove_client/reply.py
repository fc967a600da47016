"""Plain values that came over the wire to the dataclasses of `groove_wire.messages`.

What always holds: a field that this version does not know is passed over, so that a newer daemon can be read; a field
that is missing and has no default, or is of another type, is an error that names it.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from groove_client.errors import DaemonIncompatible

Message = TypeVar("Message")


def read(cls: type[Message], value: object) -> Message:
    """Make a message of the given class.

    Raises:
        DaemonIncompatible: the value does not have that form.
    """
    message = _read(cls, value, cls.__name__)
    assert isinstance(message, cls)
    return message


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _read(hint: Any, value: object, place: str) -> object:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _read_dataclass(hint, value, place)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return _read_union(arguments, value, place)
    if origin is tuple:
        return _read_tuple(arguments, value, place)
    if origin is Mapping:
        return _read_mapping(arguments, value, place)
    if hint is object:
        return value
    return _read_atom(hint, value, place)


def _read_dataclass(cls: type, value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise _wrong(place, "a map", value)
    known = {}
    for field in dataclasses.fields(cls):
        if field.name in value:
            known[field.name] = _read(_hints(cls)[field.name], value[field.name], f"{place}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise DaemonIncompatible(f"the daemon's answer lacks {place}.{field.name}; run `groovectl restart`")
    return cls(**known)


def _read_union(arguments: tuple[Any, ...], value: object, place: str) -> object:
    if value is None and types.NoneType in arguments:
        return None
    members = [member for member in arguments if member is not types.NoneType]
    for member in members[:-1]:
        try:
            return _read(member, value, place)
        except DaemonIncompatible:
            continue
    return _read(members[-1], value, place)


def _read_tuple(arguments: tuple[Any, ...], value: object, place: str) -> object:
    if not isinstance(value, (list, tuple)):
        raise _wrong(place, "a list", value)
    if arguments[-1] is Ellipsis:
        return tuple(_read(arguments[0], item, f"{place}[{index}]") for index, item in enumerate(value))
    if len(arguments) != len(value):
        raise _wrong(place, f"a list of {len(arguments)}", value)
    pairs = enumerate(zip(arguments, value, strict=True))
    return tuple(_read(argument, item, f"{place}[{index}]") for index, (argument, item) in pairs)


def _read_mapping(arguments: tuple[Any, ...], value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise _wrong(place, "a map", value)
    return {key: _read(arguments[1], item, f"{place}.{key}") for key, item in value.items()}


def _read_atom(kind: type, value: object, place: str) -> object:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    raise _wrong(place, kind.__name__, value)


def _wrong(place: str, wanted: str, value: object) -> DaemonIncompatible:
    found = type(value).__name__
    return DaemonIncompatible(f"the daemon's answer has {found} at {place}, not {wanted}; run `groovectl restart`")
