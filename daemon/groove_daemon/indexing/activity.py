"""How far the work is: what is done now, how fast, and how long it takes.  Looks at the two phases, changes nothing."""

from groove_daemon.domain.clock import Clock
from groove_daemon.indexing.report import Meter, Phase, Progress
from groove_daemon.indexing.scans import Scans
from groove_daemon.indexing.text_phase import TextPhase
from groove_daemon.indexing.vector_phase import VectorPhase


class Activity:
    """Counts what gets done."""

    def __init__(self, *, text: TextPhase, vectors: VectorPhase, scans: Scans, clock: Clock) -> None:
        self._text = text
        self._vectors = vectors
        self._scans = scans
        self._clock = clock
        self._text_meter, self._vector_meter = Meter(), Meter()

    def text_done(self) -> None:
        """One change was dealt with."""
        self._text_meter.step(self._clock.monotonic())
        if not len(self._text.queue):
            self._text_meter.reset()

    def vectors_done(self, count: int) -> None:
        """So many passages were dealt with."""
        self._vector_meter.step(self._clock.monotonic(), count)
        if not self._vectors.pending:
            self._vector_meter.reset()

    def progress(self, *, is_stopped: bool) -> Progress:
        """The figures now."""
        now = self._clock.monotonic()
        left, pending = len(self._text.queue), self._vectors.pending
        phase: Phase = "stopped" if is_stopped else self._phase(left, pending)
        return Progress(phase, self._text_meter.tally(now, left), self._vector_meter.tally(now, pending))

    def _phase(self, left: int, pending: int) -> Phase:
        if left or len(self._scans):
            return "text"
        if pending and self._vectors.can_embed():
            return "vectors"
        return "idle"
