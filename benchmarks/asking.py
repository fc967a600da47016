"""The same questions, asked of one index under any settings of searches, and what the answers are worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeVar

from benchmarks.comparison import Values
from benchmarks.judged import JudgedQuery
from benchmarks.passages import Lines, Passage, gain, lines_of
from benchmarks.search import service_over
from groove_daemon.config.settings import SearchSettings
from groove_daemon.evaluation.measures import documents_at_best_hit, ndcg
from groove_daemon.models.base import Embedder, PairScorer
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.scripts import Script, script_of
from groove_daemon.search import SearchCall, SearchService
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

T = TypeVar("T")

K = 5
DEFAULT = replace(SearchSettings(), rerank_by_default=False)

Change = Callable[[SearchSettings, Script], SearchSettings]
"""Other settings in place of the default ones, for queries of a script."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of a collection.

    `limit` is how many hits a judged query gets, whose documents count at their best one; a question made of a passage
    gets `K`.
    """

    name: str
    judged: Sequence[JudgedQuery]
    passages: Sequence[Passage]
    limit: int = 30

    @property
    def columns(self) -> tuple[str, str]:
        """The names of the two sets."""
        return self.name, f"passages: {self.name}"

    def some(self, count: int) -> "Questions":
        """At most `count` of each set, evenly spread, with as many hits as a slow stage can be given."""
        return Questions(self.name, _spread(self.judged, count), _spread(self.passages, count), limit=10)


class Asker:
    """Asks one index; what was asked under the same settings before is not asked again.

    Args:
        index: with all vectors.
        embedder: of the queries.
        workers: where legs run.
        scorer: the reranker, used where `rerank_by_default` is set; None for none.
    """

    def __init__(self, index: Index, embedder: Embedder, workers: Workers, scorer: PairScorer | None = None) -> None:
        self._index = index
        self._embedder = embedder
        self._workers = workers
        self._scorer = scorer
        self._services: dict[SearchSettings, SearchService] = {}
        self._found: dict[tuple[SearchSettings, str, int], Sequence[Lines]] = {}

    def values(self, questions: Questions, change: Change) -> Values:
        """nDCG@5 of every judged query and of every passage: the mean of the questions made of it.

        A passage counts once, since the questions made of one are not independent of each other.  Each kind of them is
        a set of its own besides.
        """
        judged = [
            ndcg(documents_at_best_hit([hit.path for hit in self._ask(query.text, questions.limit, change)]),
                 query.relevance, k=K)
            for query in questions.judged
        ]  # fmt: skip
        gains = [
            {kind: gain(passage.lines, self._ask(text, K, change), k=K) for kind, text in passage.questions.items()}
            for passage in questions.passages
        ]
        of_queries, of_passages = questions.columns
        by_kind = {f"{of_passages}, {kind}": one for kind, one in _by_kind(gains).items()}
        return {of_queries: judged, of_passages: [fmean(each.values()) for each in gains], **by_kind}

    def _ask(self, text: str, limit: int, change: Change) -> Sequence[Lines]:
        settings = change(DEFAULT, script_of(compile_query(text, limit=limit).positive_text))
        key = (settings, text, limit)
        if key not in self._found:
            answer = self._service(settings).search(SearchCall(text, limit=limit), lambda: False)
            if answer.degraded:
                raise SystemExit(f"{text!r} was not answered in full: {answer.degraded}")
            self._found[key] = [lines_of(hit.chunk) for hit in answer.hits]
        return self._found[key]

    def _service(self, settings: SearchSettings) -> SearchService:
        if settings not in self._services:
            self._services[settings] = service_over(
                self._index, self._embedder, self._workers, settings, roots={"notes": ""}, scorer=self._scorer
            )
        return self._services[settings]


def _by_kind(gains: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    kinds = dict.fromkeys(kind for each in gains for kind in each)
    return {kind: [each[kind] for each in gains if kind in each] for kind in kinds}


def _spread(items: Sequence[T], count: int) -> Sequence[T]:
    step = max(1.0, len(items) / count)
    return [items[int(place * step)] for place in range(min(count, len(items)))]
