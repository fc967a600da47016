"""At most so many hits of one document, and how many more it would have had."""

from dataclasses import replace

import pytest

from groove_daemon.config.settings import MmrSettings, SearchSettings
from groove_daemon.domain.document import DocumentId
from groove_daemon.retrieval.per_document import PerDocument
from groove_daemon.retrieval.pipeline import Parts, build_pipeline
from groove_daemon.retrieval.present import present
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.rerank import Reranking
from groove_daemon.retrieval.trace import StageSkipped, Trace
from support.retrieval import FixedScorer, MemoryCorpus, ids, make_query, make_ranking, note

DOCUMENTS = {1: 10, 2: 10, 3: 10, 4: 20, 5: 20}


def documents_of(chunk_ids):
    return {chunk_id: DocumentId(DOCUMENTS[chunk_id]) for chunk_id in chunk_ids if chunk_id in DOCUMENTS}


def search(corpus: MemoryCorpus, text: str, *, limit: int = 5, **settings: object):
    query = make_query(text, limit=limit)
    made = Parts(
        replace(SearchSettings(), **settings), Probe(query, reader=corpus, vectors=corpus, embedder=lambda: None)
    )
    trace = Trace()
    return present(
        build_pipeline("notes", made).retrieve(query, trace), query, reader=corpus, roots={"notes": "/n"}
    ), trace


def test_the_best_of_each_document_stay_in_their_order() -> None:
    ranking = make_ranking((2, 0.9), (4, 0.8), (1, 0.7), (3, 0.6), (5, 0.5), (77, 0.4))

    kept = PerDocument(2, documents_of).refine(make_query(), ranking, Trace())

    assert ids(kept) == [2, 4, 1, 5, 77]
    assert [candidate.in_document for candidate in kept] == [3, 2, 3, 2, 0]
    assert [candidate.evidence for candidate in kept] == [ranking[place].evidence for place in (0, 1, 2, 4, 5)]


def test_zero_turns_it_off() -> None:
    with pytest.raises(StageSkipped, match=r"^off$"):
        PerDocument(0, documents_of).refine(make_query(), make_ranking((1, 0.9)), Trace())


def test_one_note_does_not_flood_the_page_and_says_how_much_more_it_has() -> None:
    corpus = MemoryCorpus(
        note("long", *(f"owls owls at night {number}" for number in range(9))),
        *(note(f"short {number}", f"owls by day {number}") for number in range(3)),
    )

    hits, _ = search(corpus, "owls", limit=4, legs="chunks", max_per_document=2)

    assert [hit.chunk.document.path for hit in hits] == ["long.md", "long.md", "short 0.md", "short 1.md"]
    assert [hit.more_in_document for hit in hits] == [7, 7, 0, 0]


def test_hits_that_the_page_has_no_room_for_count_as_more() -> None:
    corpus = MemoryCorpus(note("long", *(f"owls {number}" for number in range(5))))

    (hit,), _ = search(corpus, "owls", limit=1, legs="chunks", max_per_document=3)

    assert hit.more_in_document == 4


def test_diversity_chooses_among_what_is_left() -> None:
    corpus = MemoryCorpus(
        note("long", *(f"owls owls {number}" for number in range(9))), note("short", "owls by day", "owls by night")
    )

    hits, _ = search(
        corpus, "owls", limit=3, legs="chunks", max_per_document=1, mmr=MmrSettings(enabled=True, lambda_=1.0)
    )

    assert [hit.chunk.document.path for hit in hits] == ["long.md", "short.md"]
    assert [hit.more_in_document for hit in hits] == [8, 1]


def test_it_looks_deeper_when_one_note_fills_every_leg() -> None:
    corpus = MemoryCorpus(
        note("long", *(f"owls owls {number}" for number in range(60))),
        *(note(f"short {number}", f"owls by day {number}") for number in range(3)),
    )

    hits, trace = search(corpus, "owls", limit=4, legs="chunks", max_per_document=1)

    assert [hit.chunk.document.path for hit in hits] == ["long.md", "short 0.md", "short 1.md", "short 2.md"]
    assert [step.size_in for step in trace.steps if step.stage == "max_per_document"] == [63]


def test_without_a_limit_nothing_is_said_about_the_rest() -> None:
    corpus = MemoryCorpus(note("long", *(f"owls {number}" for number in range(9))))

    hits, trace = search(corpus, "owls", limit=2)

    assert [hit.more_in_document for hit in hits] == [0, 0]
    assert {step.stage: (step.status, step.reason) for step in trace.steps}["max_per_document"] == ("skipped", "off")


def test_a_reranker_does_not_read_one_note_alone() -> None:
    # A page of three makes a pool of 50, which the long note could fill.
    corpus = MemoryCorpus(
        note("long", *(f"owls owls {number}" for number in range(49))),
        *(note(f"short {number}", f"owls by day {number}") for number in range(3)),
    )
    query = make_query("owls", limit=3)
    scorer = FixedScorer({"by day 2": 9.0, "owls owls 4": 8.0, "owls owls 48": 7.0})
    made = Parts(
        replace(SearchSettings(), legs="chunks", max_per_document=1),
        Probe(query, reader=corpus, vectors=corpus, embedder=lambda: None),
        reranking=Reranking(scorer),
    )

    ranking = build_pipeline("notes", made).retrieve(query, Trace())

    # Five of the long note are read, the sixth best and worse are not.
    assert len(scorer.asked[0][1]) == 8
    assert [corpus.chunks([candidate.chunk_id])[candidate.chunk_id].content for candidate in ranking][:2] == [
        "owls by day 2", "owls owls 4",
    ]  # fmt: skip
    assert len(ranking) == 3
