"""Questions made of passages by rule: each asks for the lines that it was made of.

Of chunks of an index, drawn at random, the same questions come each time: a sentence without its function words and a
third of the rest; one rare word; a rare word and two others.  Another index of the same documents cuts them in other
places, so a hit is right when it stands in the same document and shares a line with the chunk.  Words that are drawn
from all of a chunk favour the index that the chunk is of, since a smaller chunk may hold one of them and not the other;
a sentence does not.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.lookups import KINDS, long_words, word_queries
from groove_daemon.domain.document import ChunkId, StoredChunk
from groove_daemon.retrieval.questions import question_from

SENTENCE = "partial sentence"
_WORD_KINDS = KINDS[:2]


class Lines(NamedTuple):
    """Lines of a document, from 1, both inclusive."""

    path: str
    first: int
    last: int

    def shares_a_line(self, other: "Lines") -> bool:
        """Whether some line belongs to both."""
        return self.path == other.path and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a chunk stands, and the questions made of it, by their kind; one at least."""

    lines: Lines
    questions: Mapping[str, str]


def draw(chunks: Mapping[ChunkId, StoredChunk], *, count: int, number: int = 43) -> Sequence[Passage]:
    """Passages of up to `count` chunks of which a question can be made and whose text stands once.

    Args:
        chunks: all of an index.
        count: how many to draw.
        number: makes the draw repeatable.
    """
    source = random.Random(number)
    texts = Counter(chunk.content for chunk in chunks.values())
    words = {chunk_id: long_words(chunk) for chunk_id, chunk in chunks.items()}
    frequency = Counter(word for several in words.values() for word in several)
    drawn: list[Passage] = []
    # By place and not by number: two indexes of the same notes may store their documents in another order.
    ordered = sorted(chunks, key=lambda chunk_id: (lines_of(chunks[chunk_id]), chunks[chunk_id].position))
    for chunk_id in source.sample(ordered, len(ordered)):
        chunk = chunks[chunk_id]
        by_words = word_queries(words[chunk_id], frequency, source)
        questions = {kind: by_words[kind] for kind in _WORD_KINDS if kind in by_words}
        sentence = question_from(chunk.content)
        if sentence is not None:
            questions[SENTENCE] = sentence
        if questions and texts[chunk.content] == 1:
            drawn.append(Passage(lines_of(chunk), questions))
        if len(drawn) == count:
            break
    return drawn


def lines_of(chunk: StoredChunk) -> Lines:
    """Where a chunk stands."""
    return Lines(chunk.document.path, chunk.line_start, chunk.line_end)


def gain(wanted: Lines, found: Iterable[Lines], *, k: int) -> float:
    """nDCG at `k` with one right answer, the first hit that shares a line with it: 1 / log2(rank + 1), else 0."""
    ranks = (rank for rank, lines in enumerate(found, start=1) if rank <= k and lines.shares_a_line(wanted))
    return next((1.0 / math.log2(rank + 1) for rank in ranks), 0.0)
