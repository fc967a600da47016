"""A search whose filter keeps ten of fifty thousand chunks against the same search without one.

The index is made up: notes of ten chunks, and ten marked notes of one chunk each, with words drawn by Zipf's law and
random vectors of the hashing embedder's length.  It is built once and kept.  Every way of naming the ten is measured
beside the unfiltered search, in turns, and what the filtered legs return is held against the whole ranking of all
chunks, with what the filter excludes struck out.
"""

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import structlog

from benchmarks.figures import interval_of_ratio, ms, spread, turned
from benchmarks.made_up import EMBEDDER, made_up
from benchmarks.search import service_over
from benchmarks.table import HELD, MISSED, Report, Row, at_most
from benchmarks.world import World
from groove_daemon.domain.document import ChunkDraft, DocumentDraft, FileStat, Metadata
from groove_daemon.domain.query import Filters
from groove_daemon.search import SearchCall, SearchService
from groove_daemon.store.index import Index
from groove_daemon.store.writer import Writer
from groove_daemon.workers import Workers

CHUNKS, KEPT, A_NOTE = 50_000, 10, 10
QUESTIONS, LIMIT, WEIGHTS = 60, 10, (2.0, 1.0, 1.0)
BAR = 1.0

_VOCABULARY, _WORDS_A_CHUNK = 8000, 60
_OLD_NS, _NEW_NS = 1_600_000_000_000_000_000, 1_700_000_000_000_000_000

FILTERS: Mapping[str, Filters] = {
    "collection": Filters(collections=("marked",)),
    "category": Filters(category="marked"),
    "topic": Filters(topic="marked"),
    "tag": Filters(tags_any=("marked",)),
    "path": Filters(path_globs=("marked/*",)),
    "date": Filters(date_from="2026-01-01"),
    "mtime": Filters(modified_from=_NEW_NS / 1e9),
    "format": Filters(formats=("txt",)),
}
"""Each keeps the same ten chunks."""


