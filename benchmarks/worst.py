"""The worst full-text queries, 32 words or parts of words that stand in every chunk, with a budget; and what leaving
some phrases out changes.

The first over 40,000 made-up chunks.  The second over the collections that people judged: rankings by trigrams, and
whole answers, with every phrase and without those that the product leaves out.
"""

import functools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import structlog

from benchmarks.figures import ms, percentile, spread
from benchmarks.filters import vocabulary
from benchmarks.first_index import index_fully, ready_model, working
from benchmarks.judged import COLLECTIONS, Judged
from benchmarks.made_up import EMBEDDER, made_up
from benchmarks.search import service_over
from benchmarks.table import ABSENT, HELD, MISSED, Report, Row, at_most
from benchmarks.world import World, say, tempfile_folder
from groove_daemon.config.settings import CollectionSettings, SearchSettings, Settings
from groove_daemon.domain.document import ChunkDraft, ChunkId, DocumentDraft, FileStat, Metadata
from groove_daemon.domain.query import Filters
from groove_daemon.models.host import ModelHost
from groove_daemon.retrieval.compile import PHRASE_CAP, compile_query
from groove_daemon.retrieval.sparse import split_common
from groove_daemon.search import SearchCall, SearchResult, SearchService
from groove_daemon.store.index import Index
from groove_daemon.store.writer import Writer
from groove_daemon.workers import Workers

