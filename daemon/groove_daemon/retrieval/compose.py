"""How stages combine: fusion by ranks, blending by values, and chains.

`Fusion` runs legs side by side and fuses them by ranks, `Blend` joins text and vectors by their values, `Chain` applies
refiners one after the other.  All are retrievers again.  A skipped or failed leg counts as empty, a skipped refiner
changes nothing, and the trace says which and why.  They print as their own description and compare by value.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Evidence, Ranking, ranked
from groove_daemon.errors import Busy
from groove_daemon.retrieval.base import Refiner, Retriever
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.fusion import (
    candidates_by_document,
    flow_down,
    reciprocal_rank_fusion,
    spread_to_unit,
    text_or_blend,
)
from groove_daemon.retrieval.trace import StageSkipped, Trace
from groove_daemon.workers import Workers

DocumentsOf = Callable[[Sequence[ChunkId]], Mapping[ChunkId, DocumentId]]
Opinions = dict[ChunkId, tuple[Evidence, ...]]

_LOOK_EVERY_S = 0.1

TEXT = "text"
FUSION = "fusion"
"""Names of rankings on the way: full text alone, and everything that proposes candidates joined."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of a fusion.

    `whole_document` says that the leg ranks documents, each by one chunk that stands for it, so that its evidence flows
    down to the document's other candidates.  A `pooled` leg runs beside the others; it must not use the reader.
    `heir` names the leg that takes over the weights of all that name it when none of them finds anything, so that the
    lexical side of a fusion has the same say whichever of its legs answers.
    """

    retriever: Retriever
    weight: float = 1.0
    whole_document: bool = False
    pooled: bool = False
    heir: str = ""


@dataclass(frozen=True, slots=True)
class Fusion:
    """Reciprocal rank fusion of several legs.

    Args:
        name: stage name of the fused scores.
        legs: what to fuse; pooled legs run one after the other in a thread of `workers`, the rest in the calling one.
        documents_of: the documents of chunks, for legs over whole documents.
        workers: the pool; None runs everything in the calling thread.
        rrf_k: constant of the fusion.
        damping: see `fusion.flow_down`.
    """

    name: str
    legs: tuple[Leg, ...]
    depths: Depths
    documents_of: DocumentsOf = field(repr=False, compare=False)
    workers: Workers | None = field(default=None, repr=False, compare=False)
    rrf_k: float = 60.0
    damping: float = 1.0

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        """Run all legs, then fuse what they found."""
        rankings = self._run_legs(query, trace)
        return trace.run(
            self.name,
            lambda: self._fuse(rankings)[: self.depths.fused(query.limit)],
            size_in=sum(map(len, rankings)),
            fallback=(),
        )

    def _run_legs(self, query: Query, trace: Trace) -> list[Ranking]:
        """One ranking for each leg, in the order of the legs."""
        legs = [leg for leg in self.legs if leg.pooled]
        beside = self._submit(legs, query, trace)
        if beside is None and not trace.is_followed:
            return _run(self.legs, query, trace)
        try:
            direct = self._run_direct(query, trace)
            found = _run(legs, query, trace) if beside is None else self._awaited(beside, trace)
        except BaseException:
            if beside is not None:
                beside.cancel()
            raise
        pooled, own = iter(found), iter(direct)
        return [next(pooled if leg.pooled else own) for leg in self.legs]

    def _run_direct(self, query: Query, trace: Trace) -> list[Ranking]:
        """The legs of the calling thread; whoever follows sees those first that wait for no vector."""
        legs = [leg for leg in self.legs if not leg.pooled]
        if not trace.is_followed:
            return _run(legs, query, trace)
        # A leg over documents asks for the nearest chunk of each, and so waits for the query's vector.
        quick = tuple(leg for leg in legs if not leg.whole_document)
        first = _run(quick, query, trace)
        trace.show(TEXT, replace(self, legs=quick)._fuse(first))
        rest = _run([leg for leg in legs if leg.whole_document], query, trace)
        early, late = iter(first), iter(rest)
        return [next(late if leg.whole_document else early) for leg in legs]

    def _awaited(self, beside: "Future[list[Ranking]]", trace: Trace) -> list[Ranking]:
        """What the pool found; nothing of it when the budget ends first.

        Raises:
            Cancelled: the caller went away meanwhile.
            DeadlineExceeded: the deadline came first.
        """
        while not trace.is_over_budget:
            left = math.inf if trace.budget_end is None else trace.budget_end - time.monotonic()
            if wait([beside], timeout=max(0.0, min(left, _LOOK_EVERY_S))).done:
                return beside.result()
            trace.check()
        if beside.done():
            return beside.result()
        beside.cancel()
        names = [leg.retriever.name for leg in self.legs if leg.pooled]
        for name in names:
            trace.give_up(name)
        return [()] * len(names)

    def _submit(self, legs: Sequence[Leg], query: Query, trace: Trace) -> "Future[list[Ranking]] | None":
        """Start the legs in the pool; None when there is no pool or no room in it."""
        if self.workers is None or not legs:
            return None
        try:
            return self.workers.submit(_run, legs, query, trace)
        except Busy:
            return None

    def _fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        legs = list(zip(self.legs, rankings, strict=True))
        weights = _weights(legs)
        scores = reciprocal_rank_fusion(
            ((_chunks(ranking), weights[leg.retriever.name]) for leg, ranking in legs if not leg.whole_document),
            rrf_k=self.rrf_k,
        )
        if not any(leg.whole_document for leg in self.legs):
            return ranked(self.name, scores.items(), _gathered([_opinions(ranking) for ranking in rankings]))

        stand_ins = [chunk_id for leg, ranking in legs if leg.whole_document for chunk_id in _chunks(ranking)]
        documents = self.documents_of(tuple(dict.fromkeys([*scores, *stand_ins])))
        scores = flow_down(
            scores,
            reciprocal_rank_fusion(
                (
                    (_documents(ranking, documents), weights[leg.retriever.name])
                    for leg, ranking in legs
                    if leg.whole_document
                ),
                rrf_k=self.rrf_k,
            ),
            documents_of=documents,
            best={documents[chunk_id]: chunk_id for chunk_id in reversed(stand_ins) if chunk_id in documents},
            damping=self.damping,
        )
        groups = candidates_by_document(scores, documents)
        opinions = [
            _spread(ranking, documents, groups) if leg.whole_document else _opinions(ranking) for leg, ranking in legs
        ]
        return ranked(self.name, scores.items(), _gathered(opinions))


def _run(legs: Sequence[Leg], query: Query, trace: Trace) -> list[Ranking]:
    return [_run_one(leg.retriever, query, trace) for leg in legs]


def _run_one(retriever: Retriever, query: Query, trace: Trace) -> Ranking:
    def retrieve() -> Ranking:
        trace.afford(retriever.name)
        return retriever.retrieve(query, trace)

    return trace.run(retriever.name, retrieve, size_in=0, fallback=())


def _weights(legs: Sequence[tuple[Leg, Ranking]]) -> dict[str, float]:
    """The weight of each leg by name, with what it inherits."""
    weights = {leg.retriever.name: leg.weight for leg, _ in legs}
    outlived = {leg.heir for leg, ranking in legs if ranking}
    for leg, _ in legs:
        if leg.heir in weights and leg.heir not in outlived:
            weights[leg.heir] += leg.weight
    return weights


def _chunks(ranking: Ranking) -> list[ChunkId]:
    return [candidate.chunk_id for candidate in ranking]


def _documents(ranking: Ranking, documents: Mapping[ChunkId, DocumentId]) -> list[DocumentId]:
    """The ranking's documents, best first, each once; a chunk that vanished meanwhile has none."""
    return list(dict.fromkeys(documents[chunk_id] for chunk_id in _chunks(ranking) if chunk_id in documents))


