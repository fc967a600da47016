"""Calibration on a real index: what it asks, what it learns, what answers say then, and when they stop."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.app.confidence import Confidence
from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.passage import passage
from groove_daemon.errors import Busy, Cancelled, ModelUnavailable
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.retrieval.calibrating import calibrate
from groove_daemon.retrieval.calibration import Curve
from groove_daemon.retrieval.questions import OFF_TOPIC
from groove_daemon.rpc.context import CalibrationState
from groove_daemon.search import SearchCall, SearchService, SearchSetup, Sync
from groove_daemon.store.index import Index
from support.retrieval import FixedScorer
from support.store import make_document_draft, open_index, put

EMBEDDER = HashingEmbedder(256)
BIRDS = ("ouzel", "wren", "heron", "bittern", "finch", "plover", "curlew", "godwit", "dunlin", "knot", "ruff", "snipe")


def sentence(number: int) -> str:
    """Seven words of their own for each note, two of them birds."""
    own = [f"zq{number}x{place}" for place in range(5)]
    return f"{BIRDS[number % 12]} {BIRDS[(number * 7 + 3) % 12]} {' '.join(own)}."


def fill(index: Index, numbers: range) -> None:
    for number in numbers:
        put(index, make_document_draft(f"{number}.md", sentence(number), title=f"note {number}"), now=time.time())
    waiting = index.writer.pending(100_000)
    index.writer.store_vectors(
        [one.embed_key for one in waiting], EMBEDDER.embed_passages([one.text for one in waiting])
    )


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = open_index(tmp_path / "index.db", bind=False)
    made.writer.bind_vector_space(EMBEDDER.fingerprint, EMBEDDER.dimension)
    fill(made, range(40))
    yield made
    made.close()


def learn(index: Index, **options: object) -> CalibrationState:
    confidence = options.pop("confidence", None) or Confidence(index, lambda: EMBEDDER)
    defaults = {"store": index.writer.store_calibration, "is_cancelled": lambda: False, "on_progress": lambda *_: None}
    return confidence.learn(options.pop("questions", 100), **{**defaults, **options})


def test_every_note_gives_a_question_and_every_question_about_other_things_is_asked(index: Index) -> None:
    told: list[tuple[int, int]] = []
    made = learn(index, on_progress=lambda done, total: told.append((done, total))).calibration

    assert (made.answerable, made.unanswerable, made.chunks) == (40, len(OFF_TOPIC), 40)
    assert told[0] == (1, 100)
    assert told[-1] == (100, 100)
    assert (made.generation, made.fingerprint) == (index.generation, EMBEDDER.fingerprint)


def test_shared_words_are_told_from_foreign_ones(index: Index) -> None:
    made = learn(index).calibration

    assert made.curve is not None
    assert made.rates is not None
    assert made.rates.separation > 0.95
    assert made.rates.false_accept <= 0.1
    assert made.rates.false_reject <= 0.1


def test_questions_are_limited_and_spread_over_the_index(index: Index) -> None:
    assert learn(index, questions=20).calibration.answerable == 20


def test_question_that_the_notes_may_answer_is_not_asked(index: Index) -> None:
    put(index, make_document_draft("cats.md", "cats purr when they are content"), now=time.time())

    assert learn(index).calibration.unanswerable == len(OFF_TOPIC) - 1


def test_what_was_learned_is_in_the_index_and_changes_no_generation(index: Index) -> None:
    before = index.generation
    state = learn(index)
    again = Confidence(index, lambda: EMBEDDER)

    assert index.generation == before
    assert again.state() == state
    assert again.curve() == state.calibration.curve


def test_nothing_is_told_before_it_was_learned(index: Index) -> None:
    confidence = Confidence(index, lambda: EMBEDDER)

    assert (confidence.state(), confidence.curve()) == (None, None)


def test_it_holds_no_longer_when_the_notes_have_grown_by_more_than_half(index: Index) -> None:
    confidence = Confidence(index, lambda: EMBEDDER)
    learn(index, confidence=confidence)
    fill(index, range(40, 60))
    at_half = confidence.curve()
    fill(index, range(60, 61))
    state = confidence.state()

    assert isinstance(at_half, Curve)
    assert confidence.curve() is None
    assert state is not None
    assert state.why_stale == "the corpus had 40 chunks and has 61"


def test_it_holds_no_longer_with_another_model(index: Index) -> None:
    confidence = Confidence(index, lambda: EMBEDDER)
    learn(index, confidence=confidence)
    index.writer.reset_vector_space("another", 8)

    assert confidence.curve() is None


def test_few_notes_say_why_there_is_no_confidence(tmp_path: Path) -> None:
    few = open_index(tmp_path / "few.db", bind=False)
    few.writer.bind_vector_space(EMBEDDER.fingerprint, EMBEDDER.dimension)
    fill(few, range(3))
    made = learn(few).calibration
    few.close()

    assert made.curve is None
    assert made.reason == "only 3 questions with an answer could be made, 20 are needed"


def test_model_without_meaning_gives_no_confidence(index: Index) -> None:
    class Constant(HashingEmbedder):
        def embed_query(self, text: str) -> np.ndarray:
            return super().embed_query("ouzel")

    made = calibrate(
        index, Constant(256), questions=100, now=0.0, is_cancelled=lambda: False, on_progress=lambda *_: None
    )

    assert made.curve is None
    assert made.rates is not None
    assert made.rates.separation == 0.5


def test_no_model_is_refused(index: Index) -> None:
    with pytest.raises(ModelUnavailable):
        learn(index, confidence=Confidence(index, lambda: None))


def test_cancel_keeps_what_was_learned_before(index: Index) -> None:
    confidence = Confidence(index, lambda: EMBEDDER)
    before = learn(index, confidence=confidence)
    asked: list[int] = []
    with pytest.raises(Cancelled):
        learn(
            index,
            confidence=confidence,
            on_progress=lambda done, _total: asked.append(done),
            is_cancelled=lambda: len(asked) >= 5,
        )

    assert asked == [1, 2, 3, 4, 5]
    assert confidence.state() == before


def test_second_calibration_at_once_is_busy(index: Index) -> None:
    confidence = Confidence(index, lambda: EMBEDDER)
    refused: list[bool] = []

    def ask_again(_done: int, _total: int) -> None:
        with pytest.raises(Busy):
            learn(index, confidence=confidence)
        refused.append(True)

    learn(index, confidence=confidence, on_progress=ask_again)

    assert len(refused) == 100


# -- in an answer ----------------------------------------------------------------------------------------------------


class AlwaysFresh:
    """Fresh at once, and no file has changed."""

    def sync(self, _collections: object, **_: object) -> Sync:
        return Sync(True)

    def unverified(self, _collections: object) -> Sync:
        return Sync(False, "not checked")

    def changed(self, _chunks: object) -> dict[int, bool]:
        return {}


def answer(index: Index, text: str, **options: object) -> float | None:
    scorer, embedder = options.pop("scorer", None), options.pop("embedder", EMBEDDER)
    setup = SearchSetup(SearchSettings(), {"notes": "/n"}, 0.5, 30.0, curve=options.pop("curve", Curve(10.0, 0.5)))
    service = SearchService(
        setup=lambda: setup,
        index=index,
        embedder=lambda: embedder,
        freshness=AlwaysFresh(),
        workers=None,
        scorer=lambda: scorer,
    )
    return service.search(SearchCall(text, **options), lambda: False).confidence


def nearest_by_hand(index: Index, text: str, *, but: str = "") -> float:
    vectors = {
        chunk.content: EMBEDDER.embed_passages([passage(chunk.context, chunk.content)])[0]
        for number in range(40)
        for chunk in index.reader().document_chunks(index.reader().document("notes", f"{number}.md").document_id)
    }
    query = EMBEDDER.embed_query(text)
    return max(float(vector @ query) for content, vector in vectors.items() if not but or but not in content)


def test_confidence_is_the_curve_at_the_nearest_chunk(index: Index) -> None:
    expected = Curve(10.0, 0.5).at(nearest_by_hand(index, "ouzel wren zq3x1"))

    assert answer(index, "ouzel wren zq3x1") == pytest.approx(expected, abs=1e-5)


def test_confidence_leaves_out_what_exclusions_leave_out(index: Index) -> None:
    expected = Curve(10.0, 0.5).at(nearest_by_hand(index, "ouzel wren zq3x1", but="zq3x2"))

    assert answer(index, "ouzel wren zq3x1 -zq3x2") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("options", [{"mmr": True}, {"limit": 1}, {"profile": "memory"}, {"scorer": FixedScorer({})}])
def test_confidence_is_the_same_whatever_later_stages_do(index: Index, options: dict[str, object]) -> None:
    assert answer(index, "ouzel wren zq3x1", **options) == answer(index, "ouzel wren zq3x1")


@pytest.mark.parametrize("options", [{"curve": None}, {"embedder": None}, {"limit": 0}])
def test_no_confidence_without_a_curve_or_without_vectors(index: Index, options: dict[str, object]) -> None:
    assert answer(index, "ouzel wren zq3x1", **options) is None
