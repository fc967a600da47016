"""The search service: freshness first, then the profile's pipeline, then the presentation of what was found.

Requests arrive as `SearchCall`, answers leave as `SearchResult`: values of the domain, which know nothing of the wire.
What always holds: an answer that says `fresh` reflects every change completed before the call; a stage that could not
run is named in `degraded`; all reads of one answer come from one snapshot of the index.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import structlog

from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.document import StoredChunk
from groove_daemon.domain.hit import Hit
from groove_daemon.domain.query import Filters, Query
from groove_daemon.domain.ranking import Ranking
from groove_daemon.errors import InvalidParams
from groove_daemon.models.base import Embedder
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.confidence import low_confidence
from groove_daemon.retrieval.expand import expand
from groove_daemon.retrieval.pipeline import Parts, build_pipeline
from groove_daemon.retrieval.present import Expand, Shown, present
from groove_daemon.retrieval.probe import Mode, Probe
from groove_daemon.retrieval.trace import Step, Trace
from groove_daemon.store.index import Index
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
    `pending_vectors` counts passages that only full text can find so far.
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

    `roots` maps collections to their folders; `sync_deadline_s` and `timeout_s` are seconds.
    """

    settings: SearchSettings
    roots: Mapping[str, str]
    sync_deadline_s: float
    timeout_s: float


class SearchService:
    """Answers searches; may be called from many threads at once.

    Args:
        setup: gives the configuration in force.
        index: the index.
        embedder: gives the model, None when there is none on purpose; may raise `ModelError`.
        freshness: see `Freshness`.
        workers: where vector legs run beside full text.
    """

    def __init__(
        self,
        *,
        setup: Callable[[], SearchSetup],
        index: Index,
        embedder: Callable[[], Embedder | None],
        freshness: Freshness,
        workers: Workers,
    ) -> None:
        self._setup = setup
        self._index = index
        self._embedder = embedder
        self._freshness = freshness
        self._workers = workers

    def search(self, call: SearchCall, is_cancelled: Callable[[], bool]) -> SearchResult:
        """Answer one search.

        Raises:
            BadQuery: nothing to search for.
            InvalidParams: a value is out of range or names something unknown.
            Cancelled: `is_cancelled` said so.
            DeadlineExceeded: the configured longest time is over.
        """
        began = time.monotonic()
        setup = self._setup()
        settings = effective_settings(call, setup.settings)
        _check_collections(call.filters.collections, setup.roots)
        filters = replace(call.filters, min_quality=_quality_threshold(call, setup.settings))
        query = compile_query(call.text, limit=settings.limit, filters=filters)
        profile = call.profile or settings.profile
        trace = Trace(is_cancelled=is_cancelled, deadline=began + setup.timeout_s)

        sync = self._sync(call, setup, trace, is_cancelled=is_cancelled, began=began)
        answer = self._answer(query, profile, settings, setup, trace)
        changed = self._freshness.changed([hit.chunk for hit in answer.hits])
        if changed and call.freshness == "sync":
            # The files moved on between the sync and the answer: look once more, then say what is still behind.
            sync = self._sync(call, setup, trace, is_cancelled=is_cancelled, began=time.monotonic())
            answer = self._answer(query, profile, settings, setup, trace)
            changed = self._freshness.changed([hit.chunk for hit in answer.hits])
        hits = _as_on_disk(answer.hits, changed)
        if changed:
            sync = replace(sync, fresh=False, reason=sync.reason or "files of this answer changed while it was made")
        return SearchResult(
            hits=hits,
            mode=answer.mode,
            generation=answer.generation,
            fresh=sync.fresh,
            stale_reason=sync.reason,
            low_confidence=low_confidence([hit.score for hit in hits], ratio=settings.min_confidence_ratio),
            filter_applied=filter_applied(call, query),
            degraded=tuple(Degraded(step.stage, step.reason) for step in trace.steps if step.status == "failed"),
            warnings=(*_cap_warnings(query), *trace.notes),
            pending_vectors=sync.pending_vectors,
            took_ms=(time.monotonic() - began) * 1000,
            profile=profile,
            steps=trace.steps if call.explain else (),
        )

    def _sync(
        self, call: SearchCall, setup: SearchSetup, trace: Trace, *, is_cancelled: Callable[[], bool], began: float
    ) -> Sync:
        collections = call.filters.collections
        start = time.perf_counter()
        if call.freshness == "none":
            sync = self._freshness.unverified(collections)
            trace.record("sync", "skipped", "off", 0.0)
            return sync
        sync = self._freshness.sync(collections, deadline=began + setup.sync_deadline_s, is_cancelled=is_cancelled)
        trace.record("sync", "ran", sync.reason, (time.perf_counter() - start) * 1000)
        trace.check()
        return sync

    def _answer(
        self, query: Query, profile: str, settings: SearchSettings, setup: SearchSetup, trace: Trace
    ) -> "_Answer":
        reader = self._index.reader()
        with reader.snapshot() as generation:
            probe = Probe(query, reader=reader, vectors=self._index.vectors, embedder=self._embedder)
            ranking: Ranking = ()
            if query.limit > 0:
                parts = Parts(settings=settings, probe=probe, workers=self._workers)
                ranking = build_pipeline(profile, parts).retrieve(query, trace)
            start = time.perf_counter()
            hits = present(ranking, query, reader=reader, roots=setup.roots, expand=_expansion(settings))
            trace.record("present", "ran", "", (time.perf_counter() - start) * 1000, len(ranking), len(hits))
            return _Answer(hits, probe.mode, generation)


@dataclass(frozen=True, slots=True)
class _Answer:
    hits: tuple[Hit, ...]
    mode: Mode
    generation: int


def effective_settings(call: SearchCall, settings: SearchSettings) -> SearchSettings:
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
    return replace(
        settings,
        limit=settings.limit if call.limit is None else call.limit,
        mmr=mmr,
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


def _check_collections(wanted: Sequence[str], known: Mapping[str, str]) -> None:
    for name in wanted:
        if name not in known:
            names = ", ".join(sorted(known)) or "none yet; add one with `groovectl add PATH`"
            raise InvalidParams(f"collections: there is no collection {name!r}", hint=f"known: {names}", name=name)


def _expansion(settings: SearchSettings) -> Expand | None:
    if not settings.parent_retriever.enabled:
        return None

    def shown(chunk: StoredChunk, document: Sequence[StoredChunk]) -> Shown:
        return expand(chunk, document, settings=settings.parent_retriever)

    return shown


def _as_on_disk(hits: Sequence[Hit], changed: Mapping[int, bool]) -> tuple[Hit, ...]:
    """Drop hits whose file is gone, flag those whose file changed since it was indexed."""
    return tuple(
        replace(hit, stale=hit.chunk.document.document_id in changed)
        for hit in hits
        if changed.get(hit.chunk.document.document_id, True)
    )


def _cap_warnings(query: Query) -> list[str]:
    warnings = []
    if query.dropped_phrases:
        warnings.append(f"the query has more than 32 phrases; {query.dropped_phrases} were not searched for")
    if query.dropped_exclusions:
        warnings.append(
            f"the query has more than 32 excluded phrases; {query.dropped_exclusions} exclude nothing, so more is found"
        )
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
    if call.min_confidence_ratio is not None:
        applied["min_confidence_ratio"] = call.min_confidence_ratio
    if query.exclusions:
        applied["excluded_terms"] = list(query.exclusions)
    return applied
