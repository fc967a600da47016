"""An index worker on a real index with a real chunker, and stand-ins for the models that it may meet."""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from groove_daemon.chunking.by_heading import HeadingChunker
from groove_daemon.config.settings import CollectionSettings, IndexSettings, WatchSettings
from groove_daemon.domain.change import PathHint
from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.domain.query import Filters
from groove_daemon.errors import ModelLoading
from groove_daemon.formats import parser_for
from groove_daemon.formats.base import Parser
from groove_daemon.indexing.report import SyncReport
from groove_daemon.indexing.worker import IndexWorker
from groove_daemon.models.base import Embedder, Matrix, Tokenizer, Vector
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.store.index import Index
from groove_daemon.watching.debounce import Debouncer
from support.library import wait_until


@dataclass(frozen=True)
class StandInState:
    state: str
    reason: str = ""


class StandInModels:
    """Where the worker gets its embedder from; not ready until `load` is called, unless made so."""

    def __init__(self, embedder: Embedder | None = None, *, ready: bool = True, off: bool = False) -> None:
        self._embedder = embedder or HashingEmbedder(32)
        self._ready = ready
        self._off = off
        self._callbacks: list[Callable[[], None]] = []

    @property
    def embedder(self) -> Embedder:
        if self._off or not self._ready:
            raise ModelLoading("the model is being loaded")
        return self._embedder

    def state(self) -> StandInState:
        if self._off:
            return StandInState("off")
        return StandInState("ready" if self._ready else "loading")

    def on_ready(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def load(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder or self._embedder
        self._ready = True
        for callback in self._callbacks:
            callback()


class CountingEmbedder:
    """The hashing embedder; keeps what it was given, fails or blocks for texts as told."""

    def __init__(self, *, fingerprint: str = "") -> None:
        self._inner = HashingEmbedder(32)
        self._fingerprint = fingerprint or self._inner.fingerprint
        self.texts: list[str] = []
        self.fails_for: Callable[[str], bool] = lambda _text: False
        self.blank_for: Callable[[str], bool] = lambda _text: False
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def tokenizer(self) -> Tokenizer:
        return self._inner.tokenizer

    def warm_up(self) -> None:
        return

    def release(self) -> None:
        return

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        self.entered.set()
        self.gate.wait()
        self.texts.extend(texts)
        if any(self.fails_for(text) for text in texts):
            raise RuntimeError("the stand-in fails for this text")
        rows = np.array(self._inner.embed_passages(texts))
        for number, text in enumerate(texts):
            if self.blank_for(text):
                rows[number] = np.nan
        return rows


class Rig:
    """A running worker with everything that it needs."""

    def __init__(
        self,
        folder: Path,
        collections: Sequence[CollectionSettings],
        *,
        models: StandInModels | None = None,
        index_settings: IndexSettings | None = None,
        watch: WatchSettings | None = None,
        clock: Clock | None = None,
        own_paths: Sequence[Path] = (),
        parser_for: Callable[[str, Collection[str]], Parser | None] = parser_for,
        wrap: Callable[[Index], Index] = lambda index: index,
    ) -> None:
        self.clock = clock or SystemClock()
        self.models = models or StandInModels()
        self.index = Index.open(folder / "index.db")
        settings = index_settings or IndexSettings()
        watch = watch or WatchSettings()
        self.worker = IndexWorker(
            wrap(self.index),
            collections=collections,
            index_settings=settings,
            watch=watch,
            batch_tokens=4096,
            models=self.models,
            chunker=HeadingChunker(settings, HashingEmbedder(32).tokenizer),
            hints=Debouncer(quiet=watch.debounce, longest_wait=watch.longest_wait, clock=self.clock),
            clock=self.clock,
            own_paths=own_paths,
            parser_for=parser_for,
        )

    def __enter__(self) -> "Rig":
        self.worker.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.worker.stop(5.0)
        self.index.close()

    def hint(self, *paths: str, subtree: bool = False, collection: str = "notes") -> None:
        now = self.clock.monotonic()
        self.worker.hint([PathHint(collection, path, now, subtree=subtree) for path in paths])

    def sync(self, *paths: str, within: float = 10.0, subtree: bool = False) -> SyncReport:
        """Hint and wait."""
        if paths:
            self.hint(*paths, subtree=subtree)
        return self.worker.sync(deadline=self.clock.monotonic() + within)

    def settle(self, *, within: float = 15.0) -> SyncReport:
        """Wait until the index says that it is fresh."""
        wait_until(lambda: self.sync(within=1.0).fresh, within=within, what="fresh")
        return self.sync()

    def documents(self) -> dict[str, str]:
        """Path to title of everything in the index."""
        _, found = self.index.reader().documents(Filters(), offset=0, limit=100_000)
        return {document.path: document.title for document in found}

    def find(self, word: str) -> list[str]:
        """Paths of the documents whose text holds a word, by full text."""
        reader = self.index.reader()
        with reader.snapshot():
            allowed = reader.allowed(Filters())
            rows = reader.trigram([word], (), limit=1000, allowed=allowed, weights=(1.0, 1.0, 1.0))
            chunks = reader.chunks([chunk_id for chunk_id, _ in rows])
        return sorted({chunk.document.path for chunk in chunks.values()})


def elapsed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