def _scores(ranking: Ranking) -> dict[ChunkId, float]:
    return {candidate.chunk_id: candidate.score for candidate in ranking}


def _opinions(ranking: Ranking) -> Opinions:
    return {candidate.chunk_id: candidate.evidence for candidate in ranking}


def _spread(
    ranking: Ranking, documents: Mapping[ChunkId, DocumentId], groups: Mapping[DocumentId, Sequence[ChunkId]]
) -> Opinions:
    """The opinion on a document as an opinion on each of its candidates."""
    return {
        chunk_id: candidate.evidence
        for candidate in ranking
        if candidate.chunk_id in documents
        for chunk_id in groups.get(documents[candidate.chunk_id], ())
    }


def _gathered(legs: Sequence[Opinions]) -> Opinions:
    gathered: Opinions = {}
    for opinions in legs:
        for chunk_id, evidence in opinions.items():
            gathered[chunk_id] = gathered.get(chunk_id, ()) + evidence
    return gathered


@dataclass(frozen=True, slots=True)
class Blend:
    """Text and vectors joined by value: see `fusion.text_or_blend`.

    Args:
        text: full text.
        supplement: more of full text, on the same scale; what `text` has not found is appended to it.
        near: vectors, with scores 0..1.
        text_weight: 0 to 1.
        vector_weight: 0 to 1.
        name: stage name of the joined scores.
    """

    text: Retriever
    supplement: Retriever
    near: Retriever
    text_weight: float
    vector_weight: float
    name: str = "merge"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        """Run the three legs one after the other, then join what they found."""
        text, supplement = _run_one(self.text, query, trace), _run_one(self.supplement, query, trace)
        if trace.is_followed:
            trace.show(TEXT, self._joined(text, supplement, ()))
        rankings = (text, supplement, _run_one(self.near, query, trace))
        return trace.run(self.name, lambda: self._joined(*rankings), size_in=sum(map(len, rankings)), fallback=())

    def _joined(self, text: Ranking, supplement: Ranking, near: Ranking) -> Ranking:
        by_text = spread_to_unit(_scores(supplement) | _scores(text))
        by_vector = _scores(near)
        scores = {
            chunk_id: text_or_blend(
                by_text.get(chunk_id, 0.0),
                by_vector.get(chunk_id, 0.0),
                text_weight=self.text_weight,
                vector_weight=self.vector_weight,
            )
            for chunk_id in {**by_text, **by_vector}
        }
        return ranked(self.name, scores.items(), _gathered([_opinions(one) for one in (text, supplement, near)]))


@dataclass(frozen=True, slots=True)
class Chain:
    """A retriever, then refiners in order.

    `told` names the refiners whose rankings are worth showing on the way.
    """

    name: str
    first: Retriever
    refiners: tuple[Refiner, ...] = ()
    told: tuple[str, ...] = ()

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        """Retrieve, then refine."""
        ranking = self.first.retrieve(query, trace)
        trace.show(FUSION, ranking)
        for refiner in self.refiners:
            refined = _refined(refiner, query, ranking, trace)
            if refiner.name in self.told and refined is not ranking:
                trace.show(refiner.name, refined)
            ranking = refined
        return ranking


def _refined(refiner: Refiner, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
    return trace.run(
        refiner.name, lambda: refiner.refine(query, ranking, trace), size_in=len(ranking), fallback=ranking
    )


@dataclass(frozen=True, slots=True)
class Off:
    """A refiner that is switched off: it stays in the list, so that the trace names it.

    `warning` goes to the answer's warnings.
    """

    name: str
    reason: str = "off"
    warning: str = ""

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Report itself skipped.

        Raises:
            StageSkipped: always.
        """
        if self.warning:
            trace.note(self.warning)
        raise StageSkipped(self.reason)
