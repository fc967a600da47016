"""Diversity: pick results that are relevant and unlike those already picked.

Maximal marginal relevance (Carbonell and Goldstein, 1998): greedily take the candidate with the highest
`lambda * relevance - (1 - lambda) * max similarity to the picked - penalty if its document was picked`.
Scores stay as they were; the order is the order of picking.  How similar two chunks are is a parameter: cosine of
their vectors, or Jaccard overlap of their words.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate, Evidence, Ranking
from groove_daemon.retrieval.trace import StageSkipped, Trace

Row = NDArray[np.float64]
_WORD = re.compile(r"\w+")
_OVERRIDDEN = "mmr_lambda and mmr_same_doc_penalty have no effect while mmr is off"


class Similarity(Protocol):
    """How like each other some candidates are; rows are worked out as they are asked for."""

    def __getitem__(self, position: int, /) -> Row:
        """Similarity of one candidate to each, shape (n,), 1 for equals."""
        ...


def min_max(scores: Sequence[float]) -> list[float]:
    """Scale to 0..1 over the given scores; all 0.0 when they differ by no more than the float32 epsilon."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high - low <= float(np.finfo(np.float32).eps):
        return [0.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


class Cosine:
    """Cosines of vectors; 0.0 wherever a vector has no length or is not finite.

    Args:
        vectors: one for each candidate, all of one length.
    """

    def __init__(self, vectors: Sequence[NDArray[np.float32]]) -> None:
        # Single precision is that of the stored vectors, and half the memory to go through for every pick.
        stacked = np.asarray(vectors, dtype=np.float32)
        if not np.isfinite(stacked).all():
            stacked = np.nan_to_num(stacked, nan=0.0, posinf=0.0, neginf=0.0)
        norms = np.sqrt(np.einsum("ij,ij->i", stacked, stacked, dtype=np.float64))[:, None]
        self._unit = np.divide(stacked, norms, out=np.zeros_like(stacked), where=norms > 0, casting="same_kind")

    def __getitem__(self, position: int, /) -> Row:
        """See `Similarity`."""
        return np.asarray(self._unit @ self._unit[position], dtype=np.float64)


class Jaccard:
    """Jaccard overlap of the lower-cased words of texts; two empty sets are 1.0, one is 0.0."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = [frozenset(_WORD.findall(text.lower())) for text in texts]
        self._sizes = np.array([len(words) for words in self._words], dtype=np.float64)
        holders: dict[str, list[int]] = defaultdict(list)
        for position, words in enumerate(self._words):
            for word in words:
                holders[word].append(position)
        self._holders = {word: np.array(positions) for word, positions in holders.items()}

    def __getitem__(self, position: int, /) -> Row:
        """See `Similarity`."""
        shared = np.zeros(len(self._words))
        for word in self._words[position]:
            shared[self._holders[word]] += 1.0
        union = self._sizes + self._sizes[position] - shared
        overlap: Row = np.ones(len(shared))
        np.divide(shared, union, out=overlap, where=union > 0)
        return overlap


def pick(
    relevance: Sequence[float],
    similarity: Similarity,
    documents: Sequence[int],
    *,
    lambda_: float,
    same_doc_penalty: float,
    limit: int,
) -> list[int]:
    """Positions in the order of picking, at most `limit`; ties go to the smaller position.

    Args:
        relevance: one number a candidate, 0 to 1.
        similarity: of the candidates to each other.
        documents: the document of each candidate.
        lambda_: 1 is relevance alone, 0 is difference alone.
        same_doc_penalty: taken off when a chunk of the same document was picked.
        limit: how many to pick.
    """
    weighted = lambda_ * np.asarray(relevance, dtype=np.float64)
    document = np.asarray(documents)
    nearest = np.zeros(len(relevance), dtype=np.float64)
    penalty = np.zeros(len(relevance), dtype=np.float64)
    picked: list[int] = []
    while len(picked) < min(limit, len(relevance)):
        best = int(np.argmax(weighted - (1.0 - lambda_) * nearest - penalty))
        nearest = similarity[best] if not picked else np.maximum(nearest, similarity[best])
        if same_doc_penalty:
            penalty[document == document[best]] = same_doc_penalty
        weighted[best] = -np.inf
        picked.append(best)
    return picked


SimilarityOf = Callable[[Sequence[ChunkId]], tuple[Sequence[ChunkId], Similarity]]


@dataclass(frozen=True, slots=True)
class Diversity:
    """Refiner around `pick`.

    Args:
        enabled: when False the stage says that it is off.
        lambda_: see `pick`; brought into 0 to 1.
        same_doc_penalty: see `pick`, 0 to 1.
        similarity_of: chunk ids to the ids that can be compared, in the given order, and their similarity; a candidate
            that cannot be compared is dropped.
        documents_of: the document of each chunk.
        overridden: the caller named a parameter of this stage.
        name: the stage's name in the trace.
    """

    enabled: bool
    lambda_: float
    same_doc_penalty: float
    similarity_of: SimilarityOf = field(repr=False, compare=False)
    documents_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, DocumentId]] = field(repr=False, compare=False)
    overridden: bool = False
    name: str = "mmr"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        """Pick `query.limit` candidates."""
        if not self.enabled:
            if self.overridden:
                trace.note(_OVERRIDDEN)
            raise StageSkipped("off")
        if len(ranking) < 2:
            raise StageSkipped("fewer than two candidates")
        trace.afford(self.name, len(ranking))
        known = {candidate.chunk_id: candidate for candidate in ranking}
        comparable, similarity = self.similarity_of([candidate.chunk_id for candidate in ranking])
        documents = self.documents_of(comparable)
        order = pick(
            min_max([known[chunk_id].score for chunk_id in comparable]),
            similarity,
            [documents.get(chunk_id, -1) for chunk_id in comparable],
            lambda_=min(max(self.lambda_, 0.0), 1.0),
            same_doc_penalty=self.same_doc_penalty,
            limit=query.limit,
        )
        return tuple(self._with_rank(known[comparable[position]], rank) for rank, position in enumerate(order, start=1))

    def _with_rank(self, candidate: Candidate, rank: int) -> Candidate:
        evidence = (*candidate.evidence, Evidence(self.name, rank, candidate.score))
        return replace(candidate, evidence=evidence)
