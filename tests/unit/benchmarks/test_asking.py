"""Questions asked of a real index of three notes, with the embedder that needs no model."""

import math

import pytest
from benchmarks.asking import Asker, Questions
from benchmarks.choices import QUERY_TIME, same
from benchmarks.first_index import index_fully, working
from benchmarks.judged import JudgedQuery
from benchmarks.passages import Lines, Passage

from groove_daemon.config.settings import CollectionSettings, ModelSettings, Settings
from groove_daemon.models.host import ModelHost
from groove_daemon.workers import Workers

NOTES = {
    "ouzel.md": "# Ouzel\n\nThe ouzel nests behind falling water.\n\n## Food\n\nThe ouzel walks in water for larvae.\n",
    "heron.md": "# Heron\n\nThe heron stands in shallow water.\n",
    "wren.md": "# Wren\n\nThe wren sings in ivy.\n",
}
QUESTIONS = Questions(
    "birds",
    [
        JudgedQuery("falling water", {"ouzel.md": 1.0, "wren.md": 1.0}, "any"),
        JudgedQuery("sings", {"wren.md": 1.0}, "any"),
    ],
    [
        Passage(Lines("heron.md", 3, 3), {"word": "heron", "words": "ouzel falling"}),
        Passage(Lines("wren.md", 3, 3), {"word": "ivy"}),
    ],
)
ALL_WORDS = QUERY_TIME["one leg alone"]["`all_words`"]


@pytest.fixture
def asker(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    models = ModelSettings(embedder="hashing")
    settings = Settings(collections=(CollectionSettings(name="notes", path=str(folder)),), models=models)
    host, workers = ModelHost(models, cache_dir=tmp_path), Workers("legs", threads=2, max_waiting=4)
    try:
        host.start()
        assert host.wait_ready(30)
        with working(settings, host) as (index, late):
            index_fully(late)
            yield Asker(index, host.embedder, workers)
    finally:
        workers.close()
        host.close()


def test_values_of_a_leg_that_finds_what_holds_every_word(asker):
    """One of two documents is found for the first query, first: 1 / (1 + 1 / log2(3)).

    The heron is found by its one word, and not by words of the ouzel.
    """
    values = asker.values(QUESTIONS, ALL_WORDS)

    assert values["birds"] == pytest.approx([1 / (1 + 1 / math.log2(3)), 1.0])
    assert values["passages: birds"] == [0.5, 1.0]
    assert values["passages: birds, word"] == [1.0, 1.0]
    assert values["passages: birds, words"] == [0.0]


def test_every_question_is_answered_under_the_default(asker):
    values = asker.values(QUESTIONS, same)

    assert [len(one) for one in values.values()] == [2, 2, 2, 1]
    assert values["birds"][1] == 1.0


def test_some_of_the_questions_are_spread_evenly():
    queries = [JudgedQuery(str(number), {"a": 1.0}, "any") for number in range(10)]
    some = Questions("birds", queries, QUESTIONS.passages).some(4)

    assert [query.text for query in some.judged] == ["0", "2", "5", "7"]
    assert some.passages == list(QUESTIONS.passages)
