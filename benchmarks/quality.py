"""How well rankings agree with what people judged: each leg alone, each set of legs fused.

A document counts at its best hit, among the first 30 hits.  Every collection is indexed anew with the default model and
settings; nothing here is tuned to them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import structlog

from benchmarks.first_index import index_fully, ready_model, working
from benchmarks.judged import COLLECTIONS, Judged, JudgedQuery
from benchmarks.search import service_over
from benchmarks.table import ABSENT, Report, Row, at_least, columns
from benchmarks.world import World, say, tempfile_folder
from groove_daemon.config.settings import CollectionSettings, SearchSettings, Settings
from groove_daemon.domain.ranking import Ranking
from groove_daemon.evaluation.measures import (
    bootstrap_interval,
    documents_at_best_hit,
    hit,
    ndcg,
    recall,
    reciprocal_rank,
)
from groove_daemon.models.base import Embedder
from groove_daemon.models.host import ModelHost
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.pipeline import LEG_SETS, LEGS, Parts
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.trace import StageSkipped, Trace
from groove_daemon.search import SearchCall
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

BAR, BAR_SET = 0.733, "obsidian-help"
LIMIT = 30

Ranker = Callable[[JudgedQuery], Sequence[str]]
Relevance = Mapping[str, float]

MEASURES: Mapping[str, Callable[[Sequence[str], Relevance], float]] = {
    "nDCG@5": lambda ranking, relevance: ndcg(ranking, relevance, k=5),
    "nDCG@10": lambda ranking, relevance: ndcg(ranking, relevance, k=10),
    "MRR": reciprocal_rank,
    "hit@1": lambda ranking, relevance: hit(ranking, relevance, k=1),
    "recall@10": lambda ranking, relevance: recall(ranking, relevance, k=10),
}


@dataclass(frozen=True, slots=True)
class Opened:
    """A judged collection with its index."""

    judged: Judged
    index: Index
    embedder: Embedder
    workers: Workers


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the signature of every part)
    """Index and judge every collection that is there."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    rows: list[Row] = []
    details: list[str] = []
    figures: dict[str, object] = {}
    host, _ = ready_model(world)
    workers = Workers("legs", threads=4, max_waiting=4)
    try:
        with tempfile_folder() as work:
            for name, read in COLLECTIONS.items():
                judged = read(work)
                if judged is None:
                    rows.append(Row(f"quality on {name}", "the data is not there", "", ABSENT))
                    continue
                say(f"quality: {name} ...")
                scores = _scores_of(judged, host, workers)
                rows += _rows(judged, scores)
                details += _details(judged, scores)
                figures[name] = {ranker: _means(values) for ranker, values in scores.items()}
    finally:
        workers.close()
        host.close()
    return Report(tuple(rows), tuple(details), figures)


Scores = dict[str, list[dict[str, float]]]
"""For each ranker the measures of each query, in the order of the queries; `found` counts documents."""


def _scores_of(judged: Judged, host: ModelHost, workers: Workers) -> Scores:
    settings = Settings(collections=(CollectionSettings(name="notes", path=str(judged.notes)),))
    with working(settings, host) as (index, late):
        index_fully(late)
        opened = Opened(judged, index, host.embedder, workers)
        return {name: _judge(ranker, judged.queries) for name, ranker in _rankers(opened).items()}


def _rankers(opened: Opened) -> dict[str, Ranker]:
    default = SearchSettings()
    sets = {f"set {name}": _as_answered(opened, replace(default, legs=name)) for name in LEG_SETS}
    legs = {f"leg {name}": _leg_alone(opened, name) for name in LEGS}
    return {"default": _as_answered(opened, default), **sets, **legs}


