"""How common a phrase is, estimated from a sample of chunks.

The estimate serves only to leave out phrases that stand nearly everywhere, so a few hundred rows are enough (a share of
one half is known within five points), and folding text nearly as the tokenizer does is enough.
"""

import threading
import unicodedata
from collections.abc import Sequence

import numpy as np

from groove_daemon.store.connection import Database, int_array
from groove_daemon.store.view import View

SAMPLE_ROWS = 400
_REMEMBERED = 4096


class PhraseSample:
    """Folded texts of some chunks, taken again when the index has changed enough; shared by all readers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: list[str] = []
        self._shares: dict[str, float] = {}
        self._generation = -1
        self._chunk_count = 0

    def shares(self, database: Database, view: View, generation: int, phrases: Sequence[str]) -> dict[str, float]:
        """The estimated share of chunks that hold each phrase, 0 to 1."""
        with self._lock:
            if self._is_outdated(view, generation):
                self._take(database, view, generation)
            return {phrase: self._share(fold(phrase)) for phrase in phrases}

    def _is_outdated(self, view: View, generation: int) -> bool:
        if self._generation < 0 or not self._texts:
            return True
        changes = abs(generation - self._generation) + abs(view.chunk_count - self._chunk_count)
        return changes > max(50, self._chunk_count // 10)

    def _take(self, database: Database, view: View, generation: int) -> None:
        ids = view.chunk_ids[view.chunk_alive]
        # Evenly spread, so that the same index gives the same sample.
        picked = np.unique(np.linspace(0, len(ids) - 1, min(SAMPLE_ROWS, len(ids))).astype(np.int64))
        rows = database.rows(
            "SELECT heading, context, content FROM chunks WHERE chunk_id IN (SELECT value FROM carray(?))",
            (int_array(ids[picked]),),
        )
        self._texts = [fold("\n".join(text for text in row if text)) for row in rows]
        self._shares = {}
        self._generation, self._chunk_count = generation, view.chunk_count

    def _share(self, folded: str) -> float:
        if not self._texts:
            return 0.0
        share = self._shares.get(folded)
        if share is None:
            if len(self._shares) >= _REMEMBERED:
                self._shares.clear()
            share = sum(folded in text for text in self._texts) / len(self._texts)
            self._shares[folded] = share
        return share


def fold(text: str) -> str:
    """Lower case, and letters of the European scripts without their marks."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    bases = {ord(mark): _base(mark) for mark in set(lowered) if "\x7f" < mark < "\u2000"}
    return lowered.translate(bases)


def _base(character: str) -> str:
    return unicodedata.normalize("NFD", character)[0]
