"""What each stage has cost lately: running estimates, by which a search with a budget decides what to leave out.

One instance serves all searches of a daemon; may be used from many threads.
"""

import threading

_NEWEST_COUNTS = 0.3
# An estimate that keeps a stage from running would never be corrected; so each such time it is trusted less.
_FADING = 0.9


class Costs:
    """Running means of seconds, by stage and size; sizes count as equal up to a factor of two."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[tuple[str, int], float] = {}

    def observe(self, stage: str, size: int, seconds: float) -> None:
        """The stage took so long for so many candidates."""
        key = (stage, size.bit_length())
        with self._lock:
            known = self._seconds.get(key, seconds)
            self._seconds[key] = known + _NEWEST_COUNTS * (seconds - known)

    def expect(self, stage: str, size: int) -> float:
        """How long it will take, in seconds; 0 as long as nothing is known."""
        with self._lock:
            return self._seconds.get((stage, size.bit_length()), 0.0)

    def fade(self, stage: str, size: int) -> None:
        """The stage was left out because of its estimate."""
        key = (stage, size.bit_length())
        with self._lock:
            if key in self._seconds:
                self._seconds[key] *= _FADING
