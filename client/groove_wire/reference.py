"""The reference of the protocol as Markdown, made from the tables and dataclasses of this package.

`python -m groove_wire.reference` writes it to standard output; `docs/protocol.md` is its output and a test says when
that is stale.
"""
# A sentence of the page is a line, however long.
# ruff: noqa: E501

import dataclasses
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any

from groove_wire import limits
from groove_wire.codes import ErrorCode
from groove_wire.methods import METHODS, NOTIFICATIONS
from groove_wire.params import Limits, hints_of, limits_of
from groove_wire.paths import MAX_SOCKET_PATH
from groove_wire.version import PROTOCOL_VERSION

_INTRODUCTION = """\
# Protocol

This page is generated: `python -m groove_wire.reference > docs/protocol.md`.
It describes protocol {major}.{minor}.

The daemon speaks MessagePack-RPC over a Unix domain stream socket, so a client in any language is an existing library and a path.
Neovim needs nothing but `sockconnect('pipe', path, {{'rpc': v:true}})` and `rpcrequest`.

## Messages

A frame is one msgpack array; nothing stands before or between frames.

| message | array | who sends it |
|---|---|---|
| request | `[0, msgid, method, [params]]` | client |
| response | `[1, msgid, error, result]` | daemon |
| notification | `[2, method, [params]]` | both |

- `params` holds one map, or nothing. An empty array in place of the map counts as an empty map, because Lua cannot tell them apart.
- `msgid` is an unsigned integer of 32 bits that the client chooses; it must not be in flight on the same connection.
- `error` is nil or `[code, text]`. The text is one line: the error's name, a colon, what happened, and perhaps a semicolon and what to do.
- Keys are text. Text is `str`, bytes are `bin`, extension types are refused. Dates are ISO 8601 text.
- A parameter that is not given is left out, and so is a field that has no value: nil stands for nothing else, and as a parameter it is an error.
- A path that is not valid UTF-8 on the disk is spelled `bytes:` and then percent-encoded as a whole.
- Responses come in the order in which they are ready.
- Closing the connection cancels all that it had in flight.

A frame that cannot be read, or that announces more than the limits allow, is answered with the notification `error`, and the connection is closed.

## The socket

The first of these that can be used, for the instance `default` unless another is named:

1. `$GROOVE_SOCKET`, or the option `--socket`.
2. `$XDG_RUNTIME_DIR/groove/<instance>.sock`, if that variable names an existing folder.
3. `/run/user/<uid>/groove/<instance>.sock`, if `/run/user/<uid>` exists. On macOS, in place of 2 and 3, `groove/<instance>.sock` in the user's own temporary folder.
4. `/tmp/groove-<uid>/<instance>.sock`.

A client tries them in this order.
A path longer than {linux} bytes ({darwin} on macOS) is replaced by `/tmp/groove-<uid>/<hash>.sock`, where the hash is the first 20 hexadecimal digits of the SHA-256 of the long path.

The folder has mode 0700 and the socket 0600.
The daemon asks the kernel who connected, and refuses every user but its own.
A second daemon for the same socket ends at once with exit code 5 and names the process that is first.

## Limits

| what | limit |
|---|---|
"""


def render() -> str:
    """The whole page."""
    return "".join(_page())


def _page() -> Iterator[str]:
    major, minor = PROTOCOL_VERSION
    linux, darwin = MAX_SOCKET_PATH["linux"], MAX_SOCKET_PATH["darwin"]
    yield _INTRODUCTION.format(major=major, minor=minor, linux=linux, darwin=darwin)
    for what, limit in _limit_rows():
        yield f"| {what} | {limit} |\n"
    yield "\n## Methods\n"
    for method in METHODS.values():
        yield f"\n### {method.name}\n\n{method.doc} Since {method.since[0]}.{method.since[1]}.\n\n"
        yield from _parameters(method.request)
        yield from _fields("Result", method.response)
    yield "\n## Notifications\n"
    for notification in NOTIFICATIONS.values():
        sender = "client" if notification.from_client else "daemon"
        yield f"\n### {notification.name}\n\nSent by the {sender}. {notification.doc}\n\n"
        yield from _fields("Content", notification.content)
    yield from _nested()
    yield from _codes()


def _limit_rows() -> Iterator[tuple[str, str]]:
    yield "frame, in both directions", f"{limits.MAX_FRAME_BYTES} bytes"
    yield "values in a request, keys and containers counted", str(limits.MAX_REQUEST_ITEMS)
    yield "query", f"{limits.MAX_QUERY_CHARS} characters"
    yield "`limit` of a search or a list", str(limits.MAX_LIMIT)
    yield "entries of a list", str(limits.MAX_LIST_ENTRIES)
    yield "an entry of a list, or a text, unless said otherwise", f"{limits.MAX_ENTRY_BYTES} bytes"
    yield "requests in flight on a connection", str(limits.MAX_IN_FLIGHT)
    yield "connections", str(limits.MAX_CONNECTIONS)
    yield "bytes waiting for a client that does not read, before it is dropped", str(limits.MAX_OUTGOING_BYTES)


def _parameters(cls: type) -> Iterator[str]:
    fields = dataclasses.fields(cls)
    if not fields:
        yield "No parameters.\n\n"
        return
    yield "| parameter | type | default | meaning |\n|---|---|---|---|\n"
    for field in fields:
        limit = limits_of(field)
        shown = f"{_type_name(hints_of(cls)[field.name])}{_range(limit)}"
        yield f"| `{field.name}` | {shown} | {_default(field)} | {limit.doc} |\n"
    refused = getattr(cls, "NOT_OFFERED", ())
    if refused:
        yield f"\nNot offered by this version: {', '.join(f'`{name}`' for name in refused)}.\n"
    yield "\n"


