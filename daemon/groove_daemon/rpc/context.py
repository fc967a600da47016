"""What the handlers need of the running daemon, as protocols and values; the composition root provides it.

Everything here is called from threads of the request pools, many at once, unless a docstring says otherwise.
Times are seconds since the epoch, durations are seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from groove_daemon.domain.document import ChunkId, DocumentId, StoredChunk, StoredDocument
from groove_daemon.domain.query import Filters
from groove_daemon.retrieval.calibration import Calibration
from groove_daemon.retrieval.similar import SimilarCall, SimilarResult
from groove_daemon.search import OnPartial, SearchCall, SearchResult


class Topic(Protocol):
    """Documents that share category and topic; `titles` are some of them."""

    @property
    def category(self) -> str | None:
        """First part of the path, or None."""
        ...

    @property
    def topic(self) -> str | None:
        """The topic, or None."""
        ...

    @property
    def file_count(self) -> int:
        """How many documents."""
        ...

    @property
    def last_modified(self) -> float | None:
        """Newest mtime."""
        ...

    @property
    def titles(self) -> Sequence[str]:
        """Some titles."""
        ...


class Failure(Protocol):
    """A file that should be in the index and is not."""

    @property
    def collection(self) -> str:
        """Its collection."""
        ...

    @property
    def path(self) -> str:
        """Its path in the collection."""
        ...

    @property
    def reason(self) -> str:
        """One line."""
        ...

    @property
    def attempts(self) -> int:
        """How often it was tried."""
        ...

    @property
    def first_at(self) -> float:
        """When it failed first."""
        ...

    @property
    def last_at(self) -> float:
        """When it failed last."""
        ...

    @property
    def next_try_at(self) -> float | None:
        """When it is tried again; None when only a change of the file helps."""
        ...


class Problem(Protocol):
    """What could not be understood in a document."""

    @property
    def collection(self) -> str:
        """Its collection."""
        ...

    @property
    def path(self) -> str:
        """Its path in the collection."""
        ...

    @property
    def problem(self) -> str:
        """One line."""
        ...


class IndexReader(Protocol):
    """The part of the store's reader that the handlers use; belongs to the calling thread."""

    def snapshot(self) -> AbstractContextManager[int]:
        """One consistent state of the index for all reads inside; gives its generation."""
        ...

    def chunk(self, chunk_id: ChunkId, /) -> StoredChunk:
        """One chunk; raises NotIndexed."""
        ...

    def document(self, collection: str, path: str, /) -> StoredDocument | None:
        """One document."""
        ...

    def document_chunks(self, document_id: DocumentId, /) -> Sequence[StoredChunk]:
        """All chunks of a document, in order."""
        ...

    def documents(self, filters: Filters, /, *, offset: int, limit: int) -> tuple[int, Sequence[StoredDocument]]:
        """How many documents fit, and one page of them."""
        ...

    def topics(self, filters: Filters, /) -> Sequence[Topic]:
        """All topics that fit."""
        ...

    def interrupt(self) -> None:
        """Stop the running statement; called from another thread."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """What the indexer does.  `rate_per_s` and `eta_s` are None while nothing is known."""

    phase: str = "idle"
    done: int = 0
    total: int = 0
    rate_per_s: float | None = None
    eta_s: float | None = None
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class RescanReport:
    """What a rescan did, or has done so far."""

    indexed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    failed: int = 0
    pending_vectors: int = 0


class Rescan(Protocol):
    """A rescan that was begun."""

    def wait(self, timeout_s: float | None = None) -> RescanReport | None:
        """Wait for the end; None when it has not come in time.

        Raises:
            Cancelled: the rescan was cancelled.
        """
        ...

    def cancel(self) -> None:
        """Stop after the file at hand; what is done stays done.  Returns at once."""
        ...


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether everything up to now is searchable, and if not, why."""

    fresh: bool
    generation: int
    pending_vectors: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CollectionState:
    """A collection and the state of its part of the index."""

    name: str
    root: str
    source: str = "workspace"
    documents: int = 0
    chunks: int = 0
    pending: int = 0
    failed: int = 0
    skipped: int = 0
    is_watched: bool = False
    unwatched_folders: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    last_reconcile_at: float | None = None


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model: `role` is `embedder` or `reranker`, `state` is `off`, `loading`, `ready` or `failed`."""

    role: str
    name: str
    state: str
    reason: str = ""
    runtime: str | None = None
    fingerprint: str | None = None
    dimension: int | None = None
    loaded_in_s: float | None = None
    next_try_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """What is in the index."""

    path: str
    generation: int
    documents: int
    chunks: int
    vectors: int
    pending_vectors: int
    unembeddable: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Latency:
    """Times since the start, in milliseconds."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class CalibrationState:
    """What was learned about confidence, and why it does not hold for the index any more; empty when it does."""

    calibration: Calibration
    why_stale: str = ""


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """How the daemon is."""

    state: Literal["starting", "ready", "stopping"]
    index: IndexState
    progress: Progress = field(default_factory=Progress)
    collections: tuple[CollectionState, ...] = ()
    models: tuple[ModelReport, ...] = ()
    problems: tuple[str, ...] = ()
    calibration: CalibrationState | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    latency: Mapping[str, Latency] = field(default_factory=dict)
    memory_bytes: int | None = None
    config_file: str | None = None
    socket: str | None = None


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """One option of the configuration: `value` is plain (text, number, bool, list), `origin` says where it is from."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class ConfigView:
    """The configuration in effect; `changed` and `needs_restart` are keys, and None unless it was reloaded."""

    values: tuple[EffectiveValue, ...]
    file: str | None = None
    changed: tuple[str, ...] | None = None
    needs_restart: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class NewCollection:
    """A folder to add; None leaves a value to the configuration's rules."""

    path: str
    name: str | None = None
    source: str | None = None
    ignore: tuple[str, ...] = ()


