from pathlib import Path

import numpy as np
import pytest

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import create_scorer
from groove_daemon.models.base import PairScorer
from support.models import write_counting_graph, write_tokenizer


def scorer(folder: Path, *, labels: int = 1, threads: int = 2) -> PairScorer:
    write_tokenizer(folder, special=True)  # [UNK] 0, a 1, b 2, c 3, [CLS] 4, [SEP] 5
    write_counting_graph(folder / "model.onnx", labels=labels)
    made = create_scorer(ModelSettings(reranker=str(folder), threads=threads), cache_dir=folder)
    assert made is not None
    return made


def test_scores_are_the_raw_output_in_the_order_of_the_passages(tmp_path: Path) -> None:
    """The stand-in adds up the passage's token ids and the closing [SEP], which is 5."""
    scores = scorer(tmp_path).score("a a a", ["c c", "a", "", "b"])

    assert scores == [11.0, 6.0, 5.0, 7.0]


def test_no_passages_give_no_scores(tmp_path: Path) -> None:
    assert scorer(tmp_path).score("a", []) == []


def test_score_of_a_passage_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    made = scorer(tmp_path)

    together = made.score("a", ["b", "c " * 100, "a b c"])

    np.testing.assert_array_equal(together, [made.score("a", [text])[0] for text in ("b", "c " * 100, "a b c")])


def test_released_scorer_loads_again(tmp_path: Path) -> None:
    made = scorer(tmp_path)
    made.warm_up()
    made.release()
    made.release()

    assert made.score("a", ["b"]) == [7.0]


def test_model_with_several_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="gives 3 numbers for a pair"):
        scorer(tmp_path, labels=3).warm_up()


def test_fingerprint_depends_on_the_weights(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = scorer(tmp_path / "one"), scorer(tmp_path / "two")
    two_graph = tmp_path / "two/model.onnx"
    two_graph.write_bytes(two_graph.read_bytes().replace(b"count", b"other"))
    one.warm_up()
    two.warm_up()

    assert one.fingerprint.rpartition("/")[2] != two.fingerprint.rpartition("/")[2]


def test_none_is_no_scorer(tmp_path: Path) -> None:
    assert create_scorer(ModelSettings(reranker="none"), cache_dir=tmp_path) is None


def test_missing_reranker_is_named_when_it_is_loaded(tmp_path: Path) -> None:
    made = create_scorer(ModelSettings(reranker=str(tmp_path / "gone")), cache_dir=tmp_path)
    assert made is not None

    with pytest.raises(ModelUnavailable, match="gone does not exist"):
        made.warm_up()


def test_reranker_without_its_tokenizer_names_the_file(tmp_path: Path) -> None:
    made = scorer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()

    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json cannot be read"):
        made.warm_up()
