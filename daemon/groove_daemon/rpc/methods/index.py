"""The index as a whole: topics, failures, rescans, freshness."""

import time

from groove_daemon.domain.query import Filters
from groove_daemon.rpc import moments
from groove_daemon.rpc.context import CalibrationState, Failure, Progress, RescanReport, Topic
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.filters import check_collections
from groove_wire import messages as m

# A terminal shows no more, and a fast rescan would otherwise send thousands of frames.
PROGRESS_EVERY_S = 0.1
MAX_PROBLEMS = 100


def list_topics(call: Call, request: m.ListTopicsRequest) -> m.ListTopicsResponse:
    """Return one page of the topics that fit."""
    check_collections(request.collections, call.daemon.collections() if request.collections else ())
    filters = Filters(
        collections=request.collections,
        category=request.category,
        path_globs=request.path_globs,
        tags_any=request.tags_any,
        tags_all=request.tags_all,
    )
    reader = call.reader()
    with reader.snapshot() as generation:
        topics = reader.topics(filters)
    page = topics[request.offset : request.offset + request.limit]
    return m.ListTopicsResponse(tuple(_topic_fields(topic) for topic in page), len(topics), generation)


def _topic_fields(topic: Topic) -> m.TopicFields:
    return m.TopicFields(
        file_count=topic.file_count,
        titles=tuple(topic.titles),
        category=topic.category,
        topic=topic.topic,
        last_modified=None if topic.last_modified is None else moments.to_text(topic.last_modified),
    )


def failures(call: Call, request: m.FailuresRequest) -> m.FailuresResponse:
    """Return one page of the files that failed."""
    check_collections(request.collections, call.daemon.collections() if request.collections else ())
    found = [
        failure
        for failure in call.daemon.failures()
        if not request.collections or failure.collection in request.collections
    ]
    page = found[request.offset : request.offset + request.limit]
    problems = tuple(
        m.ProblemFields(problem.collection, problem.path, problem.problem)
        for problem in call.daemon.document_problems()
        if not request.collections or problem.collection in request.collections
    )
    return m.FailuresResponse(tuple(_failure_fields(failure) for failure in page), len(found), problems[:MAX_PROBLEMS])


def _failure_fields(failure: Failure) -> m.FailureFields:
    return m.FailureFields(
        collection=failure.collection,
        path=failure.path,
        reason=failure.reason,
        attempts=failure.attempts,
        first_at=moments.to_text(failure.first_at),
        last_at=moments.to_text(failure.last_at),
        next_try_at=None if failure.next_try_at is None else moments.to_text(failure.next_try_at),
    )


def reindex(call: Call, request: m.ReindexRequest) -> m.ReindexResponse:
    """Begin a rescan and, unless told otherwise, wait for its end and tell the caller how far it is."""
    began = time.monotonic()
    check_collections(request.collections, call.daemon.collections())
    teller = _ProgressTeller(call)
    rescan = call.daemon.rescan(
        request.collections, request.paths, force=request.force, on_progress=teller.tell if request.wait else _ignore
    )
    if not request.wait:
        return _reindex_response(RescanReport(), began, is_done=False)
    call.token.on_cancel(rescan.cancel)
    report = rescan.wait()
    assert report is not None
    call.notes.update(indexed=report.indexed, removed=report.removed, failed=report.failed)
    return _reindex_response(report, began, is_done=True)


def _reindex_response(report: RescanReport, began: float, *, is_done: bool) -> m.ReindexResponse:
    return m.ReindexResponse(
        is_done=is_done,
        indexed=report.indexed,
        unchanged=report.unchanged,
        removed=report.removed,
        skipped=report.skipped,
        failed=report.failed,
        pending_vectors=report.pending_vectors,
        took_ms=(time.monotonic() - began) * 1000,
    )


def _ignore(_progress: Progress) -> None:
    """Nobody waits for the progress of this rescan; subscribers hear of it all the same."""


class _ProgressTeller:
    """Passes progress on to the caller: each change of phase, and otherwise every `PROGRESS_EVERY_S`."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._phase = ""
        self._last = 0.0

    def tell(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase == self._phase and now - self._last < PROGRESS_EVERY_S:
            return
        self._phase, self._last = progress.phase, now
        self._call.notify("progress", progress_notification(progress, msgid=self._call.msgid))


def progress_notification(progress: Progress, *, msgid: int | None = None) -> m.ProgressNotification:
    """Progress as it travels."""
    return m.ProgressNotification(
        phase=progress.phase,
        done=progress.done,
        total=progress.total,
        rate_per_s=progress.rate_per_s,
        eta_s=progress.eta_s,
        collection=progress.collection,
        msgid=msgid,
    )


def calibrate(call: Call, request: m.CalibrateRequest) -> m.CalibrateResponse:
    """Learn how confident answers may be, and tell the caller how far it is."""
    began = time.monotonic()
    teller = _ProgressTeller(call)
    state = call.daemon.calibrate(
        request.questions,
        is_cancelled=call.token.is_cancelled,
        on_progress=lambda done, total: teller.tell(Progress("calibrating", done, total)),
    )
    call.notes.update(usable=state.calibration.curve is not None)
    return m.CalibrateResponse(calibration_fields(state), (time.monotonic() - began) * 1000)


def calibration_fields(state: CalibrationState) -> m.CalibrationFields:
    """What was learned, as it travels."""
    made = state.calibration
    return m.CalibrationFields(
        is_usable=made.curve is not None and not state.why_stale,
        model=made.fingerprint,
        generation=made.generation,
        chunks=made.chunks,
        answerable=made.answerable,
        unanswerable=made.unanswerable,
        made_at=moments.to_text(made.made_at),
        reason=state.why_stale or made.reason or None,
        false_accept=None if made.rates is None else made.rates.false_accept,
        false_reject=None if made.rates is None else made.rates.false_reject,
        separation=None if made.rates is None else made.rates.separation,
    )


def wait_fresh(call: Call, request: m.WaitFreshRequest) -> m.WaitFreshResponse:
    """Wait until all that was saved before is searchable."""
    began = time.monotonic()
    check_collections(request.collections, call.daemon.collections() if request.collections else ())
    state = call.daemon.wait_fresh(
        request.collections,
        deadline_s=request.deadline_ms / 1000,
        vectors=request.vectors,
        is_cancelled=call.token.is_cancelled,
    )
    return m.WaitFreshResponse(
        fresh=state.fresh,
        generation=state.generation,
        pending_vectors=state.pending_vectors,
        took_ms=(time.monotonic() - began) * 1000,
        reason=None if state.fresh else state.reason,
    )
