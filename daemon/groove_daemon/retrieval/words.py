"""Words of a query, for the full-text tables that index words: cutting, deduplicating, and leaving out function words.

Pure.  A word is lower-case text and never syntax; a dotted term such as `10.0.0.7` is kept as one word beside its
parts, because the tables match it as adjacent tokens.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from groove_daemon.retrieval.scripts import is_cjk, is_kanji, is_word_char

WORD_CAP = 64
"""Most words of one query.  A word costs a fifth of what a trigram phrase costs, hence twice the cap of phrases."""

SHORT_TERM_CAP = 8
"""Most short CJK terms of one query: each is a scan of stored text."""

_DOTTED = re.compile(r"[\w-]+(?:\.[\w-]+)+")

STOP_WORDS = frozenset(
    """
    a about an and any are as at be been but by can could did do does for from had has have how i if in into is it
    its me my no not of on or our should so such than that the their them then there these they this those to was
    we were what when where which who why will with would you your
    """.split()  # noqa: SIM905 (a list of one word a line is harder to read)
)
"""English function words: they say nothing about which note is meant."""


def dotted_terms(text: str) -> tuple[str, ...]:
    """Terms held together by dots, lower-cased: versions, addresses, file names.

    A term counts when it has a digit, or when each part has two characters or more, which leaves out `e.g`.

    >>> dotted_terms("since 2026.4.10, e.g. in report.final.v2.")
    ('2026.4.10', 'report.final.v2')
    """
    found = (match.group().lower() for match in _DOTTED.finditer(text))
    return tuple(dict.fromkeys(term for term in found if _is_dotted_term(term)))


def _is_dotted_term(term: str) -> bool:
    parts = term.split(".")
    if not all(any(map(str.isalnum, part)) for part in parts):
        return False
    return any(map(str.isdigit, term)) or all(len(part) >= 2 for part in parts)


def words_of(text: str) -> tuple[str, ...]:
    """All words of `text` in order, lower-cased, each once, at most `WORD_CAP`; dotted terms come first.

    >>> words_of("Who's on 2026.4.10?")
    ('2026.4.10', 'who', 's', 'on', '2026', '4', '10')
    """
    unique = dict.fromkeys([*dotted_terms(text), *_runs(text.lower())])
    return tuple(unique)[:WORD_CAP]


def _runs(text: str) -> Iterator[str]:
    spaced = "".join(char if is_word_char(char) else " " for char in text)
    return (run for run in spaced.split() if any(char.isalnum() for char in run))


def content_words(words: Sequence[str]) -> tuple[str, ...]:
    """`words` without English function words; all of them when nothing else would remain.

    >>> content_words(("how", "do", "gulls", "find", "food"))
    ('gulls', 'find', 'food')
    >>> content_words(("to", "be", "or", "not", "to", "be"))
    ('to', 'be', 'or', 'not', 'to', 'be')
    """
    content = tuple(word for word in words if word.lower() not in STOP_WORDS)
    return content or tuple(words)


def keywords(text: str) -> tuple[str, ...]:
    """Words that can say what a text is about, lower-cased, in order, each once, at most `WORD_CAP`.

    Words of one character, function words and plain numbers are left out, even when nothing remains.

    >>> keywords("What did the API return on 2026-04-10, a 404?")
    ('api', 'return')
    """
    unique = dict.fromkeys(word for word in _runs(text.lower()) if _is_keyword(word))
    return tuple(unique)[:WORD_CAP]


def _is_keyword(word: str) -> bool:
    return len(word) >= 2 and word not in STOP_WORDS and not word.isnumeric()


def short_terms(fragments: Iterable[str]) -> tuple[str, ...]:
    """Fragments too short for a trigram that are words all the same: two CJK characters, or one ideograph.

    >>> short_terms(("鸟类", "ok", "と", "猫"))
    ('鸟类', '猫')
    """
    chosen = (text for text in fragments if _is_short_term(text))
    return tuple(dict.fromkeys(chosen))[:SHORT_TERM_CAP]


def _is_short_term(text: str) -> bool:
    return (len(text) == 2 and all(map(is_cjk, text))) or (len(text) == 1 and is_kanji(text))
