"""The search service on a real index: what a call may say, what an answer tells, reranking, diversity, budgets."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.config.settings import MmrSettings, SearchSettings
from groove_daemon.domain.query import Filters
from groove_daemon.errors import Cancelled, DeadlineExceeded, InvalidParams, ModelLoading, ModelUnavailable
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.retrieval.sources import Source
from groove_daemon.search import SearchCall, SearchResult, SearchService, SearchSetup, Sync
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers
from support.retrieval import FixedScorer
from support.store import make_document_draft, open_index, put

EMBEDDER = HashingEmbedder(64)


class StandInFreshness:
    """Fresh at once; `moves` gives what changed while each answer was made, one mapping an answer."""

    def __init__(self) -> None:
        self.moves: list[dict[int, bool]] = []
        self.deadlines: list[float] = []

    def sync(self, collections, *, deadline, is_cancelled) -> Sync:
        self.deadlines.append(deadline - time.monotonic())
        return Sync(True)

    def unverified(self, collections) -> Sync:
        return Sync(False, "not checked")

    def changed(self, chunks) -> dict[int, bool]:
        return self.moves.pop(0) if self.moves else {}


class Desk:
    """A service over an index of the test's own."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.settings = SearchSettings()
        self.sources = {"notes": Source()}
        self.embedder = lambda: EMBEDDER
        self.scorer = lambda: None
        self.accessed: list[list[int]] = []
        self.freshness = StandInFreshness()
        self.timeout_s = 30.0
        self.workers = Workers("legs", threads=2, max_waiting=8)
        self.service = SearchService(
            setup=self._setup,
            index=index,
            embedder=lambda: self.embedder(),
            freshness=self.freshness,
            workers=self.workers,
            scorer=lambda: self.scorer(),
            record_accesses=lambda chunk_ids: self.accessed.append(list(chunk_ids)),
        )

    def _setup(self) -> SearchSetup:
        return SearchSetup(self.settings, {"notes": "/home/me/notes"}, 0.5, self.timeout_s, self.sources)

    def add(self, path: str, *contents: str, **fields: object) -> None:
        put(self.index, make_document_draft(path, *contents, **fields), now=time.time())

    def embed(self) -> None:
        waiting = self.index.writer.pending(100_000)
        self.index.writer.store_vectors(
            [one.embed_key for one in waiting], EMBEDDER.embed_passages([one.text for one in waiting])
        )

    def search(self, text: str, *, is_cancelled=lambda: False, **call: object) -> SearchResult:
        return self.service.search(SearchCall(text, explain=True, **call), is_cancelled)


def contents(result: SearchResult) -> list[str]:
    return [hit.content for hit in result.hits]


def steps(result: SearchResult) -> dict[str, tuple[str, str]]:
    return {step.stage: (step.status, step.reason) for step in result.steps}


def degraded(result: SearchResult) -> dict[str, str]:
    return {stage.stage: stage.reason for stage in result.degraded}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    index = open_index(tmp_path / "index.db", bind=False)
    index.writer.bind_vector_space(EMBEDDER.fingerprint, EMBEDDER.dimension)
    made = Desk(index)
    made.add("owls.md", "owls hunt mice at night")
    made.add("owls too.md", "owls hunt mice at dusk")
    made.add("gulls.md", "gulls and owls find food at the shore")
    made.embed()
    yield made
    made.workers.close()
    index.close()


# -- steps and parameters --------------------------------------------------------------------------------------------


def test_every_step_is_explained_in_order(desk: Desk) -> None:
    result = desk.search("owls")

    names = [step.stage for step in result.steps]
    assert names[0] == "sync"
    assert names[-7:] == ["rrf", "duplicates", "rerank", "max_per_document", "mmr", "truncate", "present"]
    assert set(names[1:-7]) == {
        "trigram", "chunk_words", "all_words", "exact_terms", "short_terms", "document_words", "dense", "mean", "title",
    }  # fmt: skip
    assert steps(result)["rerank"] == ("skipped", "off")
    assert steps(result)["mmr"] == ("skipped", "off")
    sizes = {step.stage: (step.size_in, step.size_out) for step in result.steps}
    assert sizes["truncate"] == sizes["present"] == (3, 3)
    assert desk.service.search(SearchCall("owls"), lambda: False).steps == ()


