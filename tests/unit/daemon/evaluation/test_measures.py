import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.evaluation.measures import (
    bootstrap_interval,
    documents_at_best_hit,
    hit,
    ndcg,
    paired_difference,
    recall,
    reciprocal_rank,
)

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)
GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.5, 1.0, 3.0]), max_size=6)


def test_ndcg_is_one_for_the_ideal_order():
    assert ndcg(["a", "b", "x"], {"a": 1.0, "b": 0.5}, k=5) == pytest.approx(1.0)


def test_ndcg_counts_grades_and_positions():
    expected = (0.5 / math.log2(2) + 1.0 / math.log2(4)) / (1.0 / math.log2(2) + 0.5 / math.log2(3))

    assert ndcg(["b", "x", "a"], {"a": 1.0, "b": 0.5}, k=5) == pytest.approx(expected)


def test_ndcg_cuts_ranking_and_ideal_at_k():
    assert ndcg(["x", "a"], {"a": 1.0}, k=1) == 0.0
    assert ndcg(["a"], {"a": 1.0, "b": 1.0}, k=1) == pytest.approx(1.0)


def test_measures_are_zero_when_nothing_is_relevant():
    assert ndcg(["a"], {}, k=5) == 0.0
    assert recall(["a"], {}, k=5) == 0.0
    assert reciprocal_rank(["a"], {}) == 0.0
    assert hit(["a"], {}, k=1) == 0.0


def test_reciprocal_rank_looks_at_the_first_relevant_one():
    assert reciprocal_rank(["x", "y", "b", "a"], {"a": 1.0, "b": 0.5}) == pytest.approx(1 / 3)


def test_recall_counts_distinct_relevant_documents_in_the_first_k():
    assert recall(["a", "x", "b"], {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, k=2) == pytest.approx(0.25)
    assert recall(["a", "x", "b"], {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, k=3) == pytest.approx(0.5)


def test_documents_stand_at_their_best_chunk():
    assert documents_at_best_hit(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_bootstrap_interval_is_a_point_for_constant_values():
    assert bootstrap_interval([0.5] * 10) == (0.5, 0.5)


def test_bootstrap_interval_holds_the_mean_and_is_repeatable():
    values = [0.0, 1.0] * 20

    low, high = bootstrap_interval(values)

    assert low < 0.5 < high
    assert (low, high) == bootstrap_interval(values)


def test_paired_difference_is_a_point_when_every_query_gains_the_same():
    """However far apart the queries are, a quarter for each is a quarter in every resample."""
    assert paired_difference([0.25, 1.0, 0.5], [0.0, 0.75, 0.25]) == (0.25, 0.25, 0.25)


def test_paired_difference_of_two_queries():
    """One query gains 1, the other nothing: resamples give 0, 1/2, 1/2 and 1, a quarter of all each.

    So the middle half of them, and any interval narrower than that, is 1/2; an interval of 95 % reaches from 0 to 1.
    """
    assert paired_difference([1.0, 0.5], [0.0, 0.5], level=0.4) == (0.5, 0.5, 0.5)
    assert paired_difference([1.0, 0.5], [0.0, 0.5]) == (0.5, 0.0, 1.0)


def test_difference_is_clear_when_its_interval_leaves_zero_out():
    """Of ten queries nine lose a half: a resample loses nothing only when it draws the tenth each time."""
    lost = paired_difference([0.5] * 9 + [1.0], [1.0] * 10)

    assert lost.mean == pytest.approx(-0.45)
    assert -0.5 <= lost.low < lost.mean < lost.high < 0.0
    assert lost.is_clear
    assert not paired_difference([1.0, 0.5], [0.0, 0.5]).is_clear
    assert not paired_difference([0.5], [0.5]).is_clear


def test_paired_difference_refuses_rankings_of_different_queries():
    with pytest.raises(ValueError, match="zip"):
        paired_difference([1.0, 0.5], [1.0])


@given(NAMES, GRADES, st.integers(1, 10))
def test_measures_stay_between_zero_and_one(ranking, relevance, k):
    for value in (
        ndcg(ranking, relevance, k=k),
        recall(ranking, relevance, k=k),
        hit(ranking, relevance, k=k),
        reciprocal_rank(ranking, relevance),
    ):
        assert 0.0 <= value <= 1.0 + 1e-12


@given(NAMES, GRADES, st.integers(1, 9))
def test_recall_never_falls_when_k_grows(ranking, relevance, k):
    assert recall(ranking, relevance, k=k) <= recall(ranking, relevance, k=k + 1)
