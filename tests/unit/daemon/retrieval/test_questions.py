"""Questions made of a text, and questions that a text does not answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.retrieval.questions import OFF_TOPIC, is_answered, question_from
from groove_daemon.retrieval.words import keywords


@pytest.mark.parametrize(
    ("content", "question"),
    [
        # Every third of ouzel, builds, nest, behind, falling, water, near, mountain, streams is left out.
        (
            "The ouzel builds its nest behind falling water near mountain streams.",
            "ouzel builds behind falling near mountain",
        ),
        ("Too short.", None),
        ("", None),
        # The middle one of three that are long enough.
        (
            "alpha beta gamma delta epsilon. one two three four five. red green blue white black.",
            "one two four five",
        ),
        ("山の小川の近くで鳥が巣を作ります。", "山の小川の近くで鳥が巣"),
        ("短い。", None),
    ],
)  # fmt: skip
def test_question_keeps_two_thirds_of_the_words_of_the_middle_sentence(content: str, question: str | None) -> None:
    assert question_from(content) == question


@given(st.text(max_size=300))
def test_question_has_only_words_of_its_text(content: str) -> None:
    question = question_from(content)

    assert (
        question is None
        or question in content
        or set(question.split())
        <= set(content.lower().split())
        | set(keywords(content))
        | {word for line in content.splitlines() for word in keywords(line)}
    )


def test_half_of_the_words_in_one_text_may_answer() -> None:
    assert is_answered("height of mount kilimanjaro", ["the height of the mount"])
    assert not is_answered("height of mount kilimanjaro", ["the height", "a mount"])
    assert not is_answered("height of mount kilimanjaro", [])


def test_off_topic_questions_are_many_and_different() -> None:
    assert len(OFF_TOPIC) == len(set(OFF_TOPIC)) >= 60
    assert all(keywords(question) for question in OFF_TOPIC)
