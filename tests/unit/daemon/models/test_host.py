import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelLoading, ModelUnavailable
from groove_daemon.models.base import RuntimeEmbedder
from groove_daemon.models.host import ModelHost, ScorerHost
from groove_daemon.models.tokens import PlainTokenizer
from support.models import Gate, StandInEmbedder, SteppedClock


class Bench:
    """A host around a stand-in embedder."""

    def __init__(self, **settings: Any) -> None:
        self.clock = SteppedClock()
        self.embedder = StandInEmbedder()
        self.on_progress: Callable[[str], None] = lambda _: None
        self.host = ModelHost(
            ModelSettings(**({"embedder": "tiny"} | settings)),
            cache_dir=Path("/nowhere"),
            clock=self.clock,
            create=self._create,
            pause=lambda _: 3600.0,
        )

    def _create(
        self, settings: ModelSettings, *, cache_dir: Path, on_progress: Callable[[str], None]
    ) -> RuntimeEmbedder:
        self.on_progress = on_progress
        return self.embedder

    def ready(self) -> "Bench":
        self.host.start()
        assert self.host.wait_ready(10)
        return self


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.host.close()


def test_ready_model_answers_and_says_what_it_is(bench: Bench) -> None:
    host = bench.ready().host

    state = host.state()

    assert (state.name, state.state, state.reason) == ("tiny", "ready", "")
    assert (state.runtime, state.fingerprint, state.dimension) == ("stand-in", "stand-in/2", 2)
    assert host.embedder.embed_query("a").shape == (2,)


def test_model_that_is_loading_says_so(bench: Bench) -> None:
    gate = Gate()
    bench.embedder.warm_up = gate.pass_through  # type: ignore[method-assign]
    bench.host.start()
    gate.wait_for_arrival()
    bench.on_progress("exporting to ONNX, once")

    state = bench.host.state()

    assert (state.state, state.reason, state.runtime) == ("loading", "exporting to ONNX, once", None)
    with pytest.raises(ModelLoading):
        _ = bench.host.embedder
    gate.open()


def test_model_that_failed_gives_its_reason(bench: Bench) -> None:
    bench.embedder.failures.append(ModelUnavailable("the weights are missing", hint="install them"))
    bench.host.start()

    assert not bench.host.wait_ready(10)
    assert bench.host.state().state == "failed"
    assert bench.host.state().reason == "the weights are missing; install them"
    with pytest.raises(ModelUnavailable, match="the weights are missing"):
        _ = bench.host.embedder


def test_no_model_is_off_with_a_reason_and_a_plain_tokenizer(tmp_path: Path) -> None:
    host = ModelHost(ModelSettings(embedder="none"), cache_dir=tmp_path)
    host.start()

    assert host.state().state == "off"
    assert "no embedding model is set" in host.state().reason
    assert isinstance(host.tokenizer, PlainTokenizer)
    with pytest.raises(ModelUnavailable):
        _ = host.embedder
    host.close()


def test_hashing_needs_no_model(tmp_path: Path) -> None:
    host = ModelHost(ModelSettings(embedder="hashing"), cache_dir=tmp_path)
    host.start()

    assert host.wait_ready(10)
    assert host.state().runtime == "hashing"
    assert np.linalg.norm(host.embedder.embed_query("key")) == pytest.approx(1.0)
    host.close()


def test_tokenizer_is_there_before_the_model_is_loaded(tmp_path: Path) -> None:
    host = ModelHost(ModelSettings(), cache_dir=tmp_path)

    assert host.tokenizer.max_tokens == 254
    assert host.tokenizer.name.startswith("subwords-")


def test_missing_model_leaves_a_plain_tokenizer_that_stays(tmp_path: Path) -> None:
    host = ModelHost(ModelSettings(embedder=str(tmp_path / "gone")), cache_dir=tmp_path)

    assert isinstance(host.tokenizer, PlainTokenizer)
    assert host.tokenizer is host.tokenizer


