"""What each stage that can be switched costs: searches with one of them on, against the plain search, in turns.

All at one limit and over the same 10,000 chunks.  Spans cannot be switched off, so their own time is taken.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from benchmarks.figures import ms, spread, turned
from benchmarks.search import Bench, bench
from benchmarks.table import Report, Row, at_most
from benchmarks.world import World, say
from groove_daemon.domain.document import ChunkId
from groove_daemon.domain.hit import Hit
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.diversity import Cosine, Diversity
from groove_daemon.retrieval.spans import match_spans
from groove_daemon.retrieval.trace import Trace
from groove_daemon.search import SearchCall

BAR, MMR_BAR_S = 0.15, 0.002
LIMIT, POOL, QUESTIONS = 50, 250, 100

_PLAIN = SearchCall("", limit=LIMIT, freshness="none")
CALLS: Mapping[str, SearchCall] = {
    "plain": _PLAIN,
    "mmr": replace(_PLAIN, mmr=True),
    "parent": replace(_PLAIN, parent_retriever=True),
    "explain": replace(_PLAIN, explain=True),
}


def measure(world: World, *, rounds: int) -> Report:
    """Every question once a round with every call; each counts with its median, and a cost is a paired difference."""
    passes = max(3, rounds // 2)
    with bench(world) as made:
        say("stages: asking ...")
        questions = world.questions(QUESTIONS, seed=17)
        for text in questions[:20]:
            for name in CALLS:
                _search(made, name, text)
        taken: dict[str, dict[str, list[float]]] = {name: {text: [] for text in questions} for name in CALLS}
        for number in range(passes):
            for place, text in enumerate(questions):
                for name in turned(list(CALLS), place + number):
                    taken[name][text].append(_search(made, name, text)[0])
        found = {text: _search(made, "plain", text)[1] for text in questions}
        spans = [median(_timed(_spans(text, found[text])) for _ in range(passes)) for text in questions]
        picking = [median(_timed(_picking(made, text)) for _ in range(passes)) for text in questions]
        inside = _mmr_steps(made, questions)
    typical = {name: [median(taken[name][text]) for text in questions] for name in CALLS}
    base = typical["plain"]
    costs = {
        name: median(one - other for one, other in zip(typical[name], base, strict=True))
        for name in CALLS
        if name != "plain"
    }
    costs["spans"] = median(spans)
    rows = (
        *(_row(name, cost, median(base)) for name, cost in costs.items()),
        Row(f"mmr itself, {LIMIT} of {POOL}, p50", ms(median(picking)), f"<= {ms(MMR_BAR_S)}",
            at_most(median(picking), MMR_BAR_S)),
    )  # fmt: skip
    details = (
        f"{len(questions)} questions, each the median of {passes}",
        *(f"{name:<8} {spread(values)}" for name, values in typical.items()),
        f"spans    {spread(spans)}",
        f"mmr, {LIMIT} of {POOL}: {spread(picking)}",
        f"mmr in a search, of {median(size for size, _ in inside):.0f} fused: {spread([took for _, took in inside])}",
    )
    return Report(rows, details, {"seconds": typical, "spans_s": spans, "mmr_s": picking, "costs_s": costs})


def _row(name: str, cost: float, base: float) -> Row:
    share = cost / base
    what = f"what {name} adds to a search, limit {LIMIT}, 10,000 chunks, p50 / plain search"
    return Row(what, f"{share:.1%} ({ms(cost)} / {ms(base)})", f"<= {BAR:.0%}", at_most(share, BAR))


def _search(made: Bench, name: str, text: str) -> tuple[float, Sequence[Hit]]:
    call = replace(CALLS[name], text=text)
    began = time.perf_counter()
    result = made.service.search(call, lambda: False)
    took = time.perf_counter() - began
    if result.mode != "hybrid" or result.degraded:
        raise SystemExit(f"the search was not hybrid: {result.mode} {result.degraded}")
    return took, result.hits


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _spans(text: str, hits: Sequence[Hit]) -> Callable[[], object]:
    query = compile_query(text, limit=LIMIT)
    return lambda: [match_spans(hit.content, query) for hit in hits]


def _picking(made: Bench, text: str) -> Callable[[], Ranking]:
    """The stage alone, over the `POOL` nearest chunks, reading of their vectors included."""
    space, query = made.index.vectors, compile_query(text, limit=LIMIT)
    with made.index.reader().snapshot():
        everything = made.index.reader().allowed(query.filters)
        nearest = space.scan(made.embedder.embed_query(text)).top_chunks(POOL, allowed=everything)

    def cosines(chunk_ids: Sequence[ChunkId]) -> tuple[Sequence[ChunkId], Cosine]:
        vectors = space.vectors_of(chunk_ids)
        return chunk_ids, Cosine([vectors[chunk_id] for chunk_id in chunk_ids])

    stage = Diversity(True, 0.7, 0.1, cosines, space.documents_of)
    ranking = ranked("dense", nearest)
    return lambda: stage.refine(query, ranking, Trace())


def _mmr_steps(made: Bench, questions: Sequence[str]) -> list[tuple[int, float]]:
    """How many candidates the stage was given in real searches, and its seconds."""
    steps = []
    for text in questions:
        result = made.service.search(replace(CALLS["mmr"], text=text, explain=True), lambda: False)
        steps += [(step.size_in, step.took_ms / 1000) for step in result.steps if step.stage == "mmr"]
    return steps
