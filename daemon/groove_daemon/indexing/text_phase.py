"""The first half of indexing: what differs between disk and index, in which order it is taken in, and what came of it.

What always holds: a change leaves the queue only when its outcome is recorded; a file that fails keeps its old rows and
is tried again after growing delays.  Runs on the writer's thread; what it says about itself may be asked for by any.
"""

from collections.abc import Iterable, Mapping, Sequence

import structlog

from groove_daemon.config.settings import CollectionSettings
from groove_daemon.domain.change import (
    Change,
    ChangeKind,
    Failed,
    IngestOutcome,
    PathHint,
    Skipped,
)
from groove_daemon.domain.clock import Clock
from groove_daemon.domain.document import KnownDocument
from groove_daemon.indexing.folder import Folder, Survey
from groove_daemon.indexing.folders import Folders
from groove_daemon.indexing.ingest import FileContent, Ingest, Unsettled, read_file
from groove_daemon.indexing.report import CollectionStatus
from groove_daemon.indexing.rescan import RescanJob
from groove_daemon.indexing.scan import RootIdentity, RootUnavailable, ScanResult
from groove_daemon.indexing.text_queue import TextQueue, Work
from groove_daemon.indexing.trials import Trials
from groove_daemon.store.writer import Writer

log = structlog.get_logger()

_RECHECK_ROOT_S = 2.0