def test_a_limit_that_is_not_given_is_the_profiles_own(desk: Desk) -> None:
    for number in range(10):
        desk.add(f"{number}.md", f"owls hunt mice {number}")

    assert len(desk.search("owls").hits) == 5
    assert len(desk.search("owls", profile="memory", min_score=0.0).hits) == 6
    assert len(desk.search("owls", limit=7).hits) == 7
    assert desk.search("owls", limit=0).hits == ()


@pytest.mark.parametrize(
    ("profile", "name", "value"),
    [("notes", "min_score", 0.5), ("memory", "rerank", True), ("memory", "mmr_same_doc_penalty", 0.1)],
)
def test_a_parameter_that_the_profile_has_no_stage_for_is_refused(desk: Desk, profile, name, value) -> None:
    with pytest.raises(InvalidParams, match=rf"^{name}: .*'{profile}'"):
        desk.search("owls", profile=profile, **{name: value})


def test_a_profile_that_does_not_exist_is_refused_before_anything_is_waited_for(desk: Desk) -> None:
    with pytest.raises(InvalidParams, match=r"no profile 'note'.*'notes'"):
        desk.search("owls", profile="note")

    assert desk.freshness.deadlines == []


def test_what_the_caps_cut_off_is_told_once(desk: Desk) -> None:
    text = " ".join(f"w{number:02}" for number in range(40)) + " " + " ".join(f"-x{number:02}" for number in range(33))

    assert desk.search(text).warnings == (
        "only the first 32 phrases are searched for; 8 were left out",
        "only the first 32 exclusions remove, so more is found; 1 were left out",
    )


def test_an_answer_that_moved_is_made_again_and_explained_once(desk: Desk) -> None:
    (document_id, *_) = [hit.chunk.document.document_id for hit in desk.search("owls").hits]
    desk.freshness.moves = [{document_id: True}, {document_id: False}]

    result = desk.search("owls")

    assert [step.stage for step in result.steps].count("sync") == 1
    assert document_id not in [hit.chunk.document.document_id for hit in result.hits]
    assert (result.fresh, result.stale_reason) == (False, "files of this answer changed while it was made")


def test_a_cancelled_search_and_one_whose_time_is_over_stop(desk: Desk) -> None:
    with pytest.raises(Cancelled):
        desk.search("owls", is_cancelled=lambda: True)
    desk.timeout_s = 0.0
    with pytest.raises(DeadlineExceeded):
        desk.search("owls")


# -- reranking -------------------------------------------------------------------------------------------------------


def test_reranking_orders_by_the_model_and_shows_its_scores(desk: Desk) -> None:
    desk.scorer = lambda: FixedScorer({"shore": 3.5, "dusk": -1.25, "night": -7.0})

    result = desk.search("owls hunt mice")

    assert [hit.score for hit in result.hits] == [3.5, -1.25, -7.0]
    assert steps(result)["rerank"] == ("ran", "")
    assert result.degraded == ()


def test_reranking_is_the_calls_decision_then_the_configurations(desk: Desk) -> None:
    scorer = FixedScorer({"shore": 3.5})
    desk.scorer = lambda: scorer

    assert steps(desk.search("owls", rerank=False))["rerank"] == ("skipped", "off")
    desk.settings = replace(desk.settings, rerank_by_default=False)
    assert steps(desk.search("owls"))["rerank"] == ("skipped", "off")
    assert scorer.asked == []
    assert steps(desk.search("owls", rerank=True))["rerank"] == ("ran", "")


def missing():
    raise ModelUnavailable("there is no model in /models/x", hint="set models.reranker")


def loading():
    raise ModelLoading("the reranker is being loaded")