def test_missing_model_fails_and_names_the_remedy(tmp_path: Path) -> None:
    host = ModelHost(ModelSettings(embedder=str(tmp_path / "gone")), cache_dir=tmp_path)
    host.start()

    assert not host.wait_ready(10)
    assert f"{tmp_path}/gone does not exist" in host.state().reason
    assert "correct the setting" in host.state().reason
    host.close()


def test_on_ready_is_called(bench: Bench) -> None:
    called = threading.Event()
    bench.host.on_ready(called.set)

    bench.ready()

    assert called.wait(10)


def test_repeated_query_comes_from_the_cache(bench: Bench) -> None:
    host = bench.ready().host

    host.embedder.embed_query("a")
    host.embedder.embed_query("a")

    assert bench.embedder.texts == ["a"]


def test_idle_model_is_released_once_and_comes_back_with_its_next_use() -> None:
    bench = Bench(idle_release=60.0).ready()
    bench.clock.step(59)
    early = bench.host.release_if_idle()
    bench.clock.step(2)

    assert (early, bench.host.release_if_idle(), bench.host.release_if_idle()) == (False, True, False)
    assert bench.embedder.releases == 1
    assert (bench.host.state().state, "released" in bench.host.state().reason) == ("ready", True)
    bench.host.embedder.embed_query("a")
    assert bench.host.state().reason == ""
    assert not bench.host.release_if_idle()
    bench.host.close()


def test_model_is_kept_when_no_idle_time_is_set(bench: Bench) -> None:
    bench.ready().clock.step(1e9)

    assert not bench.host.release_if_idle()
    assert bench.embedder.releases == 0


def test_close_releases_the_model_and_ends_the_thread() -> None:
    bench = Bench().ready()

    bench.host.close()

    assert bench.embedder.releases == 1
    assert bench.host.state().state == "off"


class StandInScorer:
    fingerprint = "stand-in"

    def __init__(self) -> None:
        self.loads = 0
        self.releases = 0
        self.failure: ModelUnavailable | None = None

    def warm_up(self) -> None:
        self.loads += 1
        if self.failure:
            raise self.failure

    def release(self) -> None:
        self.releases += 1

    def score(self, query: str, passages: list[str]) -> list[float]:
        return [float(len(passage)) for passage in passages]


def scorer_host(scorer: StandInScorer | None, clock: SteppedClock, **settings: Any) -> ScorerHost:
    return ScorerHost(
        ModelSettings(reranker="tiny", **settings),
        cache_dir=Path("/nowhere"),
        clock=clock,
        create=lambda *_, **__: scorer,
        pause=lambda _: 3600.0,
    )


def test_scorer_is_loaded_by_its_first_use() -> None:
    scorer = StandInScorer()
    host = scorer_host(scorer, SteppedClock())

    assert host.state().state == "off"
    with pytest.raises(ModelLoading):
        _ = host.scorer
    assert host.wait_ready(10)
    assert host.scorer.score("q", ["abc"]) == [3.0]
    assert scorer.loads == 1
    host.close()


def test_no_scorer_is_off_with_a_reason() -> None:
    host = scorer_host(None, SteppedClock())

    with pytest.raises(ModelUnavailable, match="no reranker is set"):
        _ = host.scorer
    assert host.state().state == "off"


def test_scorer_that_cannot_be_loaded_gives_its_reason() -> None:
    scorer = StandInScorer()
    scorer.failure = ModelUnavailable("the weights are missing", hint="install them")
    host = scorer_host(scorer, SteppedClock())
    host.start()

    assert not host.wait_ready(10)
    assert host.state().reason == "the weights are missing; install them"
    with pytest.raises(ModelUnavailable, match="the weights are missing"):
        _ = host.scorer
    host.close()


def test_idle_scorer_is_released() -> None:
    scorer, clock = StandInScorer(), SteppedClock()
    host = scorer_host(scorer, clock, idle_release=60.0)
    host.start()
    assert host.wait_ready(10)
    clock.step(61)

    assert host.release_if_idle()
    assert not host.release_if_idle()
    assert scorer.releases == 1
    host.close()
