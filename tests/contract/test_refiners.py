"""What every refiner keeps.  A new one enters by one line in `REFINERS`."""

import copy

import numpy as np
import pytest

from groove_daemon.domain.document import DocumentId
from groove_daemon.domain.ranking import Ranking
from groove_daemon.retrieval.base import Refiner
from groove_daemon.retrieval.compose import Off
from groove_daemon.retrieval.diversity import Cosine, Diversity
from groove_daemon.retrieval.duplicates import Distinctly, Duplicates
from groove_daemon.retrieval.per_document import PerDocument
from groove_daemon.retrieval.rerank import Rerank, Reranking, ScoreCache
from groove_daemon.retrieval.trace import StageFailed, StageSkipped, Trace
from groove_daemon.retrieval.truncate import Truncate
from groove_daemon.retrieval.weighing import ContentFree, Factor, MinScore
from support.retrieval import FixedScorer, RaisingStage, make_chunk, make_query, make_ranking

CHUNKS = {number: make_chunk(number, text) for number, text in ((1, "a"), (2, "# b"), (3, "c"), (9, "d"))}


def chunks_of(chunk_ids):
    return {chunk_id: CHUNKS[chunk_id] for chunk_id in chunk_ids if chunk_id in CHUNKS}


def rerank(**scores: float) -> Rerank:
    return Rerank(Reranking(FixedScorer(scores)), chunks_of, ScoreCache())


def diversity() -> Diversity:
    return Diversity(
        True,
        0.5,
        0.1,
        lambda chunk_ids: (chunk_ids, Cosine([np.array([chunk_id % 3, 1.0]) for chunk_id in chunk_ids])),
        lambda chunk_ids: {chunk_id: DocumentId(chunk_id % 2) for chunk_id in chunk_ids},
    )


REFINERS: dict[str, Refiner] = {
    "truncate": Truncate(),
    "truncate with bounds": Truncate(shown_within=(0.0, 0.4)),
    "rerank": rerank(a=0.1, c=-3.0, d=7.5),
    "rerank that is off": Rerank(Reranking(), chunks_of, ScoreCache()),
    "rerank that cannot": Rerank(Reranking(problem="it is missing"), chunks_of, ScoreCache()),
    "rerank with NaN": rerank(a=float("nan")),
    "mmr": diversity(),
    "mmr without copies": Distinctly(diversity(), lambda _: {}),
    "duplicates": Duplicates(lambda chunk_ids: {chunk_id: chunk_id % 2 for chunk_id in chunk_ids if chunk_id != 9}),
    "max_per_document": PerDocument(
        1, lambda chunk_ids: {chunk_id: DocumentId(chunk_id % 2) for chunk_id in chunk_ids}
    ),
    "max_per_document that is off": PerDocument(0, lambda _: {}),
    "content_free": ContentFree(chunks_of),
    "factor": Factor("decay", lambda chunk_ids: {chunk_id: 1.0 / chunk_id for chunk_id in chunk_ids}),
    "min_score": MinScore(0.4),
    "min_score that is off": MinScore(0.0),
    "off": Off("rerank"),
    "skipped stand-in": RaisingStage("x", StageSkipped("off")),
    "failed stand-in": RaisingStage("x", StageFailed("broken")),
}

RANKING = make_ranking((3, 0.9), (1, 0.5), (2, 0.5), (9, 0.1))


@pytest.fixture(params=sorted(REFINERS))
def refiner(request: pytest.FixtureRequest) -> Refiner:
    return REFINERS[request.param]


def refine(refiner: Refiner, ranking: Ranking, *, limit: int = 3) -> Ranking:
    """As a chain runs it: a skipped stage changes nothing."""
    query = make_query("owl", limit=limit)
    trace = Trace()
    return trace.run(
        refiner.name, lambda: refiner.refine(query, ranking, trace), size_in=len(ranking), fallback=ranking
    )


def test_a_refiner_never_invents_a_chunk(refiner: Refiner) -> None:
    assert {candidate.chunk_id for candidate in refine(refiner, RANKING)} <= {
        candidate.chunk_id for candidate in RANKING
    }


def test_a_refiner_returns_no_chunk_twice(refiner: Refiner) -> None:
    found = [candidate.chunk_id for candidate in refine(refiner, RANKING)]

    assert len(found) == len(set(found))


def test_a_refiner_does_not_change_its_input(refiner: Refiner) -> None:
    before = copy.deepcopy(RANKING)

    refine(refiner, RANKING)

    assert before == RANKING


def test_a_refiner_gives_the_same_for_the_same_input(refiner: Refiner) -> None:
    assert refine(refiner, RANKING) == refine(refiner, RANKING)


def test_a_refiner_leaves_an_empty_ranking_empty(refiner: Refiner) -> None:
    assert refine(refiner, ()) == ()


def test_a_refiner_keeps_old_evidence_and_adds_its_own_at_most_once(refiner: Refiner) -> None:
    before = {candidate.chunk_id: candidate.evidence for candidate in RANKING}

    for candidate in refine(refiner, RANKING):
        known = before[candidate.chunk_id]
        added = candidate.evidence[len(known) :]
        assert candidate.evidence[: len(known)] == known
        assert [evidence.stage for evidence in added] in ([], [refiner.name])


def test_truncate_keeps_the_first_candidates() -> None:
    assert refine(Truncate(), RANKING, limit=2) == RANKING[:2]
    assert refine(Truncate(), RANKING, limit=0) == ()
    assert refine(Truncate(), RANKING, limit=99) == RANKING
