"""Changes to the user's configuration file: add a collection, remove one.

What always holds: comments, order and all other keys stay; the file is replaced in one step or not at all; a file
that is wrong before or would be wrong after is not touched; a symbolic link stays a link.  The only user of tomlkit.
"""

import difflib
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Table

from groove_daemon.config.fields import FieldError, parse_path, show
from groove_daemon.config.lines import table_lines
from groove_daemon.config.load import load_text, read_file
from groove_daemon.config.settings import CollectionSettings
from groove_daemon.errors import ConfigError

NEW_FILE_MODE = 0o600
NEW_FOLDER_MODE = 0o700
_BYTE_ORDER_MARK = "\ufeff"

Values = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class _Original:
    """The file as it was read: its real place, its text with plain line ends, and how to spell it again."""

    target: Path
    text: str
    status: os.stat_result | None
    line_end: str
    mark: str


def add_collection(file: Path, path: str, *, name: str = "", source: str = "", ignore: Sequence[str] = ()) -> str:
    """Add a folder to the collections and return the new text of the file.

    Args:
        file: the configuration file; made, with its folder, when it is not there.
        path: the folder; a relative one starts at the working directory.
        name: the collection's name; the folder's own when empty.
        source: its source; the default when empty.
        ignore: patterns to leave out.

    Raises:
        ConfigError: the file is wrong, or would be: the folder or the name is in use, or the folder is a file.
    """
    original = _read(file)
    _collections(original, file)
    try:
        values: Values = {"path": parse_path(path, base=Path.cwd())}
    except FieldError as error:
        raise ConfigError(f"collection: path {error}") from error
    values |= {key: text for key, text in (("name", name), ("source", source)) if text}
    if ignore:
        values["ignore"] = list(ignore)
    expected = tomllib.loads(original.text)
    expected["collections"] = [*expected.get("collections", []), values]
    text = _changed(file, original.text, lambda document: _append(document, values))
    return _write(file, original, text, expected)


def remove_collection(file: Path, name: str) -> str:
    """Take a collection out of the file by its effective name, and return the new text.

    Raises:
        ConfigError: the file is wrong, or has no such collection.
    """
    original = _read(file)
    names = [collection.name for collection in _collections(original, file)]
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1) or names
        hint = f"did you mean {close[0]}?" if len(close) == 1 else f"there are: {', '.join(names) or 'none'}"
        raise ConfigError(f"{file}: there is no collection {show(name)}", hint=hint)
    position = names.index(name)
    expected = tomllib.loads(original.text)
    del expected["collections"][position]
    if not expected["collections"]:
        del expected["collections"]
    return _write(file, original, _without(file, original.text, position), expected)


def _changed(file: Path, text: str, change: Callable[[tomlkit.TOMLDocument], None]) -> str:
    try:
        document = tomlkit.parse(text)
        change(document)
        return document.as_string()
    except TOMLKitError as error:
        raise ConfigError(f"{file}: cannot be changed: {error}", hint="edit it by hand") from error


def _without(file: Path, text: str, position: int) -> str:
    tables = table_lines(text)
    start = next((number for number, name in tables if name == f"collections[{position}]"), None)
    if start is None:
        return _changed(file, text, lambda document: _remove_element(document, position))
    end = min((number for number, _name in tables if number > start), default=text.count("\n") + 2)
    lines = text.split("\n")
    # Comments and blank lines at the end of a table stand above what follows, so they stay.
    tail = end - 1
    while lines[tail - 1].strip() == "" or lines[tail - 1].lstrip().startswith("#"):
        tail -= 1
    kept = lines[: start - 1]
    while kept and not kept[-1].strip() and tail < len(lines) and not lines[tail].strip():
        kept.pop()
    return "\n".join(kept + lines[tail:]) if kept else "\n".join(lines[tail:]).lstrip("\n")


def _remove_element(document: tomlkit.TOMLDocument, position: int) -> None:
    elements = document["collections"]
    del elements[position]
    if not elements:
        del document["collections"]


def _collections(original: _Original, file: Path) -> tuple[CollectionSettings, ...]:
    return load_text(original.text, file, env={}, flags={}).settings.collections


def _append(document: tomlkit.TOMLDocument, values: Values) -> None:
    present = document.get("collections")
    if isinstance(present, Array) and len(present) == 0:
        del document["collections"]
        present = None
    if isinstance(present, Array):
        present.append(_filled(tomlkit.inline_table(), values))
    elif isinstance(present, AoT):
        present.append(_next_table(present, values))
    else:
        tables = tomlkit.aot()
        tables.append(_filled(tomlkit.table(), values))
        if document.as_string():
            document.add(tomlkit.nl())
        document.append("collections", tables)


def _next_table(present: AoT, values: Values) -> Table | InlineTable:
    """A table with a blank line between it and the one before it, and the one after it if there is any."""
    table = _filled(tomlkit.table(), values)
    if present[-1].as_string().endswith("\n\n"):
        table.add(tomlkit.nl())
    else:
        table.trivia.indent = "\n"
    return table


def _filled(table: Any, values: Values) -> Table | InlineTable:
    for key, value in values.items():
        table[key] = value
    return table  # type: ignore[no-any-return]


def _read(file: Path) -> _Original:
    target = Path(os.path.realpath(file))
    if not target.exists():
        return _Original(target, "", None, "\n", "")
    status = target.stat()
    text = read_file(target)
    mark = _BYTE_ORDER_MARK if target.read_bytes().startswith(_BYTE_ORDER_MARK.encode()) else ""
    ends_with_returns = "\n" in text and text.count("\r\n") == text.count("\n")
    line_end = "\r\n" if ends_with_returns else "\n"
    plain = text.replace("\r\n", "\n") if ends_with_returns else text
    return _Original(target, plain if plain.endswith("\n") or not plain else f"{plain}\n", status, line_end, mark)


def _write(file: Path, original: _Original, text: str, expected: dict[str, Any]) -> str:
    try:
        understood = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        understood = {}
    if understood != expected:
        raise ConfigError(f"{file}: cannot be changed without risk to its other content", hint="edit it by hand")
    load_text(text, file, env={}, flags={})
    spelled = original.mark + text.replace("\n", original.line_end)
    _replace(original, spelled.encode())
    return text


def _replace(original: _Original, content: bytes) -> None:
    """Put the content in the place of the file: written beside it, flushed, then renamed over it.

    Raises:
        ConfigError: the file changed meanwhile, or its folder cannot be written.
    """
    folder = original.target.parent
    try:
        folder.mkdir(mode=NEW_FOLDER_MODE, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{original.target.name}.", dir=folder)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {(error.strerror or '').lower()}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            _dress(handle, original.status)
            stream.flush()
            os.fsync(handle)
        if not _is_unchanged(original):
            raise ConfigError(f"{original.target}: was changed by somebody else meanwhile", hint="try again")
        os.replace(temporary, original.target)
    except BaseException:
        os.unlink(temporary)
        raise
    _flush_folder(folder)


def _dress(handle: int, status: os.stat_result | None) -> None:
    os.fchmod(handle, NEW_FILE_MODE if status is None else stat.S_IMODE(status.st_mode))
    if status is not None and os.geteuid() == 0:
        os.fchown(handle, status.st_uid, status.st_gid)


def _is_unchanged(original: _Original) -> bool:
    try:
        now: os.stat_result | None = original.target.stat()
    except FileNotFoundError:
        now = None
    if now is None or original.status is None:
        return now is original.status
    before = original.status
    return (now.st_ino, now.st_mtime_ns, now.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
