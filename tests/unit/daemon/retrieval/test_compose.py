"""Fusion and chain: what runs, what is skipped, what is recorded."""

import threading

import pytest

from groove_daemon.domain.ranking import Evidence
from groove_daemon.errors import Cancelled, DeadlineExceeded, StoreCorrupt
from groove_daemon.retrieval.compose import Chain, Fusion, Leg, Off
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.trace import StageFailed, StageSkipped, Trace
from groove_daemon.retrieval.truncate import Truncate
from groove_daemon.workers import Workers
from support.retrieval import RaisingStage, SourceRetriever, UniformRetriever, ids, make_query

DOCUMENTS = {1: 10, 2: 10, 3: 10, 4: 20, 5: 30}


def documents_of(chunk_ids):
    return {chunk_id: DOCUMENTS[chunk_id] for chunk_id in chunk_ids if chunk_id in DOCUMENTS}


def fusion(*legs: Leg, **options: object) -> Fusion:
    return Fusion("rrf", legs, options.pop("depths", Depths()), documents_of, **options)


def leg(name: str, *chunk_ids: int, **options: object) -> Leg:
    return Leg(UniformRetriever(name, chunk_ids), **options)


@pytest.fixture
def workers():
    pool = Workers("legs", threads=2, max_waiting=2)
    yield pool
    pool.close()


def test_fusion_ranks_the_union_of_its_legs() -> None:
    ranking = fusion(leg("a", 1, 2), leg("b", 2, 3)).retrieve(make_query(), Trace())

    assert ids(ranking) == [2, 1, 3]
    assert ranking[0].score == pytest.approx(1 / 61 + 1 / 62)


def test_fusion_keeps_the_evidence_of_each_leg_and_adds_its_own() -> None:
    ranking = fusion(leg("a", 1, 2), leg("b", 2)).retrieve(make_query(), Trace())

    assert ranking[0].evidence == (
        Evidence("a", 2, 1.0),
        Evidence("b", 1, 1.0),
        Evidence("rrf", 1, ranking[0].score),
    )


def test_fusion_breaks_ties_by_chunk_id() -> None:
    assert ids(fusion(leg("a", 5, 1), leg("b", 1, 5)).retrieve(make_query(), Trace())) == [1, 5]


def test_fusion_cuts_to_the_limit_unless_later_stages_want_more() -> None:
    legs = (leg("a", 1, 2, 3, 4, 5),)
    query = make_query(limit=2)

    assert len(fusion(*legs).retrieve(query, Trace())) == 2
    assert len(fusion(*legs, depths=Depths(reranking=True)).retrieve(query, Trace())) == 5


def test_fusion_lets_documents_lift_their_candidates() -> None:
    ranking = fusion(leg("words", 4, 2), leg("title", 1, 5, whole_document=True, weight=2.0)).retrieve(
        make_query(), Trace()
    )

    scores = {candidate.chunk_id: candidate.score for candidate in ranking}
    assert scores == pytest.approx({4: 1 / 61, 2: 1 / 62 + 2 / 61, 5: 2 / 62})
    assert ids(ranking) == [2, 5, 4]


def test_fusion_gives_candidates_the_evidence_on_their_document() -> None:
    ranking = fusion(leg("words", 2, 3), leg("title", 1, whole_document=True)).retrieve(make_query(), Trace())

    assert [[evidence.stage for evidence in candidate.evidence] for candidate in ranking] == [
        ["words", "title", "rrf"],
        ["words", "title", "rrf"],
    ]


def test_fusion_gives_the_weight_of_a_leg_that_found_nothing_to_its_heir() -> None:
    words = Leg(UniformRetriever("words", ()), weight=1.0, whole_document=True, heir="trigram")

    alone = fusion(leg("trigram", 1, weight=0.5), words).retrieve(make_query(), Trace())
    beside = fusion(leg("trigram", 1, weight=0.5), leg("words", 4, heir="trigram")).retrieve(make_query(), Trace())

    assert [candidate.score for candidate in alone] == pytest.approx([1.5 / 61])
    assert [candidate.score for candidate in beside] == pytest.approx([1 / 61, 0.5 / 61])


def test_an_heir_takes_over_nothing_while_one_of_those_before_it_finds_something() -> None:
    silent = Leg(UniformRetriever("all_words", ()), weight=2.0, heir="trigram")
    words = Leg(UniformRetriever("words", ()), weight=1.0, heir="trigram")

    both = fusion(leg("trigram", 1, weight=0.5), silent, words).retrieve(make_query(), Trace())
    one = fusion(leg("trigram", 1, weight=0.5), silent, leg("words", 4, heir="trigram")).retrieve(make_query(), Trace())

    assert [candidate.score for candidate in both] == pytest.approx([3.5 / 61])
    assert [candidate.score for candidate in one] == pytest.approx([1 / 61, 0.5 / 61])


