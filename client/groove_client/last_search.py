"""What the last search found, so that `open N` knows what N is.

What always holds: the file can be read by its owner alone and is whole or absent; it holds paths and lines, no text of
notes.  Its form is, for each hit, the line, NUL, the bytes of the path, NUL.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Place = tuple[str, int]

_FILE = "last-search"


def save(folder: str, places: Sequence[Place]) -> None:
    """Remember the path and line of each hit.

    Raises:
        OSError: the folder cannot be made or written.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    target = os.path.join(folder, _FILE)
    temporary = f"{target}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        os.write(descriptor, b"".join(b"%d\0%b\0" % (line, os.fsencode(path)) for path, line in places))
        os.replace(temporary, target)
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)


def load(folder: str) -> list[Place]:
    """Return the path and line of each hit of the last search; empty when there was none."""
    try:
        with open(os.path.join(folder, _FILE), "rb") as file:
            fields = file.read().split(b"\0")
    except FileNotFoundError:
        return []
    return [(os.fsdecode(path), int(line)) for line, path in zip(fields[::2], fields[1::2], strict=False)]
