"""The curve of confidence: what it says, how it is learned, and when it does not hold."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.retrieval.calibration import (
    Calibration,
    Curve,
    Rates,
    fit,
    learned,
    measured_rates,
    separation,
)

COSINES = st.lists(st.floats(-1.0, 1.0), min_size=20, max_size=60)
MADE = Calibration(Curve(20.0, 0.4), Rates(0.05, 0.1, 0.97), "", "model-a", 7, 100, 100, 60, 1_779_000_000.0)


def test_curve_is_one_half_at_its_middle_and_logistic_around_it() -> None:
    curve = Curve(10.0, 0.4)

    assert curve.at(0.4) == 0.5
    assert curve.at(0.6) == pytest.approx(1 / (1 + math.exp(-2)))
    assert curve.at(0.2) == pytest.approx(1 - curve.at(0.6))


def test_curve_stays_within_0_and_1_however_steep() -> None:
    curve = Curve(1e9, 0.4)

    assert 0.0 <= curve.at(-1.0) < 1e-20
    assert curve.at(1.0) == 1.0


def test_middle_lies_halfway_between_two_kinds_that_mirror_each_other() -> None:
    curve = fit([0.5, 0.6, 0.7] * 10, [0.3, 0.2, 0.1] * 10)

    assert curve.middle == pytest.approx(0.4)
    assert curve.slope > 0


def test_kinds_weigh_the_same_whatever_their_numbers() -> None:
    few, many = fit([0.5, 0.6, 0.7] * 10, [0.3, 0.2, 0.1] * 10), fit([0.5, 0.6, 0.7] * 100, [0.3, 0.2, 0.1] * 10)

    assert many.middle == pytest.approx(few.middle, abs=0.01)


def test_kinds_the_wrong_way_round_give_a_flat_curve() -> None:
    curve = fit([0.1, 0.2] * 10, [0.8, 0.9] * 10)

    assert (curve.slope, curve.at(-1.0), curve.at(1.0)) == (0.0, 0.5, 0.5)


@given(COSINES, COSINES)
def test_larger_cosine_never_means_less_confidence(answerable: list[float], unanswerable: list[float]) -> None:
    curve = fit(answerable, unanswerable)
    told = [curve.at(cosine / 10) for cosine in range(-10, 11)]

    assert all(math.isfinite(value) for value in told)
    assert told == sorted(told)


def test_separation_counts_pairs_and_halves_ties() -> None:
    assert separation([0.5, 0.7], [0.1, 0.6]) == 0.75
    assert separation([0.5], [0.5]) == 0.5
    assert separation([0.9], [0.1]) == 1.0


def test_rates_count_what_lies_on_the_wrong_side() -> None:
    # One in twenty of each kind looks like the other; the halves see 10 each.
    rates = measured_rates([0.7] * 19 + [0.1], [0.1] * 19 + [0.7])

    assert (rates.false_accept, rates.false_reject) == (0.05, 0.05)
    assert rates.separation == pytest.approx((19 * 19 + 19 * 0.5 + 19 * 0.5) / 400)


def test_too_few_questions_of_a_kind_give_no_curve() -> None:
    assert learned([0.7] * 19, [0.1] * 60) == (
        None, None, "only 19 questions with an answer could be made, 20 are needed",
    )  # fmt: skip
    assert learned([0.7] * 20, [0.1] * 3)[2] == "only 3 questions without an answer could be made, 20 are needed"


def test_kinds_that_look_alike_give_no_curve_but_say_how_alike() -> None:
    curve, rates, reason = learned([0.4, 0.5] * 20, [0.4, 0.5] * 20)

    assert curve is None
    assert rates is not None
    assert rates.separation == 0.5
    assert reason == "questions with and without an answer look alike to the model (separation 0.50)"


def test_kinds_that_differ_give_a_curve() -> None:
    curve, rates, reason = learned([0.6, 0.7] * 20, [0.1, 0.2] * 20)

    assert curve is not None
    assert curve.at(0.65) > 0.9
    assert curve.at(0.15) < 0.1
    assert rates == Rates(0.0, 0.0, 1.0)
    assert reason == ""


@pytest.mark.parametrize(("chunks", "is_stale"), [(100, False), (150, False), (151, True), (50, False), (49, True)])
def test_it_is_stale_when_the_corpus_has_changed_by_more_than_half(chunks: int, is_stale: bool) -> None:
    assert bool(MADE.why_stale("model-a", chunks)) is is_stale


def test_it_is_stale_with_another_model() -> None:
    assert MADE.why_stale("model-b", 100) == "it was made with another model"
    assert MADE.why_stale("model-a", 200) == "the corpus had 100 chunks and has 200"


@pytest.mark.parametrize("made", [MADE, replace(MADE, curve=None, rates=None, reason="only 3 questions")])
def test_text_gives_it_back(made: Calibration) -> None:
    assert Calibration.from_text(made.to_text()) == made


def test_text_of_another_form_counts_as_nothing_learned() -> None:
    assert Calibration.from_text(MADE.to_text().replace('"form": 1', '"form": 2')) is None
