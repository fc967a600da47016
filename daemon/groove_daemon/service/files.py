"""The files of a service: recognised by a mark, replaced in one step, never taken from somebody else."""

import os
import tempfile
from pathlib import Path

from groove_daemon.errors import ConfigError

MARK = "Written by `grooved service install`"


def put(path: Path, text: str) -> bool:
    """Write a file, with its folders, unless it is the same already; return whether it was written.

    Raises:
        ConfigError: the file there is not ours, or the folder cannot be written.
    """
    if owned(path) and path.read_text(encoding="utf-8") == text:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ConfigError(f"{path.parent}: cannot be written: {(error.strerror or '').lower()}") from error
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
        os.fchmod(handle, 0o644)
    os.replace(temporary, path)
    return True


def remove(path: Path) -> bool:
    """Remove a file of ours and return whether there was one.

    Raises:
        ConfigError: the file there is not ours.
    """
    if not owned(path):
        return False
    path.unlink()
    return True


def owned(path: Path) -> bool:
    """Whether a file of ours is there.

    Raises:
        ConfigError: the file there is not ours; a link to nowhere, which masks a unit, counts as such.
    """
    if not os.path.lexists(path):
        return False
    if path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace"):
        return True
    raise ConfigError(f"{path}: was not written by this program", hint="move it away first")
