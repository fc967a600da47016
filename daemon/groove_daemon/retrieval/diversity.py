"""Diversity: pick results that are relevant and unlike those already picked.

Maximal marginal relevance (Carbonell and Goldstein, 1998): greedily take the candidate with the highest
`lambda * relevance - (1 - lambda) * max similarity to the picked - penalty if its document was picked`.
Scores stay as they were; the order is the order of picking.  How similar two chunks are is a parameter: cosine of
their vectors, or Jaccard overlap of their words.
"""

import copy
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate, Evidence, Ranking
from groove_daemon.retrieval.trace import StageSkipped, Trace

Row = NDArray[np.float64]
Positions = NDArray[np.int64]
_WORD = re.compile(r"\w+")
# After so many picks out of all candidates, the next ones come from so many times the limit as long as that is sure.
_BEFORE_NARROWING = 4
_PROMISING = 3
# How far the square of a length may be from 1 in single precision.
_NEARLY = 1e-6
_OVERRIDDEN = "mmr_lambda and mmr_same_doc_penalty have no effect while mmr is off"


class Similarity(Protocol):
    """How like each other some candidates are; rows are worked out as they are asked for."""

    def __getitem__(self, position: int, /) -> Row:
        """Similarity of one candidate to each, shape (n,), 1 for equals."""
        ...

    def among(self, positions: Positions, /) -> "Similarity":
        """The same of these candidates alone, which count from 0 in this order."""
        ...


@dataclass(frozen=True, slots=True)
class _Among:
    """Some candidates of a similarity whose rows cost the same whoever is asked for."""

    whole: Similarity
    positions: Positions

    def __getitem__(self, position: int, /) -> Row:
        """See `Similarity`."""
        return self.whole[int(self.positions[position])][self.positions]

    def among(self, positions: Positions, /) -> Similarity:
        """See `Similarity`."""
        return _Among(self.whole, self.positions[positions])


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
        vectors: one for each candidate, all of one length; an array of them is not copied.
    """

    def __init__(self, vectors: Sequence[NDArray[np.float32]] | NDArray[np.float32]) -> None:
        # Single precision is that of the stored vectors, and half the memory to go through for every pick.
        given = np.asarray(vectors, dtype=np.float32)
        squares = np.vecdot(given, given)
        is_unit = np.abs(squares - 1.0) <= _NEARLY
        # Stored vectors have length 1, except those that are not there yet.
        self._unit = given if is_unit.all() else _unit(given)

    def __getitem__(self, position: int, /) -> Row:
        """See `Similarity`."""
        # One product a row, which stays on the calling thread.
        row: Row = np.vecdot(self._unit, self._unit[position]).astype(np.float64)
        return row

    def among(self, positions: Positions, /) -> Similarity:
        """See `Similarity`."""
        few = copy.copy(self)
        few._unit = self._unit[positions]
        return few


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    finite = np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.sqrt(np.einsum("ij,ij->i", finite, finite, dtype=np.float64))[:, None]
    unit = np.zeros_like(finite)
    np.divide(finite, lengths, out=unit, where=lengths > 0.0, casting="same_kind")
    return unit


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

    def among(self, positions: Positions, /) -> Similarity:
        """See `Similarity`."""
        return _Among(self, positions)


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
    wanted = min(limit, len(relevance))
    choice = _Choice(
        lambda_ * np.asarray(relevance, dtype=np.float64), similarity, np.asarray(documents), 1.0 - lambda_,
        same_doc_penalty,
    )  # fmt: skip
    promising = _PROMISING * limit
    picked: list[int] = []
    # What is picked after the first takes value from the others and gives none: soon most of them have no chance.
    while len(picked) < wanted and promising < len(relevance):
        picked += choice.picks(min(_BEFORE_NARROWING, wanted - len(picked)))
        positions, few, left_out = choice.narrowed(promising)
        found = [int(positions[place]) for place in few.picks(wanted - len(picked), above=left_out)]
        picked += found
        if len(picked) == wanted:
            return picked
        for position in found:
            choice.take(position)
        promising *= 2
    return picked + choice.picks(wanted - len(picked))


class _Choice:
    """Candidates in the course of picking.

    Args:
        worth: of each candidate by itself; will be changed.
        similarity: of the candidates to each other.
        documents: the document of each.
        share: weight of the similarity to what was picked.
        penalty: see `pick`.
    """

    def __init__(
        self, worth: Row, similarity: Similarity, documents: NDArray[Any], share: float, penalty: float
    ) -> None:
        self._worth = worth
        self._similarity = similarity
        self._documents = documents
        self._share = share
        self._penalty = penalty
        self._likeness: Row | None = None
        self._penalties = np.zeros(len(worth))

    @property
    def _values(self) -> Row:
        values = self._worth if self._likeness is None else self._worth - self._likeness
        return values - self._penalties if self._penalty else values

    def picks(self, count: int, *, above: float = -math.inf) -> list[int]:
        """Positions of the next `count` picks; fewer when the best value left is not `above` this."""
        picked: list[int] = []
        while len(picked) < count:
            values = self._values
            best = int(values.argmax())
            if above > -math.inf and not values[best] > above:
                break
            self.take(best)
            picked.append(best)
        return picked

    def take(self, position: int) -> None:
        """Pick this one."""
        likeness = self._similarity[position] * self._share
        self._likeness = likeness if self._likeness is None else np.maximum(self._likeness, likeness)
        if self._penalty:
            self._penalties[self._documents == self._documents[position]] = self._penalty
        self._worth[position] = -math.inf

    def narrowed(self, size: int) -> "tuple[Positions, _Choice, float]":
        """The `size` best candidates now: their positions, they by themselves, and the best value of the others."""
        values = self._values
        order = np.argpartition(-values, size)
        positions = np.sort(order[:size])
        few = _Choice(
            self._worth[positions], self._similarity.among(positions), self._documents[positions], self._share,
            self._penalty,
        )  # fmt: skip
        few._likeness = None if self._likeness is None else self._likeness[positions]
        few._penalties = self._penalties[positions]
        return positions, few, float(values[order[size]])


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
        documents = self.documents_of(comparable) if self.same_doc_penalty else {}
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
        return candidate._replace(evidence=evidence)
