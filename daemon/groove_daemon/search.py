"""The search service: freshness first, then the profile's pipeline, then the presentation of what was found.

Requests arrive as `SearchCall`, answers leave as `SearchResult`: values of the domain, which know nothing of the wire.
What always holds: an answer that says `fresh` reflects every change completed before the call; a stage that could not
run is named in `degraded`; all reads of one answer come from one snapshot of the index.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import structlog

from groove_daemon.config.settings import ProfileSettings, SearchSettings
from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.domain.document import ChunkId, StoredChunk
from groove_daemon.domain.hit import Hit
from groove_daemon.domain.query import Filters, Query
from groove_daemon.domain.ranking import Ranking
from groove_daemon.errors import InvalidParams
from groove_daemon.models.base import Embedder, PairScorer
from groove_daemon.retrieval.calibration import Curve
from groove_daemon.retrieval.compile import PHRASE_CAP, compile_query
from groove_daemon.retrieval.confidence import low_confidence
from groove_daemon.retrieval.costs import Costs
from groove_daemon.retrieval.duplicates import DUPLICATES, Copies
from groove_daemon.retrieval.expand import Expander
from groove_daemon.retrieval.pipeline import Parts, Profile, profile_of
from groove_daemon.retrieval.present import Expand, present, with_copies
from groove_daemon.retrieval.probe import Mode, Probe
from groove_daemon.retrieval.rerank import Reranking, ScoreCache, decide
from groove_daemon.retrieval.sources import Sources
from groove_daemon.retrieval.trace import StageSkipped, Step, Trace
from groove_daemon.store.index import Index
from groove_daemon.store.reader import Reader
from groove_daemon.workers import Workers

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SearchCall:
    """One search as asked for; None means that the caller left it to the configuration.

    `filters.min_quality` is ignored: the threshold is worked out from `min_quality`, `include_low_quality` and the
    configuration.  `within_ms` and `sync_deadline_s` are budgets; `freshness` is `sync` or `none`.
    """

    text: str
    limit: int | None = None
    profile: str | None = None
    filters: Filters = field(default_factory=Filters)
    min_quality: float | None = None
    include_low_quality: bool = False
    min_confidence_ratio: float | None = None
    min_score: float | None = None
    rerank: bool | None = None
    mmr: bool | None = None
    mmr_lambda: float | None = None
    mmr_same_doc_penalty: float | None = None
    parent_retriever: bool | None = None
    max_per_document: int | None = None
    freshness: Literal["sync", "none"] = "sync"
    within_ms: int | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Degraded:
    """A stage that could not do its work, and why."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer.

    `fresh` is True only when every change completed before the call is reflected; else `stale_reason` says why not.
    `filter_applied` holds only what was given and had an effect.  `steps` is filled when the caller asked to explain.
    `pending_vectors` counts passages that only full text can find so far.  `confidence`, 0 to 1, is how likely the
    notes hold an answer; None when nothing was learned that holds, or when vectors took no part.
    """

    hits: tuple[Hit, ...]
    mode: Mode
    generation: int
    fresh: bool
    stale_reason: str
    low_confidence: bool
    filter_applied: dict[str, object]
    degraded: tuple[Degraded, ...]
    warnings: tuple[str, ...]
    pending_vectors: int
    took_ms: float
    profile: str
    steps: tuple[Step, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Partial:
    """Hits on the way to the answer; `stage` says how far: `text`, `fusion` or `rerank`.

    They have the ids of the answer's hits, and none of what later stages do: no diversity, no more of the document.
    """

    stage: str
    hits: tuple[Hit, ...]


OnPartial = Callable[[Partial], None]


@dataclass(frozen=True, slots=True)
class Sync:
    """How far the index could be brought up to the moment of a call; `reason` is empty when it is fresh."""

    fresh: bool
    reason: str = ""
    pending_vectors: int = 0


class Freshness(Protocol):
    """Brings the index up to date before a search."""

    def sync(self, collections: Sequence[str], *, deadline: float, is_cancelled: Callable[[], bool]) -> Sync:
        """Take in every change that was complete before this call.

        Args:
            collections: which ones; empty for all.
            deadline: monotonic seconds at which to answer at the latest.
            is_cancelled: asked now and then.
        """
        ...

    def unverified(self, collections: Sequence[str]) -> Sync:
        """What is known without waiting: never fresh, with the reason."""
        ...

    def changed(self, chunks: Sequence[StoredChunk]) -> Mapping[int, bool]:
        """Documents of these chunks whose file is no longer as indexed: document id to whether the file still exists.

        The indexer is told to look at them.
        """
        ...


@dataclass(frozen=True, slots=True)
class SearchSetup:
    """What the configuration says about searches, read anew for each call.

    `roots` maps collections to their folders, `sources` to what kind of memory they are; `sync_deadline_s` and
    `timeout_s` are seconds; `profiles` are the user's own; `curve` gives confidence,
    None when nothing was learned that holds.
    """

    settings: SearchSettings
    roots: Mapping[str, str]
    sync_deadline_s: float
    timeout_s: float
    sources: Sources = field(default_factory=dict)
    profiles: tuple[ProfileSettings, ...] = ()
    curve: Curve | None = None


def _no_scorer() -> PairScorer | None:
    return None


def _not_recorded(_chunk_ids: Sequence[ChunkId]) -> None:
    """Accesses go nowhere."""


class SearchService:
    """Answers searches; may be called from many threads at once.

    Args:
        setup: gives the configuration in force.
        index: the index.
        embedder: gives the model, None when there is none on purpose; may raise `ModelError`.
        freshness: see `Freshness`.
        workers: where vector legs run beside full text; None runs everything in the calling thread.
        scorer: gives the reranker, None when none is set; may raise `ModelError`.
        record_accesses: told which chunks were returned by a profile that counts it; returns at once, never raises.
        clock: for the age of notes.
    """

    def __init__(
        self,
        *,
        setup: Callable[[], SearchSetup],
        index: Index,
        embedder: Callable[[], Embedder | None],
        freshness: Freshness,
        workers: Workers | None,
        scorer: Callable[[], PairScorer | None] = _no_scorer,
        record_accesses: Callable[[Sequence[ChunkId]], None] = _not_recorded,
        clock: Clock | None = None,
    ) -> None:
        self._setup = setup
        self._index = index
        self._embedder = embedder
        self._freshness = freshness
        self._workers = workers
        self._scorer = scorer
        self._record_accesses = record_accesses
        self._clock = clock or SystemClock()
        self._scores = ScoreCache()
        self._costs = Costs()

    def search(
        self, call: SearchCall, is_cancelled: Callable[[], bool], on_partial: OnPartial | None = None
    ) -> SearchResult:
        """Answer one search; `on_partial` is told of hits on the way, in this thread.

        Raises:
            BadQuery: nothing to search for.
            InvalidParams: a value is out of range or names something unknown.
            Cancelled: `is_cancelled` said so.
            DeadlineExceeded: the configured longest time is over.
        """
        began = time.monotonic()
        plan = self._plan(call, is_cancelled, began)
        look = self._look(plan, on_partial)
        if look.changed and look.sync.fresh and not look.trace.is_over_budget:
            # The files moved on between the sync and the answer: look once more, then say what is still behind.
            # A sync that ran out of time already said that it is behind, and would only run out of time again.
            look = self._look(plan)
        hits = _as_on_disk(look.answer.hits, look.changed)
        sync = look.sync
        if look.changed:
            sync = replace(sync, fresh=False, reason=sync.reason or "files of this answer changed while it was made")
        if hits and plan.profile.records_accesses:
            self._record_accesses([hit.chunk.chunk_id for hit in hits])
        steps = look.trace.steps
        return SearchResult(
            hits=hits,
            mode=look.answer.mode,
            generation=look.answer.generation,
            fresh=sync.fresh,
            stale_reason=sync.reason,
            low_confidence=low_confidence([hit.score for hit in hits], ratio=plan.settings.min_confidence_ratio),
            filter_applied=filter_applied(call, plan.query),
            degraded=tuple(Degraded(step.stage, step.reason) for step in steps if step.is_missing),
            warnings=(*_cap_warnings(plan.query), *look.trace.notes),
            pending_vectors=sync.pending_vectors,
            took_ms=(time.monotonic() - began) * 1000,
            profile=plan.profile_name,
            steps=steps if call.explain else (),
            confidence=look.answer.confidence,
        )

    def _plan(self, call: SearchCall, is_cancelled: Callable[[], bool], began: float) -> "_Plan":
        """Check the call and work out what is in effect for it."""
        setup = self._setup()
        name = call.profile or setup.settings.profile
        profile, base = profile_of(name, setup.settings, setup.profiles)
        _check_params(call, name, profile)
        _check_collections(call.filters.collections, setup.roots)
        settings = effective_settings(call, base, profile)
        filters = replace(call.filters, min_quality=_quality_threshold(call, base))
        return _Plan(
            call=call,
            setup=setup,
            profile_name=name,
            profile=profile,
            settings=settings,
            query=compile_query(call.text, limit=settings.limit, filters=filters),
            is_cancelled=is_cancelled,
            deadline=began + setup.timeout_s,
            budget_end=None if call.within_ms is None else began + call.within_ms / 1000,
        )

    def _look(self, plan: "_Plan", on_partial: OnPartial | None = None) -> "_Look":
        """Bring the index up to date, search it, and see whether the files found are as indexed."""
        trace = Trace(
            is_cancelled=plan.is_cancelled,
            deadline=plan.deadline,
            budget_end=plan.budget_end,
            costs=self._costs,
            on_ranking=None if on_partial is None else self._teller(plan, on_partial),
        )
        sync = self._sync(plan, trace)
        answer = self._answer(plan, trace)
        return _Look(trace, sync, answer, self._freshness.changed([hit.chunk for hit in answer.hits]))

    def _teller(self, plan: "_Plan", on_partial: OnPartial) -> Callable[[str, Ranking], None]:
        """What makes the page of a ranking on the way presentable; runs in the thread and snapshot of the search."""

        def tell(stage: str, ranking: Ranking) -> None:
            page = ranking[: plan.query.limit]
            on_partial(Partial(stage, present(page, plan.query, reader=self._index.reader(), roots=plan.setup.roots)))

        return tell

    def _sync(self, plan: "_Plan", trace: Trace) -> Sync:
        collections = plan.call.filters.collections
        if plan.call.freshness == "none":
            trace.record("sync", "skipped", "off", 0.0)
            return self._freshness.unverified(collections)
        start, now = time.perf_counter(), time.monotonic()
        deadline = min(now + plan.setup.sync_deadline_s, plan.deadline)
        if plan.budget_end is not None:
            # The other half is for the search itself.
            deadline = min(deadline, now + max(0.0, plan.budget_end - now) / 2)
        sync = self._freshness.sync(collections, deadline=deadline, is_cancelled=plan.is_cancelled)
        trace.record("sync", "ran", sync.reason, (time.perf_counter() - start) * 1000)
        trace.check()
        return sync

    def _answer(self, plan: "_Plan", trace: Trace) -> "_Answer":
        reader = self._index.reader()
        query, settings = plan.query, plan.settings
        with reader.snapshot() as generation:
            probe = Probe(
                query,
                reader=reader,
                vectors=self._index.vectors,
                embedder=self._embedder,
                patient_until=plan.deadline if plan.budget_end is None else plan.budget_end,
            )
            ranking: Ranking = ()
            copies: Copies = {}
            if query.limit > 0:
                parts = Parts(
                    settings=settings,
                    probe=probe,
                    workers=self._workers,
                    reranking=self._reranking(plan),
                    scores=self._scores,
                    mmr_overridden=plan.call.mmr_lambda is not None or plan.call.mmr_same_doc_penalty is not None,
                    sources=plan.setup.sources,
                    now=self._clock.now(),
                    copies=copies,
                )
                with _interrupted(reader, plan.budget_end):
                    ranking = plan.profile.recipe(parts).retrieve(query, trace)
            start = time.perf_counter()
            is_merged = any(step.stage == DUPLICATES and step.status == "ran" for step in trace.steps)
            hits = present(ranking, query, reader=reader, roots=plan.setup.roots, expand=_expansion(settings))
            if is_merged:
                hits = with_copies(
                    hits,
                    reader=reader,
                    vectors=self._index.vectors,
                    allowed=probe.allowed,
                    roots=plan.setup.roots,
                    known=copies,
                )
            reason = "with more of the document around each hit" if settings.parent_retriever.enabled else ""
            trace.record("present", "ran", reason, (time.perf_counter() - start) * 1000, len(ranking), len(hits))
            return _Answer(hits, probe.mode, generation, _confidence(plan.setup.curve, probe))

    def _reranking(self, plan: "_Plan") -> Reranking:
        if "rerank" in plan.profile.lacks:
            return Reranking()
        return decide(plan.call.rerank, by_default=plan.settings.rerank_by_default, scorer=self._scorer)


@dataclass(frozen=True, slots=True)
class _Plan:
    """One call with everything that is in effect for it; `deadline` and `budget_end` are monotonic seconds."""

    call: SearchCall
    setup: SearchSetup
    profile_name: str
    profile: Profile
    settings: SearchSettings
    query: Query
    is_cancelled: Callable[[], bool]
    deadline: float
    budget_end: float | None


@dataclass(frozen=True, slots=True)
class _Answer:
    hits: tuple[Hit, ...]
    mode: Mode
    generation: int
    confidence: float | None


@dataclass(frozen=True, slots=True)
class _Look:
    """One pass over the index; `changed` is what `Freshness.changed` says of its hits."""

    trace: Trace
    sync: Sync
    answer: _Answer
    changed: Mapping[int, bool]


def _confidence(curve: Curve | None, probe: Probe) -> float | None:
    """By the cosine of the nearest chunk that filters and exclusions leave, whatever the order of the hits."""
    if curve is None or probe.mode != "hybrid":
        return None
    try:
        nearest = probe.similarities().top_chunks(1, allowed=probe.allowed, excluded=probe.excluded)
    except StageSkipped:
        return None
    return curve.at(nearest[0][1]) if nearest else None


@contextmanager
def _interrupted(reader: Reader, at: float | None) -> Iterator[None]:
    """Stop the statement that runs in `reader` at that moment (monotonic), if it comes before the block ends."""
    if at is None:
        yield
        return
    lock = threading.Lock()
    is_inside = True

    def stop() -> None:
        with lock:
            if is_inside:
                reader.interrupt()

    timer = threading.Timer(max(0.0, at - time.monotonic()), stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_inside = False
        timer.cancel()


def effective_settings(call: SearchCall, settings: SearchSettings, profile: Profile) -> SearchSettings:
    """The configured settings with what the call asks for in their place."""
    mmr = replace(
        settings.mmr,
        enabled=settings.mmr.enabled if call.mmr is None else call.mmr,
        lambda_=settings.mmr.lambda_ if call.mmr_lambda is None else call.mmr_lambda,
        same_doc_penalty=(
            settings.mmr.same_doc_penalty if call.mmr_same_doc_penalty is None else call.mmr_same_doc_penalty
        ),
    )
    parent = settings.parent_retriever
    if call.parent_retriever is not None:
        parent = replace(parent, enabled=call.parent_retriever)
    memory = replace(
        settings.memory,
        min_score=settings.memory.min_score if call.min_score is None else call.min_score,
        mmr=settings.memory.mmr if call.mmr is None else call.mmr,
        mmr_lambda=settings.memory.mmr_lambda if call.mmr_lambda is None else call.mmr_lambda,
    )
    return replace(
        settings,
        limit=profile.default_limit(settings) if call.limit is None else call.limit,
        mmr=mmr,
        memory=memory,
        max_per_document=settings.max_per_document if call.max_per_document is None else call.max_per_document,
        parent_retriever=parent,
        min_confidence_ratio=(
            settings.min_confidence_ratio if call.min_confidence_ratio is None else call.min_confidence_ratio
        ),
    )


def _quality_threshold(call: SearchCall, settings: SearchSettings) -> float:
    """The least quality of a chunk: everything, or the call's threshold, or the configured one."""
    if call.include_low_quality:
        return 0.0
    return settings.min_quality if call.min_quality is None else call.min_quality


