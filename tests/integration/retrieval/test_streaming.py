"""Hits on the way to an answer: what comes, in which order, and that the answer is the same without them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from groove_daemon.config.settings import SearchSettings
from groove_daemon.errors import Cancelled
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.search import Partial, SearchCall, SearchResult, SearchService, SearchSetup, Sync
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers
from support.retrieval import FixedScorer
from support.store import make_document_draft, open_index, put

EMBEDDER = HashingEmbedder(64)


class Waiting:
    """An embedder that embeds no query before it is let go."""

    def __init__(self) -> None:
        self.fingerprint, self.dimension = EMBEDDER.fingerprint, EMBEDDER.dimension
        self.may_go = threading.Event()

    def embed_query(self, text: str) -> object:
        assert self.may_go.wait(20.0)
        return EMBEDDER.embed_query(text)


class AlwaysFresh:
    """Fresh at once; `moves` gives what changed while each answer was made."""

    def __init__(self, *moves: dict[int, bool]) -> None:
        self.moves = list(moves)

    def sync(self, _collections: object, **_: object) -> Sync:
        return Sync(True)

    def unverified(self, _collections: object) -> Sync:
        return Sync(False, "not checked")

    def changed(self, _chunks: object) -> Mapping[int, bool]:
        return self.moves.pop(0) if self.moves else {}


@dataclass
class Desk:
    """A service over an index with three notes."""

    index: Index
    workers: Workers | None
    settings: SearchSettings = field(default_factory=SearchSettings)
    embedder: Callable[[], object] = lambda: EMBEDDER
    scorer: Callable[[], object] = lambda: None
    freshness: AlwaysFresh = field(default_factory=AlwaysFresh)

    def search(
        self, text: str, on_partial: Callable[[Partial], None] | None = None, is_cancelled=lambda: False, **call: object
    ) -> SearchResult:
        service = SearchService(
            setup=lambda: SearchSetup(self.settings, {"notes": "/home/me/notes"}, 0.5, 30.0),
            index=self.index,
            embedder=self.embedder,
            freshness=self.freshness,
            workers=self.workers,
            scorer=self.scorer,
        )
        return service.search(SearchCall(text, **call), is_cancelled, on_partial)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    index = open_index(tmp_path / "index.db", bind=False)
    index.writer.bind_vector_space(EMBEDDER.fingerprint, EMBEDDER.dimension)
    contents = {
        "owls.md": "owls hunt mice at night",
        "dusk.md": "owls hunt mice at dusk",
        "gulls.md": "gulls find food at the shore",
    }
    for path, content in contents.items():
        put(index, make_document_draft(path, content), now=1_779_000_000.0)
    waiting = index.writer.pending(100)
    index.writer.store_vectors(
        [one.embed_key for one in waiting], EMBEDDER.embed_passages([one.text for one in waiting])
    )
    workers = Workers("legs", threads=2, max_waiting=8)
    yield Desk(index, workers)
    workers.close()
    index.close()


def places(hits: Sequence[object]) -> list[str]:
    return [hit.chunk.document.path for hit in hits]


@pytest.mark.parametrize("profile", ["notes", "memory"])
def test_text_comes_first_then_fusion_and_the_answer_is_the_last_word(desk: Desk, profile: str) -> None:
    seen: list[Partial] = []
    result = desk.search("owls dusk", seen.append, profile=profile, min_score=0.0 if profile == "memory" else None)

    assert [partial.stage for partial in seen] == ["text", "fusion"]
    assert places(seen[0].hits) == ["dusk.md", "owls.md"]
    assert places(seen[1].hits) == places(result.hits)
    assert [hit.chunk.chunk_id for hit in seen[1].hits] == [hit.chunk.chunk_id for hit in result.hits]


def test_reranking_comes_after_fusion(desk: Desk) -> None:
    desk.scorer = lambda: FixedScorer({"owls hunt mice at night": 3.0, "owls hunt mice at dusk": 1.0})
    seen: list[Partial] = []
    result = desk.search("owls dusk", seen.append, limit=2)

    assert [partial.stage for partial in seen] == ["text", "fusion", "rerank"]
    assert places(seen[1].hits) == ["dusk.md", "owls.md"]
    assert places(seen[2].hits) == places(result.hits) == ["owls.md", "dusk.md"]


@pytest.mark.parametrize("has_workers", [True, False])
@pytest.mark.parametrize("profile", ["notes", "memory"])
@pytest.mark.parametrize("text", ["owls", "owls dusk", "food -shore", "nothingofthekind", "at the"])
def test_answer_is_the_same_with_and_without_parts(desk: Desk, profile: str, text: str, has_workers: bool) -> None:
    desk.workers = desk.workers if has_workers else None
    plain = desk.search(text, profile=profile, explain=True)
    streamed = desk.search(text, lambda _partial: None, profile=profile, explain=True)

    def timeless(result: SearchResult) -> SearchResult:
        return replace(result, took_ms=0.0, steps=tuple(replace(step, took_ms=0.0) for step in result.steps))

    def in_any_order(result: SearchResult) -> set[object]:
        return set(result.steps)

    plain, streamed = timeless(plain), timeless(streamed)
    assert in_any_order(streamed) == in_any_order(plain)
    assert replace(streamed, steps=()) == replace(plain, steps=())


def test_full_text_does_not_wait_for_the_model(desk: Desk) -> None:
    model = Waiting()
    desk.embedder = lambda: model
    seen: list[str] = []

    def tell(partial: Partial) -> None:
        seen.append(f"{partial.stage} {model.may_go.is_set()}")
        model.may_go.set()

    desk.search("owls", tell)

    assert seen == ["text False", "fusion True"]


def test_nothing_found_is_not_told(desk: Desk) -> None:
    seen: list[str] = []
    desk.embedder = lambda: None
    desk.search("nothingofthekind", lambda partial: seen.append(partial.stage))

    assert seen == []


def test_part_is_no_longer_than_the_page(desk: Desk) -> None:
    sizes: list[int] = []
    desk.search("owls", lambda partial: sizes.append(len(partial.hits)), limit=1)

    assert sizes == [1, 1]


def test_cancel_between_parts_ends_the_search(desk: Desk) -> None:
    seen: list[str] = []
    with pytest.raises(Cancelled):
        desk.search("owls", lambda partial: seen.append(partial.stage), lambda: bool(seen))

    assert seen == ["text"]


def test_second_look_tells_no_parts_again(desk: Desk) -> None:
    desk.freshness = AlwaysFresh({1: True})
    seen: list[str] = []
    desk.search("owls", lambda partial: seen.append(partial.stage))

    assert seen == ["text", "fusion"]


def test_deeper_look_for_copies_tells_no_part_twice(desk: Desk) -> None:
    for number in range(60):
        put(desk.index, make_document_draft(f"copy{number}.md", "owls hunt mice at noon", title="Owls"), now=1.0)
    seen: list[str] = []
    desk.search("owls noon", lambda partial: seen.append(partial.stage), limit=5)

    assert seen == ["text", "fusion"]
