"""Asks the model questions of both kinds and learns how confident an answer may be; takes seconds, reads only.

What always holds: a question counts as answerable because a chunk with a vector was its source, and as unanswerable
because no chunk holds half of its words; the same index gives the same questions.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from groove_daemon.domain.document import ChunkId
from groove_daemon.domain.query import Filters
from groove_daemon.errors import Cancelled, DeadlineExceeded
from groove_daemon.models.base import Embedder, as_vector
from groove_daemon.retrieval.calibration import Calibration, learned
from groove_daemon.retrieval.questions import OFF_TOPIC, is_answered, question_from
from groove_daemon.retrieval.words import keywords
from groove_daemon.store.index import Index
from groove_daemon.store.reader import Reader

LONGEST_S = 120.0
_CHUNKS_PER_QUESTION = 4
_LOOK_AT = 20
_WEIGHTS = (2.0, 1.0, 1.0)

Item = TypeVar("Item")
OnProgress = Callable[[int, int], None]


def calibrate(
    index: Index,
    embedder: Embedder,
    *,
    questions: int,
    now: float,
    is_cancelled: Callable[[], bool],
    on_progress: OnProgress,
) -> Calibration:
    """Learn from the index as it is now.

    Args:
        index: with vectors of this embedder.
        embedder: the model.
        questions: most answerable questions.
        now: seconds since the epoch.
        is_cancelled: asked before each question.
        on_progress: told how many questions were asked, and of how many.

    Raises:
        Cancelled: `is_cancelled` said so.
        DeadlineExceeded: it took longer than `LONGEST_S`.
        ModelError: a question could not be embedded.
    """
    reader, view = index.reader(), index.vectors.view()
    with reader.snapshot() as generation:
        answerable = known_items(reader, view.chunk_ids[view.chunk_alive].tolist(), most=questions)
        unanswerable = [question for question in OFF_TOPIC if not _may_be_answered(reader, question)]
    asked = _Asking(index, reader, embedder, is_cancelled, on_progress, total=len(answerable) + len(unanswerable))
    near, far = asked.nearest(answerable), asked.nearest(unanswerable)
    curve, rates, reason = learned(near, far)
    return Calibration(
        curve=curve,
        rates=rates,
        reason=reason,
        fingerprint=embedder.fingerprint,
        generation=generation,
        chunks=view.chunk_count,
        answerable=len(near),
        unanswerable=len(far),
        made_at=now,
    )


def known_items(reader: Reader, chunk_ids: Sequence[int], *, most: int) -> list[str]:
    """Questions that chunks answer, spread evenly over the index."""
    picked = [ChunkId(int(chunk_id)) for chunk_id in _spread(chunk_ids, most * _CHUNKS_PER_QUESTION)]
    chunks = reader.chunks(picked)
    found = [
        question
        for chunk_id in picked
        if chunk_id in chunks and chunks[chunk_id].has_vector
        if (question := question_from(chunks[chunk_id].content))
    ]
    return _spread(list(dict.fromkeys(found)), most)


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many items, evenly from first to last."""
    if not len(items):
        return []
    places = np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(np.int64))
    return [items[place] for place in places]


def _may_be_answered(reader: Reader, question: str) -> bool:
    rows = reader.chunk_words(
        keywords(question), (), limit=_LOOK_AT, allowed=reader.allowed(Filters()), weights=_WEIGHTS
    )
    chunks = reader.chunks([chunk_id for chunk_id, _ in rows])
    return is_answered(question, [f"{chunk.context or ''}\n{chunk.content}".lower() for chunk in chunks.values()])


class _Asking:
    """Asks one question after the other, so that a search between two of them waits for one at most."""

    def __init__(
        self,
        index: Index,
        reader: Reader,
        embedder: Embedder,
        is_cancelled: Callable[[], bool],
        on_progress: OnProgress,
        *,
        total: int,
    ) -> None:
        self._index, self._embedder, self._total = index, embedder, total
        self._everything = reader.allowed(Filters())
        self._is_cancelled, self._on_progress = is_cancelled, on_progress
        self._until = time.monotonic() + LONGEST_S
        self._done = 0

    def nearest(self, questions: Sequence[str]) -> list[float]:
        """The cosine of the nearest chunk, for each question."""
        return [self._ask(question) for question in questions]

    def _ask(self, question: str) -> float:
        if self._is_cancelled():
            raise Cancelled("the request was cancelled")
        if time.monotonic() > self._until:
            raise DeadlineExceeded(f"calibration took longer than {LONGEST_S:.0f} s", hint="ask fewer questions")
        vector = as_vector(self._embedder.embed_query(question), self._embedder.dimension)
        nearest = self._index.vectors.scan(vector).top_chunks(1, allowed=self._everything, excluded=frozenset())
        self._done += 1
        self._on_progress(self._done, self._total)
        return nearest[0][1] if nearest else 0.0