CHUNKS, A_NOTE, OWN_WORDS = 40_000, 10, 28
WITHIN_MS, TOLERANCE = 300, 1.1
ASKED, FREE, LIMIT = 60, 5, 10
_WEIGHTS = (2.0, 1.0, 1.0)


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (one round has enough queries)
    """Both measurements."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    rows, details, figures = _budget()
    for name, same in _same_answers(world).items():
        if same is None:
            rows.append(Row(f"common phrases left out, {name}", "the data is not there", "", ABSENT))
            continue
        rows += _rows_of(name, same)
        counts = ", ".join(f"{kind} {sum(values)} of {len(values)}" for kind, values in same.items())
        details.append(f"{name}, the same first {LIMIT} as with every phrase: {counts}")
        figures[name] = {kind: sum(values) / len(values) for kind, values in same.items()}
    return Report(tuple(rows), tuple(details), figures)


# -- the budget ------------------------------------------------------------------------------------------------------


def _budget() -> tuple[list[Row], list[str], dict[str, object]]:
    rows: list[Row] = []
    details: list[str] = []
    figures: dict[str, object] = {}
    with _library() as service:
        for kind, phrases in {"words": _everywhere(), "parts of words": _parts_everywhere()}.items():
            say(f"worst: {kind} ...")
            questions = _questions(phrases)
            for text in questions[:5]:
                _ask(service, text, WITHIN_MS)
            answers = [_ask(service, text, WITHIN_MS) for text in questions]
            free = {text: _ask(service, text, None) for text in questions[:FREE]}
            # An answer that says that it is whole has to be the one without a budget.
            whole = sum(
                not result.degraded and _ids(result) == _ids((free.get(text) or _ask(service, text, None))[1])
                for text, (_, result) in zip(questions, answers, strict=True)
            )
            more, told = _judged(kind, answers, whole)
            rows += more
            details += [*told, f"  without a budget: {spread([seconds for seconds, _ in free.values()])}"]
            figures[kind] = {"seconds": [seconds for seconds, _ in answers]}
    return rows, details, figures


def _judged(kind: str, answers: Sequence[tuple[float, SearchResult]], whole: int) -> tuple[list[Row], list[str]]:
    took = [seconds for seconds, _ in answers]
    tail, bar = percentile(took, 0.95), WITHIN_MS / 1000 * TOLERANCE
    named = sum(bool(result.degraded and result.hits) for _, result in answers)
    cut = sorted({f"{one.stage} ({one.reason})" for _, result in answers for one in result.degraded})
    rows = [
        Row(
            f"{PHRASE_CAP} {kind}, each in all {CHUNKS} chunks, within_ms {WITHIN_MS}, p95",
            ms(tail), f"<= {ms(bar)} (10 % over)", at_most(tail, bar),
        ),
        Row(
            "the same, answered with hits: as without a budget, or with what was cut named",
            f"{whole} + {named} of {len(answers)}", f"{len(answers)}",
            HELD if whole + named == len(answers) else MISSED,
        ),
    ]  # fmt: skip
    return rows, [f"{kind}, within {WITHIN_MS} ms: {spread(took)}", f"  cut: {', '.join(cut) or 'nothing'}"]


def _ask(service: SearchService, text: str, within_ms: int | None) -> tuple[float, SearchResult]:
    call = SearchCall(text, limit=LIMIT, freshness="none", within_ms=within_ms, include_low_quality=True)
    began = time.perf_counter()
    result = service.search(call, lambda: False)
    return time.perf_counter() - began, result


def _ids(result: SearchResult) -> list[ChunkId]:
    return [hit.chunk.chunk_id for hit in result.hits]


def _questions(phrases: Sequence[str]) -> list[str]:
    """The same phrases in another order each time."""
    source = random.Random(19)
    return [" ".join(source.sample(phrases, len(phrases))) for _ in range(ASKED)]


_vocabulary = functools.cache(vocabulary)


@functools.cache
def _everywhere() -> list[str]:
    """Words of five letters or more, of which none is part of another."""
    found: list[str] = []
    for word in _vocabulary():
        if len(word) >= 5 and not any(word in other or other in word for other in found):
            found.append(word)
        if len(found) == PHRASE_CAP:
            break
    return found


def _parts_everywhere() -> list[str]:
    """Parts of these words that are no words: what trigrams alone look for."""
    known = frozenset(_vocabulary())
    parts = dict.fromkeys(part for word in _everywhere() for part in (word[1:], word[:-1]) if part not in known)
    return list(parts)[:PHRASE_CAP]


@contextmanager
def _library() -> Iterator[SearchService]:
    index = Index.open(made_up("worst", CHUNKS, _write, number=23))
    workers = Workers("legs", threads=4, max_waiting=4)
    try:
        yield service_over(index, EMBEDDER, workers, roots={"notes": "/notes"})
    finally:
        workers.close()
        index.close()


def _write(writer: Writer) -> None:
    source = random.Random(23)
    writer.ensure_collection("notes", "/notes")
    for number in range(CHUNKS // A_NOTE):
        writer.replace_document("notes", _note(f"note {number}", source), now=1.0)


def _note(name: str, source: random.Random) -> DocumentDraft:
    chunks = tuple(_chunk(position, _text(source)) for position in range(A_NOTE))
    size = sum(len(chunk.content) for chunk in chunks)
    return DocumentDraft(
        path=f"{name}.md", title=name, metadata=Metadata(title=name), topic=None, category=None, format="md",
        stat=FileStat(size, 1_700_000_000_000_000_000), content_hash=name.encode(), parse_key="made up",
        encoding="utf-8", title_passage=name, chunks=chunks,
    )  # fmt: skip


def _text(source: random.Random) -> str:
    words = [*_everywhere(), *source.choices(_vocabulary(), k=OWN_WORDS)]
    source.shuffle(words)
    return " ".join(words)


def _chunk(position: int, text: str) -> ChunkDraft:
    return ChunkDraft(
        position=position, heading=None, level=None, heading_path=(), context=None, content=text, start=0,
        end=len(text), line_start=position + 1, line_end=position + 1, byte_start=0, byte_end=len(text),
        token_count=PHRASE_CAP + OWN_WORDS, quality=1.0,
    )  # fmt: skip


# -- leaving phrases out ---------------------------------------------------------------------------------------------

Same = dict[str, list[bool]]
"""For each way of leaving phrases out, whether each query has the same first hits as with all phrases."""


def _same_answers(world: World) -> Mapping[str, Same | None]:
    host, _ = ready_model(world)
    workers = Workers("legs", threads=4, max_waiting=4)
    try:
        with tempfile_folder() as work:
            read = {name: collection(work) for name, collection in COLLECTIONS.items()}
            return {name: _compare(judged, host, workers) if judged else None for name, judged in read.items()}
    finally:
        workers.close()
        host.close()


def _compare(judged: Judged, host: ModelHost, workers: Workers) -> Same:
    say(f"worst: {judged.name} ...")
    settings = Settings(collections=(CollectionSettings(name="notes", path=str(judged.notes)),))
    with working(settings, host) as (index, late):
        index_fully(late)
        default, root = SearchSettings(), str(judged.notes)
        every = replace(default, drop_common_phrases=False)
        services = [service_over(index, host.embedder, workers, one, roots={"notes": root}) for one in (every, default)]
        same: Same = {"trigrams": [], "answers": []}
        for query in judged.queries:
            whole, without_common = _trigram_tops(index, query.text)
            same["trigrams"].append(whole == without_common)
            full, dropped = (_top(service, query.text) for service in services)
            same["answers"].append(full == dropped)
    return same


def _trigram_tops(index: Index, text: str) -> list[list[ChunkId]]:
    """The first by trigrams with every phrase, and without common ones."""
    query, reader = compile_query(text, limit=LIMIT), index.reader()
    with reader.snapshot():
        allowed = reader.allowed(Filters())
        share_of = reader.phrase_frequencies(query.phrases).get
        lists = (query.phrases, split_common(query.phrases, share_of)[0])
        found = [reader.trigram(phrases, (), limit=LIMIT, allowed=allowed, weights=_WEIGHTS) for phrases in lists]
    return [[chunk_id for chunk_id, _ in rows] for rows in found]


def _top(service: SearchService, text: str) -> list[ChunkId]:
    call = SearchCall(text, limit=LIMIT, freshness="none")
    return _ids(service.search(call, lambda: False))


def _rows_of(name: str, same: Same) -> list[Row]:
    rows = []
    for kind, values in same.items():
        what = f"{name}, queries with the same first {LIMIT} as with every phrase, {kind}"
        rows.append(Row(what, f"{sum(values)} of {len(values)}", "all", HELD if all(values) else MISSED))
    return rows
