"""Models that are chosen when they are loaded: which files, which runtime, exported or not.

Making one costs nothing.  `warm_up` chooses and loads; until then only the tokenizer is there.  A choice stays for the
life of the object, so a released model comes back as the same one.
"""

import threading
from collections.abc import Callable, Sequence

from groove_daemon.errors import ModelLoading
from groove_daemon.models.base import Matrix, PairScorer, RuntimeEmbedder, Tokenizer, Vector


class LateEmbedder:
    """An embedder that is chosen by its first `warm_up`.

    Args:
        name: for messages.
        choose: finds the model; may take long; raises ModelUnavailable.
        early_tokenizer: finds the tokenizer that the chosen model will have; raises ModelUnavailable.
        interrupt: gives up a `choose` that is under way in another thread.
    """

    def __init__(
        self,
        name: str,
        *,
        choose: Callable[[], RuntimeEmbedder],
        early_tokenizer: Callable[[], Tokenizer],
        interrupt: Callable[[], None],
    ) -> None:
        self._name = name
        self._choose = choose
        self._early_tokenizer = early_tokenizer
        self._interrupt = interrupt
        self._chosen: RuntimeEmbedder | None = None
        self._tokenizer: Tokenizer | None = None
        self._choosing = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space; raises ModelLoading before the first `warm_up`."""
        return self._ready().fingerprint

    @property
    def dimension(self) -> int:
        """Length of every vector; raises ModelLoading before the first `warm_up`."""
        return self._ready().dimension

    @property
    def runtime(self) -> str:
        """What makes the vectors; raises ModelLoading before the first `warm_up`."""
        return self._ready().runtime

    @property
    def side_by_side(self) -> bool:
        """As the chosen embedder says; raises ModelLoading before the first `warm_up`."""
        return self._ready().side_by_side

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer, also before `warm_up`; raises ModelUnavailable."""
        if self._tokenizer is None:
            self._tokenizer = self._early_tokenizer()
        return self._tokenizer

    def warm_up(self) -> None:
        """Choose if that was not done yet, and load; raises ModelUnavailable."""
        with self._choosing:
            if self._chosen is None:
                self._chosen = self._choose()
        self._chosen.warm_up()

    def release(self) -> None:
        """Give the memory back, or give up what `warm_up` is doing."""
        if self._chosen is None:
            self._interrupt()
        else:
            self._chosen.release()

    def embed_query(self, text: str) -> Vector:
        """One unit vector."""
        return self._loaded().embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of `texts`; NaN where the model gave no usable vector."""
        return self._loaded().embed_passages(texts)

    def _loaded(self) -> RuntimeEmbedder:
        if self._chosen is None:
            self.warm_up()
        return self._ready()

    def _ready(self) -> RuntimeEmbedder:
        if self._chosen is None:
            raise ModelLoading(f"the model {self._name} is not loaded yet", hint="try again in a moment")
        return self._chosen


class LateScorer:
    """A pair scorer that is chosen by its first `warm_up`.

    Args:
        name: for messages.
        choose: finds the model; raises ModelUnavailable.
    """

    def __init__(self, name: str, *, choose: Callable[[], PairScorer]) -> None:
        self._name = name
        self._choose = choose
        self._chosen: PairScorer | None = None
        self._choosing = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Identity of the scale; raises ModelLoading before the first `warm_up`."""
        if self._chosen is None:
            raise ModelLoading(f"the reranker {self._name} is not loaded yet", hint="try again in a moment")
        return self._chosen.fingerprint

    def warm_up(self) -> None:
        """Choose if that was not done yet, and load; raises ModelUnavailable."""
        self._choice().warm_up()

    def release(self) -> None:
        """Give the memory back."""
        if self._chosen is not None:
            self._chosen.release()

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Raw logits, in the order of `passages`."""
        return self._choice().score(query, passages)

    def _choice(self) -> PairScorer:
        with self._choosing:
            if self._chosen is None:
                self._chosen = self._choose()
            return self._chosen
