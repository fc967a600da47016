"""The life of a model that is loaded in the background: off, loading, ready, or failed and tried again later.

Loading never blocks whoever asks; a failure is kept with its reason, and the pauses between tries grow.  Knows nothing
about what is loaded.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import structlog

from groove_daemon.domain.clock import Clock
from groove_daemon.errors import ModelError, ModelLoading, ModelUnavailable

log = structlog.get_logger()

State = Literal["off", "loading", "ready", "failed"]

_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 600.0


def retry_pause(failures: int) -> float:
    """Seconds to wait after so many failures in a row: 5, 10, 20, and so on, ten minutes at most."""
    return min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(failures - 1, 20))


@dataclass(frozen=True, slots=True)
class Phase:
    """Where a model stands.  `reason` is one line, empty when there is nothing to say; times in seconds."""

    state: State
    reason: str
    loaded_in_s: float | None
    next_try_in_s: float | None


class Loading:
    """Loads something in a thread of its own, again and again until it works.

    Args:
        name: what is loaded, for messages and for the thread's name.
        load: does it; raises ModelError.
        clock: for durations.
        pause: seconds to wait after the n-th failure in a row.
        off: when not empty, nothing is ever loaded, for this reason.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], None],
        *,
        clock: Clock,
        pause: Callable[[int], float] = retry_pause,
        off: str = "",
    ) -> None:
        self._name = name
        self._load = load
        self._clock = clock
        self._pause = pause
        self._changed = threading.Condition()
        self._state: State = "off"
        self._reason = off or "not started"
        self._is_off = bool(off)
        self._failure: ModelError | None = None
        self._loaded_in_s: float | None = None
        self._next_try_at: float | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin to load; returns at once.  Does nothing when it is off or was started before."""
        with self._changed:
            if self._is_off or self._thread is not None:
                return
            self._state, self._reason = "loading", ""
            self._thread = threading.Thread(target=self._run, name=f"load-{self._name}", daemon=True)
            self._thread.start()

    def stop(self, release: Callable[[], None], *, patience_s: float = 5.0) -> None:
        """Try no more, call `release`, which ends a load under way, and wait for the thread for a while."""
        self._stopping.set()
        release()
        thread = self._thread
        if thread is not None:
            thread.join(patience_s)
        with self._changed:
            self._set("off", "stopped")

    def say(self, reason: str) -> None:
        """Tell what the loading is busy with."""
        with self._changed:
            if self._state == "loading":
                self._reason = reason

    def phase(self) -> Phase:
        """Where it stands now."""
        with self._changed:
            at = self._next_try_at
            wait = None if at is None else max(0.0, at - self._clock.monotonic())
            return Phase(self._state, self._reason, self._loaded_in_s, wait)

    def require(self) -> None:
        """Return when ready.

        Raises:
            ModelLoading: it is being loaded.
            ModelUnavailable: it is off, or loading failed; the message says why.
        """
        with self._changed:
            if self._state == "ready":
                return
            state, reason, failure = self._state, self._reason, self._failure
        if state == "loading":
            detail = f" ({reason})" if reason else ""
            raise ModelLoading(f"{self._name} is being loaded{detail}", hint="try again in a moment")
        if failure is not None:
            raise ModelUnavailable(failure.message, hint=failure.hint)
        raise ModelUnavailable(f"{self._name} is {state}: {reason}")

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until it is ready; False when the time is over, or when it is off or has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._state != "loading", timeout_s)
            return self._state == "ready"

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Call back once it is ready, from the loading thread; at once, from this one, if it is already."""
        with self._changed:
            if self._state != "ready":
                self._callbacks.append(callback)
                return
        callback()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            if self._attempt():
                return
            failures += 1
            pause = self._pause(failures)
            with self._changed:
                self._next_try_at = self._clock.monotonic() + pause
            if self._stopping.wait(pause):
                return
            with self._changed:
                self._next_try_at = None
                self._set("loading", self._reason)

    def _attempt(self) -> bool:
        started = self._clock.monotonic()
        unexpected = True
        try:
            self._load()
            unexpected = False
        except ModelError as error:
            unexpected = False
            self._failed(error)
            return False
        finally:
            if (
                unexpected
            ):  # the traceback goes to the thread's hook; here only the state must not say "loading" for ever
                self._failed(ModelUnavailable(f"{self._name} could not be loaded", hint="the log has the reason"))
        self._succeeded(self._clock.monotonic() - started)
        return True

    def _failed(self, error: ModelError) -> None:
        with self._changed:
            is_news = self._failure is None or self._failure.message != error.message
            self._failure = error
            self._set("failed", str(error))
        if is_news and not self._stopping.is_set():
            log.warning("models.load_failed", model=self._name, reason=error.message, hint=error.hint)

    def _succeeded(self, took_s: float) -> None:
        with self._changed:
            if self._stopping.is_set():
                return
            self._failure = None
            self._loaded_in_s = took_s
            self._set("ready", "")
            callbacks, self._callbacks = self._callbacks, []
        log.info("models.ready", model=self._name, took_ms=round(took_s * 1000))
        for callback in callbacks:
            callback()

    def _set(self, state: State, reason: str) -> None:
        self._state, self._reason = state, reason
        self._changed.notify_all()