@pytest.mark.parametrize(
    ("scorer", "reason"),
    [
        (lambda: None, "no reranker is set"),
        (missing, "there is no model in /models/x; set models.reranker"),
        (loading, "the reranker is being loaded"),
        (lambda: FixedScorer({"owls": float("nan")}), "the reranker gave no usable score for some candidates"),
    ],
)
def test_a_reranker_that_cannot_leaves_the_order_and_says_so(desk: Desk, scorer, reason: str) -> None:
    without = desk.search("owls hunt mice")
    desk.scorer = scorer

    result = desk.search("owls hunt mice", rerank=True)

    assert degraded(result) == {"rerank": reason}
    assert [(hit.chunk.chunk_id, hit.score) for hit in result.hits] == [
        (hit.chunk.chunk_id, hit.score) for hit in without.hits
    ]


def test_scores_are_remembered_between_queries(desk: Desk) -> None:
    scorer = FixedScorer({})
    desk.scorer = lambda: scorer

    desk.search("owls")
    desk.search("owls")

    assert len(scorer.asked) == 1


# -- diversity -------------------------------------------------------------------------------------------------------


def test_diversity_is_asked_for_by_the_call_or_the_configuration(desk: Desk) -> None:
    plain = desk.search("owls hunt mice", limit=2)
    diverse = desk.search("owls hunt mice", limit=2, mmr=True, mmr_lambda=0.2)
    desk.settings = replace(desk.settings, mmr=MmrSettings(enabled=True, lambda_=0.2))

    assert {"night" in text or "dusk" in text for text in contents(plain)} == {True}
    assert any("shore" in text for text in contents(diverse))
    assert contents(desk.search("owls hunt mice", limit=2)) == contents(diverse)
    assert contents(desk.search("owls hunt mice", limit=2, mmr=False)) == contents(plain)


def test_diversity_keeps_the_scores_of_the_fusion(desk: Desk) -> None:
    plain = {hit.chunk.chunk_id: hit.score for hit in desk.search("owls", limit=3).hits}

    assert {hit.chunk.chunk_id: hit.score for hit in desk.search("owls", limit=3, mmr=True).hits} == plain


def test_a_note_whose_vector_is_not_there_yet_is_not_lost_to_diversity(desk: Desk) -> None:
    desk.add("new.md", "owls hunt mice right now")

    assert "owls hunt mice right now" in contents(desk.search("owls hunt mice", limit=4, mmr=True))
    assert len(desk.search("owls", mmr=True).hits) == 4
    desk.embedder = lambda: None
    assert len(desk.search("owls", mmr=True).hits) == 4


@pytest.mark.parametrize("parameter", [{"mmr_lambda": 0.5}, {"mmr_same_doc_penalty": 0.5}])
def test_parameters_of_diversity_given_while_it_is_off_are_warned_about(desk: Desk, parameter) -> None:
    warning = "mmr_lambda and mmr_same_doc_penalty have no effect while mmr is off"

    assert desk.search("owls", **parameter).warnings == (warning,)
    assert desk.search("owls", mmr=True, **parameter).warnings == ()


def test_everything_off_is_the_same_answer_as_without(desk: Desk) -> None:
    assert desk.search("owls", rerank=False, mmr=False, parent_retriever=False).hits == desk.search("owls").hits


def test_more_of_the_document_is_shown_when_asked_for(desk: Desk) -> None:
    desk.add("long.md", "kites soar", "kites dive", "kites rest")
    desk.embed()

    plain = desk.search("soar")
    wider = desk.search("soar", parent_retriever=True)

    assert (contents(plain)[0], contents(wider)[0]) == ("kites soar", "kites soar\n\nkites dive\n\nkites rest")
    assert [hit.score for hit in wider.hits] == [hit.score for hit in plain.hits]
    assert steps(wider)["present"] == ("ran", "with more of the document around each hit")


# -- memory ----------------------------------------------------------------------------------------------------------


