"""An embedder without a model: texts that share words or parts of words get similar vectors.

Deterministic on every machine, instant, and without meaning: synonyms are strangers to it.  For tests, and for
`embedder = "hashing"`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from groove_daemon.models.base import Matrix, Vector, as_vector, unit_rows
from groove_daemon.models.tokens import PlainTokenizer

_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.5


class HashingEmbedder:
    """Feature hashing of lower-cased words and of the character trigrams in them.

    A feature's 64-bit hash chooses a position and a sign; its weight is 1 for a word, 0.5 for a trigram, times the
    square root of how often it stands in the text.  A text without letters or digits has no usable vector.

    Args:
        dimension: length of the vectors.
        max_tokens: what the tokenizer claims that the model reads; the embedder itself reads everything.
    """

    def __init__(self, dimension: int = 256, *, max_tokens: int = 254) -> None:
        self._dimension = dimension
        self._tokenizer = PlainTokenizer(max_tokens)

    @property
    def fingerprint(self) -> str:
        """Identity of the vector space."""
        return f"hashing/{self._dimension}/1"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    @property
    def runtime(self) -> str:
        """For status."""
        return "hashing"

    @property
    def side_by_side(self) -> bool:
        """There is no state."""
        return True

    @property
    def tokenizer(self) -> PlainTokenizer:
        """Pieces of words."""
        return self._tokenizer

    def warm_up(self) -> None:
        """Nothing is loaded."""

    def release(self) -> None:
        """Nothing is held."""

    def embed_query(self, text: str) -> Vector:
        """One unit vector.

        Raises:
            ModelError: the text has no letter and no digit.
        """
        return as_vector(self._sum(text), self._dimension)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of `texts`; NaN for a text without letters and digits."""
        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = self._sum(text)
        return unit_rows(rows, self._dimension)

    def _sum(self, text: str) -> Vector:
        vector = np.zeros(self._dimension, dtype=np.float32)
        for feature, count in Counter(_features(text)).items():
            number = int.from_bytes(hashlib.blake2b(feature.encode(errors="replace"), digest_size=8).digest(), "little")
            weight = count**0.5 * (_TRIGRAM_WEIGHT if feature.startswith("#") else 1.0)
            vector[(number >> 1) % self._dimension] += weight if number & 1 else -weight
        return vector


def _features(text: str) -> Iterator[str]:
    """Words as they are, trigrams of the words with `#` in front."""
    for match in _WORD.finditer(text.lower()):
        word = match.group()
        yield word
        framed = f" {word} "
        for start in range(len(framed) - 2):
            yield f"#{framed[start : start + 3]}"
