from collections.abc import Sequence

import numpy as np
import pytest

from groove_daemon.errors import ModelLoading
from groove_daemon.indexing.embedding import ModelDown, NoVector, Quarantine, cut_batch, delay_after, embed_each
from groove_daemon.models.base import Matrix
from groove_daemon.store.records import PendingPassage


class Model:
    """Gives (1, 0) for any text, fails for those that hold `bad`, and keeps count of its calls."""

    def __init__(self, *, down: Exception | None = None) -> None:
        self.calls = 0
        self.down = down

    def __call__(self, texts: Sequence[str]) -> Matrix | Exception:
        self.calls += 1
        if self.down:
            return self.down
        if any("bad" in text for text in texts):
            return RuntimeError("bad text")
        rows = np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))
        for number, text in enumerate(texts):
            if "nan" in text:
                rows[number] = np.nan
            if "zero" in text:
                rows[number] = 0.0
        return rows


def test_embed_each_gives_a_vector_for_each_text() -> None:
    model = Model()
    result = embed_each(model, ["a", "b"], 2)

    assert isinstance(result, list)
    assert [row.tolist() for row in result if not isinstance(row, NoVector)] == [[1.0, 0.0], [1.0, 0.0]]
    assert model.calls == 1


def test_embed_each_finds_the_text_that_fails() -> None:
    texts = [f"text {number}" for number in range(16)]
    texts[11] = "bad"
    result = embed_each(Model(), texts, 2)

    assert isinstance(result, list)
    assert [number for number, row in enumerate(result) if isinstance(row, NoVector)] == [11]
    assert result[11] == NoVector("RuntimeError: bad text", is_final=False)


@pytest.mark.parametrize("text", ["nan", "zero"])
def test_embed_each_refuses_a_vector_that_would_head_every_ranking(text: str) -> None:
    result = embed_each(Model(), ["a", text], 2)

    assert isinstance(result, list)
    assert isinstance(result[1], NoVector)
    assert result[1].is_final


def test_embed_each_blames_no_text_when_the_model_fails_for_all() -> None:
    model = Model(down=RuntimeError("out of memory"))

    assert embed_each(model, [f"text {number}" for number in range(64)], 2) == ModelDown("RuntimeError: out of memory")
    assert model.calls == 2


def test_embed_each_takes_a_model_that_is_loading_for_down_at_once() -> None:
    model = Model(down=ModelLoading("loading"))

    assert embed_each(model, ["a"], 2) == ModelDown("loading")
    assert model.calls == 1


@pytest.mark.parametrize(("attempts", "delay"), [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (100, 3600)])
def test_delay_after_doubles_up_to_an_hour(attempts: int, delay: float) -> None:
    assert delay_after(attempts) == delay


def test_quarantine_holds_a_passage_back_until_its_delay_is_over() -> None:
    quarantine = Quarantine()

    assert not quarantine.failed(b"k", "why", 100.0)
    assert quarantine.holds_back(b"k", 129.0)
    assert not quarantine.holds_back(b"k", 130.0)
    assert quarantine.next_try_at() == 130.0
    assert quarantine.is_due(130.0)


def test_quarantine_gives_a_passage_up_after_five_tries() -> None:
    quarantine = Quarantine()

    assert [quarantine.failed(b"k", "why", 0.0) for _ in range(5)] == [False, False, False, False, True]
    assert len(quarantine) == 0


def passage(key: str, tokens: int) -> PendingPassage:
    return PendingPassage(key.encode(), key, tokens)


def test_cut_batch_keeps_to_the_tokens() -> None:
    waiting = [passage("a", 60), passage("b", 40), passage("c", 1)]

    assert [one.text for one in cut_batch(waiting, most_tokens=100)] == ["a", "b"]
    assert [one.text for one in cut_batch(waiting, most_tokens=10)] == ["a"]
    assert [one.text for one in cut_batch(waiting, most_tokens=100, without={b"a"})] == ["b", "c"]
    assert cut_batch([], most_tokens=10) == []
