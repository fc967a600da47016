"""The right of one request to go on.

What always holds: a token is cancelled at most once and stays so; a callback runs at most once, never after `finish`,
so that stopping a statement cannot hit the next request of the same thread.
"""

import threading
from collections.abc import Callable


class CancelToken:
    """Asked by the worker, cancelled by the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._finished = False

    def is_cancelled(self) -> bool:
        """Whether the work should stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask the work to stop, and run the callbacks."""
        with self._lock:
            if self._cancelled.is_set():
                return
            self._cancelled.set()
            # Under the lock: `finish` must not return while one of them runs.
            for callback in self._callbacks:
                callback()
            self._callbacks.clear()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run `callback` when the token is cancelled, at once if it is already; it must not block."""
        with self._lock:
            if self._finished:
                return
            if self._cancelled.is_set():
                callback()
            else:
                self._callbacks.append(callback)

    def finish(self) -> None:
        """The work has ended: no callback runs from here on."""
        with self._lock:
            self._finished = True
            self._callbacks.clear()
