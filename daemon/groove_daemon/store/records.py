"""What the store returns besides the values of the domain."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from groove_daemon.domain.document import DocumentId, FileStat


@dataclass(frozen=True, slots=True)
class Replaced:
    """A stored document: `pending` counts its distinct passages, title included, that still lack a vector."""

    document_id: DocumentId
    chunks: int
    pending: int


@dataclass(frozen=True, slots=True)
class PendingPassage:
    """A text that waits for its vector; `token_count` is in the embedder's tokens where known, else an estimate."""

    embed_key: bytes
    text: str
    token_count: int


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """A file that should be in the index and is not.

    Times are seconds since the epoch; `next_try_at` is None when only a change of the file starts another attempt.
    `stat` is the file's stat at the last attempt, None when it could not be had.
    """

    collection: str
    path: str
    reason: str
    attempts: int
    first_at: float
    last_at: float
    next_try_at: float | None
    stat: FileStat | None = None


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """What could not be understood in a document that is in the index all the same; `problem` is one line."""

    collection: str
    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """What folding the write-ahead file back achieved: its sizes before and after, and whether all of it was done."""

    wal_bytes_before: int
    wal_bytes: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    """Sizes of one collection; `chunks == vectors + pending + unembeddable`, each chunk counted once."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    pending: int = 0
    unembeddable: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes of the index: the sums over all collections, and each collection by name."""

    documents: int
    chunks: int
    vectors: int
    pending: int
    unembeddable: int
    collections: Mapping[str, CollectionCounts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """Documents that share category and topic: how many, the newest mtime in seconds, and their titles in order."""

    category: str | None
    topic: str | None
    file_count: int
    last_modified: float
    titles: tuple[str, ...]
