"""What every retriever keeps, legs and whole pipelines alike."""

from collections.abc import Callable

import pytest

from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.query import Filters, Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.base import Retriever
from groove_daemon.retrieval.compose import Chain, Fusion, Leg
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.pipeline import LEG_SETS, LEGS, PROFILES, Parts, build_pipeline
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.trace import Trace
from groove_daemon.retrieval.truncate import Truncate
from support.retrieval import FixedEmbedder, MemoryCorpus, Note, Passage, SourceRetriever, UniformRetriever, make_query

# The query finds a chunk of each note by words, vectors and titles; filters and exclusions then forbid some of them.
TEXT = "鸟类 owls 2026.4.10 -barn"
ALLOWED = {1, 2, 4}
NOTES = (
    Note(
        "鸟类 owls",
        (
            Passage("鸟类 owls 2026.4.10", (1.0, 0.0)),
            Passage("鸟类 owls again 2026.4.10", (0.8, 0.6)),
            Passage("鸟类 barn owls 2026.4.10", (1.0, 0.0)),
        ),
        (1.0, 0.0),
        topic="birds",
    ),
    Note("owls", (Passage("owls 鸟类 2026.4.10", (0.6, 0.8)),), (0.8, 0.6), topic="birds"),
    Note("owls elsewhere", (Passage("owls 鸟类 2026.4.10", (1.0, 0.0)),), (1.0, 0.0), topic="films"),
    Note("poor owls", (Passage("owls 鸟类 2026.4.10", (1.0, 0.0), quality=0.1),), (1.0, 0.0), topic="birds"),
)
FILTERS = Filters(topic="birds", min_quality=0.3)


def probe(query: Query) -> Probe:
    corpus = MemoryCorpus(*NOTES)
    embedder = FixedEmbedder({query.positive_text: (1.0, 0.0)})
    return Probe(query, reader=corpus, vectors=corpus, embedder=lambda: embedder)


def parts(query: Query, legs: str = "documents") -> Parts:
    return Parts(SearchSettings(legs=legs), probe(query))


def leg(name: str) -> Callable[[Query], Retriever]:
    alone = SearchSettings(weights=((name, 1.0),))
    return lambda query: LEGS[name](Parts(alone, probe(query)), 1.0).retriever


RETRIEVERS: dict[str, Callable[[Query], Retriever]] = {
    **{name: leg(name) for name in LEGS},
    **{
        f"{profile}/{legs}": lambda q, p=profile, s=legs: build_pipeline(p, parts(q, s))
        for profile in PROFILES
        for legs in LEG_SETS
    },
    "fusion": lambda query: Fusion(
        "rrf",
        (Leg(UniformRetriever("a", (4, 1))), Leg(leg("dense")(query))),
        Depths(),
        MemoryCorpus(*NOTES).documents_of,
    ),
    "chain": lambda query: Chain("chain", leg("trigram")(query), (Truncate(),)),
    "uniform stand-in": lambda query: UniformRetriever("uniform", (2, 1)),
    "source stand-in": lambda query: SourceRetriever("source", {TEXT: ((4, 0.5), (1, 0.5))}),
}


@pytest.fixture(params=sorted(RETRIEVERS))
def make(request: pytest.FixtureRequest) -> Callable[[Query], Retriever]:
    return RETRIEVERS[request.param]


def retrieve(make: Callable[[Query], Retriever], *, limit: int = 5) -> Ranking:
    query = make_query(TEXT, limit=limit, filters=FILTERS)
    return make(query).retrieve(query, Trace())


def test_a_retriever_finds_something(make: Callable[[Query], Retriever]) -> None:
    assert retrieve(make) != ()


def test_a_retriever_keeps_filters_and_exclusions(make: Callable[[Query], Retriever]) -> None:
    assert {candidate.chunk_id for candidate in retrieve(make)} <= ALLOWED


def test_a_retriever_returns_no_chunk_twice(make: Callable[[Query], Retriever]) -> None:
    found = [candidate.chunk_id for candidate in retrieve(make)]

    assert len(found) == len(set(found))


def test_a_retriever_ranks_by_score_then_chunk_id(make: Callable[[Query], Retriever]) -> None:
    ranking = retrieve(make)

    assert list(ranking) == sorted(ranking, key=lambda candidate: (-candidate.score, candidate.chunk_id))


def test_a_retriever_gives_the_same_every_time(make: Callable[[Query], Retriever]) -> None:
    assert retrieve(make) == retrieve(make)


def test_a_retriever_leaves_its_opinion_on_each_candidate(make: Callable[[Query], Retriever]) -> None:
    ranking = retrieve(make)

    opinions = [candidate.evidence[-1] for candidate in ranking]
    assert [opinion.rank for opinion in opinions] == list(range(1, len(ranking) + 1))
    assert [opinion.score for opinion in opinions] == [candidate.score for candidate in ranking]
    assert len({opinion.stage for opinion in opinions}) == 1


def test_ranked_is_stable_for_equal_scores() -> None:
    assert [candidate.chunk_id for candidate in ranked("x", [(3, 1.0), (1, 1.0), (2, 2.0)])] == [2, 1, 3]
