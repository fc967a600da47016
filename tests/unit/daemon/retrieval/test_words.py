"""Words, dotted terms, function words and short CJK terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.retrieval.words import WORD_CAP, content_words, dotted_terms, keywords, short_terms, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Who's on first?", ("who", "s", "on", "first")),
        ("snake_case and KEBAB-case", ("snake_case", "and", "kebab", "case")),
        ("ok OK Ok", ("ok",)),
        ("鸟类 観察", ("鸟类", "観察")),
        ("Café cafe\u0301", ("café", "cafe\u0301")),
        ("*** ??", ()),
        ("v 2026.4.10.", ("2026.4.10", "v", "2026", "4", "10")),
        ("❤\ufe0f birds", ("birds",)),
    ],
)
def test_words_of_lower_cases_and_deduplicates(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


def test_words_of_stops_at_the_cap() -> None:
    words = words_of(" ".join(f"w{number}" for number in range(WORD_CAP + 5)))

    assert len(words) == WORD_CAP
    assert words[0] == "w0"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("release 2026.4.10 today", ("2026.4.10",)),
        ("10.0.0.7", ("10.0.0.7",)),
        ("file Report.Final.v2.", ("report.final.v2",)),
        ("node.js and obsidian.md", ("node.js", "obsidian.md")),
        ("e.g. this, i.e. that", ()),
        ("end. Next", ()),
        ("pi is 3.14", ("3.14",)),
        ("... a..b", ()),
    ],
)
def test_dotted_terms_are_versions_addresses_and_file_names(text: str, terms: tuple[str, ...]) -> None:
    assert dotted_terms(text) == terms


def test_content_words_leaves_function_words_out() -> None:
    words = words_of("how long is the notice period in my contract")

    assert content_words(words) == ("long", "notice", "period", "contract")


@pytest.mark.parametrize("words", [(), ("to", "be", "or", "not"), ("the",)])
def test_content_words_keeps_all_when_nothing_else_remains(words: tuple[str, ...]) -> None:
    assert content_words(words) == words


@pytest.mark.parametrize(
    ("fragments", "terms"),
    [
        (("鸟类", "ok"), ("鸟类",)),
        (("猫",), ("猫",)),
        (("の", "ね"), ()),
        (("ねこ", "パン", "탐조"), ("ねこ", "パン", "탐조")),
        (("a鸟",), ()),
        (("鸟类", "鸟类"), ("鸟类",)),
    ],
)
def test_short_terms_are_cjk_words(fragments: tuple[str, ...], terms: tuple[str, ...]) -> None:
    assert short_terms(fragments) == terms


@given(st.text(max_size=50))
def test_words_of_gives_lower_case_words_that_stand_in_the_text(text: str) -> None:
    for word in words_of(text):
        assert word in text.lower()
        assert word == word.lower()
        assert any(char.isalnum() for char in word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the Half-Life of memory?", ("half", "life", "memory")),
        ("snake_case a 42 4.5 x2", ("snake_case", "x2")),
        ("memory MEMORY Memory", ("memory",)),
        ("the of and 7", ()),
        ("Übersicht cafe\u0301", ("übersicht", "cafe\u0301")),
    ],
)
def test_keywords_say_what_a_text_is_about(text: str, expected: tuple[str, ...]) -> None:
    assert keywords(text) == expected
