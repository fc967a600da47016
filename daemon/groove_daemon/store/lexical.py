"""The only place that writes MATCH expressions.

What always holds: users' text reaches FTS5 inside double quotes with inner quotes doubled, so it is always literal;
both sides of NOT stand in parentheses, because NOT binds tighter than OR.  Text that FTS5 cannot hold, and phrases
too short for trigrams, are left out; when nothing is left there is no expression and nothing is found.
"""

import json
from collections.abc import Sequence
from typing import Literal

from groove_daemon.store.connection import Database, int_array
from groove_daemon.store.view import Ids

Table = Literal["chunks_trigram", "chunks_words", "documents_words"]

TRIGRAM_FLOOR = 3
MAX_TERMS = 1024


def phrase_expression(phrases: Sequence[str], exclusions: Sequence[str] = ()) -> str | None:
    """Any of the phrases and none of the exclusions, for the trigram table; None when no phrase can match."""
    return _expression(_long_enough(phrases), _long_enough(exclusions))


def word_expression(words: Sequence[str], excluded: Sequence[str] = (), *, every: bool = False) -> str | None:
    """Any of the words, or `every` one, and none of the excluded ones, for the tables of words; None for no word."""
    return _expression(words, excluded, joint=" AND " if every else " OR ")


def ranked_rows(
    database: Database,
    table: Table,
    expression: str,
    *,
    weights: tuple[float, float, float],
    limit: int,
    within: Ids | None = None,
) -> list[tuple[int, float]]:
    """The best rows by bm25 (lower is better), ties by row id; with `within`, the best of these rows."""
    # The plus keeps FTS5 from running the expression again for each row id; rows outside are dropped before bm25.
    restriction = "" if within is None else "AND +rowid IN (SELECT value FROM carray(?))"
    values: list[object] = [*weights, expression, *([] if within is None else [int_array(within)]), limit]
    return database.rows(
        f"SELECT rowid, bm25({table}, ?, ?, ?) AS score FROM {table} WHERE {table} MATCH ? {restriction}"
        " ORDER BY score, rowid LIMIT ?",
        values,
    )


def matching_rows(database: Database, table: Table, expression: str) -> list[int]:
    """Ids of all rows that match, unranked."""
    return [row[0] for row in database.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (expression,))]


def words_found(database: Database, words: Sequence[str], *, within: Ids | None = None) -> frozenset[str]:
    """Those of `words` that any chunk holds, or any of these, in one statement that stops at the first for each."""
    expressions = {expression: word for word in words if (expression := word_expression([word]))}
    if not expressions:
        return frozenset()
    # As in `ranked_rows`.
    restriction = "" if within is None else "AND +rowid IN (SELECT value FROM carray(?))"
    values: list[object] = [json.dumps(list(expressions)), *([] if within is None else [int_array(within)])]
    rows = database.rows(
        "SELECT value FROM json_each(?) AS word WHERE EXISTS"
        f" (SELECT 1 FROM chunks_words WHERE chunks_words MATCH word.value {restriction})",
        values,
    )
    return frozenset(expressions[row[0]] for row in rows)


def _expression(positive: Sequence[str], negative: Sequence[str], *, joint: str = " OR ") -> str | None:
    wanted = _joined(positive, joint)
    unwanted = _joined(negative, " OR ")
    if not wanted:
        return None
    return f"({wanted}) NOT ({unwanted})" if unwanted else wanted


def _joined(texts: Sequence[str], joint: str) -> str:
    literals = [_literal(text) for text in dict.fromkeys(texts) if _is_storable(text)]
    return joint.join(literals[:MAX_TERMS])


def _literal(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _long_enough(phrases: Sequence[str]) -> list[str]:
    return [phrase for phrase in phrases if len(phrase) >= TRIGRAM_FLOOR]


def _is_storable(text: str) -> bool:
    """No stored text holds NUL or a lone surrogate, so nothing can match one."""
    return bool(text) and "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
