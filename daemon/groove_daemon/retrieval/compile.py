"""Raw text to `Query`: phrases for the trigram table, exclusions, words, and the text without its exclusions.

Pure: the same text gives the same query.  What always holds: every phrase is literal text that stands in the query
(doubled quotes collapsed), never syntax; at most 32 phrases and 32 exclusions; a phrase has three characters or more,
because a trigram index cannot match less.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby

from groove_daemon.domain.query import Filters, Query
from groove_daemon.errors import BadQuery, TooLarge
from groove_daemon.retrieval.scripts import CharClass, class_of
from groove_daemon.retrieval.words import dotted_terms, short_terms, words_of

PHRASE_FLOOR = 3
PHRASE_CAP = 32
MAX_QUERY_CHARS = 4096


class _Kind(Enum):
    PLAIN = "plain"
    QUOTED = "quoted"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch `[start, end)` of the raw text; `text` is what it says, without quotes and leading hyphen.

    `verbatim` marks a quoted text: it is one phrase as it stands.
    """

    kind: _Kind
    start: int
    end: int
    text: str
    verbatim: bool


@dataclass(slots=True)
class _Cut:
    """Phrases in order, and the fragments that were too short to become one."""

    phrases: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)


def compile_query(text: str, *, limit: int, filters: Filters | None = None) -> Query:
    """Compile what the user typed.

    Raises:
        BadQuery: the text is blank, or only excludes.
        TooLarge: the text is longer than `MAX_QUERY_CHARS` characters.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise TooLarge(f"the query has {len(text)} characters, at most {MAX_QUERY_CHARS} are read", length=len(text))
    if not text.strip():
        raise BadQuery("nothing to search for", hint="give at least one word", position=0)
    pieces = _scan(text)
    positive_text = _without_exclusions(text, pieces)
    _refuse_exclusions_alone(pieces, positive_text)

    cut = _cut(piece for piece in pieces if piece.kind is not _Kind.EXCLUDED)
    phrases, dropped_phrases = _capped(cut.phrases or _fallback(text, pieces))
    excluded = _cut_exclusions(pieces)
    exclusions, dropped_exclusions = _capped(excluded)
    return Query(
        text=text,
        positive_text=positive_text,
        phrases=phrases,
        exclusions=exclusions,
        limit=limit,
        words=words_of(positive_text),
        excluded_words=tuple(words[0] for words in map(words_of, exclusions) if len(words) == 1),
        exact_terms=dotted_terms(positive_text),
        short_terms=short_terms(cut.fragments),
        dropped_phrases=dropped_phrases,
        dropped_exclusions=dropped_exclusions,
        filters=filters or Filters(),
    )


def _scan(text: str) -> list[_Piece]:
    """Cut the raw text into plain, quoted and excluded pieces, which together cover all of it.

    A quote that is never closed makes everything from the end of the last finished piece plain text, hyphens included.
    """
    pieces: list[_Piece] = []
    done = position = 0
    while position < len(text):
        hyphen = _starts_exclusion(text, position)
        if not hyphen and text[position] != '"':
            position += 1
            continue
        piece = _piece_at(text, position, excluded=hyphen)
        if piece is None:
            break
        if done < piece.start:
            pieces.append(_plain(text, done, piece.start))
        pieces.append(piece)
        done = position = piece.end
    if done < len(text):
        pieces.append(_plain(text, done, len(text)))
    return pieces


def _plain(text: str, start: int, end: int) -> _Piece:
    return _Piece(_Kind.PLAIN, start, end, text[start:end], verbatim=False)


def _piece_at(text: str, start: int, *, excluded: bool) -> _Piece | None:
    """The quoted or excluded piece that begins at `start`; None when its quote is never closed."""
    kind = _Kind.EXCLUDED if excluded else _Kind.QUOTED
    inner = start + 1 if excluded else start
    if text[inner] != '"':
        end = _next_space(text, inner)
        return _Piece(kind, start, end, text[inner:end], verbatim=False)
    close = _closing_quote(text, inner + 1)
    if close is None:
        return None
    return _Piece(kind, start, close + 1, text[inner + 1 : close].replace('""', '"'), verbatim=True)


def _starts_exclusion(text: str, position: int) -> bool:
    if text[position] != "-" or (position > 0 and not text[position - 1].isspace()):
        return False
    following = text[position + 1 : position + 2]
    if following in ("", "-"):
        return False
    return following == '"' or class_of(following) is not CharClass.SEPARATOR


def _next_space(text: str, start: int) -> int:
    return next((index for index in range(start, len(text)) if text[index].isspace()), len(text))


def _closing_quote(text: str, start: int) -> int | None:
    position = text.find('"', start)
    while position != -1 and text[position + 1 : position + 2] == '"':
        position = text.find('"', position + 2)
    return None if position == -1 else position


def _without_exclusions(text: str, pieces: Sequence[_Piece]) -> str:
    """The raw text with each exclusion and the white space behind it cut out; at the very end, that before it."""
    kept = ""
    position = 0
    for piece in pieces:
        if piece.kind is not _Kind.EXCLUDED:
            continue
        kept += text[position : piece.start]
        position = piece.end
        if position == len(text):
            return kept.rstrip()
        while position < len(text) and text[position].isspace():
            position += 1
    return kept + text[position:]


def _refuse_exclusions_alone(pieces: Sequence[_Piece], positive_text: str) -> None:
    if positive_text.strip():
        return
    first = next(piece for piece in pieces if piece.kind is _Kind.EXCLUDED)
    raise BadQuery(
        f"the query only excludes (a leading hyphen at character {first.start + 1}), so there is nothing to search for",
        hint='add a term to search for, or put the hyphen in quotes, as in "-word", to search for it as text',
        position=first.start,
    )


def _cut(pieces: Iterable[_Piece]) -> _Cut:
    """Phrases of positive pieces, in order."""
    cut = _Cut()
    for piece in pieces:
        if not piece.verbatim:
            _cut_plain(piece.text, cut)
        elif _is_sendable(piece.text):
            cut.phrases.append(piece.text)
        else:
            cut.fragments.append(piece.text)
    return cut


def _cut_exclusions(pieces: Iterable[_Piece]) -> list[str]:
    phrases: list[str] = []
    for piece in pieces:
        if piece.kind is not _Kind.EXCLUDED:
            continue
        if not piece.verbatim:
            phrases += _cut(_scan(piece.text)).phrases
        elif _is_sendable(piece.text):
            phrases.append(piece.text)
    return phrases


def _cut_plain(text: str, cut: _Cut) -> None:
    for runs in _groups(text):
        phrases = _phrases_of_group(runs)
        cut.phrases += phrases
        if not phrases:
            cut.fragments.append("".join(runs))


def _groups(text: str) -> Iterator[list[str]]:
    """Stretches between separators, each as its runs of one character class."""
    runs: list[str] = []
    for kind, chars in groupby(text, class_of):
        if kind is not CharClass.SEPARATOR:
            runs.append("".join(chars))
        elif runs:
            yield runs
            runs = []
    if runs:
        yield runs


def _phrases_of_group(runs: Sequence[str]) -> list[str]:
    """Phrases of one group: a run under the floor joins what follows it, or else the unit before it.

    A join that swallows a run which could stand alone emits that run as well; a unit that is extended to the end of
    the group stays, behind the extended one.
    """
    phrases: list[str] = []
    unit_start, unit_at = 0, -1
    start = 0
    while start < len(runs):
        span, end = runs[start], start + 1
        while len(span) < PHRASE_FLOOR and end < len(runs):
            span, end = span + runs[end], end + 1
        if len(span) < PHRASE_FLOOR:
            if unit_at >= 0:
                phrases.insert(unit_at, "".join(runs[unit_start:]))
            break
        unit_start, unit_at = start, len(phrases)
        phrases.append(span)
        if end - start > 1 and len(runs[end - 1]) >= PHRASE_FLOOR:
            phrases.append(runs[end - 1])
        start = end
    return phrases


def _fallback(text: str, pieces: Sequence[_Piece]) -> list[str]:
    """Each positive region as one phrase, for a query in which no group reaches the floor."""
    regions = [""]
    for piece in pieces:
        if piece.kind is _Kind.EXCLUDED:
            regions.append("")
        else:
            regions[-1] += text[piece.start : piece.end]
    return [region for region in map(str.strip, regions) if _is_sendable(region)]


def _is_sendable(phrase: str) -> bool:
    """Long enough for a trigram, and text that SQLite can take: no NUL, no lone surrogate."""
    return len(phrase) >= PHRASE_FLOOR and not any(char == "\0" or "\ud800" <= char <= "\udfff" for char in phrase)


def _capped(phrases: Iterable[str]) -> tuple[tuple[str, ...], int]:
    """The first `PHRASE_CAP` distinct phrases, and how many distinct ones were left out."""
    distinct = tuple(dict.fromkeys(phrases))
    return distinct[:PHRASE_CAP], max(0, len(distinct) - PHRASE_CAP)