class TextPhase:
    """The state of taking in texts.

    `passes` counts looks at the disk since the start.

    Args:
        writer: the store's one writer.
        folders: the collections' folders.
        ingest: applies one change.
        clock: time.
    """

    def __init__(self, writer: Writer, *, folders: Folders, ingest: Ingest, clock: Clock) -> None:
        self._writer = writer
        self._folders = folders
        self._ingest = ingest
        self._clock = clock
        self._trials = Trials(writer, clock)
        self._unsettled: set[tuple[str, str]] = set()
        self._recheck_at = 0.0
        self.queue = TextQueue()
        self.passes = 0

    # -- which collections -------------------------------------------------------------------------------------------

    def open(self) -> list[str]:
        """Bring the store's list of collections in line with the folders, and take over what an earlier run left.

        Returns the collections that are in the store and not among the folders, for removal.
        """
        self._trials.load()
        stored = set(self._writer.collections())
        for folder in self._folders:
            self._make_known(folder)
        for collection, path in self._trials:
            if collection not in self._folders:
                self._trials.succeeded(collection, path)
        # Without any collection the configuration is more likely wrong than meant.
        return sorted(stored - set(self._folders.names)) if len(self._folders) else []

    def _make_known(self, folder: Folder) -> None:
        self._writer.ensure_collection(folder.name, folder.root)
        if known := self._writer.root_identity(folder.name):
            folder.identity = RootIdentity(*known)

    def moved_or_gone(self, collections: Sequence[CollectionSettings]) -> list[str]:
        """Names of the present collections that are not among the new ones, or whose folder is another one there."""
        wanted = self._folders.made_of(collections)
        return [
            folder.name
            for folder in self._folders
            if folder.name not in wanted or wanted[folder.name].root != folder.root
        ]

    def configure(self, collections: Sequence[CollectionSettings]) -> list[str]:
        """Take these collections from now on, after `remove` of those that moved or are gone; returns their names."""
        wanted = self._folders.made_of(collections)
        for name, folder in wanted.items():
            self._make_known(folder)
            if old := self._folders.get(name):
                folder.is_scanned, folder.scanned_at = old.is_scanned, old.scanned_at
        self._folders.replace(wanted)
        return list(wanted)

    def remove(self, name: str) -> list[Work]:
        """Remove a collection from the store; returns the work that was still to be done for it."""
        removed = self._writer.remove_collection(name)
        self._trials.forget(name)
        if folder := self._folders.get(name):
            folder.is_scanned, folder.scanned_at = False, None
        log.info("index.collection_removed", collection=name, documents=removed)
        return self.queue.drop(lambda work: work.change.collection == name)

    # -- what differs ------------------------------------------------------------------------------------------------

    def look(self, hints: Iterable[PathHint]) -> str:
        """Look where the hints point and put what changed into the urgent row; why not everything could be seen."""
        by_folder: dict[str, list[PathHint]] = {}
        for hint in hints:
            by_folder.setdefault(hint.collection, []).append(hint)
        problem = ""
        for name, its_hints in by_folder.items():
            if folder := self._folders.get(name):
                problem = self._look(folder, its_hints) or problem
        return problem

    def _look(self, folder: Folder, hints: Sequence[PathHint]) -> str:
        try:
            survey = self._survey(folder, hints)
        except RootUnavailable:
            return folder.unavailable
        self.queue.add_urgent(Work(change) for change in survey.changes if not self._trials.holds_back(change))
        self._note_scan(folder, survey)
        self._settle_trials(folder, hints, survey)
        return ""

    def plan(self, name: str, job: RescanJob | None) -> None:
        """Compare one collection with the disk and put what differs into the other row.

        Args:
            name: the collection.
            job: the rescan that asked for it.
        """
        folder = self._folders.get(name)
        if folder is None:
            return
        now = self._clock.monotonic()
        paths = job.paths if job and job.paths else ("",)
        force = bool(job and job.force)
        try:
            survey = self._survey(folder, [PathHint(name, path, now, subtree=True) for path in paths], trust=force)
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
            job.pass_over(len(survey.files.keys() - {work.change.path for work in works}))
        self.queue.add_bulk(works)
        self._note_scan(folder, survey)
        log.info("index.scanned", collection=name, files=len(survey.files), changes=len(works), kept=survey.kept)

    def _survey(self, folder: Folder, hints: Iterable[PathHint], *, trust: bool = False) -> Survey:
        self.passes += 1

        def known(seen: ScanResult) -> Mapping[str, KnownDocument]:
            return self._known(folder, seen)

        return folder.survey(
            hints,
            known,
            parse_key=lambda path: self._ingest.parse_key(path, folder),
            content_hash=lambda path: _hash_file(folder, path),
            trust=trust,
        )

    def _note_scan(self, folder: Folder, survey: Survey) -> None:
        """A whole root was compared; only now that its changes are in the queue can it count as scanned."""
        if not survey.is_whole:
            return
        folder.is_scanned, folder.scanned_at = True, self._clock.now()
        if folder.identity:
            self._writer.note_root_identity(folder.name, folder.identity.device, folder.identity.inode)

    def _known(self, folder: Folder, seen: ScanResult) -> Mapping[str, KnownDocument]:
        if seen.everything_below:
            return self._writer.known_documents(folder.name)
        found = (self._writer.known_document(folder.name, path) for path in seen.looked_for)
        return {document.path: document for document in found if document}

    def forget_scans(self, works: Iterable[Work]) -> None:
        """What was found to differ is not going to be taken in, so that its folders count as unseen."""
        for work in works:
            if not work.force and (folder := self._folders.get(work.change.collection)):
                folder.is_scanned = False

    # -- one change --------------------------------------------------------------------------------------------------

    def apply(self, work: Work) -> IngestOutcome | None:
        """Ingest one change; None when nobody asks for it any more.

        Raises:
            StoreError: the store could not take it.
            Exception: a parser or the chunker is broken; the fault is one file's.
        """
        folder = self._folders.get(work.change.collection)
        if folder is None or (work.job and work.job.is_cancelled):
            return None
        return self._ingest.apply(work.change, folder, force=work.force)

    def record(self, change: Change, outcome: IngestOutcome) -> None:
        """Note what came of a change."""
        key = (change.collection, change.path)
        folder = self._folders.get(change.collection)
        if folder is None:
            return
        if isinstance(outcome, Unsettled):
            self._unsettled.add(key)
            return
        self._unsettled.discard(key)
        if isinstance(outcome, Failed):
            self._note_failure(change, outcome)
            return
        self._trials.succeeded(*key)
        if change.moved_from:
            self._trials.succeeded(change.collection, change.moved_from)
        if isinstance(outcome, Skipped):
            folder.skipped[change.path] = outcome.reason
        log.debug("ingest.done", collection=change.collection, path=ascii(change.path), outcome=type(outcome).__name__)

    def _note_failure(self, change: Change, outcome: Failed) -> None:
        trial = self._trials.failed(
            change.collection, change.path, outcome.reason, change.stat, is_final=outcome.is_final
        )
        log.warning(
            "ingest.not_indexed",
            collection=change.collection,
            path=ascii(change.path),
            reason=outcome.reason,
            attempts=trial.attempts,
        )

    # -- what is looked at again by itself ---------------------------------------------------------------------------

    def rechecks(self) -> Sequence[PathHint]:
        """Hints for failed files whose time has come and, now and then, for roots that were not available."""
        now = self._clock.monotonic()
        lost = self._folders.lost()
        hints = [PathHint(name, path, now) for name, path in self._trials.due(without=lost)]
        if lost and now >= self._recheck_at:
            self._recheck_at = now + _RECHECK_ROOT_S
            hints += [PathHint(name, "", now, subtree=True) for name in lost]
        return hints

    def recheck_in(self) -> float | None:
        """Seconds until `rechecks` has something; None for never."""
        lost = self._folders.lost()
        due_in = self._trials.next_in(without=lost)
        if not lost:
            return due_in
        root_in = max(0.0, self._recheck_at - self._clock.monotonic())
        return root_in if due_in is None else min(due_in, root_in)

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

    # -- how it is, for any thread -----------------------------------------------------------------------------------

    def staleness(self, name: str) -> str:
        """Why one collection is not known to equal its folder; empty when it is."""
        folder = self._folders.get(name)
        if folder is None:
            return f"there is no collection {name}"
        if folder.unavailable:
            return folder.unavailable
        if not folder.is_scanned:
            return f"the scan of {name} is still to be made"
        if behind := self.queue.behind(name):
            return f"{behind} changed files of {name} are still to be read"
        unsettled = next((path for collection, path in list(self._unsettled) if collection == name), None)
        if unsettled is not None:
            return f"{unsettled} is being written"
        missed = {**dict(folder.unreadable), **self._trials.unread(name)}
        if missed:
            first = min(missed)
            return f"{len(missed)} files of {name} could not be read: {first} ({missed[first]})"
        return ""

    def status(self) -> tuple[CollectionStatus, ...]:
        """Every collection."""
        return tuple(self._status_of(folder) for folder in self._folders)

    def _status_of(self, folder: Folder) -> CollectionStatus:
        return CollectionStatus(
            name=folder.name,
            root=folder.root,
            unavailable=folder.unavailable,
            is_scanned=folder.is_scanned,
            scanned_at=folder.scanned_at,
            pending_files=self.queue.behind(folder.name),
            folders=folder.folders,
            skipped=dict(folder.skipped),
            unreadable=dict(folder.unreadable),
            failed=self._trials.of(folder.name),
            rule_problems=folder.rules.problems,
        )


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
