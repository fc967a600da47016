"""Embeddings: which passage has which slot, what waits for a vector, and storing the vectors.

What always holds: a passage has one slot however many chunks and titles hold it; a pending slot is pointed to; a slot
that nothing points to keeps its vector until it is pruned, so that a text that comes back needs no embedding.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from groove_daemon.domain.passage import passage
from groove_daemon.errors import EmbedderMismatch
from groove_daemon.store import vector_table
from groove_daemon.store.connection import Database, blob_array, int_array
from groove_daemon.store.numbers import StatNumber
from groove_daemon.store.records import PendingPassage
from groove_daemon.store.state import WriteSide, read_dimension, read_fingerprint, write_meta
from groove_daemon.store.view import Ids, Matrix

_UNIT_TOLERANCE = 1e-3
# Bytes of text to a token, where the chunker's count is not at hand.
_BYTES_PER_TOKEN = 4

_AMONG = "slot IN (SELECT value FROM carray(?))"
_UNREFERENCED = (
    "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.slot = embeddings.slot)"
    " AND NOT EXISTS (SELECT 1 FROM documents WHERE documents.title_slot = embeddings.slot)"
)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a passage's embedding is, and whether it still waits for its vector."""

    number: int
    is_pending: bool


def claim_slots(database: Database, keys: Iterable[bytes], *, wanted_at: StatNumber) -> dict[bytes, Slot]:
    """The slot of each passage, a new one where there is none; call it inside a transaction."""
    distinct = list(dict.fromkeys(keys))
    if not distinct:
        return {}
    rows = database.rows(
        "SELECT embed_key, slot, state = 'pending' FROM embeddings WHERE embed_key IN (SELECT value FROM carray(?))",
        (blob_array(distinct),),
    )
    slots = {key: Slot(number, bool(is_pending)) for key, number, is_pending in rows}
    _want_again(database, slots.values(), wanted_at)
    return slots | _new_slots(database, [key for key in distinct if key not in slots], wanted_at)


def _want_again(database: Database, slots: Collection[Slot], wanted_at: StatNumber) -> None:
    """Note that passages which have a slot stand in one more document."""
    if not slots:
        return
    numbers = int_array([slot.number for slot in slots])
    database.run(
        f"UPDATE embeddings SET orphaned_at = NULL WHERE {_AMONG} AND orphaned_at IS NOT NULL",
        (numbers,),
    )
    database.run(
        f"UPDATE embeddings SET wanted_at = max(wanted_at, ?) WHERE {_AMONG} AND state = 'pending'",
        (wanted_at, numbers),
    )


def _new_slots(database: Database, keys: Sequence[bytes], wanted_at: StatNumber) -> dict[bytes, Slot]:
    if not keys:
        return {}
    free = database.rows("SELECT slot FROM embeddings WHERE state = 'free' ORDER BY slot LIMIT ?", (len(keys),))
    slots = {key: Slot(row[0], is_pending=True) for key, row in zip(keys, free, strict=False)}
    database.run_many(
        "UPDATE embeddings SET embed_key = ?, state = 'pending', wanted_at = ? WHERE slot = ?",
        [(key, wanted_at, slot.number) for key, slot in slots.items()],
    )
    others = keys[len(free) :]
    made = database.rows_many(
        "INSERT INTO embeddings (embed_key, state, wanted_at) VALUES (?, 'pending', ?) RETURNING slot",
        [(key, wanted_at) for key in others],
    )
    return slots | {key: Slot(row[0], is_pending=True) for key, row in zip(others, made, strict=True)}


def release_slots(database: Database, slots: Iterable[int], *, now: float) -> None:
    """Note which of these slots nothing points to any more; call it inside a transaction."""
    distinct = set(slots)
    if not distinct:
        return
    numbers = int_array(distinct)
    database.run(
        "UPDATE embeddings SET state = 'free', embed_key = NULL, wanted_at = NULL"
        f" WHERE {_AMONG} AND state = 'pending' AND {_UNREFERENCED}",
        (numbers,),
    )
    database.run(
        "UPDATE embeddings SET orphaned_at = ?"
        f" WHERE {_AMONG} AND state IN ('ready', 'bad') AND orphaned_at IS NULL AND {_UNREFERENCED}",
        (now, numbers),
    )


