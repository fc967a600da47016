"""Legs over the chunks' full text: trigrams, words, all words, exact terms, CJK words too short for a trigram.

Scores of these rankings are bm25 turned round, so that higher is better.  Every leg keeps the filters; exclusions are
judged on the trigram row of a chunk, the same for all legs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from groove_daemon.domain.document import ChunkId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.probe import Probe, store_failures
from groove_daemon.retrieval.scripts import is_word_char
from groove_daemon.retrieval.trace import StageSkipped, Trace
from groove_daemon.retrieval.words import content_words

COMMON_SHARE = 0.5
"""A phrase in more than this share of the chunks has next to no weight in bm25 and most of the cost."""

MOST_WORDS_LOOKED_UP = 8

Rows = Sequence[tuple[ChunkId, float]]
ColumnWeights = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class TrigramRetriever:
    """Chunks that hold any of the query's phrases as literal text.

    With `beside_words`, words that stand as such where the query may look are left to the legs over words, which rank
    them for a fraction of the cost; what remains are parts of words, unspaced text and quoted phrases.
    With `drop_common`, phrases that stand in more than half of the chunks are left out when others remain.
    The step says what was left out.
    """

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    weights: ColumnWeights = (2.0, 1.0, 1.0)
    drop_common: bool = True
    beside_words: bool = False
    name: str = "trigram"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        """Rank by bm25."""
        if not query.phrases:
            raise StageSkipped("no phrase of three characters or more")
        with store_failures():
            phrases = self._phrases(query, trace)
            rows = self.probe.reader.trigram(
                phrases,
                query.exclusions,
                limit=self.depths.leg(query.limit),
                allowed=self.probe.allowed,
                weights=self.weights,
            )
        return _by_bm25(self.name, rows)

    def _phrases(self, query: Query, trace: Trace) -> tuple[str, ...]:
        """What to look for; raises StageSkipped when the legs over words look for all of it."""
        phrases, remarks = query.phrases, []
        if self.beside_words:
            phrases, known = self._split_known(phrases)
            if not phrases:
                raise StageSkipped("left to the legs over words, which know every word")
            if known:
                remarks.append(f"left to the legs over words: {', '.join(known)}")
        if self.drop_common and len(phrases) > 1:
            phrases, common = split_common(phrases, self.probe.reader.phrase_frequencies(phrases).get)
            if common:
                remarks.append(f"without what most chunks hold: {', '.join(common)}")
        if remarks:
            trace.remark(self.name, "; ".join(remarks))
        return phrases

    def _split_known(self, phrases: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Phrases that are no words of the index, and those that are, function words among them; each in order."""
        telling = content_words(phrases)
        words = [phrase for phrase in telling if _is_word(phrase)]
        known = self.probe.reader.known_words(words, allowed=self.probe.allowed)
        unknown = tuple(phrase for phrase in telling if phrase not in known)
        return unknown, tuple(phrase for phrase in phrases if phrase not in unknown)


def _is_word(phrase: str) -> bool:
    """Whether this is a word or words joined by hyphens, as opposed to quoted text with spaces or marks in it."""
    return all(char == "-" or is_word_char(char) for char in phrase)


def split_common(
    phrases: Sequence[str], share_of: Callable[[str], float | None]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rare and common phrases, each in order; all count as rare when there would be no rare one."""
    common = tuple(phrase for phrase in phrases if (share_of(phrase) or 0.0) > COMMON_SHARE)
    rare = tuple(phrase for phrase in phrases if phrase not in common)
    return (rare, common) if rare else (tuple(phrases), ())


@dataclass(frozen=True, slots=True)
class ChunkWordsRetriever:
    """Chunks that hold any of the query's words, short ones included; function words only if there are no others."""

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    weights: ColumnWeights = (2.0, 1.0, 1.0)
    name: str = "chunk_words"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by bm25."""
        words = content_words(query.words)
        if not words:
            raise StageSkipped("no word to look for")
        return _by_bm25(self.name, _word_rows(self.probe, words, self.depths.leg(query.limit), self.weights))


@dataclass(frozen=True, slots=True)
class ExactTermsRetriever:
    """Chunks that hold one of the query's dotted terms, such as a version, token for token."""

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    weights: ColumnWeights = (2.0, 1.0, 1.0)
    name: str = "exact_terms"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by bm25."""
        if not query.exact_terms:
            raise StageSkipped("no dotted term")
        rows = _word_rows(self.probe, query.exact_terms, self.depths.leg(query.limit), self.weights)
        return _by_bm25(self.name, rows)


@dataclass(frozen=True, slots=True)
class AllWordsRetriever:
    """Chunks that hold every word of the query, function words left out.

    Somebody who looks a note up types words that stand in it.  A question in plain words seldom has all of them in one
    chunk, so this leg is silent for it.
    """

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    weights: ColumnWeights = (2.0, 1.0, 1.0)
    name: str = "all_words"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by bm25."""
        words = content_words(query.words)
        if not words:
            raise StageSkipped("no word to look for")
        if len(words) > MOST_WORDS_LOOKED_UP:
            raise StageSkipped(f"more than {MOST_WORDS_LOOKED_UP} words")
        rows = _word_rows(self.probe, words, self.depths.leg(query.limit), self.weights, every=True)
        return _by_bm25(self.name, rows)


def _word_rows(probe: Probe, words: Sequence[str], limit: int, weights: ColumnWeights, *, every: bool = False) -> Rows:
    def fetch(depth: int) -> Rows:
        return probe.reader.chunk_words(words, (), limit=depth, allowed=probe.allowed, weights=weights, every=every)

    with store_failures():
        return unexcluded(fetch, limit=limit, excluded=probe.excluded)


def unexcluded(fetch: Callable[[int], Rows], *, limit: int, excluded: frozenset[ChunkId]) -> Rows:
    """The first `limit` rows that are not excluded: `fetch(depth)` gives the best `depth` rows, and is asked deeper."""
    depth = limit
    while True:
        rows = fetch(depth)
        kept = [row for row in rows if row[0] not in excluded]
        if len(kept) >= limit or len(rows) < depth:
            return kept[:limit]
        depth *= 4


def _by_bm25(stage: str, rows: Rows) -> Ranking:
    return ranked(stage, ((chunk_id, -bm25) for chunk_id, bm25 in rows))
