"""A stand-in for the running daemon behind the RPC layer, a server around it, and a raw client."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from groove_daemon.domain.document import (
    ChunkId,
    DocumentId,
    FileStat,
    StoredChunk,
    StoredDocument,
)
from groove_daemon.domain.hit import ByteSpan, Hit, Place
from groove_daemon.domain.query import Filters
from groove_daemon.domain.ranking import Evidence
from groove_daemon.errors import Busy, Cancelled, NotIndexed
from groove_daemon.retrieval.calibration import Calibration, Curve, Rates
from groove_daemon.retrieval.similar import NearDocument, SimilarCall, SimilarResult
from groove_daemon.retrieval.trace import Step
from groove_daemon.rpc.context import (
    CalibrationState,
    CollectionState,
    ConfigView,
    DaemonStatus,
    EffectiveValue,
    Freshness,
    IndexState,
    Latency,
    ModelReport,
    NewCollection,
    Progress,
    RescanReport,
)
from groove_daemon.rpc.dispatch import Dispatcher, Pools
from groove_daemon.rpc.listener import listen
from groove_daemon.rpc.methods import HANDLERS
from groove_daemon.rpc.methods.base import Handler
from groove_daemon.rpc.server import Server, ServerLimits, ServerThread
from groove_daemon.search import Degraded, OnPartial, Partial, SearchCall, SearchResult
from groove_daemon.store.records import DocumentProblem
from groove_daemon.workers import Workers
from groove_wire.framing import Decoder, encode_notification, encode_request

DEADLINE_S = 20.0

NOTE = "# Birds\n\nThe ouzel sings.\n"


def make_document(**changes: object) -> StoredDocument:
    values: dict[str, object] = {
        "document_id": DocumentId(3),
        "collection": "notes",
        "path": "birds/ouzel.md",
        "title": "Birds",
        "topic": "ouzel",
        "category": "birds",
        "date": "2026-05-18",
        "tags": ("bird", "song"),
        "format": "md",
        "stat": FileStat(len(NOTE), 1_779_100_000_000_000_000),
        "indexed_at": 1_779_100_001.5,
        "chunk_count": 1,
    }
    return StoredDocument(**{**values, **changes})  # type: ignore[arg-type]


def make_chunk(**changes: object) -> StoredChunk:
    values: dict[str, object] = {
        "chunk_id": ChunkId(7),
        "document": make_document(),
        "position": 0,
        "heading": "Birds",
        "level": 1,
        "heading_path": ("Birds",),
        "context": "Birds",
        "content": "The ouzel sings.",
        "line_start": 3,
        "line_end": 3,
        "byte_start": 9,
        "byte_end": 25,
        "token_count": 5,
        "quality": 0.8,
        "created_at": 1_779_100_001.5,
        "has_vector": True,
    }
    return StoredChunk(**{**values, **changes})  # type: ignore[arg-type]


def make_hit(**changes: object) -> Hit:
    values: dict[str, object] = {
        "chunk": make_chunk(),
        "score": 0.5,
        "content": "The ouzel sings.",
        "line_start": 3,
        "line_end": 3,
        "absolute_path": "/home/me/notes/birds/ouzel.md",
        "match_spans": (ByteSpan(4, 9),),
        "match_lines": (3,),
        "evidence": (Evidence("trigram", 1, 2.5), Evidence("rrf", 1, 0.5)),
    }
    return Hit(**{**values, **changes})  # type: ignore[arg-type]


def make_result(*hits: Hit, **changes: object) -> SearchResult:
    values: dict[str, object] = {
        "hits": hits,
        "mode": "hybrid",
        "generation": 12,
        "fresh": True,
        "stale_reason": "",
        "low_confidence": False,
        "filter_applied": {},
        "degraded": (),
        "warnings": (),
        "pending_vectors": 0,
        "took_ms": 4.25,
        "profile": "notes",
    }
    return SearchResult(**{**values, **changes})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class StandInTopic:
    category: str | None = "birds"
    topic: str | None = "ouzel"
    file_count: int = 1
    last_modified: float | None = 1_779_100_000.0
    titles: Sequence[str] = ("Birds",)


@dataclass(frozen=True, slots=True)
class StandInFailure:
    collection: str = "notes"
    path: str = "broken.md"
    reason: str = "permission denied"
    attempts: int = 2
    first_at: float = 1_779_100_000.0
    last_at: float = 1_779_100_060.0
    next_try_at: float | None = 1_779_100_120.0


class StandInReader:
    """One document with one chunk, unless a test puts more in."""

    def __init__(self) -> None:
        self.chunks = [make_chunk()]
        self.interrupted = threading.Event()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[int]:
        yield 12

    def chunk(self, chunk_id: ChunkId, /) -> StoredChunk:
        for chunk in self.chunks:
            if chunk.chunk_id == chunk_id:
                return chunk
        raise NotIndexed(f"there is no chunk {chunk_id}")

    def document(self, collection: str, path: str, /) -> StoredDocument | None:
        documents = [chunk.document for chunk in self.chunks]
        return next((each for each in documents if (each.collection, each.path) == (collection, path)), None)

    def document_chunks(self, document_id: DocumentId, /) -> Sequence[StoredChunk]:
        return [chunk for chunk in self.chunks if chunk.document.document_id == document_id]

    def documents(self, filters: Filters, /, *, offset: int, limit: int) -> tuple[int, Sequence[StoredDocument]]:
        known = {chunk.document.document_id: chunk.document for chunk in self.chunks}
        fitting = [each for each in known.values() if not filters.formats or each.format in filters.formats]
        return len(fitting), fitting[offset : offset + limit]

    def topics(self, filters: Filters, /) -> Sequence[StandInTopic]:
        return [StandInTopic()] if filters.category in (None, "birds") else []

    def interrupt(self) -> None:
        self.interrupted.set()


class StandInRescan:
    """Ends when `finish` is called, or at once when the daemon's `rescan_ends` is set."""

    def __init__(self, report: RescanReport) -> None:
        self._report = report
        self._ended = threading.Event()
        self.is_cancelled = False

    def finish(self) -> None:
        self._ended.set()

    def wait(self, timeout_s: float | None = None) -> RescanReport | None:
        if not self._ended.wait(DEADLINE_S if timeout_s is None else timeout_s):
            return None
        if self.is_cancelled:
            raise Cancelled("the rescan was cancelled")
        return self._report

    def cancel(self) -> None:
        self.is_cancelled = True
        self._ended.set()


