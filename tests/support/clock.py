"""A clock that stands still until it is told to move."""


class FakeClock:
    """Implements `Clock`; wall time and monotonic time advance together."""

    def __init__(self, *, now: float = 1_700_000_000.0, monotonic: float = 1_000.0) -> None:
        self._now = now
        self._monotonic = monotonic

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds
