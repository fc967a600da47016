"""The profile `memory`, part by part and as a whole, on a corpus in memory with numbers worked out by hand."""

import math
from dataclasses import replace

import pytest

from groove_daemon.config.settings import MemorySettings, SearchSettings
from groove_daemon.domain.query import Filters
from groove_daemon.errors import ModelLoading, StoreError
from groove_daemon.retrieval.pipeline import Parts, build_pipeline
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.sources import KeywordRetriever, KnnRetriever, Source
from groove_daemon.retrieval.trace import StageSkipped, Trace
from support.retrieval import FixedEmbedder, MemoryCorpus, Note, Passage, ids, make_query, note

DAY = 86_400.0
NOW = 1_000 * DAY
EMBEDDER = FixedEmbedder({"owl": (1.0, 0.0)})
ALL = MemorySettings(min_score=0.0)
SOURCES = {
    "notes": Source("workspace", 1.0, evergreen=True),
    "session": Source("session", 1.0, evergreen=False),
    "loud": Source("mine", 2.0, evergreen=True),
}

# By words 3, 2, 1 and 0 of the word; by vectors the cosines 0.5, none, 1 and 0.5.
FOUR = (
    Note("three", (Passage("owl owl owl", (0.5, 0.75**0.5)),)),
    Note("two", (Passage("owl owl"),)),
    Note("one", (Passage("owl", (1.0, 0.0)),)),
    Note("none", (Passage("a bird", (0.5, 0.75**0.5)),)),
)


def make_probe(corpus: MemoryCorpus, text: str = "owl", *, limit: int = 6, embedder=lambda: EMBEDDER, **filters):
    query = make_query(text, limit=limit, filters=Filters(**filters))
    return Probe(query, reader=corpus, vectors=corpus, embedder=embedder)


def run(corpus: MemoryCorpus, memory: MemorySettings = ALL, *, trace: Trace | None = None, **options):
    probe = make_probe(corpus, **options)
    parts = Parts(replace(SearchSettings(), memory=memory), probe, sources=SOURCES, now=NOW)
    return build_pipeline("memory", parts).retrieve(probe.query, trace or Trace())


def shown(ranking) -> dict[int, float]:
    return {candidate.chunk_id: round(candidate.score, 6) for candidate in ranking}


def factor(candidate, stage: str) -> float:
    (found,) = [evidence.score for evidence in candidate.evidence if evidence.stage == stage]
    return found


def test_text_and_vectors_are_merged_by_value() -> None:
    ranking = run(MemoryCorpus(*FOUR))

    # Text spread to 1, 0.5, 0; nearness 0.5, 1, 0.5.  max(1, 0.3 + 0.35), 0.5, 0.7 * 1 (its text is the worst), 0.35.
    assert shown(ranking) == {1: 1.0, 3: 0.7, 2: 0.5, 4: 0.35}
    assert ids(ranking) == [1, 3, 2, 4]


def test_weights_of_the_merge_are_settings() -> None:
    ranking = run(MemoryCorpus(*FOUR), replace(ALL, text_weight=0.9, vector_weight=0.5))

    assert shown(ranking) == {1: 1.0, 2: 0.5, 3: 0.5, 4: 0.25}


def test_keywords_alone_are_searched_for() -> None:
    corpus = MemoryCorpus(note("a", "the of 42"), note("b", "owl"))

    assert ids(
        KeywordRetriever(make_probe(corpus, "the owl of 42")).retrieve(make_query("the owl of 42"), Trace())
    ) == [2]


def test_vectors_answer_alone_when_there_is_no_keyword() -> None:
    corpus = MemoryCorpus(*FOUR)
    trace = Trace()

    ranking = run(corpus, text="what is it", embedder=lambda: FixedEmbedder({"what is it": (1.0, 0.0)}), trace=trace)

    assert ids(ranking) == [3, 1, 4]
    assert {step.stage: step.reason for step in trace.steps if step.status == "skipped"} == {
        "text": "no keyword to look for",
        "evergreen": "no keyword to look for",
        "min_score": "off",
        "mmr": "off",
    }


def test_three_candidates_are_looked_at_for_each_result() -> None:
    corpus = MemoryCorpus(*(note(f"n{number}", f"owl {number}") for number in range(20)))
    probe = make_probe(corpus, limit=2)

    assert len(KeywordRetriever(probe).retrieve(probe.query, Trace())) == 6


