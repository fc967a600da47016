"""Confidence: from the cosine of the nearest chunk to how likely the notes hold an answer.  Pure.

A curve is learned from questions that the notes answer and questions that they do not, both equally likely; it belongs
to the model and the corpus that it was learned from.  What always holds: a larger cosine never means less confidence,
and the rates are measured on questions that the curve of that measurement did not see.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

FEWEST_QUESTIONS = 20
"""So many of each kind are needed: with fewer, a rate is no better than a guess."""

LEAST_SEPARATION = 0.8
"""Area under the curve below which the confidence would mislead more than it tells."""

MOST_GROWTH = 0.5
"""The share by which the corpus may grow or shrink before what was learned from it is out of date."""

_ITERATIONS = 50
_RIDGE = 1e-3
_FORM = 1


@dataclass(frozen=True, slots=True)
class Curve:
    """`1 / (1 + exp(-slope (cosine - middle)))`; `slope` is not negative."""

    slope: float
    middle: float

    def at(self, cosine: float) -> float:
        """The confidence, 0 to 1.

        >>> Curve(10.0, 0.4).at(0.4), round(Curve(10.0, 0.4).at(0.5), 3)
        (0.5, 0.731)
        """
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, self.slope * (cosine - self.middle)))))


@dataclass(frozen=True, slots=True)
class Rates:
    """How often the curve is wrong at a confidence of 0.5, each 0 to 1.

    `false_accept` is the share of questions without an answer that get 0.5 or more, `false_reject` the share of
    questions with one that get less.  `separation` is the chance that a question with an answer has the larger cosine
    of a pair (area under the ROC curve).
    """

    false_accept: float
    false_reject: float
    separation: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was learned, and from what.

    Args:
        curve: None when the two kinds of questions could not be told apart well enough, or were too few.
        rates: None when there were too few questions.
        reason: why there is no curve; empty when there is.
        fingerprint: the model.
        generation: of the index.
        chunks: how many the corpus had.
        answerable: questions with an answer.
        unanswerable: questions without one.
        made_at: seconds since the epoch.
    """

    curve: Curve | None
    rates: Rates | None
    reason: str
    fingerprint: str
    generation: int
    chunks: int
    answerable: int
    unanswerable: int
    made_at: float

    def why_stale(self, fingerprint: str, chunks: int) -> str:
        """Why this says nothing about a corpus of `chunks` with that model; empty when it does."""
        if fingerprint != self.fingerprint:
            return "it was made with another model"
        if abs(chunks - self.chunks) > MOST_GROWTH * self.chunks:
            return f"the corpus had {self.chunks} chunks and has {chunks}"
        return ""

    def to_text(self) -> str:
        """As `from_text` reads it."""
        return json.dumps({"form": _FORM, **asdict(self)}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """What `to_text` wrote; None for what another version wrote."""
        fields = json.loads(text)
        if fields.pop("form", None) != _FORM:
            return None
        curve, rates = fields.pop("curve"), fields.pop("rates")
        return cls(curve=curve and Curve(**curve), rates=rates and Rates(**rates), **fields)


def fit(answerable: Sequence[float], unanswerable: Sequence[float]) -> Curve:
    """The curve that fits cosines of both kinds, each kind with half of the weight (Platt, 1999).

    The targets are Platt's, a little inside 0 and 1, so that the slope stays finite where the kinds do not overlap.  A
    slope that would be negative is 0.
    """
    sizes = (len(answerable), len(unanswerable))
    values = np.array([*answerable, *unanswerable], dtype=np.float64)
    # Those of the smaller kind for both, or the larger one would pull the middle to its side.
    margin = 1 / (min(sizes) + 2)
    targets = np.repeat([1 - margin, margin], sizes)
    weights = np.repeat([0.5 / size for size in sizes], sizes)
    centre, spread = float(values.mean()), float(values.std()) or 1.0
    design = np.stack([(values - centre) / spread, np.ones_like(values)], axis=1)
    found = np.zeros(2)
    for _ in range(_ITERATIONS):
        expected = 1 / (1 + np.exp(-np.clip(design @ found, -60, 60)))
        slope = design.T @ (weights * (expected - targets)) + _RIDGE * found
        bend = (design * (weights * expected * (1 - expected))[:, None]).T @ design + _RIDGE * np.eye(2)
        found = found - np.linalg.solve(bend, slope)
    if found[0] <= 0:
        return Curve(0.0, centre)
    return Curve(float(found[0] / spread), float(centre - found[1] * spread / found[0]))


def separation(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """The chance that the first of a random pair is larger; ties count half.

    >>> separation([0.5, 0.7], [0.1, 0.6])
    0.75
    """
    first, second = np.asarray(answerable)[:, None], np.asarray(unanswerable)[None, :]
    return float((first > second).mean() + (first == second).mean() / 2)


def measured_rates(answerable: Sequence[float], unanswerable: Sequence[float]) -> Rates:
    """The rates, each half of the questions judged by the curve of the other half."""
    accepted, rejected = 0, 0
    for half in (0, 1):
        curve = fit(answerable[1 - half :: 2], unanswerable[1 - half :: 2])
        accepted += sum(curve.at(cosine) >= 0.5 for cosine in unanswerable[half::2])
        rejected += sum(curve.at(cosine) < 0.5 for cosine in answerable[half::2])
    return Rates(accepted / len(unanswerable), rejected / len(answerable), separation(answerable, unanswerable))


def learned(answerable: Sequence[float], unanswerable: Sequence[float]) -> tuple[Curve | None, Rates | None, str]:
    """The curve, its rates, and why there is no curve; the cosines in an order that does not matter to them."""
    for kind, cosines in (("with", answerable), ("without", unanswerable)):
        if len(cosines) < FEWEST_QUESTIONS:
            text = f"only {len(cosines)} questions {kind} an answer could be made, {FEWEST_QUESTIONS} are needed"
            return None, None, text
    rates = measured_rates(answerable, unanswerable)
    if rates.separation < LEAST_SEPARATION:
        text = f"questions with and without an answer look alike to the model (separation {rates.separation:.2f})"
        return None, rates, text
    return fit(answerable, unanswerable), rates, ""