class EmbeddingWriter(WriteSide):
    """The vectors of the index."""

    def bind_vector_space(self, fingerprint: str, dimension: int) -> None:
        """Say which embedder the vectors come from; the first one is recorded.

        Raises:
            EmbedderMismatch: the vectors in the index were made by another one.
        """
        bound = read_fingerprint(self.database)
        if bound is None:
            self.reset_vector_space(fingerprint, dimension)
            return
        known_dimension = read_dimension(self.database)
        if (bound, known_dimension) != (fingerprint, dimension):
            raise EmbedderMismatch(
                f"the index holds vectors of {bound} ({known_dimension} numbers), the embedder is {fingerprint}"
                f" ({dimension} numbers)",
                hint="run `groovectl reindex --force` to embed everything again",
                bound=bound,
                wanted=fingerprint,
            )

    def reset_vector_space(self, fingerprint: str, dimension: int) -> None:
        """Drop all vectors; every passage waits for one of the new embedder."""
        with self._write() as effects:
            write_meta(self.database, "embedder_fingerprint", fingerprint)
            write_meta(self.database, "embedder_dimension", dimension)
            vector_table.create(self.database, dimension)
            self.database.run(
                "UPDATE embeddings SET state = 'free', embed_key = NULL, reason = NULL, wanted_at = NULL,"
                f" orphaned_at = NULL WHERE {_UNREFERENCED}"
            )
            self.database.run("UPDATE embeddings SET state = 'pending', reason = NULL WHERE state IN ('ready', 'bad')")
            effects.after_commit.append(lambda: self.space.reset_vectors(dimension))

    def pending(self, limit: int) -> Sequence[PendingPassage]:
        """Passages that wait for a vector, those of the newest documents first."""
        rows = self.database.rows(
            """
            SELECT e.embed_key, c.context, c.content, c.token_count,
                   (SELECT title_passage FROM documents d WHERE d.title_slot = e.slot LIMIT 1)
            FROM (SELECT slot, embed_key, wanted_at FROM embeddings WHERE state = 'pending'
                  ORDER BY wanted_at DESC, slot LIMIT ?) e
            LEFT JOIN chunks c ON c.chunk_id = (SELECT min(chunk_id) FROM chunks WHERE slot = e.slot)
            ORDER BY e.wanted_at DESC, e.slot
            """,
            (limit,),
        )
        return [_pending_passage(*row) for row in rows]

    def pending_count(self) -> int:
        """How many distinct passages wait for a vector."""
        return int(self.database.value("SELECT count(*) FROM embeddings WHERE state = 'pending'"))

    def store_vectors(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        """Store unit vectors, shape (len(keys), dimension); passages that are gone by now are passed over.

        A row that is not finite or has no length is never stored: its passage is marked as not embeddable.

        Raises:
            ValueError: the shape is wrong, or a vector is not of unit length.
        """
        dimension = read_dimension(self.database)
        if vectors.shape != (len(keys), dimension):
            raise ValueError(f"vectors have shape {vectors.shape}, expected {(len(keys), dimension)}")
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        is_usable = np.isfinite(norms) & (norms > 1e-12)
        if np.any(np.abs(norms[is_usable] - 1.0) > _UNIT_TOLERANCE):
            raise ValueError("vectors are not of unit length")
        with self._write() as effects:
            slots = self._slots_of(keys)
            good = (slots > 0) & is_usable
            stored, matrix = _last_of_each(slots[good], vectors[good].astype(np.float32))
            vector_table.write(self.database, stored, matrix)
            self._set_state(stored, "ready", None)
            bad = slots[(slots > 0) & ~is_usable]
            self._set_state(bad, "bad", "the embedder gave no usable vector")
            effects.after_commit.append(lambda: self.space.drop_vectors(bad))
            effects.after_commit.append(lambda: self.space.put_vectors(stored, matrix))

    def mark_unembeddable(self, keys: Sequence[bytes], reason: str) -> None:
        """These passages have no usable vector: full text alone finds them until their text or the model changes."""
        with self._write(is_visible=False) as effects:
            slots = self._slots_of(keys)
            slots = slots[slots > 0]
            self._set_state(slots, "bad", reason)
            effects.after_commit.append(lambda: self.space.drop_vectors(slots))

    def prune_embeddings(self, *, orphaned_before: float) -> int:
        """Free the slots that nothing has pointed to since that moment (seconds since the epoch); how many."""
        with self._write(is_visible=False) as effects:
            rows = self.database.rows(
                "SELECT slot FROM embeddings WHERE orphaned_at IS NOT NULL AND orphaned_at < ?", (orphaned_before,)
            )
            slots = np.array([row[0] for row in rows], dtype=np.int64)
            self.database.run(
                "UPDATE embeddings SET state = 'free', embed_key = NULL, reason = NULL, wanted_at = NULL,"
                " orphaned_at = NULL WHERE slot IN (SELECT value FROM carray(?))",
                (int_array(slots),),
            )
            self.database.run(
                "DELETE FROM accesses WHERE NOT EXISTS"
                " (SELECT 1 FROM embeddings WHERE embeddings.embed_key = accesses.embed_key)"
            )
            effects.after_commit.append(lambda: self.space.drop_vectors(slots))
        return len(slots)

    def _slots_of(self, keys: Sequence[bytes]) -> Ids:
        """The slot of each key, 0 for one that is gone."""
        found = (self.database.value("SELECT slot FROM embeddings WHERE embed_key = ?", (key,)) for key in keys)
        return np.array([slot or 0 for slot in found], dtype=np.int64)

    def _set_state(self, slots: Ids, state: str, reason: str | None) -> None:
        self.database.run(
            "UPDATE embeddings SET state = ?, reason = ? WHERE slot IN (SELECT value FROM carray(?))",
            (state, reason, int_array(slots)),
        )


def _last_of_each(slots: Ids, vectors: Matrix) -> tuple[Ids, Matrix]:
    """Each slot once, with the last of its vectors."""
    rows = {int(slot): row for row, slot in enumerate(slots)}
    return np.array(list(rows), dtype=np.int64), vectors[list(rows.values())]


def _pending_passage(
    key: bytes, context: str | None, content: str | None, token_count: int | None, title_passage: str | None
) -> PendingPassage:
    text = title_passage or "" if content is None else passage(context, content)
    if content is None or token_count is None:
        token_count = 1 + len(text.encode()) // _BYTES_PER_TOKEN
    return PendingPassage(key, text, token_count)
