"""The sqlite-vec table `vectors`: every statement on it, and nothing else.

Vectors are float32 of unit length, so Euclidean distance d and cosine c are tied by c = 1 - d * d / 2.
sqlite-vec refuses OR REPLACE, and a deleted row's space is not used again: a slot's row is inserted once and from then
on only updated in place.
"""

import numpy as np

from groove_daemon.store.connection import Database, int_array
from groove_daemon.store.view import Ids, Matrix, Scores, Vector

MAX_K = 4096


def exists(database: Database) -> bool:
    """Whether the table has been made."""
    return database.value("SELECT 1 FROM sqlite_schema WHERE name = 'vectors'") is not None


def create(database: Database, dimension: int) -> None:
    """Make the table; one that is there is dropped with all vectors."""
    database.run("DROP TABLE IF EXISTS vectors")
    database.run(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dimension:d}])")


def write(database: Database, slots: Ids, vectors: Matrix) -> None:
    """Store one vector for each slot, over the old one if there is one."""
    known = {
        row[0]
        for row in database.rows(
            "SELECT rowid FROM vectors_rowids WHERE rowid IN (SELECT value FROM carray(?))", (int_array(slots),)
        )
    }
    pairs = [(int(slot), vector.astype("<f4").tobytes()) for slot, vector in zip(slots, vectors, strict=True)]
    database.run_many(
        "INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", [pair for pair in pairs if pair[0] not in known]
    )
    database.run_many(
        "UPDATE vectors SET embedding = ? WHERE rowid = ?",
        [(vector, slot) for slot, vector in pairs if slot in known],
    )


def read(database: Database, slots: Ids, dimension: int) -> tuple[Ids, Matrix]:
    """The vectors of these slots: slots ascending, and the matrix in that order."""
    rows = database.rows(
        "SELECT rowid, embedding FROM vectors WHERE rowid IN (SELECT value FROM carray(?)) ORDER BY rowid",
        (int_array(slots),),
    )
    found = np.array([row[0] for row in rows], dtype=np.int64)
    return found, np.frombuffer(b"".join(row[1] for row in rows), "<f4").reshape(len(rows), dimension)


def read_all(database: Database, matrix: Matrix) -> None:
    """Fill `matrix[slot]` from the table.

    This reads the table's own blocks of 1,024 vectors: five times faster than its rows.
    """
    for size, validity, rowids, vectors in database.rows(
        "SELECT c.size, c.validity, c.rowids, v.vectors FROM vectors_chunks c"
        " JOIN vectors_vector_chunks00 v ON v.rowid = c.chunk_id"
    ):
        is_used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")[:size].astype(np.bool_)
        slots = np.frombuffer(rowids, "<i8")[is_used]
        block = np.frombuffer(vectors, "<f4").reshape(size, matrix.shape[1])[is_used]
        is_known = slots < len(matrix)
        matrix[slots[is_known]] = block[is_known]


def nearest(database: Database, query: Vector, k: int, slots: Ids) -> tuple[Ids, Scores]:
    """The `k` nearest of these slots, at most 4,096, with their cosines, best first."""
    rows = database.rows(
        "SELECT rowid, distance FROM vectors"
        " WHERE embedding MATCH ? AND k = ? AND rowid IN (SELECT value FROM carray(?)) ORDER BY distance",
        (query.astype("<f4").tobytes(), min(k, MAX_K, len(slots)), int_array(slots)),
    )
    distances = np.array([row[1] for row in rows], dtype=np.float64)
    return np.array([row[0] for row in rows], dtype=np.int64), (1.0 - distances**2 / 2.0).astype(np.float32)
