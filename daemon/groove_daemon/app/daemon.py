"""The running daemon as its clients use it: every request of the wire ends in a method here.

What always holds: everything is answered from any thread without waiting for indexing; a configuration with a mistake
changes nothing; a collection is added to the file first and to the daemon second, so that a restart agrees.
"""

import dataclasses
import difflib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import structlog

from groove_daemon import logs
from groove_daemon.app.confidence import Confidence
from groove_daemon.app.freshness import STARTING, IndexFreshness
from groove_daemon.app.places import Places
from groove_daemon.app.targets import check_new_folder, rescan_targets
from groove_daemon.config.load import Loaded, describe, load
from groove_daemon.config.settings import CollectionSettings, LogSettings, Settings
from groove_daemon.domain.document import ChunkId, StoredDocument
from groove_daemon.errors import (
    Busy,
    Cancelled,
    ConfigError,
    EmbedderMismatch,
    InvalidParams,
    ModelUnavailable,
    NotIndexed,
    ShuttingDown,
    Unavailable,
    Unparseable,
)
from groove_daemon.indexing.report import CollectionStatus, IndexChanged, WorkerEvent, WorkerStatus
from groove_daemon.indexing.report import Progress as WorkProgress
from groove_daemon.indexing.rescan import RescanJob
from groove_daemon.models.base import Embedder, PairScorer
from groove_daemon.models.catalog import EMBEDDERS, SCORERS
from groove_daemon.models.host import ModelHost, ModelState, ScorerHost
from groove_daemon.retrieval.similar import SimilarCall, SimilarResult, find_similar
from groove_daemon.retrieval.sources import EVERGREEN_SOURCES, Source
from groove_daemon.rpc import context
from groove_daemon.rpc.methods.index import progress_notification
from groove_daemon.search import OnPartial, SearchCall, SearchResult, SearchService, SearchSetup
from groove_daemon.store.index import Index
from groove_daemon.store.reader import Reader
from groove_daemon.store.records import Counts
from groove_daemon.workers import Workers
from groove_wire import messages

if TYPE_CHECKING:
    from groove_daemon.app.late import LateParts

log = structlog.get_logger()

# Sections that are read once, when the parts that use them are made.
_NEEDS_RESTART = ("index.", "models.", "vectors.", "watch.", "limits.", "maintenance.")
_READ_ANEW = ("watch.sync_deadline",)
_LONGEST_LIST = 20
_START_WITHIN_S = 10.0
# The names of `formats.PARSERS`, which is not imported here: its libraries are slow to load and the first answer waits.
_FORMATS = frozenset({"md", "txt"})
_LONGEST_START_S = 10.0
_SHORTEST_LOOK_S = 0.1


Publish = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class EarlyParts:
    """What is there before the first answer; `legs` is the pool in which vector legs run beside full text."""

    index: Index
    models: ModelHost
    scorers: ScorerHost
    legs: Workers