@dataclass(frozen=True, slots=True)
class Library:
    """The open index with a search service over it."""

    index: Index
    service: SearchService

    def search(self, text: str, filters: Filters) -> tuple[float, int]:
        """Seconds that one search takes, and how many hits it has."""
        call = SearchCall(text, limit=LIMIT, filters=filters, freshness="none", include_low_quality=True)
        began = time.perf_counter()
        result = self.service.search(call, lambda: False)
        took = time.perf_counter() - began
        if result.mode != "hybrid" or result.degraded:
            raise SystemExit(f"the search was not hybrid: {result.mode} {result.degraded}")
        return took, len(result.hits)


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the notes of the other parts are not used)
    """Every question once a round with every filter and without; each counts with its median."""
    passes = max(2, rounds // 3)
    questions = _questions()
    names = ["none", *FILTERS]
    taken: dict[str, dict[str, list[float]]] = {name: {text: [] for text in questions} for name in names}
    full = 0
    with _library() as library:
        for text in questions[:10]:
            for name in names:
                library.search(text, FILTERS.get(name, Filters()))
        for number in range(passes):
            for place, text in enumerate(questions):
                for name in turned(names, place + number):
                    took, hits = library.search(text, FILTERS.get(name, Filters()))
                    taken[name][text].append(took)
                    full += name != "none" and number == 0 and hits == KEPT
        exact = sum(_is_exact(library, text) for text in questions)
    typical = {name: [median(taken[name][text]) for text in questions] for name in names}
    ratios = {name: median(typical[name]) / median(typical["none"]) for name in FILTERS}
    worst = max(ratios, key=lambda name: ratios[name])
    low, high = interval_of_ratio(typical[worst], typical["none"])
    wanted = len(questions) * len(FILTERS)
    rows = (
        Row(
            f"filter that keeps {KEPT} of {CHUNKS} chunks / no filter, p50, slowest of {len(FILTERS)} filters",
            f"{ratios[worst]:.2f}x ({worst}: {ms(median(typical[worst]))} / {ms(median(typical['none']))})",
            f"<= {BAR:.0f}x", at_most(ratios[worst], BAR),
        ),
        Row(
            "the same, exact: all ten found, each leg as the whole ranking has them",
            f"{full} full, {exact} exact", f"{wanted} full, {len(questions)} exact",
            HELD if (full, exact) == (wanted, len(questions)) else MISSED,
        ),
    )  # fmt: skip
    details = (
        f"{len(questions)} questions, each the median of {passes}",
        f"{worst}: ratio {ratios[worst]:.2f} (95 % {low:.2f} to {high:.2f})",
        *(f"{name:<10} {ratios.get(name, 1.0):.2f}x  {spread(typical[name])}" for name in names),
    )
    return Report(rows, details, {"seconds": typical, "ratios": ratios, "full": full, "exact": exact})


def _is_exact(library: Library, text: str) -> bool:
    """Whether the legs over chunks, filtered, are the whole rankings with everything else struck out."""
    reader, vectors = library.index.reader(), library.index.vectors
    words = text.split()
    with reader.snapshot():
        everything, kept = reader.allowed(Filters()), reader.allowed(FILTERS["tag"])
        inside = frozenset(kept.chunk_ids.tolist())
        near = vectors.scan(EMBEDDER.embed_query(text))
        pairs = [
            (find(everything, CHUNKS), find(kept, CHUNKS))
            for find in (
                lambda allowed, k: reader.trigram(words, (), limit=k, allowed=allowed, weights=WEIGHTS),
                lambda allowed, k: reader.chunk_words(words, (), limit=k, allowed=allowed, weights=WEIGHTS),
                lambda allowed, k: near.top_chunks(k, allowed=allowed),
            )
        ]
    return all([row for row in whole if row[0] in inside] == list(filtered) for whole, filtered in pairs)


@contextmanager
def _library() -> Iterator[Library]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    index = Index.open(made_up("filters", CHUNKS, _write, number=5))
    workers = Workers("legs", threads=4, max_waiting=4)
    service = service_over(index, EMBEDDER, workers, roots={"notes": "/notes", "marked": "/marked"})
    try:
        yield Library(index, service)
    finally:
        workers.close()
        index.close()


def _write(writer: Writer) -> None:
    writer.ensure_collection("notes", "/notes")
    writer.ensure_collection("marked", "/marked")
    words = _Words(random.Random(5))
    for number in range((CHUNKS - KEPT) // A_NOTE):
        writer.replace_document("notes", _note(f"folder {number % 90}/note {number}", words, marked=False), now=1.0)
    for number in range(KEPT):
        writer.replace_document("marked", _note(f"marked/note {number}", words, marked=True), now=1.0)


class _Words:
    """Text with the few frequent and the many rare words of a language."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._words = vocabulary()
        self._weights = [1 / rank for rank in range(1, _VOCABULARY + 1)]

    def text(self) -> str:
        return " ".join(self._source.choices(self._words, self._weights, k=_WORDS_A_CHUNK))


def vocabulary() -> list[str]:
    """Words of three to nine letters, the most frequent first."""
    source = random.Random(3)
    letters = "abcdefghiklmnoprstuvw"
    found = {"".join(source.choices(letters, k=source.randint(3, 9))): None for _ in range(2 * _VOCABULARY)}
    return list(found)[:_VOCABULARY]


def _questions() -> list[str]:
    """Two to four words, frequent and rare ones."""
    source, words = random.Random(11), vocabulary()
    return [
        " ".join(words[int(source.random() ** 2 * 2000)] for _ in range(source.randint(2, 4))) for _ in range(QUESTIONS)
    ]


def _note(path: str, words: _Words, *, marked: bool) -> DocumentDraft:
    form = "txt" if marked else "md"
    chunks = tuple(_chunk(position, words.text()) for position in range(1 if marked else A_NOTE))
    body = "\n".join(chunk.content for chunk in chunks)
    return DocumentDraft(
        path=f"{path}.{form}",
        title=path,
        metadata=Metadata(
            title=path, date="2026-05-01" if marked else "2020-05-01", tags=("marked",) if marked else ("other",)
        ),
        topic="marked" if marked else "other",
        category="marked" if marked else "other",
        format=form,
        stat=FileStat(len(body), _NEW_NS if marked else _OLD_NS),
        content_hash=path.encode(),
        parse_key="made up",
        encoding="utf-8",
        title_passage=path,
        chunks=chunks,
    )


def _chunk(position: int, text: str) -> ChunkDraft:
    return ChunkDraft(
        position=position, heading=None, level=None, heading_path=(), context=None, content=text, start=0,
        end=len(text), line_start=position + 1, line_end=position + 1, byte_start=0, byte_end=len(text),
        token_count=_WORDS_A_CHUNK, quality=1.0,
    )  # fmt: skip
