"""The recipes: which legs and stages a profile has, and what runs."""

from dataclasses import replace

import pytest

from groove_daemon.config.settings import FusionSettings, ProfileSettings, SearchSettings
from groove_daemon.errors import InvalidParams
from groove_daemon.retrieval.compose import Chain, Fusion
from groove_daemon.retrieval.duplicates import Distinct
from groove_daemon.retrieval.pipeline import LEG_SETS, LEGS, PROFILES, Parts, build_pipeline, profile_of
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.trace import Trace
from support.retrieval import FixedEmbedder, MemoryCorpus, Note, Passage, ids, make_query, note

CORPUS = MemoryCorpus(
    Note("Owls", (Passage("owls hunt at night", (1.0, 0.0)), Passage("feathers", (0.6, 0.8))), (1.0, 0.0)),
    Note("Gulls", (Passage("gulls find food", (0.0, 1.0)),), (0.0, 1.0)),
)
EMBEDDER = FixedEmbedder({"owls": (1.0, 0.0), "鸟类": (0.0, 1.0)})


def parts(text: str = "owls", *, embedder=EMBEDDER, **settings: object) -> Parts:
    query = make_query(text)
    probe = Probe(query, reader=CORPUS, vectors=CORPUS, embedder=lambda: embedder)
    return Parts(replace(SearchSettings(), **settings), probe)


def legs(made: Parts) -> dict[str, float]:
    pipeline = build_pipeline("notes", made)
    assert isinstance(pipeline, Chain)
    assert isinstance(pipeline.first, Distinct)
    assert isinstance(pipeline.first.first, Fusion)
    return {leg.retriever.name: leg.weight for leg in pipeline.first.first.legs}


def test_the_setting_chunks_is_two_legs_of_equal_weight() -> None:
    assert legs(parts(legs="chunks")) == legs(parts("鸟类", legs="chunks")) == {"trigram": 1.0, "dense": 1.0}


def test_the_setting_documents_weighs_legs_by_script() -> None:
    assert legs(parts(legs="documents")) == LEG_SETS["documents"].weights["spaced"]
    assert legs(parts("鸟类", legs="documents")) == LEG_SETS["documents"].weights["cjk"]


def test_weights_of_a_profile_take_the_place_of_the_legs() -> None:
    chosen = (("dense", 2.0), ("trigram", 0.5), ("title", 0.0))

    assert legs(parts(weights=chosen)) == legs(parts("鸟类", weights=chosen)) == {"dense": 2.0, "trigram": 0.5}


def test_profile_of_ones_own_is_its_bases_recipe_with_its_own_settings() -> None:
    diary = ProfileSettings("diary", "memory", replace(SearchSettings(), min_quality=0.1))

    assert profile_of("diary", SearchSettings(), (diary,)) == (PROFILES["memory"], diary.search)
    assert profile_of("notes", SearchSettings(limit=2), (diary,)) == (PROFILES["notes"], SearchSettings(limit=2))
    with pytest.raises(InvalidParams, match=r"no profile 'dairy'.*'diary'"):
        profile_of("dairy", SearchSettings(), (diary,))


def test_every_leg_of_every_set_can_be_made() -> None:
    for leg_set in LEG_SETS.values():
        for weights in leg_set.weights.values():
            assert set(weights) <= set(LEGS)


@pytest.mark.parametrize("name", sorted(LEGS))
def test_legs_are_named_as_in_the_table(name: str) -> None:
    assert LEGS[name](parts(), 1.0).retriever.name == name


def test_chunk_legs_score_by_plain_reciprocal_ranks() -> None:
    ranking = build_pipeline("notes", parts(legs="chunks")).retrieve(make_query("owls"), Trace())

    assert ids(ranking) == [1, 2, 3]
    assert [candidate.score for candidate in ranking] == pytest.approx([2 / 61, 1 / 62, 1 / 63])


def test_every_step_is_in_the_trace() -> None:
    trace = Trace()

    build_pipeline("notes", parts(legs="documents")).retrieve(make_query("owls"), trace)

    assert {step.stage: (step.status, step.reason) for step in trace.steps} == {
        "trigram": ("skipped", "left to the legs over words, which know every word"),
        "chunk_words": ("ran", ""),
        "all_words": ("ran", ""),
        "exact_terms": ("skipped", "no dotted term"),
        "short_terms": ("skipped", "no short term"),
        "document_words": ("ran", ""),
        "dense": ("ran", ""),
        "title": ("ran", ""),
        "mean": ("ran", ""),
        "rrf": ("ran", ""),
        "duplicates": ("ran", ""),
        "rerank": ("skipped", "off"),
        "max_per_document": ("skipped", "off"),
        "mmr": ("skipped", "off"),
        "truncate": ("ran", ""),
    }


def test_words_answer_when_the_query_cannot_be_embedded() -> None:
    made = parts("gulls", legs="documents")
    trace = Trace()

    ranking = build_pipeline("notes", made).retrieve(made.probe.query, trace)

    assert ids(ranking) == [3]
    assert made.probe.mode == "embedding_fallback"
    assert {step.stage for step in trace.steps if step.status == "failed"} == {"dense", "mean", "title"}


def test_settings_reach_their_stages() -> None:
    fusion = FusionSettings(rrf_k=10.0, heading_weight=4.0)

    pipeline = build_pipeline("notes", parts(legs="chunks", fusion=fusion, drop_common_phrases=True))

    assert "rrf_k=10.0" in repr(pipeline)
    assert "weights=(4.0, 1.0, 1.0), drop_common=False" in repr(pipeline)
    assert "drop_common=True" in repr(build_pipeline("notes", parts(legs="documents")))
    assert "drop_common=False" in repr(build_pipeline("notes", parts(legs="documents", drop_common_phrases=False)))


def test_pipelines_of_equal_settings_are_equal() -> None:
    assert build_pipeline("notes", parts()) == build_pipeline("notes", parts())
    assert build_pipeline("notes", parts(legs="chunks")) != build_pipeline("notes", parts(legs="documents"))


def test_an_unknown_profile_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidParams, match=r"no profile 'note'.*'notes'"):
        build_pipeline("note", parts())


def test_a_limit_of_zero_gives_nothing() -> None:
    made = parts()

    assert build_pipeline("notes", made).retrieve(make_query("owls", limit=0), Trace()) == ()


def test_one_long_note_does_not_fill_the_answer() -> None:
    long_note = note("Field notes", *(f"owls seen in valley {number}" for number in range(14)))
    corpus = MemoryCorpus(long_note, *(note(f"Owl {number}", f"owls near house {number}") for number in range(5)))
    query = make_query("owls")
    made = Parts(SearchSettings(), Probe(query, reader=corpus, vectors=corpus, embedder=lambda: None))

    ranking = build_pipeline("notes", made).retrieve(query, Trace())

    assert len(set(corpus.documents_of(ids(ranking)).values())) >= 4
