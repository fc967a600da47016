"""Builders and stand-ins for the tests of models."""

import functools
import json
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelError
from groove_daemon.models import create_embedder
from groove_daemon.models.base import Matrix, Vector, as_vector
from groove_daemon.models.recipe import Recipe
from groove_daemon.models.tokens import PlainTokenizer


class SteppedClock:
    """A clock that moves only when it is told to."""

    def __init__(self, at: float = 1000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    def step(self, seconds: float) -> None:
        self.at += seconds


@functools.cache
def exported_model_cache() -> Path:
    """A cache folder that holds the export of the default model; made once for each environment."""
    cache = Path(sys.prefix) / ".groove-test-cache"
    embedder = create_embedder(ModelSettings(), cache_dir=cache)
    embedder.warm_up()
    embedder.release()
    return cache


class StandInEmbedder:
    """Deterministic two-number vectors from letter counts, with hooks before each piece of work.

    `before_query` and `before_batch` are called in the working thread; `texts` records what ran, in order.
    """

    runtime = "stand-in"
    fingerprint = "stand-in/2"
    dimension = 2

    def __init__(self, *, side_by_side: bool = False, max_tokens: int = 100) -> None:
        self.side_by_side = side_by_side
        self.tokenizer = PlainTokenizer(max_tokens)
        self.texts: list[str | tuple[str, ...]] = []
        self.loads = 0
        self.releases = 0
        self.failures: list[ModelError] = []
        self.before_query: Callable[[], None] = lambda: None
        self.before_batch: Callable[[], None] = lambda: None

    def warm_up(self) -> None:
        self.loads += 1
        if self.failures:
            raise self.failures.pop(0)

    def release(self) -> None:
        self.releases += 1

    def embed_query(self, text: str) -> Vector:
        self.before_query()
        self.texts.append(text)
        return as_vector([1.0 + text.count("a"), text.count("b")], 2)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        self.before_batch()
        self.texts.append(tuple(texts))
        rows = [as_vector([1.0 + text.count("a"), text.count("b")], 2) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 2)


class Gate:
    """Lets a thread report that it came, and holds it until it may go on."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._open = threading.Event()

    def pass_through(self) -> None:
        self._came.set()
        assert self._open.wait(10)

    def wait_for_arrival(self) -> None:
        assert self._came.wait(10)

    def open(self) -> None:
        self._open.set()


def write_safetensors(file: Path, numbers: Sequence[float] = (1.0, 2.0)) -> None:
    """A complete weights file with one tensor."""
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    header = json.dumps({"w": {"dtype": "F32", "shape": [len(numbers)], "data_offsets": [0, len(data)]}}).encode()
    file.write_bytes(struct.pack("<Q", len(header)) + header + data)


def write_tokenizer(folder: Path, words: Sequence[str] = ("a", "b", "c"), *, special: bool = False) -> Path:
    """A tokenizer of whole words: `[UNK]` is 0, then the words; with `special`, `[CLS]` and `[SEP]` come last."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = ["[UNK]", *words, *(["[CLS]", "[SEP]"] if special else [])]
    numbers = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])],
        )
    file = folder / "tokenizer.json"
    tokenizer.save(str(file))
    return file


def write_model_folder(
    folder: Path,
    *,
    max_length: int = 8,
    pooling: Mapping[str, Any] | None = None,
    modules: Sequence[str] = ("Transformer", "Pooling", "Normalize"),
    prompts: Mapping[str, Any] | None = None,
    dimension: int = 2,
) -> Path:
    """A sentence-transformers folder whose weights no runtime could run; everything else is real."""
    places = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    entries = [
        {"type": f"sentence_transformers.models.{name}", "path": places.get(name, f"9_{name}")} for name in modules
    ]
    mode = pooling or {"pooling_mode_mean_tokens": True}
    write_json(folder / "modules.json", entries)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    write_json(folder / "1_Pooling/config.json", {"word_embedding_dimension": dimension, **mode})
    if prompts is not None:
        write_json(folder / "config_sentence_transformers.json", prompts)
    write_safetensors(folder / "model.safetensors")
    write_tokenizer(folder)
    return folder


def write_json(file: Path, value: object) -> None:
    """A JSON file."""
    file.write_text(json.dumps(value))


def write_lookup_graph(file: Path, table: Matrix, *, name: str = "input_ids") -> Path:
    """A graph that looks each token up in `table`: row i is the embedding of token i."""
    from onnx import TensorProto, helper, numpy_helper, save

    node = helper.make_node("Gather", ["table", name], ["token_embeddings"], axis=0)
    graph = helper.make_graph(
        [node],
        "lookup",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("token_embeddings", TensorProto.FLOAT, ["batch", "tokens", table.shape[1]])],
        [numpy_helper.from_array(np.asarray(table, dtype=np.float32), "table")],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(file))
    return file


def write_counting_graph(file: Path, *, labels: int = 1) -> Path:
    """A pair scorer whose logit is the sum of the token ids of the second text; `labels` repeats it."""
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [
        helper.make_node("Mul", ["input_ids", "token_type_ids"], ["second"]),
        helper.make_node("Cast", ["second"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["numbers", "axes"], ["sum"], keepdims=1),
        helper.make_node("Expand", ["sum", "shape"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "count",
        [
            helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"])
            for n in ("input_ids", "token_type_ids")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])],
        [
            numpy_helper.from_array(np.array([1], dtype=np.int64), "axes"),
            numpy_helper.from_array(np.array([1, labels], dtype=np.int64), "shape"),
        ],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(file))
    return file


def make_recipe(**changes: Any) -> Recipe:
    """Mean pooling over at most eight tokens, two numbers."""
    values: dict[str, Any] = {"max_length": 8, "pooling": "mean", "dimension": 2}
    return Recipe(**(values | changes))