def _fields(title: str, cls: type) -> Iterator[str]:
    yield f"{title}: {_sentence(cls)}\n\n| field | type |\n|---|---|\n"
    for field in dataclasses.fields(cls):
        yield f"| `{field.name}` | {_type_name(hints_of(cls)[field.name])}{_may_be_absent(cls, field.name)} |\n"


def _nested() -> Iterator[str]:
    yield "\n## Maps in results\n"
    for cls in _nested_types():
        yield f"\n### {cls.__name__}\n\n{_sentence(cls)}\n\n| field | type |\n|---|---|\n"
        for field in dataclasses.fields(cls):
            yield f"| `{field.name}` | {_type_name(hints_of(cls)[field.name])}{_may_be_absent(cls, field.name)} |\n"


def _nested_types() -> list[type]:
    found: dict[type, None] = {}
    waiting = [method.response for method in METHODS.values()]
    while waiting:
        for hint in hints_of(waiting.pop(0)).values():
            for cls in _dataclasses_in(hint):
                if cls not in found:
                    found[cls] = None
                    waiting.append(cls)
    return sorted(found, key=lambda cls: cls.__name__)


def _dataclasses_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for inner in typing.get_args(hint):
        yield from _dataclasses_in(inner)


def _codes() -> Iterator[str]:
    yield "\n## Errors\n\nA number never changes its meaning and is never used again.\n\n"
    yield "| code | name | meaning |\n|---|---|---|\n"
    for code in ErrorCode:
        yield f"| {int(code)} | `{code.name_on_wire}` | {_MEANINGS[code]} |\n"


_MEANINGS = {
    ErrorCode.INTERNAL: "A fault of the daemon; its log has the details under the id in the text.",
    ErrorCode.CONFIG_INVALID: "The configuration is wrong; the text names file and key.",
    ErrorCode.INDEX_SCHEMA_TOO_NEW: "A newer version made the index.",
    ErrorCode.INDEX_CORRUPT: "The index is damaged, or is no index.",
    ErrorCode.INDEX_LOCKED: "Another process has the index.",
    ErrorCode.INDEX_EMBEDDER_MISMATCH: "Another model made the vectors in the index.",
    ErrorCode.INDEX_FULL: "The disk is full or may not be written.",
    ErrorCode.DOCUMENT_NOT_INDEXED: "No such document or chunk.",
    ErrorCode.DOCUMENT_OUTSIDE_ROOTS: "The path lies in no collection.",
    ErrorCode.DOCUMENT_UNSUPPORTED: "No parser takes this kind of file.",
    ErrorCode.DOCUMENT_UNPARSEABLE: "The file was read and cannot be parsed.",
    ErrorCode.MODEL_LOADING: "The model is being loaded; ask again.",
    ErrorCode.MODEL_UNAVAILABLE: "The model is missing or broken.",
    ErrorCode.REQUEST_UNKNOWN_METHOD: "No such method or notification.",
    ErrorCode.REQUEST_INVALID_PARAMS: "A parameter is unknown, missing, of the wrong type, or out of range.",
    ErrorCode.REQUEST_BAD_QUERY: "The query cannot be searched for.",
    ErrorCode.REQUEST_TOO_LARGE: "A frame or an answer is over a limit.",
    ErrorCode.REQUEST_CANCELLED: "The request was cancelled.",
    ErrorCode.REQUEST_BAD_FRAME: "The bytes are no message, or the msgid is in flight.",
    ErrorCode.REQUEST_INCOMPATIBLE: "The client speaks another major version; hello, ping, status and shutdown work.",
    ErrorCode.REQUEST_FORBIDDEN: "The daemon serves another user.",
    ErrorCode.DAEMON_BUSY: "A limit of concurrent work is reached; ask again later.",
    ErrorCode.DAEMON_DEADLINE: "The time allowed is over.",
    ErrorCode.DAEMON_SHUTTING_DOWN: "The daemon is stopping.",
}


def _sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split())


def _type_name(hint: Any) -> str:
    names = {str: "text", int: "integer", float: "number", bool: "true or false", object: "anything"}
    if hint in names:
        return names[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return " or ".join(_type_name(member) for member in inner if member is not types.NoneType)
    if origin is tuple:
        if inner[-1] is Ellipsis:
            return f"list of {_type_name(inner[0])}"
        return f"list of {len(inner)} {_type_name(inner[0])}"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return f"map of text to {_type_name(inner[1])}"


def _range(limit: Limits) -> str:
    if limit.choices:
        return ": " + ", ".join(f"`{choice}`" for choice in limit.choices)
    if limit.low is not None and limit.high is not None:
        return f", {limit.low:.10g} to {limit.high:.10g}"
    if limit.low is not None:
        return f", at least {limit.low:g}"
    return f", {limit.max_chars} characters" if limit.max_chars else ""


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    if field.default in (None, (), ""):
        return ""
    if isinstance(field.default, tuple):
        return ", ".join(f"`{item}`" for item in field.default)
    return f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


def _may_be_absent(cls: type, name: str) -> str:
    return ", may be absent" if types.NoneType in typing.get_args(hints_of(cls)[name]) else ""


if __name__ == "__main__":
    sys.stdout.write(render())
