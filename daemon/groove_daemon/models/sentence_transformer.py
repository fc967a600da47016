"""A sentence-transformers model in a process of its own, for models that have no faithful ONNX form.

torch is never imported into the daemon: its half gigabyte comes and goes with the child.  A child that crashed is
started again, once for each call.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import structlog

from groove_daemon.errors import ModelLoading, ModelUnavailable
from groove_daemon.models.base import Matrix, Vector, as_vector, unit_rows
from groove_daemon.models.child import ChildGone, ChildProcess, torch_child_argv
from groove_daemon.models.frames import unpack_rows
from groove_daemon.models.requirements import require
from groove_daemon.models.source import FLOAT32, Source, fingerprint
from groove_daemon.models.tokens import SubwordTokenizer, without_surrogates

log = structlog.get_logger()

_LOAD_TIMEOUT_S = 600.0
_WORK_TIMEOUT_S = 300.0


class TorchChild:
    """A model loaded in the child, whatever it does.

    Args:
        load: the request that loads it, without the file that the model is.
        name: what the child is for, in the log.
        threads: CPU threads for background work.
    """

    def __init__(self, load: dict[str, Any], *, name: str, threads: int) -> None:
        self._load = load
        self._child = ChildProcess(torch_child_argv(), name=name, threads=threads)
        self._threads = threads
        self._loaded: dict[str, Any] | None = None
        self._loading = threading.Lock()
        self._releases = 0

    @property
    def process_id(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.process_id

    def load(self) -> dict[str, Any]:
        """Start the child and load the model, once; what the child said about it.

        Raises:
            ModelUnavailable: a package is missing, or the child could not load the model.
        """
        with self._loading:
            if self._loaded is None or self._child.process_id is None:
                require("torch", "sentence_transformers")
                self._loaded, _ = self._child.request(self._load, timeout_s=_LOAD_TIMEOUT_S)
            return self._loaded

    def release(self) -> None:
        """End the child."""
        self._releases += 1
        self._loaded = None
        self._child.stop()

    def numbers(self, request: dict[str, Any], *, width: int) -> Matrix:
        """The rows that the child makes for a request.

        Raises:
            ModelUnavailable: the child ended twice over it, or was released meanwhile.
        """
        releases = self._releases
        for attempt in (1, 2):
            self.load()
            try:
                _, payload = self._child.request(request | {"threads": self._threads}, timeout_s=_WORK_TIMEOUT_S)
            except ChildGone:
                if attempt == 2 or self._releases != releases:
                    raise
                log.warning("models.child_restarted", model=self._load["folder"])
            else:
                return unpack_rows(payload, width)
        raise AssertionError("unreachable")


class TorchEmbedder:
    """Unit vectors from sentence-transformers.

    Args:
        source: the model.
        threads: CPU threads for passages; queries take one.
        tokenizer: the model's tokenizer, if somebody has it already.
    """

    def __init__(self, source: Source, *, threads: int, tokenizer: SubwordTokenizer | None = None) -> None:
        self._source = source
        recipe = source.recipe
        load = {
            "op": "load",
            "kind": "embedder",
            "folder": str(source.files.folder),
            "max_length": recipe.max_length,
        }
        self._child = TorchChild(load, name="embedder", threads=threads)
        self._dimension = 0 if recipe.obstacle else recipe.dimension
        self._tokenizer = tokenizer

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        source = self._source
        return fingerprint(source.files.short_name, key=source.key, form=FLOAT32, dimension=self.dimension)

    @property
    def dimension(self) -> int:
        """Length of every vector.

        Raises:
            ModelLoading: only the loaded model can say it.
        """
        if not self._dimension:
            raise ModelLoading(f"the model {self._source.files.short_name} is not loaded yet")
        return self._dimension

    @property
    def runtime(self) -> str:
        """For status."""
        return "torch"

    @property
    def side_by_side(self) -> bool:
        """The child does one thing at a time."""
        return False

    @property
    def process_id(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.process_id

    @property
    def tokenizer(self) -> SubwordTokenizer:
        """The model's own tokenizer, read in this process."""
        if self._tokenizer is None:
            recipe = self._source.recipe
            self._tokenizer = SubwordTokenizer(
                self._source.tokenizer,
                max_length=recipe.max_length,
                prompt=recipe.passage_prompt,
                lower_case=recipe.lower_case,
            )
        return self._tokenizer

    def warm_up(self) -> None:
        """Start the child and load the model; takes seconds.

        Raises:
            ModelUnavailable: a package is missing, or the model cannot be loaded.
        """
        dimension = int(self._child.load()["dimension"])
        if self._dimension not in (0, dimension):
            raise ModelUnavailable(
                f"{self._source.files.folder} gives {dimension} numbers, its configuration says {self._dimension}"
            )
        self._dimension = dimension

    def release(self) -> None:
        """End the child; the next call starts it again."""
        self._child.release()

    def embed_query(self, text: str) -> Vector:
        """One unit vector.

        Raises:
            ModelError: the model gave no usable vector.
        """
        return as_vector(self._embed([text], self._source.recipe.query_prompt, background=False)[0], self.dimension)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of `texts`; NaN where the model gave no usable vector."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        rows = self._embed(list(texts), self._source.recipe.passage_prompt, background=True)
        return unit_rows(rows, self.dimension)

    def _embed(self, texts: list[str], prompt: str, *, background: bool) -> Matrix:
        self.warm_up()
        readable = [without_surrogates(text) for text in texts]
        request = {"op": "embed", "texts": readable, "prompt": prompt, "background": background}
        return self._child.numbers(request, width=self.dimension)
