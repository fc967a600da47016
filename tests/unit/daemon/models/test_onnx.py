from pathlib import Path

import numpy as np
import pytest

from groove_daemon.errors import ModelError, ModelUnavailable
from groove_daemon.models.onnx import OnnxEmbedder, OnnxModel
from groove_daemon.models.recipe import Recipe
from support.models import make_recipe, write_lookup_graph, write_tokenizer

# Embeddings of [UNK], a, b, c: the third has no length, the last is not finite.
TABLE = np.array([[0.0, 0.0], [3.0, 4.0], [5.0, 0.0], [np.nan, 1.0]], dtype=np.float32)


def embedder(folder: Path, recipe: Recipe, *, threads: int = 1, key: str = "k") -> OnnxEmbedder:
    graph = write_lookup_graph(folder / "model.onnx", TABLE)
    return OnnxEmbedder(OnnxModel("tiny", graph, write_tokenizer(folder), recipe, "int8", key), threads=threads)


@pytest.mark.parametrize(
    ("pooling", "direction"),
    [("mean", [8.0, 4.0]), ("cls", [3.0, 4.0]), ("lasttoken", [5.0, 0.0]), ("max", [5.0, 4.0])],
)
def test_query_is_pooled_as_the_recipe_says_and_normalised(
    tmp_path: Path, pooling: str, direction: list[float]
) -> None:
    vector = embedder(tmp_path, make_recipe(pooling=pooling)).embed_query("a b")

    np.testing.assert_allclose(vector, np.array(direction) / np.linalg.norm(direction), atol=1e-6)


def test_prompts_are_put_in_front(tmp_path: Path) -> None:
    tiny = embedder(tmp_path, make_recipe(pooling="cls", query_prompt="b ", passage_prompt="a "))

    np.testing.assert_allclose(tiny.embed_query("a"), [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(tiny.embed_passages(["b"])[0], [0.6, 0.8], atol=1e-6)


def test_text_is_cut_at_the_models_length(tmp_path: Path) -> None:
    tiny = embedder(tmp_path, make_recipe(max_length=2))

    np.testing.assert_allclose(tiny.embed_query("a a b b b b"), [0.6, 0.8], atol=1e-6)


def test_passages_come_in_their_order_whatever_the_threads(tmp_path: Path) -> None:
    tiny = embedder(tmp_path, make_recipe(), threads=3)

    rows = tiny.embed_passages(["a", "b", "a b b"] * 20)

    np.testing.assert_allclose(rows[0::3], [[0.6, 0.8]] * 20, atol=1e-6)
    np.testing.assert_allclose(rows[1::3], [[1.0, 0.0]] * 20, atol=1e-6)


@pytest.mark.parametrize("text", ["unknown", "c", "a c"])
def test_text_without_a_usable_vector_is_a_row_of_nan(tmp_path: Path, text: str) -> None:
    rows = embedder(tmp_path, make_recipe()).embed_passages(["a", text])

    assert np.isfinite(rows[0]).all()
    assert np.isnan(rows[1]).all()


def test_query_without_a_usable_vector_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not finite or has zero length"):
        embedder(tmp_path, make_recipe()).embed_query("unknown")


def test_no_passages_give_no_rows(tmp_path: Path) -> None:
    assert embedder(tmp_path, make_recipe()).embed_passages([]).shape == (0, 2)


def test_released_embedder_loads_again(tmp_path: Path) -> None:
    tiny = embedder(tmp_path, make_recipe())
    before = tiny.embed_passages(["a b"])

    tiny.release()
    tiny.release()

    np.testing.assert_array_equal(tiny.embed_passages(["a b"]), before)


def test_fingerprint_names_model_dimension_and_arithmetic(tmp_path: Path) -> None:
    assert embedder(tmp_path, make_recipe(), key="abc").fingerprint == "tiny/2/int8/abc"


def test_constructor_touches_no_file() -> None:
    model = OnnxModel("gone", Path("/nowhere/model.onnx"), Path("/nowhere/tokenizer.json"), make_recipe(), "int8", "k")

    OnnxEmbedder(model, threads=1)


@pytest.mark.parametrize("content", [None, b"", b"no graph at all"])
def test_missing_or_damaged_graph_is_named(tmp_path: Path, content: bytes | None) -> None:
    tiny = embedder(tmp_path, make_recipe())
    (tmp_path / "model.onnx").unlink()
    if content is not None:
        (tmp_path / "model.onnx").write_bytes(content)

    with pytest.raises(ModelUnavailable, match=r"model\.onnx cannot be loaded"):
        tiny.warm_up()


def test_graph_with_another_input_is_refused(tmp_path: Path) -> None:
    graph = write_lookup_graph(tmp_path / "model.onnx", TABLE, name="pixels")
    model = OnnxModel("tiny", graph, write_tokenizer(tmp_path), make_recipe(), "int8", "k")

    with pytest.raises(ModelUnavailable, match="wants the inputs pixels"):
        OnnxEmbedder(model, threads=1).warm_up()


def test_graph_of_another_dimension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="does not give vectors of 3 numbers"):
        embedder(tmp_path, make_recipe(dimension=3)).warm_up()


def test_token_that_the_graph_does_not_know_is_a_model_error(tmp_path: Path) -> None:
    tiny = embedder(tmp_path, make_recipe())
    write_tokenizer(tmp_path, words=[f"w{number}" for number in range(50)])

    with pytest.raises(ModelUnavailable, match="failed"):
        tiny.embed_query("w40")
