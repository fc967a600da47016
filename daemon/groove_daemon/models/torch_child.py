"""The process that may import torch: exports models, and runs those that have no ONNX form.

Run as `python -m groove_daemon.models.torch_child` by the daemon, which speaks frames over the standard streams.  It
ends when its standard input ends, that is, with the daemon, and answers one request at a time.  An exception that is
not expected ends it with a traceback on standard error, which is the daemon's log.
"""

import inspect
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from groove_daemon.models.base import Matrix
from groove_daemon.models.canaries import CANARIES
from groove_daemon.models.frames import pack_rows, read_frame, write_frame
from groove_daemon.models.onnx import OnnxEmbedder, OnnxModel
from groove_daemon.models.priority import lower_this_thread
from groove_daemon.models.recipe import Recipe
from groove_daemon.models.source import FLOAT32, INT8

_MIN_MEAN_COSINE = 0.985
_MIN_OVERLAP = 0.9
_NEIGHBOURS = 10
_OPSET = 17
_BATCH = 16

Request = Mapping[str, Any]
Answer = tuple[dict[str, Any], bytes]


def export(request: Request) -> Answer:
    """Export a model into the folder `work`: int8 if that is faithful, float32 if only that is."""
    lower_this_thread()
    recipe, work = Recipe(**request["recipe"]), Path(request["work"])
    try:
        model = _sentence_transformer(request["folder"], recipe.max_length, attention="eager")
        original = _encode(model, list(CANARIES), recipe.passage_prompt)
        whole = work / "float32.onnx"
        _write_graph(model, whole)
        return _faithful_form(request, recipe, whole, original), b""
    except (ImportError, MemoryError, OSError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}, b""


def load_embedder(request: Request) -> "Loaded":
    """Load a sentence-transformers model."""
    model = _sentence_transformer(request["folder"], request["max_length"])
    dimension = len(_encode(model, ["warm up"], "")[0])
    return Loaded({"dimension": dimension}, lambda work: _encode(model, work["texts"], work["prompt"]))


