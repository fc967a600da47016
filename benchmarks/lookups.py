"""Looking a passage up by words that stand in it: how often the chunk itself comes first, or among the first five.

Judged collections ask questions; people also type words that they remember.  Chunks of the 10,000 are drawn at random
(with a fixed seed) and words of each are taken as a query: one rare word, a rare one and two others, four of any kind.
"""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from benchmarks.first_index import ready_model
from benchmarks.search import AlwaysFresh
from benchmarks.table import Report, Row, columns
from benchmarks.world import World, say
from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.document import ChunkId, StoredChunk
from groove_daemon.evaluation.measures import bootstrap_interval
from groove_daemon.retrieval.pipeline import LEG_SETS
from groove_daemon.retrieval.words import STOP_WORDS
from groove_daemon.search import SearchCall, SearchService, SearchSetup
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

CHUNKS = 150
RARE = 2
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
                setup = SearchSetup(replace(SearchSettings(), legs=name), {"notes": str(world.notes)}, 0.5, 60.0)
                service = SearchService(
                    setup=lambda setup=setup: setup, index=index, embedder=lambda: host.embedder,
                    freshness=AlwaysFresh(), workers=workers,
                )  # fmt: skip
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
    reader = index.reader()
    with reader.snapshot():
        ids = [ChunkId(int(number)) for number in index.vectors.view().chunk_ids]
        chunks = reader.chunks(ids)
    words = {chunk_id: list(dict.fromkeys(_words(chunk))) for chunk_id, chunk in chunks.items()}
    frequency = Counter(word for several in words.values() for word in several)
    asked: dict[str, list[tuple[ChunkId, str]]] = {"one rare word": [], "a rare word and two": [], "four words": []}
    for chunk_id in source.sample(sorted(words), len(words)):
        own = words[chunk_id]
        rare = [word for word in own if frequency[word] <= RARE]
        if not rare or len(own) < 8:
            continue
        word = source.choice(rare)
        others = [other for other in own if other != word]
        asked["one rare word"].append((chunk_id, word))
        asked["a rare word and two"].append((chunk_id, " ".join((word, *source.sample(others, 2)))))
        asked["four words"].append((chunk_id, " ".join(source.sample(own, 4))))
        if len(asked["four words"]) == CHUNKS:
            break
    return asked


def _words(chunk: StoredChunk) -> list[str]:
    return [word for word in _WORD.findall(chunk.content.lower()) if word not in STOP_WORDS]


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
