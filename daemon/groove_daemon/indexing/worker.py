"""The one thread that writes the index, and the order in which work is done.

What always holds: the text of a document is one transaction and is searchable before its vectors are there; no
transaction is open while the model works; between two documents the most urgent work comes first: searches that wait,
then hints, then tasks, then rescans, then vectors.  Nothing is lost: work that the store cannot take stays and is tried
again, a file that fails keeps its old rows and is tried again after growing delays.  Knows nothing of watchers.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from groove_daemon.chunking.base import Chunker
from groove_daemon.config.settings import CollectionSettings, IndexSettings, WatchSettings
from groove_daemon.domain.change import Failed, Indexed, IngestOutcome, PathHint, Removed, Skipped, Unchanged
from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.domain.document import DocumentId, StoredDocument
from groove_daemon.errors import ShuttingDown, StoreError
from groove_daemon.formats import parser_for as parser_of_formats
from groove_daemon.formats.base import Parser
from groove_daemon.indexing.activity import Activity
from groove_daemon.indexing.embedder_thread import EmbedderThread
from groove_daemon.indexing.embedding import ModelDown, NoVector, embed_each
from groove_daemon.indexing.folders import FileState, Folders
from groove_daemon.indexing.freshness import Freshness
from groove_daemon.indexing.inbox import Action, HintBuffer, Inbox
from groove_daemon.indexing.ingest import Ingest, Unsettled
from groove_daemon.indexing.listeners import Listeners
from groove_daemon.indexing.report import Progress, SyncReport, WorkerEvent, WorkerStatus
from groove_daemon.indexing.rescan import RescanJob
from groove_daemon.indexing.scans import Scans
from groove_daemon.indexing.store_trouble import StoreTrouble
from groove_daemon.indexing.text_phase import TextPhase
from groove_daemon.indexing.text_queue import Work
from groove_daemon.indexing.ticket import Fence, Ticket, VectorWaits
from groove_daemon.indexing.vector_phase import Answer, Batch, EmbedderSource, VectorPhase
from groove_daemon.models.base import Embedder, Matrix, Vector
from groove_daemon.store.index import Index

log = structlog.get_logger()
_FEW_FILES = 64
R = TypeVar("R")


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
        parser_for: the parser of a suffix among the formats named, or None.
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
        parser_for: Callable[[str, Collection[str]], Parser | None] = parser_of_formats,
    ) -> None:
        self._index = index
        self._watch = watch
        self._models = models
        self._clock = clock or SystemClock()
        self._folders = Folders(collections, index=index_settings, own_paths=own_paths)
        ingest = Ingest(index.writer, chunker=chunker, parser_for=parser_for, clock=self._clock)
        self._text = TextPhase(index.writer, folders=self._folders, ingest=ingest, clock=self._clock)
        self._vectors = VectorPhase(index.writer, models, batch_tokens=batch_tokens, clock=self._clock)
        self._scans = Scans()
        self._inbox = Inbox(hints)
        self._listeners = Listeners(self._clock)
        self._trouble = StoreTrouble(self._clock)
        self._freshness = Freshness(
            text=self._text,
            vectors=self._vectors,
            trouble=self._trouble,
            full_text_is_damaged=lambda: index.full_text_is_damaged,
            sync_embed=watch.sync_embed,
        )
        self._activity = Activity(text=self._text, vectors=self._vectors, scans=self._scans, clock=self._clock)
        self._embedder = EmbedderThread(_embed, self._inbox.answer)
        self._thread = threading.Thread(target=self._run, name="index-writer", daemon=True)

        self._vector_waits = VectorWaits()
        self._new_passages = 0
        self._is_open = False
        self._has_begun_pass = False

    # -- from any thread ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start both threads and compare every collection with its folder.

        The watcher has to watch already: what changes between a scan and the start of watching would be missed.
        """
        self._scans.add(self._folders.names)
        self._models.on_ready(self._model_is_ready)
        self._thread.start()
        self._embedder.start()

    def stop(self, timeout: float = 3.0) -> bool:
        """End after the document in hand; True when both threads ended within `timeout` seconds.

        A model that is at work is not waited for beyond that; what it was asked for is asked again at the next start.
        """
        self._inbox.close()
        self._embedder.close()
        deadline = self._clock.monotonic() + timeout
        if self._thread.ident is not None:
            self._thread.join(timeout)
        has_ended = self._embedder.join(max(0.0, deadline - self._clock.monotonic()))
        return has_ended and not self._thread.is_alive()

    def hint(self, hints: Iterable[PathHint]) -> None:
        """Take hints; those for paths that the rules leave out end here, without waking anybody."""
        if relevant := self._folders.relevant(hints):
            self._inbox.hint(relevant)

    def sync(self, *, collections: Iterable[str] = (), deadline: float) -> SyncReport:
        """Wait until everything that was hinted before this call is searchable.

        Args:
            collections: what the caller will look at; empty means all.
            deadline: monotonic seconds of the worker's clock; never waits longer.
        """
        ticket = Ticket(frozenset(collections) or frozenset(self._folders.names))
        if report := self._inbox.enter(ticket, at_once=partial(self._report_at_once, ticket)):
            return report
        if ticket.done.wait(max(0.0, deadline - self._clock.monotonic())) and ticket.report:
            return ticket.report
        self._inbox.leave(ticket)
        return self._freshness.too_late()

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
        if self._inbox.is_closed:
            raise ShuttingDown("the daemon is stopping")
        known = self._folders.names
        names = tuple(collections) or known
        job = RescanJob(names, tuple(paths), force, self._clock.now(), on_progress)
        self._scans.begin(job, [name for name in names if name in known])
        self._inbox.wake()
        if force and not job.paths and set(names) >= set(known):
            self._inbox.submit(self._vectors.reset)
        return job

    def cancel(self) -> bool:
        """End the rescan that runs; False when there is none."""
        is_cancelled = self._scans.cancel()
        self._inbox.wake()
        return is_cancelled

    def run(self, task: Callable[[], R]) -> "Future[R]":
        """Run `task` on the writer's thread between two documents, for what must own the writer."""
        return self._inbox.submit(task)

    def is_needed(self) -> bool:
        """Whether a search or a saved file waits, so that a long task had better end soon."""
        return self._inbox.is_closed or self._inbox.has_tickets or self._inbox.hint_count > 0

    def is_nearly_read(self) -> bool:
        """Whether folders are being compared at the start, or so few texts wait that they are read in a moment."""
        progress = self.progress()
        left = progress.text.total - progress.text.done
        return progress.phase == "starting" or (progress.phase == "text" and left <= _FEW_FILES)

    def is_reading(self) -> bool:
        """Whether texts are being read or folders compared, so that full text may change with every document."""
        return self.progress().phase in ("starting", "text")

    def set_collections(self, collections: Sequence[CollectionSettings]) -> "Future[None]":
        """Change the collections: new ones are scanned, those that are gone lose their documents."""
        return self._inbox.submit(partial(self._configure, collections))

    def check_files(self, documents: Iterable[StoredDocument]) -> Mapping[DocumentId, FileState]:
        """Which of these documents do not show their file as it is now; each is hinted.

        `missing` is a file that is gone from a root that is there; `unreachable` one that cannot be looked at.
        """
        looked_at = list(documents)
        found = self._folders.changed_files(looked_at)
        now = self._clock.monotonic()
        self.hint(
            PathHint(document.collection, document.path, now) for document in looked_at if document.document_id in found
        )
        return found

    def absolute_path(self, collection: str, path: str) -> bytes | None:
        """Where a document lies under the root as configured; None for an unknown collection."""
        return self._folders.absolute_path(collection, path)

    def subscribe(self, callback: Callable[[WorkerEvent], None]) -> Callable[[], None]:
        """Call back after commits and on progress, from the writer's thread; returns how to end it."""
        return self._listeners.subscribe(callback)

    def progress(self) -> Progress:
        """What the worker does now."""
        return self._activity.progress(is_stopped=self._inbox.is_closed)

    def status(self) -> WorkerStatus:
        """The worker and every collection, without waiting for anything."""
        job = self._scans.job
        return WorkerStatus(
            is_alive=self._thread.is_alive() and self._embedder.is_alive,
            progress=self.progress(),
            passes=self._text.passes,
            waiting_hints=self._inbox.hint_count,
            pending_vectors=self._vectors.pending,
            held_passages=self._vectors.held,
            embedded_passages=self._vectors.embedded,
            store_problem=self._trouble.problem,
            vector_problem=self._vectors.problem,
            rescan=job.describe() if job else "",
            collections=self._text.status(),
        )

    def _model_is_ready(self) -> None:
        self._inbox.submit(self._vectors.model_is_ready)

    def _report_at_once(self, ticket: Ticket) -> SyncReport | None:
        """The report of a search that has nothing to wait for."""
        if self._inbox.is_closed or not self._thread.is_alive():
            return self._freshness.not_fresh("the indexing thread is not running")
        if self._inbox.has_tickets or self._inbox.hint_count or self._inbox.is_in_pass:
            return None
        return self._freshness.report(ticket.collections) if self._freshness.is_settled else None

    # -- the writer's thread: what comes next ------------------------------------------------------------------------

    def _run(self) -> None:
        while (action := self._inbox.await_action(self._choose, self._idle_for)) is not None:
            try:
                action()
            except StoreError as error:
                self._block(error)
            except Exception as error:
                log.exception("index.step_failed")
                self._block(error)
        self._end()

    def _choose(self) -> Action | None:
        if self._trouble.wait_s:
            return self._answer_blocked if self._inbox.has_tickets else None
        if answer := self._inbox.first_answer():
            return partial(self._store_answer, answer)
        if action := self._choose_pass():
            self._inbox.begin_pass()
            return action
        if task := self._inbox.take_task():
            return partial(self._run_task, *task)
        return self._choose_quiet_work()

    def _choose_pass(self) -> Action | None:
        """What a search waits for, and what was just saved."""
        if not self._is_open:
            return None
        if self._inbox.has_tickets and not (self._has_begun_pass and self._text.queue.has_urgent):
            self._has_begun_pass = True
            return partial(self._begin_pass, self._inbox.take_all_hints(), Fence(self._inbox.take_tickets()))
        self._has_begun_pass = False
        if self._text.queue.has_urgent:
            return self._apply_next
        if hints := self._inbox.take_due_hints():
            return partial(self._begin_pass, hints, Fence([]))
        return None

    def _choose_quiet_work(self) -> Action | None:
        """What can wait until nobody waits for it."""
        if not self._is_open:
            return self._open
        if self._index.full_text_is_damaged:
            return self._repair_full_text
        if (job := self._scans.job) and job.is_cancelled:
            return partial(self._drop_rescan, job)
        if len(self._scans):
            return self._scan_next
        if self._text.queue.has_bulk:
            return self._apply_next
        if hints := self._text.rechecks():
            return partial(self._begin_pass, hints, Fence([]))
        if not self._embedder.is_busy and self._vectors.pending and self._vectors.can_embed():
            return self._embed_next
        return self._announce if self._listeners.has_news else None

    def _idle_for(self) -> float | None:
        """Seconds until something is due by itself."""
        if wait_s := self._trouble.wait_s:
            return wait_s
        waits = (self._inbox.next_hint_in(), self._text.recheck_in(), self._vectors.wake_in())
        return min((wait for wait in waits if wait is not None), default=None)

    def _block(self, error: Exception) -> None:
        """Keep the work, let searches go on without it, and try again later."""
        self._trouble.failed(error)
        for fence in self._fences():
            self._freshness.resolve(fence)
            fence.tickets = []

    def _answer_blocked(self) -> None:
        self._freshness.resolve(Fence(self._inbox.take_tickets()))

    def _run_task(self, task: Callable[[], object], future: "Future[object]") -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(task())
        except Exception as error:  # noqa: BLE001 -- it goes on to whoever waits for the future
            future.set_exception(error)

    def _end(self) -> None:
        """Let everybody go who waits for something that will not come."""
        report = self._freshness.not_fresh("the daemon is stopping")
        for ticket in (*self._inbox.take_tickets(), *(ticket for fence in self._fences() for ticket in fence.tickets)):
            ticket.settle(report)
        self._inbox.refuse_tasks()
        if job := self._scans.job:
            job.cancel()
            job.finish(took_s=max(0.0, self._clock.now() - job.started_at))

    # -- the writer's thread: collections ----------------------------------------------------------------------------

    def _open(self) -> None:
        for name in self._text.open():
            self._remove_collection(name)
        self._vectors.model_is_ready()
        self._vectors.refresh()
        self._is_open = True

    def _configure(self, collections: Sequence[CollectionSettings]) -> None:
        for name in self._text.moved_or_gone(collections):
            self._remove_collection(name)
        self._scans.add(self._text.configure(collections))

    def _remove_collection(self, name: str) -> None:
        for work in self._text.remove(name):
            if work.job:
                work.job.count(Unchanged())
                self._finish_if_done(work.job)
        self._vectors.text_changed(0)
        self._vectors.refresh()
        self._listeners.touch([name])

    def _repair_full_text(self) -> None:
        self._index.writer.repair_full_text()

    # -- the writer's thread: texts ----------------------------------------------------------------------------------

    def _begin_pass(self, hints: Sequence[PathHint], fence: Fence) -> None:
        """Look where the hints point and put what changed into the urgent row, with the fence behind."""
        try:
            fence.problem = self._text.look(hints)
        except Exception:
            self._inbox.give_back(hints, fence.tickets)
            raise
        if fence.tickets:
            self._text.queue.add_fence(fence)

    def _apply_next(self) -> None:
        item = self._text.queue.peek()
        if isinstance(item, Fence):
            self._text.queue.done()
            self._pass_text(item)
        elif isinstance(item, Work):
            outcome = self._apply(item)
            self._text.queue.done()
            self._trouble.is_over()
            if item.job:
                item.job.count(outcome)
            self._tell(item)

    def _apply(self, work: Work) -> IngestOutcome:
        """Ingest one change and record what came of it; a fault of one file ends here."""
        change = work.change
        try:
            outcome = self._text.apply(work)
        except StoreError:
            raise
        except Exception as error:
            log.exception("ingest.failed", collection=change.collection, path=ascii(change.path))
            outcome = Failed(f"{type(error).__name__}: {error}")
        if outcome is None:
            return Skipped("no longer asked for")
        self._text.record(change, outcome)
        if isinstance(outcome, Unsettled):
            self._inbox.hint([PathHint(change.collection, change.path, self._clock.monotonic())])
        if isinstance(outcome, (Indexed, Removed, Skipped)) or (isinstance(outcome, Failed) and outcome.is_final):
            added = outcome.pending_vectors if isinstance(outcome, Indexed) else 0
            self._vectors.text_changed(added)
            self._new_passages += added
            self._listeners.touch([change.collection])
        return outcome

    def _tell(self, work: Work) -> None:
        """One change is done: count it, end its rescan if it was the last, and let listeners know now and then."""
        self._activity.text_done()
        if work.job:
            self._finish_if_done(work.job)
        if self._listeners.is_due:
            self._announce()

    def _pass_text(self, fence: Fence) -> None:
        """All text of a pass is stored: answer the searches that wait, after a few embeddings where that helps."""
        new, self._new_passages = self._new_passages, 0
        pending = self._vectors.refresh()
        few = self._watch.sync_embed
        batch, keys = self._vectors.first(pending if pending <= few else min(new, few))
        if batch:
            self._embedder.send(batch, first=True)
        if keys:
            self._vector_waits.add(fence, keys)
        else:
            self._freshness.resolve(fence)

    def _fences(self) -> list[Fence]:
        """All fences whose searches still wait."""
        standing = [item for item in self._text.queue.fences() if isinstance(item, Fence)]
        return standing + self._vector_waits.fences()

    # -- the writer's thread: rescans --------------------------------------------------------------------------------

    def _scan_next(self) -> None:
        scan = self._scans.first
        if not scan.is_over:
            self._text.plan(scan.names[0], scan.job)
            scan.names.popleft()
            return
        self._scans.drop_first()
        if scan.job:
            self._finish_if_done(scan.job)

    def _finish_if_done(self, job: RescanJob) -> None:
        if job.has_work_left or self._scans.has_any_of(job):
            return
        # Whoever waits for the end reads the count next, and while text comes in it is only an estimate.
        self._vectors.refresh()
        job.finish(took_s=max(0.0, self._clock.now() - job.started_at))
        if report := job.wait(0):
            log.info("index.rescan_done", rescan=job.describe(), **asdict(report))

    def _drop_rescan(self, job: RescanJob) -> None:
        """A rescan was cancelled: what it found to differ is not known any more."""
        dropped = self._text.queue.drop(lambda work: work.job is job)
        self._text.forget_scans(dropped)
        for _ in dropped:
            job.count(Unchanged())
        self._scans.drop(job)
        self._finish_if_done(job)

    # -- the writer's thread: vectors --------------------------------------------------------------------------------

    def _embed_next(self) -> None:
        if batch := self._vectors.next_batch():
            self._embedder.send(batch, first=False)

    def _store_answer(self, answer: Answer) -> None:
        self._vectors.store(answer)
        self._inbox.drop_answer()
        self._trouble.is_over()
        keys = answer.batch.keys
        self._activity.vectors_done(len(set(keys)))
        self._listeners.touch(self._folders.names)
        for fence in self._vector_waits.settled(keys):
            self._freshness.resolve(fence)

    # -- the writer's thread: listeners ------------------------------------------------------------------------------

    def _announce(self) -> None:
        """Tell listeners what was committed and how far the work is."""
        job = self._scans.job
        for event in self._listeners.news(self._index.generation, self.progress()):
            listeners: list[Callable[[WorkerEvent], None]] = list(self._listeners)
            if job and job.on_progress:
                listeners.append(partial(_pass_on, job.on_progress))
            for listener in listeners:
                _call(listener, event)


def _call(listener: Callable[[WorkerEvent], None], event: WorkerEvent) -> None:
    try:
        listener(event)
    except Exception:
        log.exception("index.listener_failed", event_type=type(event).__name__)


def _pass_on(on_progress: Callable[[Progress], None], event: WorkerEvent) -> None:
    if isinstance(event, Progress):
        on_progress(event)


def _embed(batch: Batch) -> list[Vector | NoVector] | ModelDown:
    """What the embedder makes of a batch; whatever goes wrong is part of the answer."""
    texts = [passage.text for passage in batch.passages]
    try:
        return embed_each(partial(_attempt, batch.embedder), texts, batch.embedder.dimension)
    except Exception as error:
        log.exception("index.embedding_failed")
        return ModelDown(f"{type(error).__name__}: {error}")


def _attempt(embedder: Embedder, texts: Sequence[str]) -> Matrix | Exception:
    try:
        return embedder.embed_passages(texts)
    except Exception as error:  # noqa: BLE001 -- an embedder may raise anything; the caller finds out whose fault it is
        return error