CALIBRATED = CalibrationState(
    Calibration(Curve(20.0, 0.375), Rates(0.0625, 0.125, 0.96875), "", "hashing-64", 12, 1, 100, 60, 1_779_100_003.0)
)


@dataclass
class StandInDaemon:
    """The composition root's face, with one collection and fixed answers; calls are kept for the test to look at."""

    instance: str = "default"
    started_at: float = 1_779_100_000.0
    answer: Callable[[SearchCall, Callable[[], bool]], SearchResult] = lambda call, is_cancelled: make_result(
        make_hit()
    )
    store: StandInReader = field(default_factory=StandInReader)
    roots: tuple[CollectionState, ...] = (
        CollectionState(
            "notes", "/home/me/notes", documents=1, chunks=1, is_watched=True, last_reconcile_at=1_779_100_002.0
        ),
    )
    rescan_ends: bool = True
    fresh: Freshness = field(default_factory=lambda: Freshness(True, 12, 0))
    calls: list[SearchCall] = field(default_factory=list)
    similar_calls: list[SimilarCall] = field(default_factory=list)
    rescans: list[StandInRescan] = field(default_factory=list)
    rescan_arguments: list[tuple[object, ...]] = field(default_factory=list)
    added: list[NewCollection] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    waited: list[tuple[object, ...]] = field(default_factory=list)
    reloads: int = 0
    templates: tuple[str, ...] = ("practices/{target}.md", "birds/{target}.md")
    shutdowns: int = 0

    def search(
        self, call: SearchCall, is_cancelled: Callable[[], bool], on_partial: OnPartial | None = None, /
    ) -> SearchResult:
        self.calls.append(call)
        if on_partial is not None:
            on_partial(Partial("text", (make_hit(score=0.25),)))
        return self.answer(call, is_cancelled)

    def similar(self, call: SimilarCall, /) -> SimilarResult:
        self.similar_calls.append(call)
        if call.kind == "documents":
            other = make_document(document_id=DocumentId(4), path="birds/dipper.md", title="Dipper")
            return SimilarResult((NearDocument(other, 0.75),), (), 0, 12)
        return SimilarResult((), (make_hit(score=0.5, match_spans=None, match_lines=(), evidence=()),), 2, 12)

    def best_practice_templates(self) -> Sequence[str]:
        return self.templates

    def calibrate(
        self, questions: int, *, is_cancelled: Callable[[], bool], on_progress: Callable[[int, int], None]
    ) -> CalibrationState:
        on_progress(questions, questions)
        return CALIBRATED

    def reader(self) -> StandInReader:
        return self.store

    def document_text(self, document: StoredDocument, /) -> str:
        if document.path != "birds/ouzel.md":
            raise NotIndexed(f"{document.path!a} cannot be read")
        return NOTE

    def collections(self) -> Sequence[CollectionState]:
        return self.roots

    def status(self) -> DaemonStatus:
        return DaemonStatus(
            state="ready",
            index=IndexState("/home/me/.local/share/groove/default/index.db", 12, 1, 1, 1, 0, size_bytes=81_920),
            progress=Progress(),
            collections=self.roots,
            calibration=CALIBRATED,
            models=(ModelReport("embedder", "hashing", "ready", fingerprint="hashing-64", dimension=64),),
            counters={"documents_indexed": 1},
            latency={"stage.trigram": Latency(1, 2.0, 2.0, 2.0)},
            memory_bytes=50_000_000,
        )

    def failures(self) -> Sequence[StandInFailure]:
        return [StandInFailure()]

    def document_problems(self) -> Sequence[DocumentProblem]:
        return [DocumentProblem("notes", "odd.md", "frontmatter not understood: line 2, column 8")]

    def rescan(
        self,
        collections: Sequence[str],
        paths: Sequence[str],
        *,
        force: bool,
        on_progress: Callable[[Progress], None],
    ) -> StandInRescan:
        if any(not rescan._ended.is_set() for rescan in self.rescans):
            raise Busy("a rescan runs already", hint="wait for it or cancel it")
        self.rescan_arguments.append((tuple(collections), tuple(paths), force))
        rescan = StandInRescan(RescanReport(indexed=2, unchanged=5))
        self.rescans.append(rescan)
        on_progress(Progress("scanning", 0, 7))
        on_progress(Progress("indexing", 7, 7))
        if self.rescan_ends:
            rescan.finish()
        return rescan

    def wait_fresh(
        self, collections: Sequence[str], *, deadline_s: float, vectors: bool, is_cancelled: Callable[[], bool]
    ) -> Freshness:
        self.waited.append((tuple(collections), deadline_s, vectors))
        return self.fresh

    def config(self) -> ConfigView:
        return ConfigView((EffectiveValue("search.limit", 5, "default"),), "/home/me/.config/groove/config.toml")

    def reload_config(self) -> ConfigView:
        self.reloads += 1
        view = self.config()
        return ConfigView(view.values, view.file, ("search.limit",), ())

    def add_collection(self, new: NewCollection, /) -> CollectionState:
        self.added.append(new)
        return CollectionState(new.name or os.path.basename(new.path), new.path)

    def remove_collection(self, name: str, /) -> int:
        self.removed.append(name)
        return 1

    def request_shutdown(self) -> None:
        self.shutdowns += 1