class GrooveDaemon:
    """Implements `rpc.context.Daemon`.

    Args:
        loaded: the configuration at the start.
        read_config: reads it again; raises ConfigError.
        places: where things are.
        parts: the open index and the models.
        stop: called when a client asks for the end.
        started_at: seconds since the epoch.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        read_config: Callable[[], Loaded],
        places: Places,
        parts: EarlyParts,
        stop: Callable[[], None],
        started_at: float,
    ) -> None:
        self._loaded = loaded
        self._read_config = read_config
        self._places = places
        self._index = parts.index
        self._models = parts.models
        self._scorers = parts.scorers
        self._stop = stop
        self._started_at = started_at
        self._config_lock = threading.Lock()
        self._late: LateParts | None = None
        self._has_late = threading.Event()
        self._publish: Publish = lambda _event, _content: None
        self._start_problem = ""
        self._counted: tuple[tuple[int, int], Counts] | None = None
        self._is_settled = threading.Event()
        self._is_stopping = False
        self._freshness = IndexFreshness(lambda: self._index.reader().counts().pending)
        self._confidence = Confidence(parts.index, self._embedder)
        self._search = SearchService(
            setup=self._setup,
            index=parts.index,
            embedder=self._embedder,
            freshness=self._freshness,
            workers=parts.legs,
            scorer=self._scorer,
            record_accesses=self._record_accesses,
        )

    # -- life ------------------------------------------------------------------------------------------------------

    def tell(self, publish: Publish) -> None:
        """Send events to subscribed clients through `publish` from now on."""
        self._publish = publish

    def start_late(self) -> None:
        """Begin to watch and to index; raises GrooveError."""
        from groove_daemon.app.late import LateParts

        # Under the lock from the first look at the settings on: a collection that is added now is not to be missed.
        with self._config_lock:
            if self._is_stopping:
                return
            late = LateParts(
                self.settings, places=self._places, index=self._index, models=self._models, scorers=self._scorers
            )
            late.worker.subscribe(self._on_work)
            late.start()
            self._late = late
            count = len(self.settings.collections)
        self._freshness.attach(late.worker, late.watcher)
        self._is_settled.set()
        log.info("daemon.indexing", collections=count)

    def _on_work(self, event: WorkerEvent) -> None:
        if isinstance(event, IndexChanged):
            self._publish("index_changed", messages.IndexChangedNotification(event.generation))
        else:
            self._publish("progress", progress_notification(to_progress(event)))

    def could_not_start(self, reason: str) -> None:
        """Watching and indexing could not begin; status says so until the daemon is restarted."""
        self._start_problem = reason
        self._freshness.give_up(reason)
        self._is_settled.set()

    def begin_stop(self) -> None:
        """The end has begun: no more changes of the configuration."""
        with self._config_lock:
            self._is_stopping = True
        self._is_settled.set()

    def end_late(self, timeout_s: float) -> None:
        """End watching and indexing; what is in hand is finished or rolled back."""
        if self._late is not None and not self._late.stop(timeout_s):
            log.warning("daemon.indexing_did_not_end", timeout_s=timeout_s)

    @property
    def settings(self) -> Settings:
        """The configuration in force."""
        return self._loaded.settings

    @property
    def instance(self) -> str:
        """Name of this instance."""
        return self._places.instance

    @property
    def started_at(self) -> float:
        """When the process began."""
        return self._started_at

    def request_shutdown(self) -> None:
        """Begin to stop, and return at once."""
        self._stop()

    def _parts(self) -> "LateParts":
        """Watching and indexing, waited for when the process has only begun; for requests that may wait."""
        self._is_settled.wait(_LONGEST_START_S)
        if self._late is not None:
            return self._late
        if self._is_stopping:
            raise ShuttingDown("the daemon is stopping")
        if self._start_problem:
            raise Unavailable(self._start_problem, hint="`groovectl restart` tries again")
        raise Busy(STARTING, hint="try again in a moment")

    # -- searching and reading ---------------------------------------------------------------------------------------

    def _setup(self) -> SearchSetup:
        settings = self.settings
        return SearchSetup(
            settings=settings.search,
            roots={collection.name: collection.path for collection in settings.collections},
            sync_deadline_s=settings.watch.sync_deadline,
            timeout_s=settings.limits.request_timeout,
            sources={collection.name: _source(collection) for collection in settings.collections},
            profiles=settings.profiles,
            curve=self._confidence.curve(),
        )

    def _embedder(self) -> Embedder | None:
        """The model for a query; raises ModelError when it cannot answer for this index."""
        if self._models.state().state == "off":
            return None
        embedder = self._models.embedder
        stored = self._index.embedder
        if stored is not None and stored[0] != embedder.fingerprint:
            problem = EmbedderMismatch("the vectors in the index were made by another model")
            raise ModelUnavailable(
                problem.message, hint="run `groovectl reindex --force`, or set the former model"
            ) from problem
        return embedder

    def _scorer(self) -> PairScorer | None:
        """The reranker, None when none is set; raises ModelError when it cannot answer."""
        return None if self._scorers.state().state == "off" else self._scorers.scorer

    def _record_accesses(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Have the writer's thread count these; a search neither waits for it nor fails by it."""
        if self._late is None:
            return
        now = time.time()
        try:
            recorded = self._late.worker.run(lambda: self._index.writer.record_accesses(chunk_ids, now=now))
        except ShuttingDown:
            return
        recorded.add_done_callback(_tell_if_failed)

    def search(
        self, call: SearchCall, is_cancelled: Callable[[], bool], on_partial: OnPartial | None = None, /
    ) -> SearchResult:
        """Search; `on_partial` is told of hits on the way."""
        return self._search.search(call, is_cancelled, on_partial)

    def similar(self, call: SimilarCall, /) -> SimilarResult:
        """Find what is near a document, a chunk or a text."""
        setup = self._setup()
        return find_similar(call, index=self._index, embedder=self._embedder, roots=setup.roots)

    def best_practice_templates(self) -> Sequence[str]:
        """Paths relative to the collections, with `{target}`, in the order in which they are tried."""
        return self.settings.best_practice.templates

    def calibrate(
        self, questions: int, *, is_cancelled: Callable[[], bool], on_progress: Callable[[int, int], None]
    ) -> context.CalibrationState:
        """Learn from the index how confident answers may be; the result is kept in it."""
        worker = self._parts().worker

        def store(text: str) -> None:
            worker.run(lambda: self._index.writer.store_calibration(text)).result()

        return self._confidence.learn(questions, store=store, is_cancelled=is_cancelled, on_progress=on_progress)

    def reader(self) -> Reader:
        """The calling thread's reader of the index."""
        return self._index.reader()

    def document_text(self, document: StoredDocument, /) -> str:
        """The document's whole text as its file has it now, decoded, with line feeds as line ends.

        Raises:
            NotIndexed: its collection is gone, or its file is.
            Unparseable: the file cannot be read as text.
        """
        from groove_daemon.formats.encoding import decode
        from groove_daemon.indexing.ingest import FileContent, read_file

        root = self._setup().roots.get(document.collection)
        if root is None:
            raise NotIndexed(f"there is no collection {document.collection!r}")
        content = read_file(root, document.path, self.settings.index.max_file_size)
        if not isinstance(content, FileContent):
            raise Unparseable(f"{document.collection}: {document.path!a} cannot be read: {content.reason}")
        return decode(content.data).text

    # -- state -------------------------------------------------------------------------------------------------------

    def collections(self) -> Sequence[context.CollectionState]:
        """All collections, in the order of the configuration."""
        counts = self._counts().collections
        if self._late is None:
            working: Mapping[str, CollectionStatus] = {}
            watching: Mapping[str, tuple[str, ...]] = {}
        else:
            working = {status.name: status for status in self._late.worker.status().collections}
            watching = self._late.unwatched()
        return tuple(
            _collection_state(
                settings,
                documents=counts[settings.name].documents if settings.name in counts else 0,
                chunks=counts[settings.name].chunks if settings.name in counts else 0,
                status=working.get(settings.name),
                unwatched=watching.get(settings.name),
            )
            for settings in self.settings.collections
        )

    def _counts(self) -> Counts:
        """Sizes of the index, counted again only when it has changed: counting reads every row.

        A passage that is given up changes no answer and so no generation, but the number of those that wait.
        """
        pending = self._late.worker.status().pending_vectors if self._late else 0
        key = (self._index.generation, pending)
        known = self._counted
        if known is None or known[0] != key:
            known = self._counted = (key, self._index.reader().counts())
        return known[1]

    def status(self) -> context.DaemonStatus:
        """How the daemon is."""
        counts = self._counts()
        late = self._late
        worker = late.worker.status() if late else None
        problems = [problem for problem in self._problems() if problem]
        state: Literal["starting", "ready", "stopping"] = "ready" if late else "starting"
        return context.DaemonStatus(
            state="stopping" if self._is_stopping else state,
            index=context.IndexState(
                path=str(self._index.path),
                generation=self._index.generation,
                documents=counts.documents,
                chunks=counts.chunks,
                vectors=counts.vectors,
                pending_vectors=worker.pending_vectors if worker else counts.pending,
                unembeddable=counts.unembeddable,
                size_bytes=_size_of_index(self._index.path),
            ),
            progress=to_progress(worker.progress) if worker else context.Progress(phase="starting"),
            collections=tuple(self.collections()),
            models=(_model_report("embedder", self._models.state()), _model_report("reranker", self._scorers.state())),
            problems=tuple(problems),
            calibration=self._confidence.state(),
            counters=_counters(worker) if worker else {},
            memory_bytes=_resident_bytes(),
            config_file=str(self._loaded.file) if self._loaded.file else None,
            socket=self._places.socket,
        )

    def _problems(self) -> list[str]:
        problems = [self._start_problem, *self._loaded.warnings]
        if self._index.full_text_is_damaged:
            problems.append("the full-text tables are damaged; they are being rebuilt")
        if self._late is not None:
            worker = self._late.worker.status()
            problems += [worker.store_problem, worker.vector_problem, *self._late.watch_problems()]
            if not worker.is_alive:
                problems.append("the indexing thread is dead; restart the daemon with `groovectl restart`")
        model = self._models.state()
        if model.state == "failed":
            problems.append(f"the model {model.name} cannot be used: {model.reason}")
        return problems

    def failures(self) -> Sequence[context.Failure]:
        """All files that failed, by collection and path."""
        return self._index.reader().failures()

    def document_problems(self) -> Sequence[context.Problem]:
        """What could not be understood in documents that are in the index."""
        return self._index.reader().document_problems()

    # -- indexing ----------------------------------------------------------------------------------------------------

    def rescan(
        self,
        collections: Sequence[str],
        paths: Sequence[str],
        *,
        force: bool,
        on_progress: Callable[[context.Progress], None],
    ) -> "RunningRescan":
        """Begin a rescan.

        Raises:
            Busy: one runs.
            OutsideRoots: a path lies in no collection.
            NotIndexed: there is nothing at a path, neither on the disk nor in the index.
        """
        worker = self._parts().worker
        if paths:
            asked = [one for one in self.settings.collections if not collections or one.name in collections]
            collections, paths = rescan_targets(paths, asked, self._is_document)
        job = worker.rescan(
            collections, paths, force=force, on_progress=lambda progress: on_progress(to_progress(progress))
        )
        return RunningRescan(job, pending_vectors=lambda: worker.status().pending_vectors)

    def _is_document(self, collection: str, path: str) -> bool:
        return self._index.reader().document(collection, path) is not None

    def wait_fresh(
        self, collections: Sequence[str], *, deadline_s: float, vectors: bool, is_cancelled: Callable[[], bool]
    ) -> context.Freshness:
        """Wait until every change before the call is searchable, with `vectors` by meaning too."""
        deadline = time.monotonic() + deadline_s
        moved = threading.Event()
        worker = self._parts().worker
        unsubscribe = worker.subscribe(lambda _event: moved.set())
        try:
            while True:
                moved.clear()
                sync = self._freshness.sync(collections, deadline=deadline, is_cancelled=is_cancelled)
                is_done = sync.fresh and not (vectors and sync.pending_vectors)
                if is_cancelled():
                    raise Cancelled("the request was cancelled")
                # A look that has no time left would find nothing but that, and hide the reason of the one before.
                left_s = deadline - time.monotonic() - _SHORTEST_LOOK_S
                if is_done or left_s <= 0:
                    reason = sync.reason or ("" if is_done else f"{sync.pending_vectors} passages wait for vectors")
                    return context.Freshness(is_done, self._index.generation, sync.pending_vectors, reason)
                moved.wait(min(0.25, left_s))
        finally:
            unsubscribe()

    # -- configuration -----------------------------------------------------------------------------------------------

    def config(self) -> context.ConfigView:
        """The configuration in effect."""
        return _view(self._loaded)

    def reload_config(self) -> context.ConfigView:
        """Read the file again and apply it."""
        with self._config_lock:
            return self._apply(self._read_config())

    def add_collection(self, new: context.NewCollection, /) -> context.CollectionState:
        """Add a folder to the configuration and watch it.

        Raises:
            InvalidParams: the folder is none, or clashes with another collection's.
            ConfigError: the file is broken, or the name is in use.
        """
        from groove_daemon.config import edit

        with self._config_lock:
            check_new_folder(new.path, self.settings.collections)
            before = {collection.name for collection in self.settings.collections}
            edit.add_collection(
                self._places.config, new.path, name=new.name or "", source=new.source or "", ignore=new.ignore
            )
            self._apply(self._read_config())
        added = [state for state in self.collections() if state.name not in before]
        if not added:
            raise InvalidParams(f"path: {new.path!a} is a collection already")
        return added[0]

    def remove_collection(self, name: str, /) -> int:
        """Remove a collection from the configuration and the index; returns how many documents the index forgot."""
        from groove_daemon.config import edit

        with self._config_lock:
            counts = self._counts().collections
            edit.remove_collection(self._places.config, name)
            self._apply(self._read_config())
        return counts[name].documents if name in counts else 0

    def _apply(self, loaded: Loaded) -> context.ConfigView:
        """Take a new configuration into force; what is read only at the start is named."""
        if self._is_stopping:
            raise ShuttingDown("the daemon is stopping")
        before = {row.key: row.value for row in describe(self._loaded)}
        after = {row.key: row.value for row in describe(loaded)}
        changed = tuple(key for key in {**before, **after} if before.get(key) != after.get(key))
        collections_changed = loaded.settings.collections != self.settings.collections
        self._loaded = loaded
        if collections_changed and self._late is not None:
            self._late.set_collections(loaded.settings.collections)
        configure_logs(loaded.settings.log)
        log.info("config.reloaded", changed=list(changed)[:_LONGEST_LIST])
        waiting = tuple(key for key in changed if key.startswith(_NEEDS_RESTART) and key not in _READ_ANEW)
        return dataclasses.replace(_view(loaded), changed=changed, needs_restart=waiting)


