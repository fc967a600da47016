"""Query vectors, remembered: the same question is asked again and again while somebody types or pages.

Bounded and safe to use from several threads.  Passages are not remembered here; the index does that.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from groove_daemon.models.base import Matrix, RuntimeEmbedder, Tokenizer, Vector


class CachedEmbedder:
    """Any embedder, with the vectors of its latest queries kept.

    Remembered vectors cannot be written to, since several callers share them.

    Args:
        embedder: makes the vectors.
        capacity: how many are kept, the least recently used one goes first; 0 keeps none.
    """

    def __init__(self, embedder: RuntimeEmbedder, *, capacity: int) -> None:
        self._embedder = embedder
        self._capacity = capacity
        self._vectors: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._embedder.dimension

    @property
    def runtime(self) -> str:
        """What makes the vectors."""
        return self._embedder.runtime

    @property
    def side_by_side(self) -> bool:
        """As the embedder says."""
        return self._embedder.side_by_side

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        return self._embedder.tokenizer

    def warm_up(self) -> None:
        """Load everything; raises ModelUnavailable."""
        self._embedder.warm_up()

    def release(self) -> None:
        """Give the memory back; remembered vectors stay, they are right whatever is loaded."""
        self._embedder.release()

    def embed_query(self, text: str) -> Vector:
        """One unit vector, not to be written to."""
        if not self._capacity:
            return self._embedder.embed_query(text)
        key = (self._embedder.fingerprint, text)
        with self._lock:
            known = self._vectors.get(key)
            if known is not None:
                self._vectors.move_to_end(key)
                return known
        vector = self._embedder.embed_query(text)
        vector.setflags(write=False)
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of `texts`, made anew each time."""
        return self._embedder.embed_passages(texts)
