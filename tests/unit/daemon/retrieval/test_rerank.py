"""Reranking: order and scores by the model, and everything that may keep it from working."""

import time

import pytest

from groove_daemon.domain.ranking import Ranking
from groove_daemon.errors import Cancelled, ModelLoading, ModelUnavailable
from groove_daemon.retrieval.costs import Costs
from groove_daemon.retrieval.rerank import BATCH, Rerank, Reranking, ScoreCache, decide, pair_text, window
from groove_daemon.retrieval.trace import OutOfBudget, StageFailed, StageSkipped, Trace
from support.retrieval import FixedScorer, ids, make_chunk, make_query, make_ranking

SCORER = FixedScorer({})
OWLS = make_query("owls")


def ranking_of(count: int) -> Ranking:
    return make_ranking(*((number, 1.0 / number) for number in range(1, count + 1)))


def texts(count: int):
    return {number: make_chunk(number, f"text {number}.") for number in range(1, count + 1)}


def make_rerank(scorer, count: int = 3, cache: ScoreCache | None = None) -> Rerank:
    chunks = texts(count)
    return Rerank(
        Reranking(scorer),
        lambda chunk_ids: {chunk_id: chunks[chunk_id] for chunk_id in chunk_ids if chunk_id in chunks},
        cache or ScoreCache(),
    )


class SlowScorer(FixedScorer):
    """Takes its time for each batch."""

    def __init__(self, seconds: float, after=lambda: None) -> None:
        super().__init__({"text 2.": 5.0})
        self.seconds = seconds
        self.after = after

    def score(self, query, passages):
        time.sleep(self.seconds)
        self.after()
        return super().score(query, passages)


def test_the_raw_score_of_the_model_orders_and_is_shown() -> None:
    scorer = FixedScorer({"text 1.": -4.25, "text 2.": -8.0, "text 3.": 6.5})

    ranking = make_rerank(scorer).refine(OWLS, ranking_of(3), Trace())

    assert [(candidate.chunk_id, candidate.score) for candidate in ranking] == [(3, 6.5), (1, -4.25), (2, -8.0)]
    assert [evidence.stage for evidence in ranking[0].evidence] == ["source", "rerank"]


def test_the_model_reads_the_query_without_exclusions_and_the_breadcrumb_before_the_content() -> None:
    query = make_query("owls -barn")
    chunk = make_chunk(1, "they hunt", context="Birds > Owls")

    assert pair_text(chunk, query) == "Birds > Owls\n\nthey hunt"
    assert pair_text(make_chunk(1, "they hunt"), query) == "they hunt"

    scorer = FixedScorer({})
    make_rerank(scorer).refine(query, ranking_of(2), Trace())
    assert [query for query, _ in scorer.asked] == ["owls"]


def test_a_long_chunk_is_cut_around_its_matches() -> None:
    content = "x " * 2000 + "the owls of the valley " * 5 + "y " * 2000

    cut = window(content, OWLS, size=400)

    assert cut.count("owls") == 5
    assert len(cut.encode()) <= 400
    assert window("short", OWLS) == "short"
    assert window("é" * 300, OWLS, size=401) == "é" * 200


def test_pairs_go_in_batches_and_are_scored_once() -> None:
    cache, scorer = ScoreCache(), FixedScorer({"text 2.": 1.0})
    first = make_rerank(scorer, 20, cache).refine(OWLS, ranking_of(20), Trace())
    sizes = [len(passages) for _, passages in scorer.asked]

    again = make_rerank(scorer, 20, cache).refine(OWLS, ranking_of(20), Trace())

    assert sizes == [BATCH, BATCH, 4]
    assert len(scorer.asked) == 3
    assert again == first


