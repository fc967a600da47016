"""Reranking: a cross-encoder reads the query and each candidate together, and its raw output becomes the score.

The model is slow, so candidates go in small batches, best first, and between two batches the query may be cancelled or
run out of time.  What always holds: either at least as many candidates as the caller wants were all scored by the
model, or the ranking stays exactly as it was and the trace says why; scores of two scales are never mixed.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from groove_daemon.domain.document import ChunkId, StoredChunk
from groove_daemon.domain.passage import embed_key, passage
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.errors import ModelError
from groove_daemon.models.base import PairScorer
from groove_daemon.retrieval.spans import match_spans
from groove_daemon.retrieval.trace import OutOfBudget, StageFailed, StageSkipped, Trace

log = structlog.get_logger()

BATCH = 8
WINDOW_BYTES = 2000
"""Longest part of a chunk that is scored: about 500 tokens, more than most cross-encoders read."""

_PAIRS = "rerank batch"
# Before the deadline ends a query, the rest of the pipeline has to run.
_RESERVE_S = 0.2

Key = tuple[str, str, bytes]


class ScoreCache:
    """Scores of pairs, least recently used dropped first; shared by all queries, from many threads.

    A key is the scorer's fingerprint, the query's text and the hash of the passage.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._scores: OrderedDict[Key, float] = OrderedDict()

    def known(self, keys: Sequence[Key]) -> dict[Key, float]:
        """The scores that are known."""
        with self._lock:
            found = [key for key in keys if key in self._scores]
            for key in found:
                self._scores.move_to_end(key)
            return {key: self._scores[key] for key in found}

    def put(self, scores: Mapping[Key, float]) -> None:
        """Remember scores."""
        with self._lock:
            self._scores.update(scores)
            while len(self._scores) > self._capacity:
                self._scores.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Reranking:
    """Whether a query is reranked, and by what; `problem` says why it should be and cannot."""

    scorer: PairScorer | None = field(default=None, repr=False)
    problem: str = ""

    @property
    def is_on(self) -> bool:
        """Whether there is a model to rerank with."""
        return self.scorer is not None


def decide(asked: bool | None, *, by_default: bool, scorer: Callable[[], PairScorer | None]) -> Reranking:
    """Whether to rerank: the call's own word, else the configured default where a reranker is set.

    Args:
        asked: what the call says.
        by_default: what the configuration says.
        scorer: gives the reranker, None when none is set; may raise `ModelError`.
    """
    if asked is False or (asked is None and not by_default):
        return Reranking()
    try:
        model = scorer()
    except ModelError as error:
        return Reranking(problem=str(error))
    if model is None and asked:
        return Reranking(problem="no reranker is set")
    return Reranking(model)


@dataclass(frozen=True, slots=True)
class Rerank:
    """Refiner that scores the candidates with a cross-encoder; the score becomes its raw output, of any range.

    Args:
        reranking: see `Reranking`.
        chunks_of: the stored chunks.
        cache: scores of earlier queries.
    """

    reranking: Reranking
    chunks_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, StoredChunk]] = field(repr=False, compare=False)
    cache: ScoreCache = field(repr=False, compare=False)
    name: str = "rerank"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        """Order by the model's scores; candidates beyond what time allowed are left out if enough were scored."""
        if self.reranking.problem:
            raise StageFailed(self.reranking.problem)
        scorer = self.reranking.scorer
        if scorer is None:
            raise StageSkipped("off")
        if len(ranking) < 2:
            raise StageSkipped("fewer than two candidates")
        chunks = self.chunks_of([candidate.chunk_id for candidate in ranking])
        readable = [candidate for candidate in ranking if candidate.chunk_id in chunks]
        texts = {candidate.chunk_id: pair_text(chunks[candidate.chunk_id], query) for candidate in readable}
        scores = self._score(scorer, query, texts, trace)
        if len(scores) < len(texts):
            if len(scores) < query.limit:
                raise OutOfBudget if trace.budget_end is not None else StageFailed("out of time")
            trace.remark(self.name, f"the first {len(scores)} of {len(texts)} candidates, for lack of time")
        known = {candidate.chunk_id: candidate.evidence for candidate in ranking}
        return ranked(self.name, scores.items(), known)

    def _score(
        self, scorer: PairScorer, query: Query, texts: Mapping[ChunkId, str], trace: Trace
    ) -> dict[ChunkId, float]:
        """Scores of as many candidates, from the first on, as there is time for."""
        keys = {
            chunk_id: (scorer.fingerprint, query.positive_text, embed_key(text)) for chunk_id, text in texts.items()
        }
        known = self.cache.known(list(keys.values()))
        open_ = [chunk_id for chunk_id in texts if keys[chunk_id] not in known]
        for start in range(0, len(open_), BATCH):
            batch = open_[start : start + BATCH]
            trace.check()
            if not _has_time(trace, len(batch)):
                break
            fresh = _batch_scores(scorer, query.positive_text, [texts[chunk_id] for chunk_id in batch], trace)
            scored = {keys[chunk_id]: score for chunk_id, score in zip(batch, fresh, strict=True)}
            self.cache.put(scored)
            known |= scored
        reached = next((place for place, chunk_id in enumerate(texts) if keys[chunk_id] not in known), len(texts))
        return {chunk_id: known[keys[chunk_id]] for chunk_id in list(texts)[:reached]}


def _has_time(trace: Trace, pairs: int) -> bool:
    try:
        trace.afford(_PAIRS, pairs)
    except OutOfBudget:
        return False
    if trace.deadline is None:
        return True
    return trace.deadline - time.monotonic() > trace.expect(_PAIRS, pairs) + _RESERVE_S


def _batch_scores(scorer: PairScorer, query: str, texts: Sequence[str], trace: Trace) -> Sequence[float]:
    began = time.perf_counter()
    try:
        scores = [float(score) for score in scorer.score(query, texts)]
    except ModelError as error:
        log.warning("retrieval.not_reranked", code=error.code, error=str(error))
        raise StageFailed(str(error)) from error
    trace.observe(_PAIRS, len(texts), time.perf_counter() - began)
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        log.warning("retrieval.unusable_scores", scorer=scorer.fingerprint, pairs=len(texts))
        raise StageFailed("the reranker gave no usable score for some candidates")
    return scores


def pair_text(chunk: StoredChunk, query: Query) -> str:
    """What the model reads for a chunk: the breadcrumb, a blank line, and the part of the content that matches most."""
    return passage(chunk.context, window(chunk.content, query))


def window(content: str, query: Query, *, size: int = WINDOW_BYTES) -> str:
    """The stretch of at most `size` bytes (UTF-8) with the most matches of the query; the first of equals.

    It begins a quarter of its size before a match, so that what leads up to it is read too.
    """
    encoded = content.encode()
    if len(encoded) <= size:
        return content
    starts = [span.start for span in match_spans(content, query) or ()]
    latest = len(encoded) - size
    begins = sorted({0, *(min(max(start - size // 4, 0), latest) for start in starts)})
    best = max(begins, key=lambda begin: (sum(begin <= start < begin + size for start in starts), -begin))
    return encoded[best : best + size].decode("utf-8", "ignore")
