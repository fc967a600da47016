"""Threads: the readers that answer requests, and the pool that runs the legs of a query side by side.

`Workers.submit` copies the context variables, which a plain executor does not, so log lines keep their request id.
Queues are bounded: past `max_waiting` a submission is refused with `Busy` instead of piling up.
"""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from groove_daemon.errors import Busy, ShuttingDown

P = ParamSpec("P")
R = TypeVar("R")


class Workers:
    """A named pool of threads with a bounded queue.

    Args:
        name: prefix of the thread names.
        threads: how many run at once.
        max_waiting: how many submissions may be running or waiting.
    """

    def __init__(self, name: str, *, threads: int, max_waiting: int) -> None:
        self._name = name
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._max_waiting = max_waiting
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> "Future[R]":
        """Run `work` in a thread of the pool under a copy of the caller's context variables.

        Raises:
            Busy: the queue is full.
            ShuttingDown: the pool is closed.
        """
        with self._lock:
            if self._closed:
                raise ShuttingDown("the daemon is stopping")
            if self._in_flight >= self._max_waiting:
                raise Busy(f"{self._in_flight} requests are already waiting", hint="try again in a moment")
            self._in_flight += 1
        context = contextvars.copy_context()
        future: Future[R] = self._pool.submit(context.run, work, *args, **kwargs)  # type: ignore[arg-type]
        future.add_done_callback(self._done)
        return future

    def _done(self, _future: "Future[R]") -> None:
        with self._lock:
            self._in_flight -= 1

    def close(self, *, wait: bool = True) -> None:
        """Take no more work; with `wait`, return when all running work has ended."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=wait, cancel_futures=True)
