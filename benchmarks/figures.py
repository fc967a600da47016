"""Medians, percentiles, and series that are taken in turns."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

Measure = Callable[[], float]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie, interpolated."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def in_turns(measures: Mapping[str, Measure], *, rounds: int, warm_up: int = 2) -> dict[str, list[float]]:
    """Take every measure once a round, in an order that turns, so that a slow moment of the machine hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for number in range(-warm_up, rounds):
        for name in turned(list(measures), number):
            value = measures[name]()
            if number >= 0:
                taken[name].append(value)
    return taken


def turned(names: Sequence[str], number: int) -> Iterator[str]:
    """The names, beginning with another one each time."""
    start = number % len(names)
    yield from names[start:]
    yield from names[:start]


def interval_of_ratio(above: Sequence[float], below: Sequence[float], *, rounds: int = 2000) -> tuple[float, float]:
    """95 % bootstrap interval of the ratio of two medians of paired values."""
    source = random.Random(7)
    pairs = list(zip(above, below, strict=True))
    ratios = []
    for _ in range(rounds):
        drawn = source.choices(pairs, k=len(pairs))
        ratios.append(median(one for one, _ in drawn) / median(other for _, other in drawn))
    return percentile(ratios, 0.025), percentile(ratios, 0.975)


def ms(seconds: float) -> str:
    """Seconds as milliseconds, for people."""
    value = seconds * 1000
    return f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"


def spread(values: Sequence[float]) -> str:
    """Median, quartiles and tail of seconds, for people."""
    low, high, tail = (ms(percentile(values, share)) for share in (0.25, 0.75, 0.95))
    return f"p50 {ms(median(values))} (p25 {low}, p75 {high}, p95 {tail}, n {len(values)})"