def explained_result() -> SearchResult:
    """A result with every optional field filled."""
    return make_result(
        make_hit(also_in=(Place("notes", "birds/copy.md", 5),), also_in_count=1, more_in_document=2),
        mode="fts_only",
        fresh=False,
        stale_reason="the watcher of notes is not running",
        degraded=(Degraded("dense", "the model is loading"),),
        warnings=("3 phrases were left out",),
        filter_applied={"formats": ("md",)},
        pending_vectors=4,
        confidence=0.25,
        steps=(Step("trigram", "ran", "", 1.5, 0, 1), Step("dense", "failed", "the model is loading", 0.0, 0, 0)),
    )


@contextlib.contextmanager
def open_pools(*, readers: int = 4) -> Iterator[Pools]:
    pools = Pools(
        Workers("reader", threads=readers, max_waiting=256),
        Workers("control", threads=2, max_waiting=256),
        Workers("waiting", threads=4, max_waiting=64),
    )
    try:
        yield pools
    finally:
        for pool in (pools.readers, pools.control, pools.waiting):
            pool.close()


@dataclass
class RunningServer:
    path: str
    daemon: StandInDaemon
    server: Server
    dispatcher: Dispatcher
    thread: ServerThread

    def connect(self) -> "RawClient":
        return RawClient(self.path)


