import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.chunking.quality import quality, stored_quality


@pytest.mark.parametrize(
    ("content", "score"),
    [
        ("", 0.1),
        (" \n ", 0.1),
        ("x" * 29, 0.1),
        ("x" * 30, 0.7),
        ("x" * 79, 0.7),
        ("x" * 80, 1.0),
        ("x" * 14 + "\n" + "y" * 14, 0.4),
        ("x" * 15 + "\n" + "y" * 14, 1.0),
        (f"  {'x' * 29}  ", 0.1),
        ("TODO", 0.0),
        ("tbd.", 0.0),
        ("Coming soon... ", 0.0),
        ("準備中。", 0.0),
        ("日" * 30, 0.7),
        ("日" * 29, 0.1),
        ("TODO later", 0.1),
    ],
)
def test_quality_of_text(content: str, score: float) -> None:
    assert quality(content, binary=False) == score


@pytest.mark.parametrize(("content", "score"), [("x", 1.0), ("TBD", 0.5), ("", 0.1)])
def test_quality_of_binary_formats_ignores_length(content: str, score: float) -> None:
    assert quality(content, binary=True) == score


@given(st.text(max_size=100), st.booleans())
def test_quality_is_a_share(content: str, binary: bool) -> None:
    assert 0.0 <= quality(content, binary=binary) <= 1.0


def test_a_short_note_is_stored_at_the_default_threshold() -> None:
    assert quality("heron one", binary=False) == 0.1
    assert stored_quality("heron one", binary=False) == 0.3


def test_a_placeholder_stays_below_the_default_threshold() -> None:
    assert stored_quality("TODO", binary=False) == 0.0
    assert stored_quality("Coming soon.", binary=False) == 0.0


def test_nothing_but_white_space_is_not_lifted() -> None:
    assert stored_quality(" \n", binary=False) == 0.1


def test_text_above_the_threshold_keeps_its_score() -> None:
    assert stored_quality("a line of forty-five characters, not a bit more", binary=False) == 0.7
