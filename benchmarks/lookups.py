"""Looking a passage up by words that stand in it: how often the chunk itself comes first, or among the first five.

Judged collections ask questions; people also type words that they remember.  Chunks of the 10,000 are drawn at random
(the same every time) and words of each are taken as a query: one rare word, a rare one and two others, four of any
kind, a part of a rare one.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from benchmarks.first_index import ready_model
from benchmarks.search import service_over
from benchmarks.table import Report, Row, columns
from benchmarks.world import World, say
from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.document import ChunkId, StoredChunk
from groove_daemon.evaluation.measures import bootstrap_interval
from groove_daemon.retrieval.pipeline import LEG_SETS
from groove_daemon.retrieval.words import STOP_WORDS
from groove_daemon.search import SearchCall, SearchService
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

CHUNKS = 150
RARE = 2
KINDS = ("one rare word", "a rare word and two", "four words", "part of a rare word")
_FEWEST_LETTERS = 9
_FEWEST_WORDS = 8
_WORD = re.compile(r"[a-z]{4,}")

Lookups = Mapping[str, Sequence[tuple[ChunkId, str]]]


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the signature of every part)
    """Look `CHUNKS` chunks up in each way, with each set of legs."""
    host, _ = ready_model(world)
    workers = Workers("legs", threads=4, max_waiting=4)
    with world.daemon() as daemon:
        index = Index.open(daemon.index)
        try:
            lookups = _draw(index)
            found: dict[str, dict[str, list[int]]] = {}
            for name in LEG_SETS:
                say(f"lookups: {name} ...")
                settings, roots = replace(SearchSettings(), legs=name), {"notes": str(world.notes)}
                service = service_over(index, host.embedder, workers, settings, roots=roots)
                found[name] = {
                    kind: [_rank(service, query, wanted) for wanted, query in asked] for kind, asked in lookups.items()
                }
        finally:
            index.close()
            workers.close()
            host.close()
    return Report(_rows(found), tuple(_details(found)), {"ranks": found})


def _draw(index: Index) -> Lookups:
    """Queries for chunks whose text stands once in the index, so that only they are right."""
    source = random.Random(41)
    words = {chunk_id: long_words(chunk) for chunk_id, chunk in all_chunks(index).items()}
    frequency = Counter(word for several in words.values() for word in several)
    asked: dict[str, list[tuple[ChunkId, str]]] = {kind: [] for kind in KINDS}
    for chunk_id in source.sample(sorted(words), len(words)):
        for kind, query in word_queries(words[chunk_id], frequency, source).items():
            if len(asked[kind]) < CHUNKS:
                asked[kind].append((chunk_id, query))
        if all(len(several) == CHUNKS for several in asked.values()):
            break
    return asked


def all_chunks(index: Index) -> Mapping[ChunkId, StoredChunk]:
    """Every chunk that has a vector."""
    reader = index.reader()
    with reader.snapshot():
        return reader.chunks([ChunkId(int(number)) for number in index.vectors.view().chunk_ids])


def long_words(chunk: StoredChunk) -> Sequence[str]:
    """The different words of a chunk with four letters or more, in their order, without function words."""
    found = _WORD.findall(chunk.content.lower())
    return list(dict.fromkeys(word for word in found if word not in STOP_WORDS))


def word_queries(own: Sequence[str], frequency: Mapping[str, int], source: random.Random) -> Mapping[str, str]:
    """A query of each of `KINDS` from the words of one chunk; none when it is short or has no rare word.

    The part of a word is the word without its first and its last letter; only of a long one, and not when the part is a
    word of its own.

    Args:
        own: the chunk's words, each once.
        frequency: in how many chunks each word stands.
        source: what chooses among the words.
    """
    rare = [word for word in own if frequency[word] <= RARE]
    if not rare or len(own) < _FEWEST_WORDS:
        return {}
    word = source.choice(rare)
    others = [other for other in own if other != word]
    some, four, part = source.sample(others, 2), source.sample(own, 4), word[1:-1]
    queries = dict(zip(KINDS, (word, " ".join((word, *some)), " ".join(four), part), strict=True))
    if len(word) < _FEWEST_LETTERS or part in frequency:
        del queries[KINDS[3]]
    return queries


def _rank(service: SearchService, query: str, wanted: ChunkId) -> int:
    """The rank of the wanted chunk among the first ten, 0 when it is not there."""
    hits = service.search(SearchCall(query, limit=10), lambda: False).hits
    return next((rank for rank, hit in enumerate(hits, start=1) if hit.chunk.chunk_id == wanted), 0)


def _share(ranks: Sequence[int], within: int) -> float:
    return fmean(0 < rank <= within for rank in ranks)


def _rows(found: Mapping[str, Mapping[str, Sequence[int]]]) -> tuple[Row, ...]:
    rows = []
    for kind, ranks in found["documents"].items():
        low, high = bootstrap_interval([float(0 < rank <= 1) for rank in ranks])
        rows.append(Row(f"lookup by {kind}, the chunk is first", f"{_share(ranks, 1):.2f} ({low:.2f} to {high:.2f})"))
    return tuple(rows)


def _details(found: Mapping[str, Mapping[str, Sequence[int]]]) -> list[str]:
    table = [("legs", "query", "first", "in 3", "in 5", "in 10")]
    for name, kinds in found.items():
        for kind, ranks in kinds.items():
            table.append((name, kind, *(f"{_share(ranks, within):.2f}" for within in (1, 3, 5, 10))))
    return columns(table)
