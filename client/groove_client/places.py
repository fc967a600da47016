"""Where a hit is: its file as the system knows it, its line, and how the path is shown.

What always holds: the bytes of a file name survive, also when they are no valid UTF-8; a shown path opens the file from
the current folder.
"""

from __future__ import annotations

import os

_BYTES_PREFIX = "bytes:"


def real_path(path: str) -> str:
    """Return a path of the wire as `os` takes it: the spelling for names that are not UTF-8 is undone."""
    prefix, found, rest = path.rpartition(_BYTES_PREFIX)
    if not found or (prefix and not prefix.endswith("/")):
        return path
    return prefix + os.fsdecode(_percent_decoded(rest))


def _percent_decoded(text: str) -> bytes:
    first, *others = text.encode().split(b"%")
    decoded = [first]
    for part in others:
        try:
            decoded.append(bytes([int(part[:2], 16)]) + part[2:])
        except ValueError:
            decoded.append(b"%" + part)
    return b"".join(decoded)


def current_folders() -> tuple[str, ...]:
    """The current folder by the names that it has: as the shell spells it, and without links."""
    try:
        real = os.getcwd()
    except OSError:
        return ()
    spelled = os.environ.get("PWD", "")
    if spelled and spelled != real and os.path.isabs(spelled) and _is_same(spelled, real):
        return (spelled, real)
    return (real,)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def below(path: str, folders: tuple[str, ...]) -> str:
    """Return an absolute path relative to the folder that it lies under, or as it is."""
    for folder in folders:
        prefix = folder.rstrip("/") + "/"
        if path.startswith(prefix) and len(path) > len(prefix):
            return path[len(prefix) :]
    return path


def from_home(path: str) -> str:
    """Return an absolute path with `~` for the user's own folder, as shells read it."""
    home = os.environ.get("HOME", "").rstrip("/")
    return "~" + path[len(home) :] if home and path.startswith(home + "/") else path


def wire_path(path: str) -> str:
    """Return a path of the command line as an absolute one of the wire; `~` has been replaced by the shell.

    A path that is not valid UTF-8 gets the spelling that `real_path` undoes.
    """
    absolute = os.path.abspath(path)
    raw = os.fsencode(absolute)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _BYTES_PREFIX + "".join(
            chr(byte) if 0x21 <= byte < 0x7F and byte != 0x25 else f"%{byte:02X}" for byte in raw
        )