def load_scorer(request: Request) -> "Loaded":
    """Load a cross-encoder; its scores are raw logits, whatever activation its card names."""
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(
        request["folder"],
        device="cpu",
        local_files_only=True,
        max_length=request["max_length"],
        num_labels=1,
        activation_fn=torch.nn.Identity(),
    )

    def score(work: Request) -> Matrix:
        pairs = [(work["query"], passage) for passage in work["passages"]]
        scores: Matrix = model.predict(pairs, batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(-1, 1)

    return Loaded({}, score)


class Loaded:
    """A model in memory: `about` is what loading answers, `rows` does one request."""

    def __init__(self, about: dict[str, Any], rows: Callable[[Request], Matrix]) -> None:
        self.about = about
        self.rows = rows


_LOADERS: Mapping[str, Callable[[Request], Loaded]] = MappingProxyType(
    {"embedder": load_embedder, "scorer": load_scorer}
)


class Server:
    """Answers requests; keeps the loaded model and a thread of low priority for background work."""

    def __init__(self) -> None:
        self._loaded: Loaded | None = None
        self._background = ThreadPoolExecutor(1, initializer=lower_this_thread)

    def answer(self, request: Request) -> Answer:
        """Do one request."""
        if request["op"] == "export":
            return export(request)
        if request["op"] == "load":
            self._loaded = _LOADERS[request["kind"]](request)
            return self._loaded.about, b""
        if self._loaded is None:
            raise RuntimeError("no model is loaded")
        return {}, pack_rows(self._work(self._loaded, request))

    def _work(self, loaded: Loaded, request: Request) -> Matrix:
        import torch

        if not request.get("background", False):
            # One thread: with a busy neighbour on the second core, two make the slowest queries ten times slower.
            torch.set_num_threads(request["threads"] if request["op"] == "score" else 1)
            return loaded.rows(request)
        torch.set_num_threads(request["threads"])
        return self._background.submit(loaded.rows, request).result()


def main() -> None:
    """Answer frames until standard input ends."""
    # Libraries print where they like; the answers keep the real standard output for themselves.
    with open(os.dup(1), "wb", buffering=0) as answers:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        requests: queue.Queue[Request] = queue.Queue()
        threading.Thread(target=_receive, args=(requests,), name="receive", daemon=True).start()
        _serve(requests, answers)


def _serve(requests: "queue.Queue[Request]", answers: IO[bytes]) -> None:
    server = Server()
    while True:
        header, payload = server.answer(requests.get())
        write_frame(answers, header, payload)


def _receive(requests: "queue.Queue[Request]") -> None:
    """Read requests in a thread of its own, so that the parent's end is noticed in the middle of work."""
    with open(0, "rb", buffering=0, closefd=False) as stream:
        while True:
            try:
                header, _ = read_frame(stream)
            except EOFError:
                os._exit(0)
            requests.put(header)


def _sentence_transformer(folder: str, max_length: int, *, attention: str | None = None) -> Any:
    from sentence_transformers import SentenceTransformer

    # The fused attention of torch cannot be traced into a graph; plain attention gives the same numbers.
    arguments = {"attn_implementation": attention} if attention else {}
    model = SentenceTransformer(folder, device="cpu", local_files_only=True, model_kwargs=arguments)
    model.max_seq_length = max_length
    model.eval()
    return model


def _encode(model: Any, texts: list[str], prompt: str) -> Matrix:
    vectors: Matrix = model.encode(
        texts, prompt=prompt, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32)


def _write_graph(model: Any, file: Path) -> None:
    """Trace the transformer into a graph: token ids in, token embeddings out, both axes of free length."""
    import torch

    transformer = model[0].auto_model.eval()
    example = model.tokenizer(
        ["a text to trace", "and a second, longer text to trace"], padding=True, return_tensors="pt"
    )
    accepted = inspect.signature(transformer.forward).parameters
    names = [name for name in example if name in accepted]

    class TokenEmbeddings(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            output: torch.Tensor = self.transformer(**dict(zip(names, inputs, strict=True))).last_hidden_state
            return output

    free = {name: {0: "batch", 1: "tokens"} for name in (*names, "token_embeddings")}
    with torch.no_grad():
        torch.onnx.export(
            TokenEmbeddings().eval(),
            tuple(example[name] for name in names),
            str(file),
            input_names=names,
            output_names=["token_embeddings"],
            dynamic_axes=free,
            opset_version=_OPSET,
            dynamo=False,
        )
    model.eval()  # the exporter leaves it in training mode, with dropout


def _faithful_form(request: Request, recipe: Recipe, whole: Path, original: Matrix) -> dict[str, Any]:
    graph = whole.with_name("model.onnx")
    tried: list[str] = []
    for form, write in _FORMS.items():
        write(whole, graph)
        model = OnnxModel(
            request["name"], graph, Path(request["folder"]) / "tokenizer.json", recipe, form, request["key"]
        )
        embedder = OnnxEmbedder(model, threads=request["threads"])
        fidelity = compare(original, embedder.embed_passages(CANARIES))
        embedder.release()
        if fidelity["mean_cosine"] >= _MIN_MEAN_COSINE and fidelity["overlap"] >= _MIN_OVERLAP:
            whole.unlink(missing_ok=True)
            return {"form": form, "fidelity": fidelity}
        tried.append(f"{form}: cosine {fidelity['mean_cosine']:.3f}, overlap {fidelity['overlap']:.2f}")
    return {"rejected": f"the ONNX forms differ from the original ({'; '.join(tried)})"}


def compare(original: Matrix, other: Matrix) -> dict[str, float]:
    """Fidelity of unit vectors to the original ones, both `(texts, dimension)`; a NaN row counts as cosine 0."""
    other = np.nan_to_num(other)
    cosines = np.einsum("ij,ij->i", original, other)
    ours, theirs = _neighbours(other), _neighbours(original)
    shared = [len(set(mine) & set(yours)) / len(mine) for mine, yours in zip(ours, theirs, strict=True)]
    return {
        "mean_cosine": float(cosines.mean()),
        "min_cosine": float(cosines.min()),
        "overlap": float(np.mean(shared)),
    }


def _neighbours(vectors: Matrix) -> list[list[int]]:
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    nearest: list[list[int]] = np.argsort(-similarity, axis=1, kind="stable")[:, :_NEIGHBOURS].tolist()
    return nearest


def _quantise(whole: Path, target: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # One scale for each output channel: with one for each matrix the mean cosine falls from 0.993 to 0.958.
    quantize_dynamic(whole, target, weight_type=QuantType.QInt8, per_channel=True)


def _keep(whole: Path, target: Path) -> None:
    whole.replace(target)


# In the order of preference.
_FORMS: Mapping[str, Callable[[Path, Path], None]] = MappingProxyType({INT8: _quantise, FLOAT32: _keep})


if __name__ == "__main__":
    main()
