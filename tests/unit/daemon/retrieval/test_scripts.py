"""Character classes and the script of a text."""

import pytest

from groove_daemon.retrieval.scripts import CharClass, cjk_share, class_of, script_of


@pytest.mark.parametrize(
    ("chars", "expected"),
    [
        ("再々〆㐀豈", CharClass.KANJI),
        ("ぁのんゞ\u3099", CharClass.HIRAGANA),
        ("ァヶー・ｦﾟ", CharClass.KATAKANA),
        ("aＡЖ한𠮷〇9_-é\u0301ि", CharClass.OTHER_WORD),
        (' \u3000.,"\0･、。!😀\n', CharClass.SEPARATOR),
    ],
)
def test_class_of_sorts_characters(chars: str, expected: CharClass) -> None:
    assert {char: class_of(char) for char in chars} == dict.fromkeys(chars, expected)


@pytest.mark.parametrize(
    ("text", "share"), [("", 0.0), ("?!", 0.0), ("owl", 0.0), ("鸟类", 1.0), ("ab 鸟类", 0.5), ("탐조 ab!", 0.5)]
)
def test_cjk_share_counts_word_characters(text: str, share: float) -> None:
    assert cjk_share(text) == share


def test_script_of_needs_half_of_the_characters() -> None:
    assert [script_of(text) for text in ("retry の設定", "Rust の設定変更", "owls")] == ["spaced", "cjk", "spaced"]
