"""Passages that stand in several notes: one candidate speaks for all, and the answer says where else the text stands.

Two chunks are copies when the embedder reads the same text for both, or when both are candidates and have the same
content, whatever stands above it.  The candidate with the highest score represents
its copies, ties by chunk id; only what filters and exclusions leave can be a candidate, and only that is named as
another place.  `Distinct` looks deeper when copies, or one note's many chunks, leave too few candidates for a page.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate, Ranking
from groove_daemon.retrieval.base import Refiner, Retriever
from groove_daemon.retrieval.depth import Depths, pool
from groove_daemon.retrieval.trace import Trace

DUPLICATES = "duplicates"
"""The stage's name in the trace."""

_DEEPER = 4
_READ_FOR_ONE = 5
_DEEPEST = 1000


Copies = dict[ChunkId, list[ChunkId]]
"""For a chunk that represents others with the same content and another passage: those."""


def _no_texts(_chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, ChunkId]:
    return {}


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Refiner that keeps the first candidate of each passage.

    Args:
        passages_of: what tells passages apart, by chunk; a chunk without one is a passage of its own.
        depths: how many candidates the next stage looks at.
        texts_of: the chunks whose content is that of an earlier one of a list, to the first such one.
        copies: what `texts_of` said of this query's candidates is noted here.
        name: the stage's name in the trace.
    """

    passages_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, int]] = field(repr=False, compare=False)
    depths: Depths = field(default_factory=Depths)
    texts_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, ChunkId]] = field(
        default=_no_texts, repr=False, compare=False
    )
    copies: Copies = field(default_factory=dict, repr=False, compare=False)
    name: str = DUPLICATES

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        """Keep the best candidate of each passage, in the order of the ranking."""
        # Diversity chooses a page out of everything, and few of those far down: `Distinctly` looks at what it chose.
        compared = query.limit if self.depths.diversifying else self.depths.distinct(query.limit)
        kept = self._by_text(self._by_passage(ranking), compared)
        if len(kept) < len(ranking):
            trace.remark(self.name, f"{len(ranking) - len(kept)} copies left out")
        return tuple(kept[: self.depths.distinct(query.limit)])

    def _by_passage(self, ranking: Ranking) -> list[Candidate]:
        passages = self.passages_of([candidate.chunk_id for candidate in ranking])
        seen: set[tuple[bool, int]] = set()
        kept = []
        for candidate in ranking:
            known = candidate.chunk_id in passages
            key = (known, passages[candidate.chunk_id] if known else candidate.chunk_id)
            if key not in seen:
                seen.add(key)
                kept.append(candidate)
        return kept

    def _by_text(self, candidates: list[Candidate], wanted: int | None) -> list[Candidate]:
        """The first of each content; texts are compared as far down as it takes to have `wanted`, None for all."""
        chunk_ids = [candidate.chunk_id for candidate in candidates]
        reach = len(chunk_ids) if wanted is None else pool(wanted)
        same = self.texts_of(chunk_ids[:reach])
        while wanted is not None and reach < len(chunk_ids) and reach - len(same) < wanted:
            reach *= 2
            same = self.texts_of(chunk_ids[:reach])
        self.copies.clear()
        for other, first in same.items():
            self.copies.setdefault(first, []).append(other)
        return [candidate for candidate in candidates if candidate.chunk_id not in same]


@dataclass(frozen=True, slots=True)
class Distinctly:
    """Refiner that runs another one that chooses a page out of many, such that no content is chosen twice.

    Contents of all candidates are compared only when those of the chosen ones turn out to have some in common.

    Args:
        refiner: what chooses.
        texts_of: see `Duplicates`.
        copies: what `texts_of` said of all candidates is added here.
    """

    refiner: Refiner
    texts_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, ChunkId]] = field(repr=False, compare=False)
    copies: Copies = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of what chooses."""
        return self.refiner.name

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        """Choose; and choose again without copies when any were chosen.

        Raises:
            StageSkipped: the refiner does not run.
        """
        chosen = self.refiner.refine(query, ranking, trace)
        if not self.texts_of([candidate.chunk_id for candidate in chosen]):
            return chosen
        same = self.texts_of([candidate.chunk_id for candidate in ranking])
        for other, first in same.items():
            self.copies.setdefault(first, []).append(other)
        trace.remark(self.name, f"{len(same)} copies left out")
        return self.refiner.refine(
            query, tuple(candidate for candidate in ranking if candidate.chunk_id not in same), trace
        )


@dataclass(frozen=True, slots=True)
class Distinct:
    """Retriever that runs another one and a refiner of its ranking, deeper again while too little is left of much.

    Args:
        first: what finds candidates; it looks deeper for a larger limit.
        refiner: what leaves copies out.
        depths: how many candidates `first` asks each of its legs for; fewer in all means that there are no more.
        documents_of: the document of each chunk.
        max_per_document: so many hits of one document at most count as filling a page; 0 for any number.
    """

    first: Retriever
    refiner: Refiner
    depths: Depths
    documents_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, DocumentId]] = field(repr=False, compare=False)
    max_per_document: int = 0

    @property
    def name(self) -> str:
        """The name of what finds candidates."""
        return self.first.name

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        """Retrieve and refine; with four times the limit as long as that finds more and the page is not full."""
        looked = self._look(query, query.limit, trace)
        limit = query.limit
        while self._may_have_more(looked, query.limit, limit) and not trace.is_over_budget:
            limit = min(limit * _DEEPER, _DEEPEST)
            deeper = self._look(query, limit, trace)
            if len(deeper[0]) <= len(looked[0]):
                break
            looked = deeper
        return self._for_reranking(looked[1], query.limit)

    def _look(self, query: Query, limit: int, trace: Trace) -> tuple[Ranking, Ranking]:
        found = self.first.retrieve(replace(query, limit=limit), trace)
        refined = trace.run(
            self.refiner.name, lambda: self.refiner.refine(query, found, trace), size_in=len(found), fallback=found
        )
        return found, refined

    def _may_have_more(self, looked: tuple[Ranking, Ranking], wanted: int, limit: int) -> bool:
        """Whether a page of `wanted` is not full although something was left out, and `limit` has cut off more."""
        found, refined = looked
        if limit >= _DEEPEST or len(found) < self.depths.leg(limit):
            return False
        return self._usable(refined) < min(wanted, len(found))

    def _for_reranking(self, ranking: Ranking, limit: int) -> Ranking:
        """What a reranker reads when hits of one document are limited: no document may take all of its time."""
        if not (self.max_per_document and self.depths.reranking) or self.depths.diversifying:
            return ranking
        documents = self.documents_of([candidate.chunk_id for candidate in ranking])
        taken: Counter[DocumentId] = Counter()
        chosen = []
        for candidate in ranking:
            document = documents.get(candidate.chunk_id, DocumentId(-1))
            taken[document] += 1
            if taken[document] <= _READ_FOR_ONE * self.max_per_document:
                chosen.append(candidate)
        return tuple(chosen[: pool(limit)])

    def _usable(self, ranking: Ranking) -> int:
        if not self.max_per_document:
            return len(ranking)
        documents = self.documents_of([candidate.chunk_id for candidate in ranking])
        counts = Counter(documents.get(candidate.chunk_id, -1) for candidate in ranking)
        return sum(min(count, self.max_per_document) for count in counts.values())
