"""Writing systems: the class of a character, and which script a text is mostly in.

The classes decide where a query is cut into phrases; the script decides how much each leg is worth.  Pure, and the
only place that knows code point ranges.
"""

import unicodedata
from enum import Enum
from functools import lru_cache
from typing import Literal

Script = Literal["spaced", "cjk"]

_KANJI = (
    (0x3005, 0x3006),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_HIRAGANA = ((0x3041, 0x309F),)
_KATAKANA = ((0x30A1, 0x30FF), (0xFF66, 0xFF9F))
_UNSPACED_OR_HANGUL = (*_KANJI, *_HIRAGANA, *_KATAKANA, (0xAC00, 0xD7A3), (0x20000, 0x2EBEF), (0x30000, 0x323AF))


class CharClass(Enum):
    """What a character is to the cutter of phrases."""

    KANJI = "kanji"
    HIRAGANA = "hiragana"
    KATAKANA = "katakana"
    OTHER_WORD = "other_word"
    SEPARATOR = "separator"


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


@lru_cache(maxsize=8192)
def class_of(char: str) -> CharClass:
    """The class of one character; the three CJK classes win over "alphanumeric".

    `OTHER_WORD` is every other letter or digit, `_`, `-`, and combining marks, so that a decomposed accent or an Indic
    vowel sign does not cut a word in two.
    """
    code = ord(char)
    if _within(code, _KANJI):
        return CharClass.KANJI
    if _within(code, _HIRAGANA):
        return CharClass.HIRAGANA
    if _within(code, _KATAKANA):
        return CharClass.KATAKANA
    if char in "_-" or is_word_char(char):
        return CharClass.OTHER_WORD
    return CharClass.SEPARATOR


@lru_cache(maxsize=8192)
def is_word_char(char: str) -> bool:
    """Whether the character belongs to a word: a letter, a digit, `_`, or a combining mark."""
    return char == "_" or char.isalnum() or unicodedata.category(char).startswith("M")


def is_cjk(char: str) -> bool:
    """Whether the character is Chinese, Japanese or Korean: few of them make a word."""
    return _within(ord(char), _UNSPACED_OR_HANGUL)


def is_kanji(char: str) -> bool:
    """Whether the character is an ideograph of the basic ranges: one of them can be a word."""
    return class_of(char) is CharClass.KANJI


def cjk_share(text: str) -> float:
    """Share of CJK characters among the characters that belong to words, 0 to 1; 0 for a text without any."""
    letters = [char for char in text if is_word_char(char)]
    if not letters:
        return 0.0
    return sum(map(is_cjk, letters)) / len(letters)


def script_of(text: str) -> Script:
    """`cjk` when at least half of the text's word characters are, else `spaced`."""
    return "cjk" if cjk_share(text) >= 0.5 else "spaced"
