"""Models that onnxruntime runs inside the daemon: one text at a time, one thread a text.

One text a run, because batches help nothing here: on a CPU a padded batch is slower (43 texts of 256 tokens a second
alone, 24 in batches of 16), takes several times the memory, and with dynamic quantisation makes a text's vector depend
on its neighbours (cosine 0.993 to the same text alone).  So several texts are several threads over one session.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.base import Matrix, Vector, as_vector, unit_rows
from groove_daemon.models.priority import lower_this_thread
from groove_daemon.models.recipe import Recipe
from groove_daemon.models.source import GIVEN, fingerprint
from groove_daemon.models.tokens import SubwordTokenizer

if TYPE_CHECKING:
    from tokenizers import Encoding

# Past this many tokens the scratch memory of a run is worth giving back at once.
_LONG_TOKENS = 512
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A graph that gives token embeddings, and how to use it.  `form` is its arithmetic: int8, float32, or as given."""

    name: str
    graph: Path
    tokenizer: Path
    recipe: Recipe
    form: str
    key: str

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        return fingerprint(self.name, key=self.key, form=self.form, dimension=self.recipe.dimension)


class Session:
    """An onnxruntime session that is light until it is loaded, and that several threads may run at once."""

    def __init__(self, graph: Path) -> None:
        self._graph = graph
        self._loaded: tuple[Any, frozenset[str]] | None = None
        self._loading = threading.Lock()

    def load(self) -> tuple[Any, frozenset[str]]:
        """The session and the names of its inputs, loaded once.

        Raises:
            ModelUnavailable: onnxruntime is missing or cannot load the graph.
        """
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self._graph)
            return self._loaded

    def unload(self) -> None:
        """Forget the session; runs under way end by themselves."""
        with self._loading:
            self._loaded = None

    def run(self, encoding: "Encoding") -> Matrix:
        """The graph's first output for one text, without the batch axis.

        Raises:
            ModelUnavailable: onnxruntime failed.
        """
        session, names = self.load()
        columns = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: np.array([columns[name]], dtype=np.int64) for name in names}
        try:
            output: Matrix = session.run(None, feed, _run_options(len(encoding.ids)))[0][0]
        except _onnxruntime_errors() as error:
            raise ModelUnavailable(f"{self._graph} failed ({_first_line(error)})") from error
        return output


class OnnxEmbedder:
    """Unit vectors from a graph.

    Args:
        model: the graph and its recipe.
        threads: how many passages are embedded at once; a query takes the caller's thread.
        tokenizer: the model's tokenizer, if somebody has it already; it takes 10 MB.
    """

    def __init__(self, model: OnnxModel, *, threads: int, tokenizer: SubwordTokenizer | None = None) -> None:
        self._model = model
        self._threads = threads
        self._session = Session(model.graph)
        self._tokenizer = tokenizer
        self._pool: ThreadPoolExecutor | None = None
        self._changing = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        return self._model.fingerprint

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._model.recipe.dimension

    @property
    def runtime(self) -> str:
        """For status."""
        return "onnx" if self._model.form == GIVEN else f"onnx {self._model.form}"

    @property
    def side_by_side(self) -> bool:
        """Queries and passages share a session that any number of threads may run."""
        return True

    @property
    def tokenizer(self) -> SubwordTokenizer:
        """The model's own tokenizer."""
        with self._changing:
            if self._tokenizer is None:
                recipe = self._model.recipe
                self._tokenizer = SubwordTokenizer(
                    self._model.tokenizer,
                    max_length=recipe.max_length,
                    prompt=recipe.passage_prompt,
                    lower_case=recipe.lower_case,
                )
            return self._tokenizer

    def warm_up(self) -> None:
        """Load the session and make one vector, so that the first query pays for nothing; raises ModelUnavailable."""
        if self._embed("warm up").shape != (self.dimension,):
            raise ModelUnavailable(
                f"{self._model.graph} does not give vectors of {self.dimension} numbers",
                hint="its output must be the embedding of each token",
            )

    def release(self) -> None:
        """Forget session and threads; the next call loads them again."""
        with self._changing:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        self._session.unload()

    def embed_query(self, text: str) -> Vector:
        """One unit vector, in the caller's thread.

        Raises:
            ModelError: the model gave no usable vector.
        """
        return as_vector(self._embed(self._model.recipe.query_prompt + text), self.dimension)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of `texts`; NaN where the model gave no usable vector."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        prompt = self._model.recipe.passage_prompt
        with self._changing:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    self._threads, thread_name_prefix="embed", initializer=lower_this_thread
                )
            futures = [self._pool.submit(self._embed, prompt + text) for text in texts]
        return unit_rows(np.stack([future.result() for future in futures]), self.dimension)

    def _embed(self, text: str) -> Vector:
        return _pool(self._session.run(self.tokenizer.encode(text)), self._model.recipe.pooling)


def _pool(tokens: Matrix, how: str) -> Vector:
    """One vector of many: `tokens` has the shape (tokens, dimension), and none of them is padding."""
    pooled: Vector
    if how == "cls":
        pooled = tokens[0]
    elif how == "lasttoken":
        pooled = tokens[-1]
    elif how == "max":
        pooled = tokens.max(axis=0)
    else:
        pooled = tokens.mean(axis=0)
    return pooled


def _open(graph: Path) -> tuple[Any, frozenset[str]]:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelUnavailable(f"onnxruntime is missing ({error})", hint="run: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Patterns are kept for each length of text that ever came, so memory would grow with every new one.
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except _onnxruntime_errors() as error:
        raise ModelUnavailable(f"{graph} cannot be loaded ({_first_line(error)})", file=str(graph)) from error
    names = frozenset(entry.name for entry in session.get_inputs())
    if not names <= _INPUTS:
        raise ModelUnavailable(f"{graph} wants the inputs {', '.join(sorted(names - _INPUTS))}", file=str(graph))
    return session, names


def _run_options(tokens: int) -> Any:
    if tokens <= _LONG_TOKENS:
        return None
    from onnxruntime import RunOptions

    options = RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


def _onnxruntime_errors() -> tuple[type[Exception], ...]:
    """The library's exceptions have no common base of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = (value for value in vars(state).values() if isinstance(value, type) and issubclass(value, Exception))
    return (*own, RuntimeError, ValueError)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