def test_evergreen_notes_are_not_crowded_out() -> None:
    crowd = [note(f"session {number}", "owl owl owl", collection="session") for number in range(30)]
    corpus = MemoryCorpus(*crowd, note("kept", "owl"))

    # Text 1 for the sessions, 0 for the curated note: it is a candidate, though the 18 best hits are all sessions.
    ranking = run(corpus, embedder=lambda: None, limit=6)
    candidates = KeywordRetriever(make_probe(corpus), "evergreen", SOURCES).retrieve(make_query("owl"), Trace())

    assert ids(candidates) == [31]
    assert len(ranking) == 6


def test_the_supplement_keeps_the_filters_and_appends_only_what_is_new() -> None:
    corpus = MemoryCorpus(*FOUR, note("session", "owl", collection="session"), note("loud", "owl", collection="loud"))
    probe = make_probe(corpus, collections=("session", "loud"))

    assert ids(KeywordRetriever(probe, "evergreen", SOURCES).retrieve(probe.query, Trace())) == [6]
    assert sorted(ids(run(MemoryCorpus(*FOUR)))) == [1, 2, 3, 4]
    only = make_probe(corpus, collections=("session",))
    with pytest.raises(StageSkipped, match="no source is evergreen"):
        KeywordRetriever(only, "evergreen", SOURCES).retrieve(only.query, Trace())


def test_exclusions_hold_in_every_part() -> None:
    corpus = MemoryCorpus(
        Note("a", (Passage("owl barn", (1.0, 0.0)),)), Note("b", (Passage("owl", (1.0, 0.0)),)), note("c", "owl")
    )

    ranking = run(corpus, text="owl -barn", embedder=lambda: FixedEmbedder({"owl": (1.0, 0.0)}))

    assert sorted(ids(ranking)) == [2, 3]


def test_nearness_is_on_an_absolute_scale() -> None:
    ranking = KnnRetriever(make_probe(MemoryCorpus(*FOUR))).retrieve(make_query("owl"), Trace())

    assert [(candidate.chunk_id, round(candidate.score, 6)) for candidate in ranking] == [(3, 1.0), (1, 0.5), (4, 0.5)]


@pytest.mark.parametrize(
    ("embedder", "mode", "status"),
    [
        (lambda: EMBEDDER, "hybrid", "ran"),
        (lambda: None, "fts_only", "skipped"),
        (lambda: FixedEmbedder({"other": (1.0, 0.0)}), "embedding_fallback", "failed"),
    ],
)
def test_the_mode_says_how_far_vectors_took_part(embedder, mode: str, status: str) -> None:
    corpus = MemoryCorpus(*FOUR)
    probe = make_probe(corpus, embedder=embedder)
    trace = Trace()

    parts = Parts(replace(SearchSettings(), memory=ALL), probe, sources=SOURCES, now=NOW)
    ranking = build_pipeline("memory", parts).retrieve(probe.query, trace)

    assert probe.mode == mode
    assert {step.stage: step.status for step in trace.steps}["knn"] == status
    assert ids(ranking)[0] == 1


def test_a_failing_vector_search_after_a_good_embedding_is_a_failed_step() -> None:
    class Broken(MemoryCorpus):
        def scan(self, query):
            raise StoreError("the vectors cannot be read")

    trace = Trace()

    ranking = run(Broken(*FOUR), trace=trace)

    assert [step.reason for step in trace.steps if step.status == "failed"] == ["the vectors cannot be read"]
    assert shown(ranking) == {1: 1.0, 2: 0.5, 3: 0.0}


def test_chunks_without_content_are_dropped() -> None:
    corpus = MemoryCorpus(note("a", "# Owl"), note("b", "an owl"))

    assert ids(run(corpus, embedder=lambda: None)) == [2]


def test_sessions_fade_and_evergreen_sources_do_not() -> None:
    aged = Passage("owl", created_at=NOW - 30 * DAY)
    corpus = MemoryCorpus(
        Note("session", (aged,), collection="session"),
        Note("note", (aged,)),
        Note("future", (Passage("owl", created_at=NOW + 90 * DAY),), collection="session"),
    )

    ranking = run(corpus, embedder=lambda: None)

    assert shown(ranking) == {2: 1.0, 3: 1.0, 1: 0.5}
    assert [factor(candidate, "decay") for candidate in ranking] == pytest.approx([1.0, 1.0, 0.5])