def test_memory_counts_what_it_returns_and_notes_does_not(desk: Desk) -> None:
    result = desk.search("owls", profile="memory", min_score=0.0)
    desk.search("owls")
    desk.search("nothingofthekind", profile="memory", min_score=1.0)

    assert desk.accessed == [[hit.chunk.chunk_id for hit in result.hits]]


def test_memory_raises_what_was_returned_before(desk: Desk) -> None:
    desk.embedder = lambda: None
    first = desk.search("gulls", profile="memory").hits[0]
    desk.index.writer.record_accesses([first.chunk.chunk_id], now=time.time())

    (again,) = desk.search("gulls", profile="memory").hits

    boost = next(evidence.score for evidence in again.evidence if evidence.stage == "access_boost")
    assert boost == pytest.approx(1.034657, abs=1e-6)
    assert again.score == 1.0


def test_memory_keeps_filters_and_echoes_the_least_score(desk: Desk) -> None:
    result = desk.search("owls", profile="memory", min_score=0.0, filters=Filters(path_globs=("gulls*",)))

    assert [hit.chunk.document.path for hit in result.hits] == ["gulls.md"]
    assert result.filter_applied == {"path_globs": ["gulls*"], "min_score": 0.0}


# -- budgets ---------------------------------------------------------------------------------------------------------


def test_an_ample_budget_changes_nothing(desk: Desk) -> None:
    assert desk.search("owls", within_ms=60_000).hits == desk.search("owls").hits


def test_half_of_the_budget_is_for_the_sync(desk: Desk) -> None:
    desk.search("owls", within_ms=400)

    assert desk.freshness.deadlines[0] <= 0.2


def test_a_stage_that_would_take_too_long_is_left_out_and_named(desk: Desk) -> None:
    class Slow(FixedScorer):
        def score(self, query, passages):
            time.sleep(0.3)
            return super().score(query, passages)

    desk.scorer = lambda: Slow({})
    desk.search("owls")
    before = desk.search("owls", rerank=False)

    began = time.monotonic()
    result = desk.search("owls hunt", within_ms=200)

    assert degraded(result)["rerank"] == "out of budget"
    assert time.monotonic() - began < 0.3
    assert len(result.hits) == len(before.hits)


class Stuck:
    """A model that does not answer until it is released."""

    fingerprint, dimension = EMBEDDER.fingerprint, EMBEDDER.dimension

    def __init__(self, released: threading.Event) -> None:
        self.released = released

    def embed_query(self, text: str) -> np.ndarray:
        self.released.wait(20)
        return EMBEDDER.embed_query(text)


def test_a_model_that_does_not_answer_holds_no_search_beyond_its_longest_time(desk: Desk) -> None:
    released = threading.Event()
    desk.embedder = lambda: Stuck(released)
    desk.timeout_s = 0.3

    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        desk.search("owls hunt")
    took = time.monotonic() - began
    released.set()

    assert took < 5.0


def test_a_slow_model_does_not_hold_the_answer_beyond_its_budget(desk: Desk) -> None:
    released = threading.Event()
    desk.embedder = lambda: Stuck(released)
    began = time.monotonic()
    result = desk.search("owls hunt", within_ms=250)
    took = time.monotonic() - began
    released.set()

    assert took < 2.0
    assert {"dense", "mean", "title"} <= set(degraded(result))
    assert set(degraded(result).values()) == {"out of budget"}
    assert result.mode == "fts_only"
    assert contents(result) != []


def test_a_statement_that_runs_at_the_end_of_the_budget_is_stopped(desk: Desk) -> None:
    desk.embedder = lambda: None
    reader = desk.index.reader()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n WHERE x < 1e12"
    original = type(reader).trigram

    class SlowReader(type(reader)):
        def trigram(self, *args, **options):
            self.database.rows(endless)
            return original(self, *args, **options)

    reader.__class__ = SlowReader
    began = time.monotonic()
    result = desk.search("owl", within_ms=200)

    assert time.monotonic() - began < 5.0
    assert degraded(result)["trigram"] == "out of budget"
    assert reader.database.value("SELECT 1") == 1
