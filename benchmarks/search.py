"""A search inside the daemon's process against the parts that it cannot do without, each measured alone.

The parts: embedding the query, one pass over the matrix with the choice of the best, and two full-text statements.
These are the ones that the search itself makes, words over chunks and words over documents; beside them stands the pair
that a search with trigrams for every word would make, which costs more.  Everything sees the same index, the same model
and the same queries, in turns; the cache of query vectors is off.
"""

import cProfile
import pstats
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from statistics import median
from typing import TypeVar

import numpy as np
import structlog

from benchmarks.figures import interval_of_ratio, ms, percentile, spread, turned
from benchmarks.table import Report, Row, at_most, columns
from benchmarks.world import World, say
from groove_daemon.config.settings import ModelSettings, SearchSettings
from groove_daemon.domain.document import StoredChunk
from groove_daemon.domain.query import Query
from groove_daemon.models.base import Embedder, Matrix, PairScorer, Vector
from groove_daemon.models.host import ModelHost
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.sparse import split_common
from groove_daemon.retrieval.words import content_words
from groove_daemon.search import SearchCall, SearchService, SearchSetup, Sync
from groove_daemon.store import lexical
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

Result = TypeVar("Result")

BAR = 1.5
QUESTIONS = 300
LIMIT, POOL = 10, 50
_WEIGHTS = (2.0, 1.0, 1.0)
_PARTS: Mapping[str, Sequence[str]] = {
    "its parts alone": ("embed", "scan", "chunk words", "words"),
    "the parts with trigrams for every word": ("embed", "scan", "trigram", "words"),
}


class AlwaysFresh:
    """Freshness that costs nothing, since it is measured elsewhere."""

    def sync(self, collections: Sequence[str], *, deadline: float, is_cancelled: Callable[[], bool]) -> Sync:  # noqa: ARG002
        return Sync(True)

    def unverified(self, collections: Sequence[str]) -> Sync:  # noqa: ARG002
        return Sync(True)

    def changed(self, chunks: Sequence[StoredChunk]) -> Mapping[int, bool]:  # noqa: ARG002
        return {}