class RunningRescan:
    """Implements `rpc.context.Rescan`."""

    def __init__(self, job: RescanJob, *, pending_vectors: Callable[[], int]) -> None:
        self._job = job
        self._pending_vectors = pending_vectors

    def wait(self, timeout_s: float | None = None) -> context.RescanReport | None:
        """Wait for the end; None when it has not come in time.

        Raises:
            Cancelled: somebody asked for the end.
            NotIndexed: no folder could be looked at.
        """
        report = self._job.wait(timeout_s)
        if report is None:
            return None
        if report.was_cancelled:
            raise Cancelled("the rescan was cancelled; what is done stays done")
        if len(report.unavailable) == len(self._job.collections) > 0:
            raise NotIndexed("; ".join(reason for _name, reason in report.unavailable))
        return context.RescanReport(
            indexed=report.indexed,
            unchanged=report.unchanged,
            removed=report.removed,
            skipped=report.skipped,
            failed=report.failed,
            pending_vectors=self._pending_vectors(),
        )

    def cancel(self) -> None:
        """Stop after the file at hand."""
        self._job.cancel()


def _source(collection: CollectionSettings) -> Source:
    is_evergreen = collection.evergreen
    if is_evergreen is None:
        is_evergreen = collection.source in EVERGREEN_SOURCES
    return Source(collection.source, collection.weight, is_evergreen)


def _tell_if_failed(recorded: "Future[None]") -> None:
    problem = None if recorded.cancelled() else recorded.exception()
    if problem is not None:
        log.warning("daemon.accesses_not_recorded", error=str(problem))


def to_progress(progress: WorkProgress) -> context.Progress:
    """The worker's progress as clients see it: files while texts are read, passages while vectors are made."""
    tally = progress.vectors if progress.phase == "vectors" else progress.text
    return context.Progress(progress.phase, tally.done, tally.total, tally.rate or None, tally.eta_s)


def _collection_state(
    settings: CollectionSettings,
    *,
    documents: int,
    chunks: int,
    status: CollectionStatus | None,
    unwatched: tuple[str, ...] | None,
) -> context.CollectionState:
    state = context.CollectionState(settings.name, settings.path, settings.source, documents, chunks)
    if status is None:
        return state
    problems = [status.unavailable, *status.rule_problems]
    problems += [
        f"{path!a} cannot be read: {reason}" for path, reason in list(status.unreadable.items())[:_LONGEST_LIST]
    ]
    return dataclasses.replace(
        state,
        pending=status.pending_files,
        failed=len(status.failed),
        skipped=len(status.skipped),
        is_watched=unwatched is not None and not unwatched,
        unwatched_folders=unwatched or (),
        problems=tuple(problem for problem in problems if problem),
        last_reconcile_at=status.scanned_at,
    )


