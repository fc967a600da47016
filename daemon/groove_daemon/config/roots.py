"""Which folders may be collections together: each is a folder, and none is another one or lies within it.

A note under two collections would be indexed twice and found twice, so that is an error.  A folder that is not there
is none: it may be on a disk that is not mounted, which the daemon reports while it runs.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

Identity = tuple[int, int] | str


@dataclass(frozen=True, slots=True)
class Clash:
    """Two collections that would index the same files: positions in the list, and how their folders relate."""

    first: int
    second: int
    relation: str


def why_no_root(path: str) -> str | None:
    """Return why a path cannot be the folder of a collection; None when it can, or when nothing is there."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"
    return None if stat.S_ISDIR(mode) else "is a file, not a folder"


def clashes(paths: Sequence[str]) -> list[Clash]:
    """Return every pair of folders that are the same or lie within each other, links and mounts followed."""
    chains = [_chain(path) for path in paths]
    found = []
    for second, inner in enumerate(chains):
        for first, outer in enumerate(chains[:second]):
            relation = _relation(outer, inner)
            if relation:
                found.append(Clash(first, second, relation))
    return found


def _relation(first: list[Identity], second: list[Identity]) -> str:
    if first[0] == second[0]:
        return "is the folder of"
    if first[0] in second:
        return "lies within the folder of"
    return "contains the folder of" if second[0] in first else ""


def _chain(path: str) -> list[Identity]:
    """The folder and all folders above it, each by device and inode, or by its text where nothing is there."""
    real = os.path.realpath(path)
    chain: list[Identity] = [_identity(real)]
    while os.path.dirname(real) != real:
        real = os.path.dirname(real)
        chain.append(_identity(real))
    return chain


def _identity(path: str) -> Identity:
    try:
        status = os.stat(path)
    except OSError:
        return path
    return (status.st_dev, status.st_ino)