def service_over(
    index: Index,
    embedder: Embedder,
    workers: Workers,
    settings: SearchSettings | None = None,
    *,
    roots: Mapping[str, str],
    scorer: PairScorer | None = None,
) -> SearchService:
    """Searches of an index as the daemon makes them, always fresh, with two minutes for each."""
    setup = SearchSetup(settings or SearchSettings(), roots, 0.5, 120.0)
    return SearchService(
        setup=lambda: setup, index=index, embedder=lambda: embedder, freshness=AlwaysFresh(), workers=workers,
        scorer=lambda: scorer,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bench:
    """An open index with a model and a search service, as they are in the daemon."""

    index: Index
    embedder: Embedder
    service: SearchService
    workers: Workers

    def search(self, text: str) -> float:
        """Seconds that one search takes."""
        began = time.perf_counter()
        result = self.service.search(SearchCall(text, limit=LIMIT, freshness="none"), lambda: False)
        took = time.perf_counter() - began
        if result.mode != "hybrid" or result.degraded:
            raise SystemExit(f"the search was not hybrid: {result.mode} {result.degraded}")
        return took


@contextmanager
def bench(world: World, *, search: SearchSettings | None = None) -> Iterator[Bench]:
    """A copy of the kept index, opened in this process with the default model."""
    quiet = structlog.make_filtering_bound_logger(40)
    structlog.configure(wrapper_class=quiet)
    models = ModelHost(ModelSettings(query_cache=0), cache_dir=world.cache / "groove")
    with world.daemon() as daemon:
        index = Index.open(daemon.index)
        workers = Workers("legs", threads=4, max_waiting=4)
        try:
            models.start()
            if not models.wait_ready(300):
                raise SystemExit(f"the model cannot be used: {models.state().reason}")
            service = service_over(index, models.embedder, workers, search, roots={"notes": str(world.notes)})
            yield Bench(index, models.embedder, service, workers)
        finally:
            workers.close()
            models.close()
            index.close()


class PartsAlone:
    """The work that no hybrid search can do without, piece by piece."""

    def __init__(self, made: Bench) -> None:
        self._made = made
        self._reader = made.index.reader()

    def take(self, text: str) -> dict[str, float]:
        """Seconds of each part for one query."""
        query = compile_query(text, limit=LIMIT)
        took: dict[str, float] = {}
        vector = self._timed(took, "embed", lambda: self._made.embedder.embed_query(query.positive_text))
        matrix = self._made.index.vectors.view().matrix
        if matrix is None:
            raise SystemExit("the vectors are not in memory")
        self._timed(took, "scan", lambda: _nearest(matrix, vector))
        self._timed(took, "trigram", self._statement("chunks_trigram", lexical.phrase_expression(self._phrases(query))))
        words = lexical.word_expression(content_words(query.words))
        self._timed(took, "chunk words", self._statement("chunks_words", words))
        self._timed(took, "words", self._statement("documents_words", words))
        return took

    def _phrases(self, query: Query) -> Sequence[str]:
        """Neither function words nor what most chunks hold: a baseline with more phrases would flatter the product."""
        if len(query.phrases) < 2:
            return query.phrases
        telling = content_words(query.phrases)
        return split_common(telling, self._reader.phrase_frequencies(telling).get)[0]

    def _statement(self, table: lexical.Table, expression: str | None) -> Callable[[], object]:
        if expression is None:
            return lambda: None
        return lambda: lexical.ranked_rows(self._reader.database, table, expression, weights=_WEIGHTS, limit=POOL)

    @staticmethod
    def _timed(took: dict[str, float], name: str, work: Callable[[], Result]) -> Result:
        began = time.perf_counter()
        result = work()
        took[name] = time.perf_counter() - began
        return result


def _nearest(matrix: Matrix, vector: Vector) -> object:
    # On the calling thread, as in the daemon: a product over several threads leaves them spinning for a while.
    scores = np.vecdot(matrix, vector)
    best = np.argpartition(scores, len(scores) - POOL)[-POOL:]
    return best[np.argsort(-scores[best])]


def measure(world: World, *, rounds: int) -> Report:
    """Every query once a round, searched and taken apart in turns; each query counts with its median."""
    passes = max(2, rounds // 3)
    with bench(world) as made:
        say("search: asking ...")
        alone = PartsAlone(made)
        questions = world.questions(QUESTIONS, seed=13)
        for text in questions[:30]:
            made.search(text)
            alone.take(text)
        searched: dict[str, list[float]] = {text: [] for text in questions}
        parts: dict[str, list[dict[str, float]]] = {text: [] for text in questions}
        for number in range(passes):
            for place, text in enumerate(questions):
                for side in turned(("search", "parts"), place + number):
                    if side == "search":
                        searched[text].append(made.search(text))
                    else:
                        parts[text].append(alone.take(text))
        steps = _steps(made, questions)
        profile = _profile(made, questions)
    whole = [median(searched[text]) for text in questions]
    names = list(parts[questions[0]][0])
    single = {name: [median(take[name] for take in parts[text]) for text in questions] for name in names}
    inside = _in_a_daemon(world, questions)
    rows: list[Row] = []
    ratios: list[str] = []
    figures: dict[str, object] = {"search_s": whole, "parts_s": single, "daemon_s": inside}
    for what, chosen in _PARTS.items():
        sums = [sum(single[name][place] for name in chosen) for place in range(len(questions))]
        ratio = median(whole) / median(sums)
        low, high = interval_of_ratio(whole, sums)
        measured = f"{ratio:.2f}x ({ms(median(whole))} / {ms(median(sums))})"
        rows.append(Row(f"search in the daemon, hybrid, limit 10, p50 / {what}", measured, f"<= {BAR}x",
                        at_most(ratio, BAR)))  # fmt: skip
        ratios += [f"{what}: ratio {ratio:.2f} (95 % {low:.2f} to {high:.2f})", f"  sum        {spread(sums)}"]
        figures[what] = {"ratio": ratio, "interval": (low, high)}
    details = (
        f"{len(questions)} queries, each the median of {passes}",
        f"search       {spread(whole)}",
        *ratios,
        *(f"  {name:<11} {spread(values)}" for name, values in single.items()),
        f"in a real daemon, as told in its answers: {spread(inside)}",
        "stages of a search (they overlap: dense and title run beside full text):",
        *steps,
        *profile,
    )
    return Report(tuple(rows), details, figures)


def _steps(made: Bench, questions: Sequence[str]) -> list[str]:
    taken: dict[str, list[float]] = {}
    for text in questions:
        call = SearchCall(text, limit=LIMIT, freshness="none", explain=True)
        result = made.service.search(call, lambda: False)
        for step in result.steps:
            if step.status == "ran":
                taken.setdefault(step.stage, []).append(step.took_ms / 1000)
        taken.setdefault("all", []).append(result.took_ms / 1000)
    rows = [
        (f"  {stage}", f"p50 {ms(median(values))}", f"p95 {ms(percentile(values, 0.95))}", f"n {len(values)}")
        for stage, values in taken.items()
    ]
    return columns(rows)


def _profile(made: Bench, questions: Sequence[str]) -> list[str]:
    """The functions of the calling thread with most time of their own."""
    profile = cProfile.Profile()
    profile.enable()
    for text in questions[:200]:
        made.search(text)
    profile.disable()
    out = StringIO()
    stats = pstats.Stats(profile, stream=out)
    stats.strip_dirs().sort_stats("tottime").print_stats(14)
    lines = out.getvalue().splitlines()
    start = next(number for number, line in enumerate(lines) if "ncalls" in line)
    return [
        "profile of the calling thread, 200 searches (slower than without it):",
        *(f"  {line}" for line in lines[start : start + 15]),
    ]


def _in_a_daemon(world: World, questions: Sequence[str]) -> list[float]:
    with world.daemon(settings="[models]\nquery_cache = 0\n") as daemon:
        daemon.start()
        with daemon.client() as client:
            for text in questions[:30]:
                client.search(text, limit=LIMIT, freshness="none")
            return [client.search(text, limit=LIMIT, freshness="none").took_ms / 1000 for text in questions]
