"""The models of the daemon: loaded in the background, used through one lane, released when they were idle for long.

Full text needs no model, so nothing here is ever waited for unless the caller asks to.  Every reason why a model does
not answer is kept for status.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from groove_daemon.config.settings import ModelSettings
from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import NO_MODEL, create_embedder, create_scorer
from groove_daemon.models.base import Embedder, PairScorer, RuntimeEmbedder, Tokenizer
from groove_daemon.models.cached import CachedEmbedder
from groove_daemon.models.lanes import EmbedderLane
from groove_daemon.models.loading import Loading, State, retry_pause
from groove_daemon.models.tokens import PlainTokenizer

log = structlog.get_logger()

_RELEASED = "released after a long idle time; the next use loads it again"


class CreateEmbedder(Protocol):
    """The signature of `create_embedder`."""

    def __call__(
        self, settings: ModelSettings, *, cache_dir: Path, on_progress: Callable[[str], None]
    ) -> RuntimeEmbedder:
        """Make the embedder."""
        ...


@dataclass(frozen=True, slots=True)
class ModelState:
    """What status says about a model.

    `runtime`, `fingerprint` and `dimension` are None until the model was loaded once; `reason` is one line, empty when
    all is well; `next_try_in_s` is set while a failed load waits for its next try.
    """

    name: str
    state: State
    reason: str
    runtime: str | None
    fingerprint: str | None
    dimension: int | None
    loaded_in_s: float | None
    next_try_in_s: float | None


class ModelHost:
    """The embedding model's life.

    Args:
        settings: the section `models`.
        cache_dir: where exported models are kept.
        clock: for durations.
        create: makes the embedder.
        pause: seconds to wait after the n-th failure in a row.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        cache_dir: Path,
        clock: Clock | None = None,
        create: CreateEmbedder = create_embedder,
        pause: Callable[[int], float] = retry_pause,
    ) -> None:
        clock = clock or SystemClock()
        self._settings = settings
        self._made: RuntimeEmbedder | None = None
        self._lane: EmbedderLane | None = None
        self._embedder: CachedEmbedder | None = None
        self._tokenizer: Tokenizer | None = None
        self._released = False
        off = 'no embedding model is set (`embedder = "none"`)' if settings.embedder == NO_MODEL else ""
        self._loading = Loading(settings.embedder, self._load, clock=clock, pause=pause, off=off)
        if not off:
            self._made = create(settings, cache_dir=cache_dir, on_progress=self._loading.say)
            self._lane = EmbedderLane(self._made, batch_tokens=settings.batch_tokens, clock=clock)
            self._embedder = CachedEmbedder(self._lane, capacity=settings.query_cache)

    def start(self) -> None:
        """Begin to load in the background."""
        self._loading.start()

    @property
    def embedder(self) -> Embedder:
        """The embedder, through its lane and with its cache of queries.

        Raises:
            ModelLoading: it is being loaded.
            ModelUnavailable: it is off, or could not be loaded.
        """
        self._loading.require()
        if self._embedder is None:
            raise ModelUnavailable("no embedding model is set")
        self._released = False
        return self._embedder

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, whatever the model's state; a plain one when the model's cannot be had.

        The answer stays the same for the life of the host, so that all documents are cut alike.
        """
        if self._tokenizer is None:
            self._tokenizer = self._find_tokenizer()
        return self._tokenizer

    def state(self) -> ModelState:
        """Where the model stands now."""
        phase = self._loading.phase()
        known = self._embedder if phase.loaded_in_s is not None else None
        return ModelState(
            name=self._settings.embedder,
            state=phase.state,
            reason=_RELEASED if self._released and phase.state == "ready" else phase.reason,
            runtime=known.runtime if known else None,
            fingerprint=known.fingerprint if known else None,
            dimension=known.dimension if known else None,
            loaded_in_s=phase.loaded_in_s,
            next_try_in_s=phase.next_try_in_s,
        )

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait while it is loading; whether it is ready then."""
        return self._loading.wait_ready(timeout_s)

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Call back once the model is ready; at once if it is already."""
        self._loading.on_ready(callback)

    def release_if_idle(self) -> bool:
        """Give the memory back when the model was not used for `idle_release`; whether that was done."""
        if self._lane is None or self._released or not self._settings.idle_release:
            return False
        if self._loading.phase().state != "ready" or self._lane.idle_s < self._settings.idle_release:
            return False
        self._lane.release()
        self._released = True
        log.info("models.released", model=self._settings.embedder)
        return True

    def close(self) -> None:
        """Stop loading and give everything back."""
        self._loading.stop(self._release)

    def _load(self) -> None:
        if self._lane is not None:
            self._lane.warm_up()

    def _release(self) -> None:
        if self._made is not None:  # past the lane: work under way need not end first
            self._made.release()

    def _find_tokenizer(self) -> Tokenizer:
        if self._lane is None:
            return PlainTokenizer()
        try:
            return self._lane.tokenizer
        except ModelUnavailable as error:
            log.warning("models.plain_tokenizer", model=self._settings.embedder, reason=error.message)
            return PlainTokenizer()


class ScorerHost:
    """The reranker's life: as the embedder's, but loaded with its first use unless `start` is called.

    Args:
        settings: the section `models`.
        cache_dir: where exported models are kept.
        clock: for durations.
        create: makes the reranker, or None when none is set.
        pause: seconds to wait after the n-th failure in a row.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        cache_dir: Path,
        clock: Clock | None = None,
        create: Callable[..., PairScorer | None] = create_scorer,
        pause: Callable[[int], float] = retry_pause,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._scorer = create(settings, cache_dir=cache_dir)
        off = 'no reranker is set (`reranker = "none"`)' if self._scorer is None else ""
        self._loading = Loading(settings.reranker, self._load, clock=self._clock, pause=pause, off=off)
        self._used_at = self._clock.monotonic()
        self._released = False

    def start(self) -> None:
        """Begin to load in the background."""
        self._loading.start()

    @property
    def scorer(self) -> PairScorer:
        """The reranker; the first call begins to load it.

        Raises:
            ModelLoading: it is being loaded.
            ModelUnavailable: none is set, or it could not be loaded.
        """
        self._loading.start()
        self._loading.require()
        if self._scorer is None:
            raise ModelUnavailable("no reranker is set")
        self._used_at = self._clock.monotonic()
        self._released = False
        return self._scorer

    def state(self) -> ModelState:
        """Where the reranker stands now; `dimension` is always None."""
        phase = self._loading.phase()
        known = self._scorer if phase.loaded_in_s is not None else None
        return ModelState(
            name=self._settings.reranker,
            state=phase.state,
            reason=_RELEASED if self._released and phase.state == "ready" else phase.reason,
            runtime=None,
            fingerprint=known.fingerprint if known else None,
            dimension=None,
            loaded_in_s=phase.loaded_in_s,
            next_try_in_s=phase.next_try_in_s,
        )

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait while it is loading; whether it is ready then."""
        return self._loading.wait_ready(timeout_s)

    def release_if_idle(self) -> bool:
        """Give the memory back when the reranker was not used for `idle_release`; whether that was done."""
        if self._scorer is None or self._released or not self._settings.idle_release:
            return False
        idle_s = self._clock.monotonic() - self._used_at
        if self._loading.phase().state != "ready" or idle_s < self._settings.idle_release:
            return False
        self._scorer.release()
        self._released = True
        log.info("models.released", model=self._settings.reranker)
        return True

    def close(self) -> None:
        """Stop loading and give everything back."""
        self._loading.stop(self._release)

    def _load(self) -> None:
        if self._scorer is not None:
            self._scorer.warm_up()
            self._used_at = self._clock.monotonic()

    def _release(self) -> None:
        if self._scorer is not None:
            self._scorer.release()
