"""Time as a value that can be injected: wall time for records, monotonic time for durations."""

import time
from typing import Protocol


class Clock(Protocol):
    """Source of time.  `monotonic` never runs backwards; `now` may jump in both directions."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an unknown moment; only differences mean anything."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()