def _counters(worker: WorkerStatus) -> dict[str, int]:
    return {
        "index.passes": worker.passes,
        "index.waiting_hints": worker.waiting_hints,
        "index.embedded": worker.embedded_passages,
        "index.held_passages": worker.held_passages,
    }


def _model_report(role: str, state: ModelState) -> context.ModelReport:
    return context.ModelReport(
        role=role,
        name=state.name,
        state=state.state,
        reason=state.reason,
        runtime=state.runtime,
        fingerprint=state.fingerprint,
        dimension=state.dimension,
        loaded_in_s=state.loaded_in_s,
        next_try_in_s=state.next_try_in_s,
    )


def _view(loaded: Loaded) -> context.ConfigView:
    values = tuple(context.EffectiveValue(row.key, _plain(row.value), row.origin) for row in describe(loaded))
    return context.ConfigView(values, str(loaded.file) if loaded.file else None)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _size_of_index(path: Path) -> int:
    """Bytes of the index with its write-ahead file."""
    total = 0
    for name in (path, path.with_name(f"{path.name}-wal")):
        try:
            total += name.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _resident_bytes() -> int | None:
    """Resident memory of this process, None where the kernel does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak or None


def configure_logs(settings: LogSettings) -> None:
    """Write logs as the configuration says."""
    logs.configure(
        level=settings.level,
        form=settings.format,
        max_file_bytes=settings.max_file_size,
        files_kept=settings.files_kept,
    )


def read_config_of(places: Places, env: Mapping[str, str], flags: Mapping[str, str]) -> Loaded:
    """Read the configuration of these places, and check the names in it that only other parts know.

    Raises:
        ConfigError: the file is wrong.
    """
    loaded = load(places.config_to_read, env, flags=flags)
    settings = loaded.settings
    problems = unknown_names("index.formats", settings.index.formats, _FORMATS)
    problems += unknown_model("models.embedder", settings.models.embedder, {*EMBEDDERS.known, "hashing", "none"})
    problems += unknown_model("models.reranker", settings.models.reranker, {*SCORERS.known, "none"})
    for collection in settings.collections:
        problems += unknown_names(f"collections.{collection.name}.formats", collection.formats, _FORMATS)
    if problems:
        where = f"{loaded.file}: " if loaded.file else ""
        raise ConfigError(problems[0], problems=tuple(f"{where}{problem}" for problem in problems))
    return loaded


def unknown_model(key: str, name: str, known: Collection[str]) -> list[str]:
    """The line for a model that has no folder and no name of ours."""
    if os.path.isabs(name):
        return [] if os.path.isdir(name) else [f"{key}: there is no folder {name!a}"]
    return [f"{line}, or the path of a folder" for line in unknown_names(key, (name,), known)]


def unknown_names(key: str, names: Iterable[str], known: Collection[str]) -> list[str]:
    """One line for each name that is not known, with the nearest one."""
    problems = []
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(sorted(known))}"
            problems.append(f"{key}: there is no {name!r}; {hint}")
    return problems
