"""Indexes of made-up notes, larger than any that is at hand: built once, and kept beside the other results."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.world import RESULTS, say
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.store.index import Index
from groove_daemon.store.migrate import SCHEMA_VERSION
from groove_daemon.store.writer import Writer

EMBEDDER = HashingEmbedder()
_BATCH = 5000


def made_up(name: str, chunks: int, write: Callable[[Writer], None], *, number: int) -> Path:
    """The index of that name and size; when it is not kept yet, `write` puts the documents in.

    Vectors are random, repeatable by `number`: only how many there are costs time.
    """
    file = RESULTS / f"{name}-{chunks}-{SCHEMA_VERSION}.db"
    if not file.exists():
        say(f"{name}: building an index of {chunks} chunks ...")
        # Beside its place, so that what is there is whole.
        new = file.with_suffix(".new")
        for stale in file.parent.glob(f"{new.name}*"):
            stale.unlink()
        index = Index.open(new)
        index.writer.bind_vector_space(EMBEDDER.fingerprint, EMBEDDER.dimension)
        write(index.writer)
        _embed(index.writer, np.random.default_rng(number))
        index.writer.optimize_full_text()
        index.writer.checkpoint()
        index.close()
        new.rename(file)
    return file


def _embed(writer: Writer, source: np.random.Generator) -> None:
    while waiting := writer.pending(_BATCH):
        vectors = source.standard_normal((len(waiting), EMBEDDER.dimension)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        writer.store_vectors([one.embed_key for one in waiting], vectors)