def test_the_cache_tells_queries_scorers_and_texts_apart_and_forgets_the_oldest() -> None:
    cache = ScoreCache(capacity=2)
    cache.put({("a", "q", b"1"): 1.0, ("a", "q", b"2"): 2.0})
    cache.known([("a", "q", b"1")])
    cache.put({("b", "q", b"1"): 3.0})

    assert cache.known([("a", "q", b"1"), ("a", "q", b"2"), ("b", "q", b"1"), ("a", "r", b"1")]) == {
        ("a", "q", b"1"): 1.0,
        ("b", "q", b"1"): 3.0,
    }


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_fails_the_stage(bad: float) -> None:
    with pytest.raises(StageFailed, match="no usable score"):
        make_rerank(FixedScorer({"text 2.": bad})).refine(OWLS, ranking_of(3), Trace())


def test_a_model_that_fails_fails_the_stage_with_its_reason() -> None:
    class Broken(FixedScorer):
        def score(self, query, passages):
            raise ModelUnavailable("the weights are gone")

    with pytest.raises(StageFailed, match="the weights are gone"):
        make_rerank(Broken({})).refine(OWLS, ranking_of(3), Trace())


def test_cancelling_stops_between_two_batches() -> None:
    cancelled: list[bool] = []
    scorer = SlowScorer(0.0, after=lambda: cancelled.append(True))

    with pytest.raises(Cancelled):
        make_rerank(scorer, 20).refine(OWLS, ranking_of(20), Trace(is_cancelled=lambda: bool(cancelled)))

    assert len(scorer.asked) == 1


def test_the_depth_shrinks_to_the_budget_when_enough_was_scored() -> None:
    scorer = SlowScorer(0.05)
    trace = Trace(budget_end=time.monotonic() + 0.12)

    ranking = trace.run(
        "rerank",
        lambda: make_rerank(scorer, 80).refine(OWLS, ranking_of(80), trace),
        size_in=80,
        fallback=(),
    )

    assert ids(ranking)[:2] == [2, 1]
    assert len(ranking) == BATCH * len(scorer.asked) < 80
    assert trace.steps[0].reason == f"the first {len(ranking)} of 80 candidates, for lack of time"


def test_too_few_scored_candidates_leave_the_ranking_as_it_was() -> None:
    trace = Trace(budget_end=time.monotonic() + 0.02)

    with pytest.raises(OutOfBudget):
        make_rerank(SlowScorer(0.03), 80).refine(make_query("owls", limit=20), ranking_of(80), trace)


def test_what_the_deadline_does_not_allow_is_not_begun() -> None:
    costs = Costs()
    costs.observe("rerank batch", BATCH, 10.0)
    trace = Trace(deadline=time.monotonic() + 5.0, costs=costs)

    with pytest.raises(StageFailed, match="out of time"):
        make_rerank(SCORER, 20).refine(OWLS, ranking_of(20), trace)


def test_candidates_whose_chunk_is_gone_are_left_out() -> None:
    assert ids(make_rerank(FixedScorer({}), 2).refine(OWLS, ranking_of(3), Trace())) == [1, 2]


def test_nothing_is_done_when_it_is_off_or_there_is_nothing_to_order() -> None:
    off = Rerank(Reranking(), lambda chunk_ids: {}, ScoreCache())

    with pytest.raises(StageSkipped, match="off"):
        off.refine(OWLS, ranking_of(3), Trace())
    with pytest.raises(StageSkipped, match="fewer than two"):
        make_rerank(SCORER).refine(OWLS, ranking_of(1), Trace())


def _none():
    return None


def _loading():
    raise ModelLoading("the reranker is being loaded")


@pytest.mark.parametrize(
    ("asked", "by_default", "scorer", "expected"),
    [
        (None, True, lambda: SCORER, Reranking(SCORER)),
        (None, False, lambda: SCORER, Reranking()),
        (True, False, lambda: SCORER, Reranking(SCORER)),
        (False, True, lambda: SCORER, Reranking()),
        (None, True, _none, Reranking()),
        (True, True, _none, Reranking(problem="no reranker is set")),
        (True, True, _loading, Reranking(problem="the reranker is being loaded")),
        (None, True, _loading, Reranking(problem="the reranker is being loaded")),
        (None, False, _loading, Reranking()),
    ],
)
def test_the_call_decides_then_the_configuration(asked, by_default, scorer, expected) -> None:
    assert decide(asked, by_default=by_default, scorer=scorer) == expected
