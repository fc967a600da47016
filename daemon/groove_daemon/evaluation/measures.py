"""Measures of a ranking against graded relevance.  Pure; knows nothing of queries, indexes or files.

A ranking is a sequence of document names, best first, each at most once.  Relevance maps names to grades greater than
zero.  Every measure lies in 0..1, and is 0 for an empty ranking.
"""

import math
import random
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple


def ndcg(ranking: Sequence[str], relevance: Mapping[str, float], *, k: int) -> float:
    """Normalised discounted cumulative gain at `k`, with the grade as the gain (Järvelin and Kekäläinen, 2002).

    The ideal takes the highest grades first, cut at `k`.  Returns 0.0 when nothing is relevant.
    """
    ideal = _discounted(sorted(relevance.values(), reverse=True)[:k])
    return _discounted([relevance.get(name, 0.0) for name in ranking[:k]]) / ideal if ideal else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(position + 2) for position, gain in enumerate(gains))


def reciprocal_rank(ranking: Sequence[str], relevance: Mapping[str, float]) -> float:
    """One divided by the rank of the first relevant document; 0.0 when there is none."""
    return next((1.0 / rank for rank, name in enumerate(ranking, start=1) if relevance.get(name, 0.0) > 0), 0.0)


def recall(ranking: Sequence[str], relevance: Mapping[str, float], *, k: int) -> float:
    """Share of the relevant documents among the first `k`; 0.0 when nothing is relevant."""
    return len(set(ranking[:k]) & set(relevance)) / len(relevance) if relevance else 0.0


def hit(ranking: Sequence[str], relevance: Mapping[str, float], *, k: int) -> float:
    """1.0 when one of the first `k` is relevant, else 0.0."""
    return 1.0 if any(name in relevance for name in ranking[:k]) else 0.0


def documents_at_best_hit(paths: Sequence[str]) -> list[str]:
    """Turn a ranking of chunks, given as document names, into one of documents: each stands at its best chunk."""
    return list(dict.fromkeys(paths))


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, rounds: int = 2000, seed: int = 7
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron, 1979).

    Args:
        values: one number a query, at least one.
        level: how much of the resampled means lies inside, 0 to 1.
        rounds: how many resamples.
        seed: makes the interval repeatable.
    """
    source = random.Random(seed)
    means = sorted(fmean(source.choices(values, k=len(values))) for _ in range(rounds))
    tail = (1.0 - level) / 2
    return means[int(tail * rounds)], means[min(int((1.0 - tail) * rounds), rounds - 1)]


class Difference(NamedTuple):
    """How much higher the mean of one ranking is than that of another, with the ends of its interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0.0 or self.high < 0.0


def paired_difference(
    values: Sequence[float], base: Sequence[float], *, level: float = 0.95, rounds: int = 2000, seed: int = 7
) -> Difference:
    """The mean difference of two measurements of the same queries, with its percentile bootstrap interval.

    Queries are drawn with both of their numbers, so that what is hard for both rankings does not widen the interval.

    Args:
        values: one number a query, at least one.
        base: what is taken off, in the same order.
        level: how much of the resampled differences lies inside, 0 to 1.
        rounds: how many resamples.
        seed: makes the interval repeatable.
    """
    differences = [value - other for value, other in zip(values, base, strict=True)]
    if len(set(differences)) == 1:
        return Difference(differences[0], differences[0], differences[0])
    return Difference(fmean(differences), *bootstrap_interval(differences, level=level, rounds=rounds, seed=seed))
