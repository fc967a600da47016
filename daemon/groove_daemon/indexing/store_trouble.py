"""What keeps the store from taking work, and when it is tried again: after one second, then twice as long each time."""

import structlog

from groove_daemon.domain.clock import Clock
from groove_daemon.errors import StoreFull

log = structlog.get_logger()

_FIRST_RETRY_S, _LONGEST_RETRY_S = 1.0, 60.0


class StoreTrouble:
    """The last failure of a step; `problem` is empty when there is none, or it is over."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._retry_s = 0.0
        self._until = 0.0
        self.problem = ""

    @property
    def wait_s(self) -> float:
        """Seconds for which nothing is tried, 0 when work may go on."""
        return max(0.0, self._until - self._clock.monotonic())

    def failed(self, error: Exception) -> None:
        """A step failed, most likely because the store cannot take it."""
        self._retry_s = min(max(self._retry_s * 2, _FIRST_RETRY_S), _LONGEST_RETRY_S)
        self._until = self._clock.monotonic() + self._retry_s
        self.problem = ("disk full: " if isinstance(error, StoreFull) else "") + str(error)
        log.error("index.store_failed", reason=self.problem, next_try_in_s=self._retry_s)

    def is_over(self) -> None:
        """The store took something."""
        if self.problem:
            log.info("index.store_recovered")
        self.problem, self._retry_s = "", 0.0