def _check_params(call: SearchCall, name: str, profile: Profile) -> None:
    for field_name in profile.lacks:
        if getattr(call, field_name) not in (None, False):
            raise InvalidParams(
                f"{field_name}: the profile {name!r} has no such stage", hint="leave it out", field=field_name
            )


def _check_collections(wanted: Sequence[str], known: Mapping[str, str]) -> None:
    for name in wanted:
        if name not in known:
            names = ", ".join(sorted(known)) or "none yet; add one with `groovectl add PATH`"
            raise InvalidParams(f"collections: there is no collection {name!r}", hint=f"known: {names}", name=name)


def _expansion(settings: SearchSettings) -> Expand | None:
    return Expander(settings.parent_retriever) if settings.parent_retriever.enabled else None


def _as_on_disk(hits: Sequence[Hit], changed: Mapping[int, bool]) -> tuple[Hit, ...]:
    """Drop hits whose file is gone, flag those whose file changed since it was indexed."""
    return tuple(
        replace(hit, stale=hit.chunk.document.document_id in changed)
        for hit in hits
        if changed.get(hit.chunk.document.document_id, True)
    )


def _cap_warnings(query: Query) -> list[str]:
    """What the caps cut off: the search still answers, so the loss would be silent."""
    warnings = []
    if query.dropped_phrases:
        warnings.append(f"only the first {PHRASE_CAP} phrases are searched for; {query.dropped_phrases} were left out")
    if query.dropped_exclusions:
        warnings.append(
            f"only the first {PHRASE_CAP} exclusions remove, so more is found; {query.dropped_exclusions} were left out"
        )
    if warnings:
        log.warning("search.query_capped", phrases=query.dropped_phrases, exclusions=query.dropped_exclusions)
    return warnings


_ECHOED = ("category", "topic", "date_from", "date_to", "modified_from", "modified_to")
_ECHOED_LISTS = ("collections", "path_globs", "tags_any", "tags_all", "formats")


def filter_applied(call: SearchCall, query: Query) -> dict[str, object]:
    """The filters that were given and had an effect, by their public names."""
    applied: dict[str, object] = {}
    for name in _ECHOED:
        value = getattr(call.filters, name)
        if value is not None:
            applied[name] = value
    for name in _ECHOED_LISTS:
        values = getattr(call.filters, name)
        if values:
            applied[name] = list(values)
    if call.min_score is not None:
        applied["min_score"] = call.min_score
    if call.min_confidence_ratio is not None:
        applied["min_confidence_ratio"] = call.min_confidence_ratio
    if query.exclusions:
        applied["excluded_terms"] = list(query.exclusions)
    return applied
