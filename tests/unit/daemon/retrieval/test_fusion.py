"""Fusion by ranks and by values, and the flow from documents to chunks, by hand-worked numbers and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.retrieval.fusion import (
    candidates_by_document,
    flow_down,
    nearness,
    reciprocal_rank_fusion,
    spread_to_unit,
    text_or_blend,
)

RANKINGS = st.lists(
    st.tuples(st.lists(st.integers(1, 30), unique=True, max_size=20), st.floats(0.01, 10.0)), max_size=6
)


def test_reciprocal_rank_fusion_sums_over_the_legs() -> None:
    scores = reciprocal_rank_fusion([([1, 2], 1.0), ([2, 3], 1.0)], rrf_k=60)

    assert scores == pytest.approx({1: 1 / 61, 2: 1 / 62 + 1 / 61, 3: 1 / 62})


def test_reciprocal_rank_fusion_weighs_legs() -> None:
    assert reciprocal_rank_fusion([([7], 0.5), ([7], 2.0)], rrf_k=9)[7] == pytest.approx(0.5 / 10 + 2.0 / 10)


def test_reciprocal_rank_fusion_of_nothing_is_nothing() -> None:
    assert reciprocal_rank_fusion([([], 1.0), ([], 1.0)], rrf_k=60) == {}


@given(RANKINGS, st.randoms(), st.floats(1.0, 1000.0))
def test_reciprocal_rank_fusion_does_not_depend_on_the_order_of_legs(rankings, random, rrf_k) -> None:
    shuffled = list(rankings)
    random.shuffle(shuffled)

    assert reciprocal_rank_fusion(rankings, rrf_k=rrf_k) == reciprocal_rank_fusion(shuffled, rrf_k=rrf_k)


@given(RANKINGS)
def test_reciprocal_rank_fusion_is_a_union(rankings) -> None:
    fused = reciprocal_rank_fusion(rankings, rrf_k=60)

    assert set(fused) == {key for keys, _ in rankings for key in keys}
    assert all(score > 0 for score in fused.values())


def test_flow_down_damps_further_candidates_of_a_document() -> None:
    scores = flow_down(
        {1: 0.1, 2: 0.3, 3: 0.2, 9: 0.5}, {100: 0.6}, documents_of={1: 100, 2: 100, 3: 100, 9: 200}, best={100: 1}
    )

    assert scores == pytest.approx({2: 0.3 + 0.6, 3: 0.2 + 0.3, 1: 0.1 + 0.2, 9: 0.5})


def test_flow_down_lets_a_document_without_candidates_enter_by_its_best_chunk() -> None:
    scores = flow_down({1: 0.1}, {100: 0.2, 200: 0.4, 300: 0.9}, documents_of={1: 100}, best={100: 8, 200: 5})

    assert scores == pytest.approx({1: 0.3, 5: 0.4})


@pytest.mark.parametrize(("damping", "second"), [(0.0, 0.6), (1.0, 0.3), (2.0, 0.15)])
def test_flow_down_takes_the_damping(damping: float, second: float) -> None:
    scores = flow_down({1: 0.0, 2: 0.0}, {7: 0.6}, documents_of={1: 7, 2: 7}, best={}, damping=damping)

    assert scores == pytest.approx({1: 0.6, 2: second})


@given(
    st.dictionaries(st.integers(1, 20), st.floats(0, 1), max_size=12),
    st.dictionaries(st.integers(100, 104), st.floats(0, 1)),
)
def test_flow_down_never_lowers_a_score_and_keeps_the_order_within_a_document(chunk_scores, document_scores) -> None:
    documents_of = {chunk_id: 100 + chunk_id % 5 for chunk_id in chunk_scores}
    before = candidates_by_document(chunk_scores, documents_of)

    scores = flow_down(chunk_scores, document_scores, documents_of=documents_of, best={})

    assert all(scores[chunk_id] >= score for chunk_id, score in chunk_scores.items())
    for group in before.values():
        assert [scores[chunk_id] for chunk_id in group] == sorted((scores[i] for i in group), reverse=True)


def test_candidates_by_document_leaves_a_chunk_without_document_out() -> None:
    assert candidates_by_document({1: 0.5, 2: 0.9, 3: 0.9}, {1: 7, 3: 7}) == {7: [3, 1]}


def test_text_scores_are_spread_over_the_candidates() -> None:
    # bm25 of -4, -2.5 and -2, turned round: 1 - (4 - score) / 2.
    assert spread_to_unit({1: 4.0, 2: 2.5, 3: 2.0}) == {1: 1.0, 2: 0.25, 3: 0.0}


def test_one_or_equal_text_scores_are_full_scores() -> None:
    assert spread_to_unit({1: 0.3}) == {1: 1.0}
    assert spread_to_unit({1: 0.3, 2: 0.3}) == {1: 1.0, 2: 1.0}
    assert spread_to_unit({}) == {}


@pytest.mark.parametrize(
    ("cosine", "expected"), [(1.0, 1.0), (0.5, 0.5), (0.0, 1 - 2**0.5 / 2), (-1.0, 0.0), (1.000001, 1.0)]
)
def test_nearness_is_one_minus_half_the_distance(cosine: float, expected: float) -> None:
    # The distance of unit vectors is the root of 2 - 2 * cosine: 0, 1, root of 2, 2.
    assert nearness(cosine) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "vector", "expected"),
    [
        (0.5, 0.8, 0.71),  # 0.3 * 0.5 + 0.7 * 0.8
        (1.0, 0.5, 1.0),  # never below its text: 0.3 + 0.35 = 0.65
        (0.6, 0.0, 0.6),  # text alone counts in full
        (0.0, 0.8, 0.56),  # vector alone: 0.7 * 0.8; the worst text hit counts as none
        (0.0, 0.0, 0.0),
    ],
)
def test_text_and_vector_are_joined_by_value(text: float, vector: float, expected: float) -> None:
    assert text_or_blend(text, vector, text_weight=0.3, vector_weight=0.7) == pytest.approx(expected)
