import sys
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelLoading, ModelUnavailable
from groove_daemon.models import create_embedder
from groove_daemon.models.base import RuntimeEmbedder
from support.models import write_lookup_graph, write_model_folder

TABLE = np.array([[0.0, 0.0], [3.0, 4.0], [5.0, 0.0], [1.0, 1.0]], dtype=np.float32)


def graph_folder(folder: Path) -> Path:
    """A model folder whose weights are a graph: no export is needed."""
    write_model_folder(folder)
    (folder / "model.safetensors").unlink()
    write_lookup_graph(folder / "model.onnx", TABLE)
    return folder


def make(embedder: str, cache: Path, *, runtime: str = "auto") -> RuntimeEmbedder:
    return create_embedder(ModelSettings(embedder=embedder, runtime=runtime), cache_dir=cache)


def test_making_an_embedder_imports_no_library_of_machine_learning(tmp_path: Path) -> None:
    before = set(sys.modules)

    make("all-MiniLM-L6-v2", tmp_path)

    assert not {"torch", "sentence_transformers", "transformers"} & (set(sys.modules) - before)


def test_embedder_without_a_choice_yet_is_loading_but_has_its_tokenizer(tmp_path: Path) -> None:
    embedder = make("all-MiniLM-L6-v2", tmp_path)

    assert embedder.tokenizer.max_tokens == 254
    with pytest.raises(ModelLoading):
        _ = embedder.fingerprint
    with pytest.raises(ModelLoading):
        _ = embedder.dimension


def test_folder_with_a_graph_runs_as_it_is(tmp_path: Path) -> None:
    embedder = make(str(graph_folder(tmp_path / "mine")), tmp_path / "cache")
    embedder.warm_up()

    assert (embedder.runtime, embedder.dimension) == ("onnx", 2)
    assert embedder.fingerprint.startswith("mine/2/given/")
    np.testing.assert_allclose(embedder.embed_query("a"), [0.6, 0.8], atol=1e-6)
    assert not (tmp_path / "cache").exists()


def test_released_embedder_comes_back_as_the_same(tmp_path: Path) -> None:
    embedder = make(str(graph_folder(tmp_path / "mine")), tmp_path / "cache")
    embedder.warm_up()
    before = embedder.fingerprint

    embedder.release()
    embedder.warm_up()

    assert embedder.fingerprint == before


def test_missing_model_is_named_when_it_is_loaded(tmp_path: Path) -> None:
    embedder = make(str(tmp_path / "gone"), tmp_path)

    with pytest.raises(ModelUnavailable, match="gone does not exist"):
        embedder.warm_up()
    with pytest.raises(ModelUnavailable, match="gone does not exist"):
        _ = embedder.tokenizer


def test_model_that_only_torch_can_run_is_refused_when_onnx_is_asked_for(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path / "mine", modules=("Transformer", "Pooling", "Dense"))

    with pytest.raises(ModelUnavailable, match="no ONNX form: the model has a module Dense") as caught:
        make(str(folder), tmp_path, runtime="onnx").warm_up()

    assert "runtime" in caught.value.hint


def test_none_is_no_embedder(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no embedding model is set"):
        make("none", tmp_path)


def test_release_before_loading_does_nothing(tmp_path: Path) -> None:
    make("all-MiniLM-L6-v2", tmp_path).release()