class Daemon(Protocol):
    """The running daemon as its clients can use it.  Every method may raise errors of `groove_daemon.errors`."""

    @property
    def instance(self) -> str:
        """Name of this instance."""
        ...

    @property
    def started_at(self) -> float:
        """When the process began."""
        ...

    def search(
        self, call: SearchCall, is_cancelled: Callable[[], bool], on_partial: OnPartial | None = None, /
    ) -> SearchResult:
        """Search; raises Cancelled soon after `is_cancelled` says so; `on_partial` is told of hits on the way."""
        ...

    def similar(self, call: SimilarCall, /) -> SimilarResult:
        """What is near a document, a chunk or a text; raises NotIndexed when the source has no vector."""
        ...

    def best_practice_templates(self) -> Sequence[str]:
        """Paths relative to the collections, with `{target}`, in the order in which they are tried."""
        ...

    def calibrate(
        self, questions: int, *, is_cancelled: Callable[[], bool], on_progress: Callable[[int, int], None]
    ) -> CalibrationState:
        """Learn how confident answers may be; raises Busy when somebody else's calibration runs."""
        ...

    def reader(self) -> IndexReader:
        """The calling thread's reader of the index."""
        ...

    def document_text(self, document: StoredDocument, /) -> str:
        """The document's whole text as its file has it now, decoded, with line feeds as line ends."""
        ...

    def collections(self) -> Sequence[CollectionState]:
        """All collections, in the order of the configuration."""
        ...

    def status(self) -> DaemonStatus:
        """How the daemon is; answers at once, whatever runs."""
        ...

    def failures(self) -> Sequence[Failure]:
        """All files that failed, by collection and path."""
        ...

    def document_problems(self) -> Sequence[Problem]:
        """What could not be understood in documents that are in the index."""
        ...

    def rescan(
        self,
        collections: Sequence[str],
        paths: Sequence[str],
        *,
        force: bool,
        on_progress: Callable[[Progress], None],
    ) -> Rescan:
        """Begin a rescan; `on_progress` is called from another thread.  Raises Busy when one runs."""
        ...

    def wait_fresh(
        self, collections: Sequence[str], *, deadline_s: float, vectors: bool, is_cancelled: Callable[[], bool]
    ) -> Freshness:
        """Wait until every change before the call is searchable, `deadline_s` at most."""
        ...

    def config(self) -> ConfigView:
        """The configuration in effect."""
        ...

    def reload_config(self) -> ConfigView:
        """Read the file again and apply it; raises ConfigError and changes nothing when it is wrong."""
        ...

    def add_collection(self, new: NewCollection, /) -> CollectionState:
        """Add a folder to the configuration and watch it."""
        ...

    def remove_collection(self, name: str, /) -> int:
        """Remove a collection; returns how many documents the index forgot."""
        ...

    def request_shutdown(self) -> None:
        """Begin to stop, and return at once; called on the loop's thread."""
        ...
