"""The confidence of this daemon's answers: what was learned, whether it still holds, and learning it anew.

What always holds: one calibration at a time; what was learned lies in the index and is read from there once.
"""

import threading
import time
from collections.abc import Callable

import structlog

from groove_daemon.errors import Busy, ModelUnavailable
from groove_daemon.models.base import Embedder
from groove_daemon.retrieval.calibrating import OnProgress, calibrate
from groove_daemon.retrieval.calibration import Calibration, Curve
from groove_daemon.rpc.context import CalibrationState
from groove_daemon.store.index import Index

log = structlog.get_logger()


class Confidence:
    """What was learned about this index.

    Args:
        index: the index.
        embedder: gives the model, None when there is none on purpose; may raise `ModelError`.
    """

    def __init__(self, index: Index, embedder: Callable[[], Embedder | None]) -> None:
        self._index = index
        self._embedder = embedder
        self._learning = threading.Lock()
        self._is_read = False
        self._known: Calibration | None = None

    def curve(self) -> Curve | None:
        """What turns a cosine into confidence; None when nothing was learned that holds for the index as it is."""
        known = self._calibration()
        return None if known is None or self._why_stale(known) else known.curve

    def state(self) -> CalibrationState | None:
        """What was learned, and why it does not hold any more; None when nothing was."""
        known = self._calibration()
        return None if known is None else CalibrationState(known, self._why_stale(known))

    def learn(
        self,
        questions: int,
        *,
        store: Callable[[str], None],
        is_cancelled: Callable[[], bool],
        on_progress: OnProgress,
    ) -> CalibrationState:
        """Learn from the index as it is now, and keep it by `store`.

        Raises:
            Busy: somebody else's calibration runs.
            ModelError: there is no model, or it cannot be used.
            Cancelled: `is_cancelled` said so.
            DeadlineExceeded: it took too long.
        """
        if not self._learning.acquire(blocking=False):
            raise Busy("a calibration runs already", hint="wait for it")
        try:
            embedder = self._embedder()
            if embedder is None:
                raise ModelUnavailable("confidence needs vectors, and there is no model", hint="set models.embedder")
            made = calibrate(
                self._index,
                embedder,
                questions=questions,
                now=time.time(),
                is_cancelled=is_cancelled,
                on_progress=on_progress,
            )
            store(made.to_text())
            self._known, self._is_read = made, True
        finally:
            self._learning.release()
        log.info("daemon.calibrated", usable=made.curve is not None, reason=made.reason, chunks=made.chunks)
        return CalibrationState(made, "")

    def _calibration(self) -> Calibration | None:
        if not self._is_read:
            text = self._index.reader().calibration()
            self._known = None if text is None else Calibration.from_text(text)
            self._is_read = True
        return self._known

    def _why_stale(self, known: Calibration) -> str:
        stored = self._index.embedder
        return known.why_stale(stored[0] if stored else "", self._index.vectors.view().chunk_count)
