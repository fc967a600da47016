"""What happened on the disk and what came of it."""

from dataclasses import dataclass
from enum import Enum

from groove_daemon.domain.document import FileStat


@dataclass(frozen=True, slots=True)
class PathHint:
    """Look here.  Says nothing about what happened.

    `path` is relative to the collection's root (`""` for the root itself).  `subtree` asks for everything below,
    because a folder appeared, went away or moved.  `at` is monotonic seconds.
    """

    collection: str
    path: str
    at: float
    subtree: bool = False


class ChangeKind(Enum):
    """How a file differs from what the index knows."""

    ADDED = "added"
    MODIFIED = "modified"
    MOVED = "moved"
    TOUCHED = "touched"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to do: `path` is where the file is now, `moved_from` where the index still has it.

    `stat` and `content_hash` are None for a removal; `TOUCHED` means that only the stat differs.
    """

    collection: str
    path: str
    kind: ChangeKind
    stat: FileStat | None = None
    content_hash: bytes | None = None
    moved_from: str | None = None


@dataclass(frozen=True, slots=True)
class Indexed:
    """The document is stored; `pending_vectors` of its `chunks` wait for an embedding."""

    chunks: int
    pending_vectors: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Removed:
    """The document is no longer in the index."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The file is not indexed on purpose, for example too large or a link; `reason` is one short line."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The file should be in the index and is not.

    It is tried again later, unless `is_final`: then it was read, nothing can be made of it, and only a change of the
    file helps.  Such a file is not in the index at all, not with an older text either.
    """

    reason: str
    is_final: bool = False


IngestOutcome = Indexed | Unchanged | Removed | Skipped | Failed
