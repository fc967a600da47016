"""Emptiness, age, source, use and a least score, by hand-worked numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.retrieval.trace import StageSkipped, Trace
from groove_daemon.retrieval.truncate import Truncate
from groove_daemon.retrieval.weighing import ContentFree, Factor, MinScore, access_boost, decay, is_content_free
from support.retrieval import ids, make_chunk, make_query, make_ranking

DAY = 86_400.0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("# Title", True),
        ("## Title\n\n   ### Sub\n###### Deep #\n#", True),
        ("", True),
        ("<!-- a comment\nover lines -->\n# Title", True),
        ("<!-- one --> <!-- two -->", True),
        ("<!-- never closed", False),
        ("# Title\n<!-- never closed\n# Sub", False),
        ("> quoted", False),
        ("#hashtag", False),
        ("####### seven", False),
        ("    # code", False),
        ("# Title\ntext", False),
        ("Title\n=====", False),
        ("<!-- comment --> text", False),
    ],
)
def test_headings_and_comments_alone_are_no_content(content: str, expected: bool) -> None:
    assert is_content_free(content) is expected


@pytest.mark.parametrize(
    ("days", "expected"), [(0, 1.0), (30, 0.5), (60, 0.25), (15, 0.5**0.5), (-100, 1.0), (300, 0.5**10)]
)
def test_a_score_is_halved_after_the_half_life(days: float, expected: float) -> None:
    assert decay(days * DAY, half_life_days=30.0) == pytest.approx(expected)


@pytest.mark.parametrize(("count", "expected"), [(0, 1.0), (1, 1.034657), (10, 1.119895), (100, 1.230756)])
def test_use_raises_a_score_a_little(count: int, expected: float) -> None:
    assert access_boost(count, weight=0.05) == pytest.approx(expected, abs=1e-6)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.1, 1e4))
def test_decay_never_raises_and_falls_with_age(younger: float, older: float, half_life: float) -> None:
    younger, older = sorted((younger * DAY, older * DAY))

    assert 0.0 <= decay(older, half_life_days=half_life) <= decay(younger, half_life_days=half_life) <= 1.0


def test_a_factor_multiplies_without_bounds_and_orders_anew() -> None:
    factors = {1: 0.5, 2: 4.0}

    ranking = Factor("source_weight", lambda chunk_ids: factors).refine(
        make_query(), make_ranking((1, 0.9), (2, 0.8), (3, 0.7)), Trace()
    )

    assert [(candidate.chunk_id, candidate.score) for candidate in ranking] == [(2, 3.2), (3, 0.7), (1, 0.45)]
    evidence = [(one.evidence[-1].stage, one.evidence[-1].rank, one.evidence[-1].score) for one in ranking]
    assert evidence == [("source_weight", 1, 4.0), ("source_weight", 2, 1.0), ("source_weight", 3, 0.5)]


def test_chunks_without_content_and_chunks_that_are_gone_are_dropped() -> None:
    chunks = {1: make_chunk(1, "# Owls"), 2: make_chunk(2, "owls hunt")}

    ranking = ContentFree(lambda chunk_ids: chunks).refine(
        make_query(), make_ranking((1, 0.9), (2, 0.8), (3, 0.7)), Trace()
    )

    assert ids(ranking) == [2]


def test_the_least_score_is_compared_with_the_score_as_shown() -> None:
    ranking = make_ranking((1, 1.4), (2, 0.7), (3, 0.69), (4, -0.2))

    assert ids(MinScore(0.7).refine(make_query(), ranking, Trace())) == [1, 2]
    assert ids(MinScore(1.0).refine(make_query(), ranking, Trace())) == [1]
    with pytest.raises(StageSkipped, match="off"):
        MinScore(0.0).refine(make_query(), ranking, Trace())


def test_scores_are_shown_within_bounds_in_the_order_of_what_they_were() -> None:
    ranking = Truncate(shown_within=(0.0, 1.0)).refine(
        make_query(limit=3), make_ranking((7, 1.4), (2, 1.2), (3, 0.5), (4, 0.1)), Trace()
    )

    assert [(candidate.chunk_id, candidate.score) for candidate in ranking] == [(7, 1.0), (2, 1.0), (3, 0.5)]
    assert [candidate.evidence[-1].score for candidate in ranking] == [1.0, 1.0, 0.5]
