"""Cross-encoders for reranking: a model reads query and passage together and gives one number.

The number is the raw logit, whatever activation a model's card names: reranking needs an order, and a sigmoid presses
the far ends together until they tie.  Knows nothing about ranking.
"""

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from groove_daemon.errors import ModelError, ModelUnavailable
from groove_daemon.models.catalog import ModelFiles
from groove_daemon.models.onnx import Session
from groove_daemon.models.sentence_transformer import TorchChild
from groove_daemon.models.source import tokenizer_file
from groove_daemon.models.tokens import SubwordTokenizer, without_surrogates


class OnnxScorer:
    """A cross-encoder's graph, run inside the daemon: a thread for each pair, as many as are allowed.

    Args:
        files: where the model is.
        sha256: of its weights.
        max_length: tokens of a pair, all included; query and passage are cut to it, the query to half of it.
        threads: how many pairs are scored at once.
    """

    def __init__(self, files: ModelFiles, *, sha256: str, max_length: int, threads: int) -> None:
        self._files = files
        self._sha256 = sha256
        self._max_length = max_length
        self._threads = threads
        self._session = Session(files.weights)
        self._tokenizer: SubwordTokenizer | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._changing = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Identity of the scale."""
        return _fingerprint(self._files, self._sha256)

    def warm_up(self) -> None:
        """Load the session and score one pair; raises ModelUnavailable."""
        self._score("warm up", "warm up")

    def release(self) -> None:
        """Forget session and threads; the next call loads them again."""
        with self._changing:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        self._session.unload()

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Raw logits, in the order of `passages`.

        Raises:
            ModelError: the model gave something that is not a number.
        """
        with self._changing:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="rerank")
            futures = [self._pool.submit(self._score, query, passage) for passage in passages]
        return _checked([future.result() for future in futures])

    def _score(self, query: str, passage: str) -> float:
        output = self._session.run(self._own_tokenizer().encode_pair(query, passage))
        if output.size != 1:
            raise ModelUnavailable(
                f"{self._files.weights} gives {output.size} numbers for a pair",
                hint="a reranker gives one; name another model",
            )
        return float(output.reshape(-1)[0])

    def _own_tokenizer(self) -> SubwordTokenizer:
        if self._tokenizer is None:
            self._tokenizer = SubwordTokenizer(tokenizer_file(self._files.folder), max_length=self._max_length)
        return self._tokenizer


class TorchScorer:
    """A cross-encoder that sentence-transformers runs in a process of its own.

    Args:
        files: where the model is.
        sha256: of its weights.
        max_length: tokens of a pair, all included.
        threads: CPU threads of the process.
    """

    def __init__(self, files: ModelFiles, *, sha256: str, max_length: int, threads: int) -> None:
        self._files = files
        self._sha256 = sha256
        load = {"op": "load", "kind": "scorer", "folder": str(files.folder), "max_length": max_length}
        self._child = TorchChild(load, name="reranker", threads=threads)

    @property
    def fingerprint(self) -> str:
        """Identity of the scale."""
        return _fingerprint(self._files, self._sha256)

    def warm_up(self) -> None:
        """Start the child and load the model; raises ModelUnavailable."""
        self._child.load()

    def release(self) -> None:
        """End the child; the next call starts it again."""
        self._child.release()

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Raw logits, in the order of `passages`.

        Raises:
            ModelError: the model gave something that is not a number.
        """
        if not passages:
            return []
        request = {
            "op": "score",
            "query": without_surrogates(query),
            "passages": [without_surrogates(passage) for passage in passages],
        }
        return _checked(self._child.numbers(request, width=1)[:, 0].tolist())


def _fingerprint(files: ModelFiles, sha256: str) -> str:
    return f"{files.short_name}/logit/{sha256[:32]}"


def _checked(scores: list[float]) -> list[float]:
    if not all(map(math.isfinite, scores)):
        raise ModelError("the reranker gave a score that is not a number")
    return scores
