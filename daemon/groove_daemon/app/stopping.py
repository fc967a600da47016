"""Where the end of the daemon is asked for, and where its main thread waits for it.

What always holds: a wish is never lost, whether a signal brings it or another thread, and whatever the main thread does
at that moment; the first exit code that is not 0 stays.
"""

import os
import select
import signal
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Literal

from groove_daemon.service.notify import Notifier

Wish = Literal["end", "reload"]

_LOOK_EVERY_S = 60.0


class Stopping:
    """Wishes for the main thread.

    The main thread sleeps on a pipe.  The interpreter itself writes to it when a signal comes, so a signal between the
    last look and the sleep wakes it too; a lock or a queue would sleep on until its time is over.

    Attributes:
        exit_code: of the process.
    """

    def __init__(self) -> None:
        self.exit_code = 0
        self._wishes: deque[Wish] = deque()
        self._awaken_read, self._awaken_write = os.pipe()
        os.set_blocking(self._awaken_read, False)
        os.set_blocking(self._awaken_write, False)

    def close(self) -> None:
        """Listen to signals no longer."""
        signal.set_wakeup_fd(-1)
        os.close(self._awaken_read)
        os.close(self._awaken_write)

    def request(self, *, exit_code: int = 0) -> None:
        """Ask for the end; returns at once, from any thread."""
        self.exit_code = self.exit_code or exit_code
        self._wish("end")

    def listen_to_signals(self) -> None:
        """SIGTERM and SIGINT ask for the end, SIGHUP for the configuration to be read again; `wait` grants it."""
        signal.set_wakeup_fd(self._awaken_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def wait(
        self, notifier: Notifier, *, reload: Callable[[], None], is_serving: Callable[[], bool] = lambda: True
    ) -> None:
        """Wait for the end, reload when asked, and tell the service manager now and then that all is well.

        Nothing is told while `is_serving` says no, so that a manager that watches starts the daemon again.
        """
        while (wish := self._next_wish(notifier.ping_every_s or _LOOK_EVERY_S)) != "end":
            if wish == "reload":
                reload()
            if is_serving():
                notifier.alive()

    def _next_wish(self, timeout_s: float) -> Wish | None:
        if not self._wishes:
            select.select([self._awaken_read], [], [], timeout_s)
            with suppress(BlockingIOError):
                os.read(self._awaken_read, 4096)
        return self._wishes.popleft() if self._wishes else None

    def _wish(self, wish: Wish) -> None:
        self._wishes.append(wish)
        # A full pipe wakes the sleeper just as well.
        with suppress(BlockingIOError):
            os.write(self._awaken_write, b"\0")

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.request()

    def _on_reload(self, _number: int, _frame: FrameType | None) -> None:
        self._wish("reload")
