"""The first index of a real vault, by the daemon's own parts, against the bare model on the same passages.

Both use one embedder object, which is ready before the clock starts, and the same number of threads; they take turns.
The bare model gets all passages in one call, which is the fastest that it can be asked.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import structlog

from benchmarks.figures import in_turns, interval_of_ratio, ms, spread
from benchmarks.table import ABSENT, Report, Row, at_least
from benchmarks.world import SHARED, World, say, tempfile_folder
from groove_daemon.app.late import LateParts
from groove_daemon.app.places import Places
from groove_daemon.config.settings import CollectionSettings, ModelSettings, Settings
from groove_daemon.models import create_embedder
from groove_daemon.models.base import RuntimeEmbedder
from groove_daemon.models.host import ModelHost, ScorerHost
from groove_daemon.store.index import Index

BAR = 0.85
VAULT = SHARED / "obsidian-help" / "en"
_LONGEST_S = 600.0


def measure(world: World, *, rounds: int) -> Report:
    """`rounds` first indexes and as many bare runs, in turns, after one of each that counts for nothing."""
    what = "first index of the real vault, passages/s of the whole / of the bare model"
    if not VAULT.exists():
        return Report((Row(what, f"{VAULT} is not there", f">= {BAR}", ABSENT),))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    settings = Settings(collections=(CollectionSettings(name="vault", path=str(VAULT)),))
    host, embedder = ready_model(world)
    try:
        passages = _passages(settings, host)
        say(f"first_index: {len(passages)} passages, again and again ...")
        phases: list[dict[str, float]] = []

        def whole() -> float:
            found = _first_index(settings, host)
            phases.append(found)
            return found["all"]

        def bare() -> float:
            began = time.perf_counter()
            embedder.embed_passages(passages)
            return time.perf_counter() - began

        taken = in_turns({"whole": whole, "bare": bare}, rounds=rounds, warm_up=1)
    finally:
        host.close()
    ratio = median(taken["bare"]) / median(taken["whole"])
    low, high = interval_of_ratio(taken["bare"], taken["whole"])
    rates = {name: len(passages) / median(values) for name, values in taken.items()}
    text = [found["text"] for found in phases[1:]]
    details = (
        f"ratio {ratio:.3f} (95 % {low:.3f} to {high:.3f}); {len(passages)} distinct passages, titles included",
        *(f"{name:<6} {rates[name]:.0f} passages/s; {spread(values)}" for name, values in taken.items()),
        f"of the whole: all text searchable after {ms(median(text))}, vectors behind it",
    )
    row = Row(what, f"{ratio:.2f} ({rates['whole']:.0f} / {rates['bare']:.0f})", f">= {BAR}", at_least(ratio, BAR))
    return Report((row,), details, {"ratio": ratio, "interval": (low, high), "s": taken, "text_s": text})


def ready_model(world: World) -> tuple[ModelHost, RuntimeEmbedder]:
    """The default model as the daemon has it, ready, and the embedder inside it, past lane and cache."""
    made: list[RuntimeEmbedder] = []

    def create(settings: ModelSettings, **places: Any) -> RuntimeEmbedder:
        made.append(create_embedder(settings, **places))
        return made[0]

    host = ModelHost(ModelSettings(), cache_dir=world.cache / "groove", create=create)
    host.start()
    if not host.wait_ready(300):
        raise SystemExit(f"the model cannot be used: {host.state().reason}")
    return host, made[0]


@contextmanager
def working(settings: Settings, models: ModelHost) -> Iterator[tuple[Index, LateParts]]:
    """An empty index with watcher, worker and scheduler, not started."""
    with tempfile_folder() as home:
        index = Index.open(home / "data" / "index.db")
        scorers = ScorerHost(settings.models, cache_dir=home)
        places = Places(
            instance="default", config=home / "none", is_config_named=False, data=home / "data", state=home / "state",
            cache=home / "cache", socket=str(home / "socket"),
        )  # fmt: skip
        late = LateParts(settings, places=places, index=index, models=models, scorers=scorers)
        try:
            yield index, late
        finally:
            late.stop(10)
            scorers.close()
            index.close()


def index_fully(late: LateParts) -> dict[str, float]:
    """Start and wait until all is searchable; seconds to all `text` and to `all`."""
    began = time.perf_counter()
    late.start()
    moments: dict[str, float] = {}
    while "all" not in moments:
        status = late.worker.status()
        moment = time.perf_counter() - began
        scanned = all(one.is_scanned and not one.pending_files for one in status.collections)
        if scanned:
            moments.setdefault("text", moment)
        if scanned and not status.pending_vectors and status.progress.phase == "idle":
            moments["all"] = moment
        elif moment > _LONGEST_S:
            raise SystemExit(f"the index was not done in time: {status}")
        else:
            time.sleep(0.01)
    return moments


def _first_index(settings: Settings, models: ModelHost) -> dict[str, float]:
    with working(settings, models) as (_, late):
        return index_fully(late)


def _passages(settings: Settings, models: ModelHost) -> Sequence[str]:
    """The distinct passages of the vault, as the index knows them before any has a vector."""
    loading = ModelHost(settings.models, cache_dir=Path("/nonexistent"), create=_never(models))
    with working(settings, loading) as (index, late):
        late.start()
        while not all(one.is_scanned and not one.pending_files for one in late.worker.status().collections):
            time.sleep(0.02)
        pending = late.worker.run(lambda: index.writer.pending(10**6)).result(60)
    return [passage.text for passage in pending]


def _never(models: ModelHost) -> Any:
    return lambda *_, **__: _NotLoaded(models)


class _NotLoaded:
    """The model's tokenizer, and never the model: its host is not started."""

    fingerprint, dimension, runtime, side_by_side = "none", 1, "none", True

    def __init__(self, models: ModelHost) -> None:
        self.tokenizer = models.tokenizer

    def release(self) -> None:
        """Nothing to release."""
