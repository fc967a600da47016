"""Rerankers that sentence-transformers runs: a real cross-encoder with random weights, made on the spot."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import create_scorer
from groove_daemon.models.base import PairScorer
from support.models import write_json

pytestmark = [pytest.mark.model, pytest.mark.slow]

# Writes the weights, and the logits that transformers itself gives, without any activation.
MAKER = """
import sys, json, torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
torch.manual_seed(3)
folder = sys.argv[1]
config = BertConfig(vocab_size=16, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                    max_position_embeddings=32, num_labels=1, initializer_range=0.8)
model = BertForSequenceClassification(config).eval()
model.save_pretrained(folder)
words = "[PAD] [UNK] [CLS] [SEP] [MASK] key boiler soup the hangs behind".split()
tokenizer = BertTokenizer(vocab={word: number for number, word in enumerate(words)}, model_max_length=32)
tokenizer.save_pretrained(folder)
pairs = [("key", "the key hangs behind the boiler"), ("key", "soup")]
def logit(pair):
    return model(**tokenizer(*pair, return_tensors="pt")).logits[0, 0].item()
with torch.no_grad():
    logits = [logit(pair) for pair in pairs]
print(json.dumps(logits))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reranker")
    done = subprocess.run([sys.executable, "-c", MAKER, str(made)], capture_output=True, text=True, check=True)
    (made / "expected.json").write_text(done.stdout.splitlines()[-1])
    return made


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Iterator[PairScorer]:
    made = create_scorer(ModelSettings(reranker=str(folder), threads=1), cache_dir=folder)
    assert made is not None
    made.warm_up()
    yield made
    made.release()


def test_scores_are_raw_logits(folder: Path, scorer: PairScorer) -> None:
    expected = np.array(json.loads((folder / "expected.json").read_text()))

    scores = scorer.score("key", ["the key hangs behind the boiler", "soup"])

    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert any(not 0 <= score <= 1 for score in scores)  # else a sigmoid would go unnoticed


def test_order_and_neighbours_change_nothing(scorer: PairScorer) -> None:
    passages = ["soup", "the key", "boiler " * 100, ""]

    together = scorer.score("key", passages)

    np.testing.assert_allclose(scorer.score("key", passages[::-1])[::-1], together, atol=1e-4)
    assert scorer.score("key", []) == []


def test_torch_stays_out_of_this_process(scorer: PairScorer) -> None:
    scorer.score("key", ["soup"])

    assert "torch" not in sys.modules


def test_damaged_weights_give_the_real_reason(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    write_json(tmp_path / "config.json", {"model_type": "no such architecture"})
    made = create_scorer(ModelSettings(reranker=str(tmp_path), threads=1), cache_dir=tmp_path)
    assert made is not None

    with pytest.raises(ModelUnavailable, match="no such architecture"):
        made.warm_up()
    made.release()
