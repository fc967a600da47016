"""What every embedder keeps, whatever makes its vectors."""

import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelError
from groove_daemon.models import create_embedder
from groove_daemon.models.base import RuntimeEmbedder
from groove_daemon.models.cached import CachedEmbedder
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.models.lanes import EmbedderLane
from support.models import StandInEmbedder, exported_model_cache

pytestmark = pytest.mark.model

TEXTS = (
    "The spare key hangs behind the boiler.",
    "Prune the apple tree in late winter.",
    "apples",
    "def mean(values): return sum(values) / len(values)",
    "A paragraph about compost. " * 30,
)
ODD_TEXTS = {
    "nul": "key\x00board",
    "emoji": "party 🎉👩‍👩‍👧‍👦 tonight",
    "cjk": "会議は来週の火曜日に延期されました。",
    "rtl": "المفتاح خلف المرجل",
    "surrogate": "broken \udcff name",
    "newlines": "one\r\ntwo\n\n\nthree\u2028four",
    "very long": "the key is behind the boiler " * 5000,
    "one long word": "x" * 50_000,
}


def real(runtime: str) -> RuntimeEmbedder:
    return create_embedder(ModelSettings(runtime=runtime), cache_dir=exported_model_cache())


EMBEDDERS: Mapping[str, Callable[[], RuntimeEmbedder]] = {
    "hashing": HashingEmbedder,
    "onnx": functools.partial(real, "auto"),
    "torch": functools.partial(real, "torch"),
    "lane": lambda: EmbedderLane(HashingEmbedder(), batch_tokens=16),
    "cached": lambda: CachedEmbedder(HashingEmbedder(), capacity=3),
    "cached lane over onnx": lambda: CachedEmbedder(EmbedderLane(real("onnx"), batch_tokens=256), capacity=3),
    "stand-in": StandInEmbedder,
}


@pytest.fixture(scope="module", params=list(EMBEDDERS))
def embedder(request: pytest.FixtureRequest) -> Iterator[RuntimeEmbedder]:
    made = EMBEDDERS[request.param]()
    made.warm_up()
    yield made
    made.release()


def test_vectors_are_float32_unit_vectors(embedder: RuntimeEmbedder) -> None:
    query, rows = embedder.embed_query(TEXTS[0]), embedder.embed_passages(TEXTS)

    assert (query.shape, query.dtype) == ((embedder.dimension,), np.float32)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), embedder.dimension), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-5)


def test_same_text_gives_the_same_vector(embedder: RuntimeEmbedder) -> None:
    np.testing.assert_array_equal(embedder.embed_passages(TEXTS), embedder.embed_passages(TEXTS))
    np.testing.assert_array_equal(embedder.embed_query("a key"), embedder.embed_query("a key"))


def test_vector_depends_neither_on_neighbours_nor_on_order(embedder: RuntimeEmbedder) -> None:
    together = embedder.embed_passages(TEXTS)
    backwards = embedder.embed_passages(TEXTS[::-1])[::-1]
    alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])

    np.testing.assert_allclose(backwards, together, atol=1e-5)
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_no_texts_give_no_rows(embedder: RuntimeEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\x00"])
def test_empty_text_is_a_unit_vector_or_refused(embedder: RuntimeEmbedder, text: str) -> None:
    row = embedder.embed_passages(["word", text])[1]

    assert np.isnan(row).all() or np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5)
    try:
        assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1.0, abs=1e-5)
    except ModelError as error:
        assert "zero length" in error.message  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize("name", list(ODD_TEXTS))
def test_odd_text_has_a_vector(embedder: RuntimeEmbedder, name: str) -> None:
    text = ODD_TEXTS[name]

    rows = embedder.embed_passages([text, "word"])

    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1.0, abs=1e-5)


def test_released_embedder_gives_the_same_vectors_again(embedder: RuntimeEmbedder) -> None:
    before = embedder.embed_passages(TEXTS[:2])

    embedder.release()

    np.testing.assert_array_equal(embedder.embed_passages(TEXTS[:2]), before)


def test_tokenizer_measures_what_the_embedder_reads(embedder: RuntimeEmbedder) -> None:
    tokenizer = embedder.tokenizer

    assert tokenizer.max_tokens >= 1
    assert len(tokenizer.offsets("one two three")) >= 3


def test_configurations_with_different_vectors_never_share_a_fingerprint() -> None:
    onnx, torch = real("auto"), real("torch")
    for made in (onnx, torch):
        made.warm_up()
    prints = [HashingEmbedder().fingerprint, HashingEmbedder(64).fingerprint, onnx.fingerprint, torch.fingerprint]

    assert len(set(prints)) == len(prints)
    torch.release()


def test_wrappers_keep_the_fingerprint_of_what_they_wrap() -> None:
    inner = HashingEmbedder()

    assert EmbedderLane(inner, batch_tokens=16).fingerprint == inner.fingerprint
    assert CachedEmbedder(inner, capacity=1).fingerprint == inner.fingerprint
