"""The thread that embeds beside the writer's thread.

What always holds: batches are embedded one after the other, what a search waits for first; every batch that was begun
gets an answer.  Decides nothing: which passages, and what becomes of the vectors, is known elsewhere.
"""

import threading
from collections import deque
from collections.abc import Callable

from groove_daemon.indexing.embedding import ModelDown, NoVector
from groove_daemon.indexing.vector_phase import Answer, Batch
from groove_daemon.models.base import Vector


class EmbedderThread:
    """A row of batches and the thread that works it off.

    Args:
        embed: makes vectors; must not raise.
        on_answer: takes each answer, on this thread.
    """

    def __init__(
        self,
        embed: Callable[[Batch], list[Vector | NoVector] | ModelDown],
        on_answer: Callable[[Answer], None],
    ) -> None:
        self._embed = embed
        self._on_answer = on_answer
        self._arrived = threading.Condition()
        self._batches: deque[Batch] = deque()
        self._unanswered = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="index-embedder", daemon=True)

    @property
    def is_busy(self) -> bool:
        """Whether a batch is at work or waits."""
        return self._unanswered > 0

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def send(self, batch: Batch, *, first: bool) -> None:
        """Put a batch at the end of the row, or at its beginning when a search waits for it."""
        with self._arrived:
            self._unanswered += 1
            if first:
                self._batches.appendleft(batch)
            else:
                self._batches.append(batch)
            self._arrived.notify_all()

    def close(self) -> None:
        """End after the batch in hand."""
        with self._arrived:
            self._is_closed = True
            self._arrived.notify_all()

    def join(self, timeout: float) -> bool:
        """Wait for the end of the thread for so many seconds; whether it came."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            answer = Answer(batch, self._embed(batch))
            with self._arrived:
                self._unanswered -= 1
            # Only now, so that whoever is woken by the answer finds the thread free.
            self._on_answer(answer)

    def _next(self) -> Batch | None:
        with self._arrived:
            while not self._is_closed:
                if self._batches:
                    return self._batches.popleft()
                self._arrived.wait()
        return None