def test_decay_can_be_off_and_a_half_life_of_zero_warns() -> None:
    corpus = MemoryCorpus(Note("old", (Passage("owl", created_at=0.0),), collection="session"))
    off, zero = Trace(), Trace()

    assert shown(run(corpus, replace(ALL, decay=False), embedder=lambda: None, trace=off)) == {1: 1.0}
    assert shown(run(corpus, replace(ALL, half_life_days=0.0), embedder=lambda: None, trace=zero)) == {1: 1.0}

    assert off.notes == ()
    assert zero.notes == ("half_life_days is not above 0, so nothing decays with age",)


def test_factors_multiply_and_rank_without_bounds_while_scores_are_shown_within_them() -> None:
    corpus = MemoryCorpus(
        Note("session", (Passage("owl", created_at=NOW - 60 * DAY),), collection="session"),
        Note("loud", (Passage("owl"),), collection="loud"),
        Note("plain", (Passage("owl"),)),
        accesses={1: 100, 3: 10},
    )

    ranking = run(corpus, embedder=lambda: None)

    # 0.25 * 1 * 1.2308, 1 * 2 * 1, 1 * 1 * 1.1199.
    assert ids(ranking) == [2, 3, 1]
    assert [candidate.score for candidate in ranking] == pytest.approx([1.0, 1.0, 0.25 * (1 + 0.05 * math.log(101))])
    assert factor(ranking[0], "source_weight") == 2.0
    assert factor(ranking[1], "access_boost") == pytest.approx(1 + 0.05 * math.log(11))


def test_the_least_score_is_of_the_score_shown() -> None:
    assert ids(run(MemoryCorpus(*FOUR), MemorySettings())) == [1, 3]
    assert ids(run(MemoryCorpus(*FOUR), MemorySettings(min_score=0.4))) == [1, 3, 2]


def test_diversity_compares_words_and_is_off_by_default() -> None:
    corpus = MemoryCorpus(
        Note("a", (Passage("owl owl owl"),)), Note("b", (Passage("owl owl"),)), Note("c", (Passage("owl and gull"),))
    )

    plain = ids(run(corpus, embedder=lambda: None))
    diverse = ids(run(corpus, replace(ALL, mmr=True, mmr_lambda=0.3), embedder=lambda: None))

    # After the first: 0.3 * 0.5 - 0.7 * 1 = -0.55 against 0.3 * 0 - 0.7 * 1/3 = -0.23.
    assert plain == [1, 2, 3]
    assert diverse == [1, 3, 2]
    assert ids(run(corpus, replace(ALL, mmr=True, mmr_lambda=7.0), embedder=lambda: None)) == plain


def test_diversity_looks_at_the_whole_list_before_it_is_cut() -> None:
    corpus = MemoryCorpus(
        Note("a", (Passage("owl owl owl"),)), Note("b", (Passage("owl owl"),)), Note("c", (Passage("owl and gull"),))
    )

    assert ids(run(corpus, replace(ALL, mmr=True, mmr_lambda=0.3), embedder=lambda: None, limit=2)) == [1, 3]


def test_steps_come_in_the_order_in_which_a_degraded_query_takes_them() -> None:
    trace = Trace()

    run(MemoryCorpus(*FOUR), MemorySettings(), embedder=lambda: FixedEmbedder({"x": (1.0, 0.0)}), trace=trace)

    assert [(step.stage, step.status) for step in trace.steps] == [
        ("text", "ran"),
        ("evergreen", "ran"),
        ("knn", "failed"),
        ("merge", "ran"),
        ("content_free", "ran"),
        ("decay", "ran"),
        ("source_weight", "ran"),
        ("access_boost", "ran"),
        ("min_score", "ran"),
        ("mmr", "skipped"),
        ("truncate", "ran"),
    ]


def test_a_model_that_is_loading_leaves_text_alone() -> None:
    def loading():
        raise ModelLoading("it is being loaded")

    assert shown(run(MemoryCorpus(*FOUR), embedder=loading)) == {1: 1.0, 2: 0.5, 3: 0.0}