@contextlib.contextmanager
def running_server(
    path: Path | str,
    daemon: StandInDaemon | None = None,
    *,
    limits: ServerLimits | None = None,
    handlers: Mapping[str, Handler] = HANDLERS,
    uid_of: Callable[[socket.socket], int] | None = None,
    request_timeout_s: float = 30.0,
    readers: int = 4,
) -> Iterator[RunningServer]:
    """A real server on a real socket around a stand-in daemon."""
    daemon = daemon or StandInDaemon()
    limits = limits or ServerLimits()
    with contextlib.ExitStack() as stack:
        listener = listen(str(path), environ={})
        stack.callback(listener.release)
        pools = stack.enter_context(open_pools(readers=readers))
        made: list[Server] = []

        def make() -> Server:
            dispatcher = Dispatcher(
                daemon, pools=pools, limits=limits.to_wire(), request_timeout_s=request_timeout_s, handlers=handlers
            )
            options = {} if uid_of is None else {"uid_of": uid_of}
            made.append(Server(dispatcher, listener=listener, limits=limits, **options))  # type: ignore[arg-type]
            return made[0]

        thread = ServerThread(make)
        thread.start()
        try:
            yield RunningServer(str(path), daemon, made[0], made[0].dispatcher, thread)
        finally:
            thread.stop(1.0)


class RawClient:
    """A blocking client that shows everything that arrives."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(path)
        self._decoder = Decoder(64 * 1024 * 1024)
        self._received: list[tuple[object, ...]] = []

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_error: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def request(self, msgid: int, method: str, params: dict[str, object] | None = None) -> None:
        self.send(encode_request(msgid, method, params))

    def cancel(self, msgid: int) -> None:
        self.send(encode_notification("$/cancel", {"msgid": msgid}))

    def receive(self) -> tuple[object, ...]:
        """The next message; EOFError when the server closed."""
        while not self._received:
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError
            self._received += self._decoder.feed(data)
        return self._received.pop(0)

    def call(self, method: str, params: dict[str, object] | None = None, *, msgid: int = 1) -> tuple[object, object]:
        """Error and result of one request."""
        self.request(msgid, method, params)
        message = self.receive()
        assert message[:2] == (1, msgid), message
        return message[2], message[3]

    def is_closed(self) -> bool:
        """Whether the server closes the connection; waits for it."""
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            return True


def wait_until(holds: Callable[[], bool], *, deadline_s: float = DEADLINE_S) -> None:
    """Poll until it holds; fails at the deadline."""
    end = time.monotonic() + deadline_s
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < end, "did not come true in time"
        pause.wait(0.005)
