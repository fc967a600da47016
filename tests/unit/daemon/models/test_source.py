from pathlib import Path

from groove_daemon.models.catalog import EMBEDDERS, locate
from groove_daemon.models.source import fingerprint, read_source
from support.models import write_model_folder, write_safetensors, write_tokenizer


def key_of(folder: Path) -> str:
    return read_source(locate(str(folder), EMBEDDERS)).key


def test_key_does_not_depend_on_the_place(tmp_path: Path) -> None:
    assert key_of(write_model_folder(tmp_path / "one")) == key_of(write_model_folder(tmp_path / "two"))


def test_key_changes_with_everything_that_changes_a_vector(tmp_path: Path) -> None:
    plain = write_model_folder(tmp_path / "plain")
    longer = write_model_folder(tmp_path / "longer", max_length=9)
    first = write_model_folder(tmp_path / "first", pooling={"pooling_mode": "cls"})
    prompted = write_model_folder(tmp_path / "prompted", prompts={"prompts": {"query": "q: "}})
    trained = write_model_folder(tmp_path / "trained")
    write_safetensors(trained / "model.safetensors", [3.0, 4.0])
    other_words = write_model_folder(tmp_path / "other-words")
    write_tokenizer(other_words, words=("x", "y"))
    dense = write_model_folder(tmp_path / "dense")
    (dense / "2_Dense").mkdir()
    write_safetensors(dense / "2_Dense" / "model.safetensors")

    keys = {key_of(folder) for folder in (plain, longer, first, prompted, trained, other_words, dense)}

    assert len(keys) == 7


def test_known_hash_spares_the_reading_and_gives_the_same_key(tmp_path: Path) -> None:
    files = locate(str(write_model_folder(tmp_path)), EMBEDDERS)
    read = read_source(files)

    assert read_source(files, sha256=read.sha256) == read


def test_fingerprint_tells_forms_and_dimensions_apart() -> None:
    prints = {
        fingerprint("m", key="k", form=form, dimension=dimension)
        for form in ("int8", "float32")
        for dimension in (2, 3)
    }

    assert len(prints) == 4
    assert "m/2/int8/k" in prints