def test_fusion_ignores_a_chunk_whose_document_vanished_in_document_legs() -> None:
    ranking = fusion(leg("words", 99, 2), leg("title", 98, 4, whole_document=True)).retrieve(make_query(), Trace())

    assert ids(ranking) == [4, 99, 2]


@pytest.mark.parametrize(("error", "status"), [(StageSkipped("off"), "skipped"), (StageFailed("no model"), "failed")])
def test_fusion_counts_a_leg_that_cannot_run_as_empty(error: Exception, status: str) -> None:
    trace = Trace()

    ranking = fusion(leg("a", 1), Leg(RaisingStage("b", error))).retrieve(make_query(), trace)

    assert ids(ranking) == [1]
    assert [(step.stage, step.status, step.reason) for step in trace.steps] == [
        ("a", "ran", ""),
        ("b", status, str(error)),
        ("rrf", "ran", ""),
    ]


def test_fusion_gives_the_same_with_and_without_a_pool(workers: Workers) -> None:
    legs = (leg("a", 1, 2), leg("b", 2, 4, pooled=True), leg("c", 5, whole_document=True, pooled=True))

    beside = fusion(*legs, workers=workers).retrieve(make_query(), Trace())

    assert beside == fusion(*legs).retrieve(make_query(), Trace())


def test_fusion_runs_pooled_legs_beside_the_others(workers: Workers) -> None:
    """Each leg waits for the other: one after the other they would never end."""
    meeting = threading.Barrier(2, timeout=10)

    class Meets:
        def __init__(self, name: str) -> None:
            self.name = name

        def retrieve(self, query, trace):
            meeting.wait()
            return UniformRetriever(self.name, (1,)).retrieve(query, trace)

    ranking = fusion(Leg(Meets("a")), Leg(Meets("b"), pooled=True), workers=workers).retrieve(make_query(), Trace())

    assert ids(ranking) == [1]


def test_fusion_runs_everything_itself_when_the_pool_is_full() -> None:
    pool = Workers("legs", threads=1, max_waiting=0)

    assert ids(fusion(leg("a", 1, pooled=True), workers=pool).retrieve(make_query(), Trace())) == [1]


@pytest.mark.parametrize("pooled", [False, True])
def test_fusion_passes_other_errors_on(workers: Workers, pooled: bool) -> None:
    broken = Leg(RaisingStage("b", StoreCorrupt("broken")), pooled=pooled)

    with pytest.raises(StoreCorrupt):
        fusion(leg("a", 1), broken, workers=workers).retrieve(make_query(), Trace())


def test_chain_refines_in_order() -> None:
    chain = Chain("notes", UniformRetriever("a", (1, 2, 3)), (Off("rerank"), Truncate()))
    trace = Trace()

    ranking = chain.retrieve(make_query(limit=2), trace)

    assert ids(ranking) == [1, 2]
    assert [(step.stage, step.status, step.reason, step.size_in, step.size_out) for step in trace.steps] == [
        ("rerank", "skipped", "off", 3, 3),
        ("truncate", "ran", "", 3, 2),
    ]


def test_chain_goes_on_without_a_refiner_that_fails() -> None:
    chain = Chain("notes", UniformRetriever("a", (1,)), (RaisingStage("rerank", StageFailed("broken")), Truncate()))
    trace = Trace()

    assert ids(chain.retrieve(make_query(), trace)) == [1]
    assert trace.steps[0].status == "failed"


def test_a_cancelled_query_stops_before_the_next_stage() -> None:
    with pytest.raises(Cancelled):
        fusion(leg("a", 1)).retrieve(make_query(), Trace(is_cancelled=lambda: True))


def test_a_query_past_its_deadline_stops_before_the_next_stage() -> None:
    with pytest.raises(DeadlineExceeded):
        fusion(leg("a", 1)).retrieve(make_query(), Trace(deadline=0.0))


def test_pipelines_compare_by_value_and_print_their_stages() -> None:
    def build() -> Chain:
        return Chain("notes", fusion(leg("a", 1)), (Off("rerank"), Truncate()))

    assert build() == build()
    assert build() != Chain("notes", fusion(leg("a", 2)), (Off("rerank"), Truncate()))
    assert "UniformRetriever(name='a', chunk_ids=(1,))" in repr(build())


def test_source_retriever_knows_only_its_queries() -> None:
    source = SourceRetriever("s", {"owl": ((1, 0.5),)})

    assert [ids(source.retrieve(make_query(text), Trace())) for text in ("owl", "gull")] == [[1], []]
