"""Counts and times of requests since the start.

What always holds: memory is bounded; percentiles are of the last `WINDOW` times of a name, the count is of all.
"""

import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence

from groove_daemon.rpc.context import Latency

WINDOW = 512


class Meter:
    """Thread-safe counters and latencies by name; names come from closed sets, never from a client."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._times: dict[str, deque[float]] = {}
        self._totals: Counter[str] = Counter()

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name] += by

    def time(self, name: str, took_ms: float) -> None:
        """Add one duration in milliseconds."""
        with self._lock:
            self._times.setdefault(name, deque(maxlen=WINDOW)).append(took_ms)
            self._totals[name] += 1

    def counters(self) -> Mapping[str, int]:
        """All counters."""
        with self._lock:
            return dict(self._counts)

    def latencies(self) -> Mapping[str, Latency]:
        """All latencies."""
        with self._lock:
            known = {name: (self._totals[name], sorted(times)) for name, times in self._times.items()}
        return {
            name: Latency(total, percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.99))
            for name, (total, times) in known.items()
        }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of ascending numbers, of which there is at least one; `share` is 0 to 1."""
    rank = max(1, -(-len(ordered) * share // 1))
    return ordered[int(rank) - 1]
