"""Counters and percentiles."""

import pytest

from groove_daemon.rpc.context import Latency
from groove_daemon.rpc.meter import WINDOW, Meter, percentile


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.5, 5), (0.51, 6), (0.95, 10), (0.99, 10), (1.0, 10)])
def test_percentile_is_the_nearest_rank(share, expected):
    assert percentile(list(range(1, 11)), share) == expected


def test_meter_counts_everything_and_keeps_the_last_times():
    meter = Meter()
    for number in range(WINDOW + 100):
        meter.time("a", float(number))

    assert meter.latencies()["a"].count == WINDOW + 100
    assert meter.latencies()["a"].p50_ms == 100 + WINDOW / 2 - 1


def test_meter_adds_to_counters():
    meter = Meter()
    meter.count("a")
    meter.count("a", 3)
    meter.time("b", 2.0)

    assert meter.counters() == {"a": 4}
    assert meter.latencies() == {"b": Latency(1, 2.0, 2.0, 2.0)}