def _as_answered(opened: Opened, settings: SearchSettings) -> Ranker:
    """What the search service answers."""
    roots = {"notes": str(opened.judged.notes)}
    service = service_over(opened.index, opened.embedder, opened.workers, settings, roots=roots)

    def rank(query: JudgedQuery) -> Sequence[str]:
        answer = service.search(SearchCall(query.text, limit=LIMIT), lambda: False)
        if answer.degraded:
            raise SystemExit(f"{query.text!r} was not answered in full: {answer.degraded}")
        return [hit.chunk.document.path for hit in answer.hits]

    return rank


def _leg_alone(opened: Opened, name: str) -> Ranker:
    """One leg's own ranking, cut at the limit; nothing for a query that the leg has nothing to do for."""

    def rank(query: JudgedQuery) -> Sequence[str]:
        compiled = compile_query(query.text, limit=LIMIT)
        reader = opened.index.reader()
        with reader.snapshot():
            probe = Probe(compiled, reader=reader, vectors=opened.index.vectors, embedder=lambda: opened.embedder)
            leg = LEGS[name](Parts(settings=SearchSettings(weights=((name, 1.0),)), probe=probe), 1.0)
            ranking: Ranking = ()
            try:
                ranking = leg.retriever.retrieve(compiled, Trace())[:LIMIT]
            except StageSkipped as skip:
                ranking = () if type(skip) is StageSkipped else _refuse(skip)
            chunks = reader.chunks([candidate.chunk_id for candidate in ranking])
            return [chunks[candidate.chunk_id].document.path for candidate in ranking]

    return rank


def _refuse(failure: Exception) -> Ranking:
    raise SystemExit(f"a leg failed: {failure}")


def _judge(ranker: Ranker, queries: Sequence[JudgedQuery]) -> list[dict[str, float]]:
    judged = []
    for query in queries:
        documents = documents_at_best_hit(ranker(query))
        measured = {name: measure(documents, query.relevance) for name, measure in MEASURES.items()}
        judged.append({**measured, "found": float(len(documents))})
    return judged


def _means(scores: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: fmean(score[name] for score in scores) for name in MEASURES}


def _rows(judged: Judged, scores: Scores) -> list[Row]:
    key = "nDCG@5" if judged.name == BAR_SET else "nDCG@10"
    values = [score[key] for score in scores["default"]]
    low, high = bootstrap_interval(values)
    measured = f"{fmean(values):.3f} ({low:.3f} to {high:.3f})"
    what = f"quality on {judged.name}, {len(values)} queries, default profile, {key}"
    if judged.name == BAR_SET:
        return [Row(what, measured, f">= {BAR}", at_least(fmean(values), BAR))]
    return [Row(what, measured)]


def _details(judged: Judged, scores: Scores) -> list[str]:
    categories = sorted({query.category for query in judged.queries})
    head = ("ranking", "answered", *MEASURES, "95 % of nDCG@5", *(f"{category} nDCG@5" for category in categories))
    body: list[tuple[Any, ...]] = []
    for name, values in scores.items():
        low, high = bootstrap_interval([score["nDCG@5"] for score in values])
        means = [f"{value:.3f}" for value in _means(values).values()]
        answered = str(sum(score["found"] > 0 for score in values))
        body.append(
            (name, answered, *means, f"{low:.3f}-{high:.3f}", *_by_category(judged, values, categories, "nDCG@5"))
        )
    lines = [f"{judged.name}, {len(judged.queries)} queries", *(f"  {line}" for line in columns([head, *body]))]
    if len(categories) > 1:
        table = [("default by category", "n", *MEASURES)]
        for category in categories:
            count = sum(query.category == category for query in judged.queries)
            cells = [_by_category(judged, scores["default"], [category], measure)[0] for measure in MEASURES]
            table.append((category, str(count), *cells))
        lines += [f"  {line}" for line in columns(table)]
    return lines


def _by_category(
    judged: Judged, values: Sequence[dict[str, float]], categories: Sequence[str], measure: str
) -> list[str]:
    cells = []
    for category in categories:
        own = [
            value[measure] for value, query in zip(values, judged.queries, strict=True) if query.category == category
        ]
        cells.append(f"{fmean(own):.3f}")
    return cells
