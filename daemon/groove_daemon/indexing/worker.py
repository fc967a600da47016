"""The one thread that writes the index, the thread that embeds beside it, and the order in which work is done.

What always holds: the text of a document is one transaction and is searchable before its vectors are there; no
transaction is open while the model works; between two documents the most urgent work comes first: searches that wait,
then hints, then tasks, then rescans, then vectors.  Nothing is lost: work that the store cannot take stays and is tried
again, a file that fails keeps its old rows and is tried again after growing delays.  Knows nothing of watchers.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeVar, cast

import structlog

from groove_daemon.chunking.base import Chunker
from groove_daemon.config.settings import CollectionSettings, IndexSettings, WatchSettings
from groove_daemon.domain.change import (
    Change,
    ChangeKind,
    Failed,
    Indexed,
    IngestOutcome,
    PathHint,
    Removed,
    Skipped,
    Unchanged,
)
from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.domain.document import DocumentId, KnownDocument, StoredDocument
from groove_daemon.errors import Busy, ShuttingDown, StoreError, StoreFull
from groove_daemon.formats import parser_for
from groove_daemon.indexing.embedding import ModelDown, NoVector, embed_each
from groove_daemon.indexing.folder import Folder, Survey, collection_name, root_of
from groove_daemon.indexing.ingest import FileContent, Ingest, Unsettled, read_file
from groove_daemon.indexing.paths import on_disk
from groove_daemon.indexing.report import (
    CollectionStatus,
    IndexChanged,
    Meter,
    Phase,
    Progress,
    SyncReport,
    WorkerEvent,
    WorkerStatus,
)
from groove_daemon.indexing.rescan import RescanJob
from groove_daemon.indexing.scan import RootUnavailable, ScanResult
from groove_daemon.indexing.text_queue import TextQueue, Work
from groove_daemon.indexing.trials import Trials
from groove_daemon.indexing.vector_phase import Answer, Batch, EmbedderSource, VectorPhase
from groove_daemon.models.base import Embedder, Matrix, Vector
from groove_daemon.store.index import Index

log = structlog.get_logger()
R = TypeVar("R")
Action = Callable[[], None]
FileState = Literal["changed", "missing", "unreachable"]

_RECHECK_ROOT_S = 2.0
_EVENT_EVERY_S = 0.5
_FIRST_RETRY_S, _LONGEST_RETRY_S = 1.0, 60.0


class HintBuffer(Protocol):
    """Where hints wait until their paths are quiet; the worker alone calls it, under its lock."""

    def add(self, hints: Iterable[PathHint]) -> None:
        """Take hints; none is ever lost."""
        ...

    def take_due(self) -> Sequence[PathHint]:
        """Those whose time has come."""
        ...

    def take_all(self) -> Sequence[PathHint]:
        """All of them, at once."""
        ...

    def next_in(self) -> float | None:
        """Seconds until the next is due, None when there is none."""
        ...

    def __len__(self) -> int: ...


@dataclass(slots=True, eq=False)
class _Ticket:
    """A search that waits: `collections` is what it will look at."""

    collections: frozenset[str]
    done: threading.Event = field(default_factory=threading.Event)
    report: SyncReport | None = None


@dataclass(slots=True, eq=False)
class _Fence:
    """Stands behind the urgent work of one pass; `problem` is why the pass did not take in everything."""

    tickets: list[_Ticket]
    problem: str = ""


@dataclass(slots=True, eq=False)
class _VectorWait:
    """Searches that wait for the vectors of these passages."""

    fence: _Fence
    keys: set[bytes]


@dataclass(slots=True, eq=False)
class _Scan:
    """Collections that wait to be compared with the disk; `job` is the rescan that asked for it."""

    names: deque[str]
    job: RescanJob | None = None


class IndexWorker:
    """Keeps the index true to the folders.

    Args:
        index: the open index; its writer is used by this worker's thread alone from `start` on.
        collections: the folders.
        index_settings: what is read and how.
        watch: how much a search may wait for.
        batch_tokens: tokens in one embedding batch.
        models: where the embedder comes from.
        chunker: cuts documents.
        hints: where hints wait until their paths are quiet.
        clock: time.
        own_paths: files and folders of the daemon, never indexed.
    """

    def __init__(
        self,
        index: Index,
        *,
        collections: Sequence[CollectionSettings],
        index_settings: IndexSettings,
        watch: WatchSettings,
        batch_tokens: int,
        models: EmbedderSource,
        chunker: Chunker,
        hints: HintBuffer,
        clock: Clock | None = None,
        own_paths: Sequence[Path] = (),
    ) -> None:
        self._index = index
        self._writer = index.writer
        self._index_settings = index_settings
        self._watch = watch
        self._models = models
        self._hints = hints
        self._clock = clock or SystemClock()
        self._own_paths = tuple(own_paths)
        self._ingest = Ingest(self._writer, chunker=chunker, parser_for=parser_for, clock=self._clock)
        self._trials = Trials(self._writer, self._clock)
        self._vectors = VectorPhase(self._writer, models, batch_tokens=batch_tokens, clock=self._clock)
        self._queue = TextQueue()
        self._folders: dict[str, Folder] = self._make_folders(collections)

        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._embed_wake = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._run, name="index-writer", daemon=True)
        self._embed_thread = threading.Thread(target=self._run_embedder, name="index-embedder", daemon=True)
        self._stopping = False
        self._is_in_pass = False
        self._tickets: list[_Ticket] = []
        self._tasks: deque[tuple[Callable[[], object], Future[object]]] = deque()
        self._to_embed: deque[Batch] = deque()
        self._answers: deque[Answer] = deque()
        self._embedding = 0
        self._subscribers: tuple[Callable[[WorkerEvent], None], ...] = ()

        self._scans: deque[_Scan] = deque()
        self._rescan: RescanJob | None = None
        self._vector_waits: list[_VectorWait] = []
        self._store_problem = ""
        self._retry_s = 0.0
        self._blocked_until = 0.0
        self._recheck_at = 0.0
        self._passes = 0
        self._new_passages = 0
        self._unsettled: set[tuple[str, str]] = set()
        self._is_open = False
        self._has_begun_pass = False
        self._text_meter, self._vector_meter = Meter(), Meter()
        self._touched: set[str] = set()
        self._event_at = 0.0

    # -- from any thread ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start both threads and compare every collection with its folder.

        The watcher has to watch already: what changes between a scan and the start of watching would be missed.
        """
        self._scans.append(_Scan(deque(self._folders)))
        self._models.on_ready(self._model_is_ready)
        self._thread.start()
        self._embed_thread.start()

    def stop(self, timeout: float = 3.0) -> bool:
        """End after the document in hand; True when both threads ended within `timeout` seconds.

        A model that is at work is not waited for beyond that; what it was asked for is asked again at the next start.
        """
        with self._lock:
            self._stopping = True
            self._wake.notify_all()
            self._embed_wake.notify_all()
        deadline = self._clock.monotonic() + timeout
        for thread in (self._thread, self._embed_thread):
            if thread.ident is not None:
                thread.join(max(0.0, deadline - self._clock.monotonic()))
        return not (self._thread.is_alive() or self._embed_thread.is_alive())

    def hint(self, hints: Iterable[PathHint]) -> None:
        """Take hints; those for paths that the rules leave out end here, without waking anybody."""
        folders = self._folders
        relevant = [hint for hint in hints if (at := folders.get(hint.collection)) and at.is_relevant(hint)]
        if not relevant:
            return
        with self._lock:
            self._hints.add(relevant)
            self._wake.notify_all()

    def sync(self, *, collections: Iterable[str] = (), deadline: float) -> SyncReport:
        """Wait until everything that was hinted before this call is searchable.

        Args:
            collections: what the caller will look at; empty means all.
            deadline: monotonic seconds of the worker's clock; never waits longer.
        """
        ticket = _Ticket(frozenset(collections) or frozenset(self._folders))
        with self._lock:
            if self._stopping or not self._thread.is_alive():
                return SyncReport(False, "the indexing thread is not running", self._vectors.pending)
            if self._is_quiet():
                return self._report(ticket.collections)
            self._tickets.append(ticket)
            self._wake.notify_all()
        if ticket.done.wait(max(0.0, deadline - self._clock.monotonic())) and ticket.report:
            return ticket.report
        with self._lock:
            if ticket in self._tickets:
                self._tickets.remove(ticket)
            left = len(self._queue)
        pending = self._vectors.pending
        what = f"{left} changed files are still to be read" if left else f"{pending} passages wait for their vectors"
        return SyncReport(False, f"not done within the time allowed: {what}", pending)

    def rescan(
        self,
        collections: Iterable[str] = (),
        paths: Iterable[str] = (),
        *,
        force: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> RescanJob:
        """Compare whole collections, or paths in them, with the disk.

        With `force` every file is parsed again and a doubtful root is taken for what it is; over all collections the
        vectors are made anew too.

        Raises:
            Busy: another rescan runs; the message names it and since when.
            ShuttingDown: the worker is stopping.
        """
        names = tuple(collections) or tuple(self._folders)
        job = RescanJob(names, tuple(paths), force, self._clock.now(), on_progress)
        with self._lock:
            if self._stopping:
                raise ShuttingDown("the daemon is stopping")
            if self._rescan and not self._rescan.is_done:
                raise Busy(f"{_describe(self._rescan)} is running", hint="wait for it or cancel it")
            self._rescan = job
            self._scans.append(_Scan(deque(name for name in names if name in self._folders), job))
            self._wake.notify_all()
        if force and not job.paths and set(names) >= set(self._folders):
            self._submit(self._vectors.reset)
        return job

    def cancel(self) -> bool:
        """End the rescan that runs; False when there is none."""
        with self._lock:
            job = self._rescan
            if job is None or job.is_done:
                return False
            job.cancel()
            self._wake.notify_all()
        return True

    def run(self, task: Callable[[], R]) -> "Future[R]":
        """Run `task` on the writer's thread between two documents, for what must own the writer."""
        return self._submit(task)

    def is_needed(self) -> bool:
        """Whether a search or a saved file waits, so that a long task had better end soon."""
        return self._stopping or bool(self._tickets) or len(self._hints) > 0

    def set_collections(self, collections: Sequence[CollectionSettings]) -> "Future[None]":
        """Change the collections: new ones are scanned, those that are gone lose their documents."""
        return self._submit(lambda: self._configure(collections))

    def check_files(self, documents: Iterable[StoredDocument]) -> Mapping[DocumentId, FileState]:
        """Which of these documents do not show their file as it is now; each is hinted.

        `missing` is a file that is gone from a root that is there; `unreachable` one that cannot be looked at.
        """
        found: dict[DocumentId, FileState] = {}
        hints = []
        for document in documents:
            folder = self._folders.get(document.collection)
            state = _file_state(folder, document) if folder else "missing"
            if state:
                found[document.document_id] = state
                hints.append(PathHint(document.collection, document.path, self._clock.monotonic()))
        self.hint(hints)
        return found

    def absolute_path(self, collection: str, path: str) -> bytes | None:
        """Where a document lies under the root as configured; None for an unknown collection."""
        folder = self._folders.get(collection)
        return on_disk(folder.root, path) if folder else None

    def subscribe(self, callback: Callable[[WorkerEvent], None]) -> Callable[[], None]:
        """Call back after commits and on progress, from the writer's thread; returns how to end it."""
        with self._lock:
            self._subscribers = (*self._subscribers, callback)
        return partial(self._unsubscribe, callback)

    def progress(self) -> Progress:
        """What the worker does now."""
        now = self._clock.monotonic()
        left, pending = len(self._queue), self._vectors.pending
        return Progress(
            self._phase(left, pending), self._text_meter.tally(now, left), self._vector_meter.tally(now, pending)
        )

    def status(self) -> WorkerStatus:
        """The worker and every collection, without waiting for anything."""
        with self._lock:
            waiting = len(self._hints)
            rescan = _describe(self._rescan) if self._rescan and not self._rescan.is_done else ""
        return WorkerStatus(
            is_alive=self._thread.is_alive() and self._embed_thread.is_alive(),
            progress=self.progress(),
            passes=self._passes,
            waiting_hints=waiting,
            pending_vectors=self._vectors.pending,
            held_passages=self._vectors.held,
            embedded_passages=self._vectors.embedded,
            store_problem=self._store_problem,
            vector_problem=self._vectors.problem,
            rescan=rescan,
            collections=tuple(self._collection_status(folder) for folder in list(self._folders.values())),
        )

    # -- the writer's thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (action := self._next_action()) is not None:
            try:
                action()
            except StoreError as error:
                self._block(error)
            except Exception as error:
                log.exception("index.step_failed")
                self._block(error)
        self._end()

    def _next_action(self) -> Action | None:
        """Wait for work and return it, None when the worker is to stop."""
        with self._lock:
            self._is_in_pass = False
            while not self._stopping:
                if action := self._choose():
                    return action
                self._wake.wait(self._idle_for())
        return None

    def _choose(self) -> Action | None:
        if self._clock.monotonic() < self._blocked_until:
            return self._answer_blocked if self._tickets else None
        if self._answers:
            return self._store_answer
        if action := self._choose_pass():
            self._is_in_pass = True
            return action
        if self._tasks:
            return partial(self._run_task, *self._tasks.popleft())
        return self._choose_quiet_work()

    def _choose_pass(self) -> Action | None:
        """What a search waits for, and what was just saved."""
        if not self._is_open:
            return None
        if self._tickets and not (self._has_begun_pass and self._queue.has_urgent):
            self._has_begun_pass = True
            tickets, self._tickets = self._tickets, []
            return partial(self._begin_pass, self._hints.take_all(), _Fence(tickets))
        self._has_begun_pass = False
        if self._queue.has_urgent:
            return self._apply_next
        if hints := self._hints.take_due():
            return partial(self._begin_pass, hints, _Fence([]))
        return None

    def _choose_quiet_work(self) -> Action | None:
        """What can wait until nobody waits for it."""
        if not self._is_open:
            return self._open_collections
        if self._index.full_text_is_damaged:
            return self._repair_full_text
        if self._rescan and self._rescan.is_cancelled and not self._rescan.is_done:
            return self._drop_rescan
        if self._scans:
            return self._scan_next
        if self._queue.has_bulk:
            return self._apply_next
        if hints := self._rechecks():
            return partial(self._begin_pass, hints, _Fence([]))
        if not self._embedding and self._vectors.pending and self._vectors.can_embed():
            return self._embed_next
        return self._announce if self._touched else None

    def _idle_for(self) -> float | None:
        """Seconds until something is due by itself."""
        now = self._clock.monotonic()
        if now < self._blocked_until:
            return self._blocked_until - now
        lost = self._lost()
        waits = [self._hints.next_in(), self._trials.next_in(without=lost), self._vectors.wake_in()]
        if lost:
            waits.append(max(0.0, self._recheck_at - now))
        return min((wait for wait in waits if wait is not None), default=None)

    def _block(self, error: Exception) -> None:
        """A step failed, most likely because the store cannot take it: keep the work, try again less and less often."""
        self._retry_s = min(max(self._retry_s * 2, _FIRST_RETRY_S), _LONGEST_RETRY_S)
        self._blocked_until = self._clock.monotonic() + self._retry_s
        self._store_problem = ("disk full: " if isinstance(error, StoreFull) else "") + str(error)
        log.error("index.store_failed", reason=self._store_problem, next_try_in_s=self._retry_s)
        waiting = [item for item in self._queue.fences() if isinstance(item, _Fence)]
        for fence in (*waiting, *(wait.fence for wait in self._vector_waits)):
            self._resolve(fence)
            fence.tickets = []

    def _unblock(self) -> None:
        if self._store_problem:
            log.info("index.store_recovered")
        self._store_problem, self._retry_s = "", 0.0

    def _answer_blocked(self) -> None:
        with self._lock:
            tickets, self._tickets = self._tickets, []
        self._resolve(_Fence(tickets))

    def _run_task(self, task: Callable[[], object], future: "Future[object]") -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(task())
        except Exception as error:  # noqa: BLE001 -- it goes on to whoever waits for the future
            future.set_exception(error)

    def _open_collections(self) -> None:
        """Bring the store's list of collections in line with ours, and take over what an earlier run left."""
        self._trials.load()
        stored = set(self._writer.collections())
        for folder in self._folders.values():
            self._writer.ensure_collection(folder.name, folder.root)
        # Without any collection the configuration is more likely wrong than meant.
        for name in stored - set(self._folders) if self._folders else ():
            self._remove_collection(name)
        for collection, path in self._trials:
            if collection not in self._folders:
                self._trials.succeeded(collection, path)
        self._vectors.model_is_ready()
        self._vectors.refresh()
        self._is_open = True

    def _configure(self, collections: Sequence[CollectionSettings]) -> None:
        wanted = self._make_folders(collections)
        before = dict(self._folders)
        for name, folder in before.items():
            if name not in wanted or wanted[name].root != folder.root:
                self._remove_collection(name)
        for name, folder in wanted.items():
            old = before.get(name)
            if old and old.root == folder.root:
                folder.identity, folder.is_scanned, folder.scanned_at = old.identity, old.is_scanned, old.scanned_at
            self._writer.ensure_collection(name, folder.root)
        changed = [name for name, folder in wanted.items() if name not in before or before[name] is not folder]
        with self._lock:
            self._folders = wanted
            self._scans.append(_Scan(deque(changed)))

    def _remove_collection(self, name: str) -> None:
        removed = self._writer.remove_collection(name)
        self._trials.forget(name)
        for work in self._queue.drop(lambda work: work.change.collection == name):
            if work.job:
                work.job.count(Unchanged())
                self._finish_if_done(work.job)
        self._vectors.text_changed(0)
        self._vectors.refresh()
        self._touched.add(name)
        log.info("index.collection_removed", collection=name, documents=removed)

    def _begin_pass(self, hints: Sequence[PathHint], fence: _Fence) -> None:
        """Look where the hints point and put what changed into the urgent row, with the fence behind."""
        by_folder: dict[str, list[PathHint]] = {}
        for hint in hints:
            by_folder.setdefault(hint.collection, []).append(hint)
        for name, its_hints in by_folder.items():
            if folder := self._folders.get(name):
                self._look(folder, its_hints, fence)
        if fence.tickets:
            self._queue.add_fence(fence)

    def _look(self, folder: Folder, hints: Sequence[PathHint], fence: _Fence) -> None:
        try:
            survey = self._survey(folder, hints)
        except RootUnavailable:
            fence.problem = folder.unavailable
            return
        except Exception:
            # The hints are owed by the folder; one for the root brings them back when it works again.
            with self._lock:
                self._hints.add([PathHint(folder.name, "", self._clock.monotonic(), subtree=True)])
                self._tickets.extend(fence.tickets)
                fence.tickets = []
            raise
        self._queue.add_urgent(Work(change) for change in survey.changes if not self._trials.holds_back(change))
        self._settle_trials(folder, hints, survey)
        self._scanned(folder, survey)

    def _survey(self, folder: Folder, hints: Iterable[PathHint], *, trust: bool = False) -> Survey:
        self._passes += 1

        def known(seen: ScanResult) -> Mapping[str, KnownDocument]:
            return self._known(folder, seen)

        return folder.survey(
            hints,
            known,
            parse_key=lambda path: self._ingest.parse_key(path, folder),
            content_hash=lambda path: _hash_file(folder, path),
            trust=trust,
        )

    def _known(self, folder: Folder, seen: ScanResult) -> Mapping[str, KnownDocument]:
        if seen.everything_below:
            return self._writer.known_documents(folder.name)
        found = (self._writer.known_document(folder.name, path) for path in seen.looked_for)
        return {document.path: document for document in found if document}

    def _apply_next(self) -> None:
        item = self._queue.peek()
        if isinstance(item, _Fence):
            self._queue.done()
            self._pass_text(item)
        elif isinstance(item, Work):
            outcome = self._apply(item)
            self._queue.done()
            self._unblock()
            if item.job:
                item.job.count(outcome)
            self._tell(item)

    def _apply(self, work: Work) -> IngestOutcome:
        """Ingest one change and record what came of it; a fault of one file ends here."""
        change = work.change
        folder = self._folders.get(change.collection)
        if folder is None or (work.job and work.job.is_cancelled):
            return Skipped("no longer asked for")
        try:
            outcome = self._ingest.apply(change, folder, force=work.force)
        except StoreError:
            raise
        except Exception as error:
            log.exception("ingest.failed", collection=change.collection, path=ascii(change.path))
            outcome = Failed(f"{type(error).__name__}: {error}")
        self._record(change, folder, outcome)
        return outcome

    def _record(self, change: Change, folder: Folder, outcome: IngestOutcome) -> None:
        if isinstance(outcome, Unsettled):
            self._unsettled.add((change.collection, change.path))
            with self._lock:
                self._hints.add([PathHint(change.collection, change.path, self._clock.monotonic())])
            return
        self._unsettled.discard((change.collection, change.path))
        if isinstance(outcome, Failed):
            trial = self._trials.failed(change.collection, change.path, outcome.reason, change.stat)
            log.warning(
                "ingest.not_indexed",
                collection=change.collection,
                path=ascii(change.path),
                reason=outcome.reason,
                attempts=trial.attempts,
            )
            return
        self._trials.succeeded(change.collection, change.path)
        if change.moved_from:
            self._trials.succeeded(change.collection, change.moved_from)
        if isinstance(outcome, Skipped):
            folder.skipped[change.path] = outcome.reason
        if isinstance(outcome, (Indexed, Removed, Skipped)):
            added = outcome.pending_vectors if isinstance(outcome, Indexed) else 0
            self._vectors.text_changed(added)
            self._new_passages += added
            self._touched.add(change.collection)
        log.debug("ingest.done", collection=change.collection, path=ascii(change.path), outcome=type(outcome).__name__)

    def _tell(self, work: Work) -> None:
        """One change is done: count it, end its rescan if it was the last, and let listeners know now and then."""
        now = self._clock.monotonic()
        self._text_meter.step(now)
        if not len(self._queue):
            self._text_meter.reset()
        if work.job:
            self._finish_if_done(work.job)
        if now - self._event_at >= _EVENT_EVERY_S:
            self._announce()

    def _pass_text(self, fence: _Fence) -> None:
        """All text of a pass is stored: answer the searches that wait, after a few embeddings where that helps."""
        new, self._new_passages = self._new_passages, 0
        pending = self._vectors.refresh()
        few = self._watch.sync_embed
        batch, keys = self._vectors.first(pending if pending <= few else min(new, few))
        if batch:
            self._send(batch, first=True)
        if keys:
            self._vector_waits.append(_VectorWait(fence, keys))
        else:
            self._resolve(fence)

    def _resolve(self, fence: _Fence) -> None:
        for ticket in fence.tickets:
            report = self._report(ticket.collections)
            if fence.problem and report.fresh:
                report = SyncReport(False, fence.problem, report.pending_vectors)
            ticket.report = report
            ticket.done.set()

    def _scan_next(self) -> None:
        scan = self._scans[0]
        if scan.names and not (scan.job and scan.job.is_cancelled):
            self._plan(scan.names[0], scan.job)
            scan.names.popleft()
            return
        self._scans.popleft()
        if scan.job:
            self._finish_if_done(scan.job)

    def _plan(self, name: str, job: RescanJob | None) -> None:
        """Compare one collection with the disk and put what differs into the other row."""
        folder = self._folders.get(name)
        if folder is None:
            return
        now = self._clock.monotonic()
        paths = job.paths if job and job.paths else ("",)
        trust, force = bool(job and job.force), bool(job and job.force)
        try:
            survey = self._survey(folder, [PathHint(name, path, now, subtree=True) for path in paths], trust=trust)
        except RootUnavailable as error:
            log.warning("index.root_unavailable", collection=name, reason=error.message)
            if job:
                job.could_not_look(name, error.message)
            return
        works = [Work(change, force, job) for change in survey.changes if job or not self._trials.holds_back(change)]
        if force:
            works += _unchanged(name, survey, job)
        if job:
            job.expect(len(works))
        self._queue.add_bulk(works)
        self._scanned(folder, survey)
        log.info("index.scanned", collection=name, files=len(survey.files), changes=len(works), kept=survey.kept)

    def _scanned(self, folder: Folder, survey: Survey) -> None:
        if survey.is_whole:
            folder.is_scanned = True
            folder.scanned_at = self._clock.now()

    def _finish_if_done(self, job: RescanJob) -> None:
        if job.has_work_left or any(scan.job is job for scan in self._scans):
            return
        job.finish(took_s=max(0.0, self._clock.now() - job.started_at))
        log.info("index.rescan_done", rescan=_describe(job), report=job.wait(0))

    def _drop_rescan(self) -> None:
        """A rescan was cancelled: what it found to differ is not known any more, so its folders count as unseen."""
        job = self._rescan
        if job is None:
            return
        for work in self._queue.drop(lambda work: work.job is job):
            job.count(Unchanged())
            if not work.force and (folder := self._folders.get(work.change.collection)):
                folder.is_scanned = False
        self._scans = deque(scan for scan in self._scans if scan.job is not job)
        self._finish_if_done(job)

    def _rechecks(self) -> Sequence[PathHint]:
        """Hints for failed files whose time has come and, now and then, for roots that were not available."""
        now = self._clock.monotonic()
        lost = self._lost()
        hints = [PathHint(name, path, now) for name, path in self._trials.due(without=lost)]
        if lost and now >= self._recheck_at:
            self._recheck_at = now + _RECHECK_ROOT_S
            hints += [PathHint(name, "", now, subtree=True) for name in lost]
        return hints

    def _lost(self) -> frozenset[str]:
        return frozenset(folder.name for folder in list(self._folders.values()) if folder.unavailable)

    def _settle_trials(self, folder: Folder, hints: Sequence[PathHint], survey: Survey) -> None:
        """A failed file that was looked at again and is no change any more is fine, gone, or still unreadable."""
        changed = {change.path for change in survey.changes}
        for hint in hints:
            if hint.path in changed or not self._trials.is_due(folder.name, hint.path):
                continue
            if reason := folder.unreadable.get(hint.path):
                self._trials.failed(folder.name, hint.path, reason, None)
            else:
                self._trials.succeeded(folder.name, hint.path)

    def _embed_next(self) -> None:
        if batch := self._vectors.next_batch():
            self._send(batch, first=False)

    def _send(self, batch: Batch, *, first: bool) -> None:
        with self._lock:
            self._embedding += 1
            if first:
                self._to_embed.appendleft(batch)
            else:
                self._to_embed.append(batch)
            self._embed_wake.notify_all()

    def _store_answer(self) -> None:
        answer = self._answers[0]
        self._vectors.store(answer)
        self._answers.popleft()
        self._unblock()
        keys = set(answer.batch.keys)
        self._vector_meter.step(self._clock.monotonic(), len(keys))
        if not self._vectors.pending:
            self._vector_meter.reset()
        self._touched.update(self._folders)
        for wait in self._vector_waits:
            wait.keys -= keys
        done = [wait for wait in self._vector_waits if not wait.keys]
        self._vector_waits = [wait for wait in self._vector_waits if wait.keys]
        for wait in done:
            self._resolve(wait.fence)

    def _announce(self) -> None:
        """Tell listeners what was committed and how far the work is."""
        touched, self._touched = self._touched, set()
        self._event_at = self._clock.monotonic()
        progress = self.progress()
        if touched:
            self._call_back(IndexChanged(self._index.generation, tuple(sorted(touched))))
        self._call_back(progress)

    def _call_back(self, event: WorkerEvent) -> None:
        job = self._rescan
        listeners: list[Callable[[WorkerEvent], None]] = list(self._subscribers)
        if isinstance(event, Progress) and job and job.on_progress and not job.is_done:
            listeners.append(partial(_pass_on, job.on_progress))
        for listener in listeners:
            try:
                listener(event)
            except Exception:
                log.exception("index.listener_failed", event_type=type(event).__name__)

    def _repair_full_text(self) -> None:
        self._writer.repair_full_text()

    def _end(self) -> None:
        """Let everybody go who waits for something that will not come."""
        with self._lock:
            tickets, self._tickets = self._tickets, []
            tasks, self._tasks = self._tasks, deque()
            waits, self._vector_waits = self._vector_waits, []
        late = [ticket for wait in waits for ticket in wait.fence.tickets]
        late += [ticket for fence in self._queue.fences() if isinstance(fence, _Fence) for ticket in fence.tickets]
        for ticket in (*tickets, *late):
            ticket.report = SyncReport(False, "the daemon is stopping", self._vectors.pending)
            ticket.done.set()
        for _, future in tasks:
            if future.set_running_or_notify_cancel():
                future.set_exception(ShuttingDown("the daemon is stopping"))
        if self._rescan and not self._rescan.is_done:
            self._rescan.cancel()
            self._rescan.finish(took_s=max(0.0, self._clock.now() - self._rescan.started_at))

    # -- the embedder's thread ---------------------------------------------------------------------------------------

    def _run_embedder(self) -> None:
        while (batch := self._await_batch()) is not None:
            answer = Answer(batch, self._embed(batch))
            with self._lock:
                self._answers.append(answer)
                self._embedding -= 1
                self._wake.notify_all()

    def _await_batch(self) -> Batch | None:
        with self._lock:
            while not self._stopping:
                if self._to_embed:
                    return self._to_embed.popleft()
                self._embed_wake.wait()
        return None

    def _embed(self, batch: Batch) -> list[Vector | NoVector] | ModelDown:
        texts = [passage.text for passage in batch.passages]
        try:
            return embed_each(partial(_attempt, batch.embedder), texts, batch.embedder.dimension)
        except Exception as error:
            log.exception("index.embedding_failed")
            return ModelDown(f"{type(error).__name__}: {error}")

    # -- from any thread, with the lock held or needing none ---------------------------------------------------------

    def _submit(self, task: Callable[[], R]) -> "Future[R]":
        future: Future[R] = Future()
        with self._lock:
            if self._stopping:
                future.set_exception(ShuttingDown("the daemon is stopping"))
                return future
            self._tasks.append((task, cast("Future[object]", future)))
            self._wake.notify_all()
        return future

    def _model_is_ready(self) -> None:
        self._submit(self._vectors.model_is_ready)

    def _is_quiet(self) -> bool:
        """Whether a search has nothing to wait for."""
        if self._tickets or len(self._hints) or self._queue.has_urgent or self._is_in_pass:
            return False
        if self._index.full_text_is_damaged:
            return False
        few = self._vectors.pending <= self._watch.sync_embed
        return not (few and self._vectors.can_embed())

    def _report(self, collections: Iterable[str]) -> SyncReport:
        pending = self._vectors.pending
        reason = self._store_problem
        for name in sorted(collections):
            reason = reason or self._staleness(name)
        if not reason and pending:
            reason = f"{pending} passages wait for their vectors"
            reason += f": {self._vectors.problem}" if self._vectors.problem else ""
        return SyncReport(not reason, reason, pending)

    def _staleness(self, name: str) -> str:
        """Why one collection is not known to equal its folder; empty when it is."""
        folder = self._folders.get(name)
        if folder is None:
            return f"there is no collection {name}"
        if folder.unavailable:
            return folder.unavailable
        if not folder.is_scanned:
            return f"the scan of {name} is still to be made"
        if behind := self._queue.behind(name):
            return f"{behind} changed files of {name} are still to be read"
        unsettled = next((path for collection, path in list(self._unsettled) if collection == name), None)
        if unsettled is not None:
            return f"{unsettled} is being written"
        missed = {**dict(folder.unreadable), **self._trials.of(name)}
        if missed:
            first = min(missed)
            return f"{len(missed)} files of {name} could not be read: {first} ({missed[first]})"
        return ""

    def _phase(self, left: int, pending: int) -> Phase:
        if self._stopping:
            return "stopped"
        if left or self._scans:
            return "text"
        if pending and self._vectors.can_embed():
            return "vectors"
        return "idle"

    def _collection_status(self, folder: Folder) -> CollectionStatus:
        return CollectionStatus(
            name=folder.name,
            root=folder.root,
            unavailable=folder.unavailable,
            is_scanned=folder.is_scanned,
            scanned_at=folder.scanned_at,
            pending_files=self._queue.behind(folder.name),
            folders=folder.folders,
            skipped=dict(folder.skipped),
            unreadable=dict(folder.unreadable),
            failed=self._trials.of(folder.name),
            rule_problems=folder.rules.problems,
        )

    def _unsubscribe(self, callback: Callable[[WorkerEvent], None]) -> None:
        with self._lock:
            self._subscribers = tuple(listener for listener in self._subscribers if listener is not callback)

    def _make_folders(self, collections: Sequence[CollectionSettings]) -> dict[str, Folder]:
        folders = (
            Folder(
                name=collection_name(settings),
                root=root_of(settings),
                settings=settings,
                index=self._index_settings,
                own_paths=self._own_paths,
            )
            for settings in collections
        )
        return {folder.name: folder for folder in folders}


def _attempt(embedder: Embedder, texts: Sequence[str]) -> Matrix | Exception:
    try:
        return embedder.embed_passages(texts)
    except Exception as error:  # noqa: BLE001 -- an embedder may raise anything; the caller finds out whose fault it is
        return error


def _pass_on(on_progress: Callable[[Progress], None], event: WorkerEvent) -> None:
    if isinstance(event, Progress):
        on_progress(event)


def _hash_file(folder: Folder, path: str) -> bytes | None:
    content = read_file(folder.root, path, folder.index.max_file_size)
    return content.digest if isinstance(content, FileContent) else None


def _unchanged(name: str, survey: Survey, job: RescanJob | None) -> list[Work]:
    """Work that parses the files again that do not differ."""
    changed = {change.path for change in survey.changes}
    return [
        Work(Change(name, path, ChangeKind.MODIFIED, stat), force=True, job=job)
        for path, stat in survey.files.items()
        if path not in changed
    ]


def _file_state(folder: Folder, document: StoredDocument) -> FileState | None:
    """How a document's file differs from what was read, by size and time alone; None when it does not."""
    try:
        found = os.lstat(on_disk(folder.root, document.path))
    except (FileNotFoundError, NotADirectoryError):
        return "unreachable" if folder.unavailable or not os.path.isdir(folder.root) else "missing"
    except OSError:
        return "unreachable"
    is_same = (found.st_size, found.st_mtime_ns) == (document.stat.size_bytes, document.stat.mtime_ns)
    return None if is_same else "changed"


def _describe(job: RescanJob) -> str:
    since = datetime.fromtimestamp(job.started_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    what = ", ".join(job.paths or job.collections) or "nothing"
    return f"a rescan of {what} since {since}"
