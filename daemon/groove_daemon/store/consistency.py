"""The rules that tie the tables of the index together, each as a count of the rows that break it.

It only looks.  Whether full text itself is sound is the business of `full_text`.
"""

from collections.abc import Sequence

from groove_daemon.store import vector_table
from groove_daemon.store.connection import Database

_RULES: tuple[tuple[str, str], ...] = (
    (
        "chunks whose slot holds another passage",
        "SELECT count(*) FROM chunks c LEFT JOIN embeddings e USING (slot) WHERE e.embed_key IS NOT c.embed_key",
    ),
    (
        "titles whose slot holds another passage",
        "SELECT count(*) FROM documents d LEFT JOIN embeddings e ON e.slot = d.title_slot"
        " WHERE e.embed_key IS NOT d.title_key",
    ),
    (
        "chunks without a document",
        "SELECT count(*) FROM chunks WHERE document_id NOT IN (SELECT document_id FROM documents)",
    ),
    (
        "documents whose positions are not 0, 1, 2, ...",
        "SELECT count(*) FROM (SELECT 1 FROM chunks GROUP BY document_id"
        " HAVING min(position) <> 0 OR max(position) <> count(*) - 1 OR count(DISTINCT position) <> count(*))",
    ),
    (
        "slots that nothing points to and that are neither free nor noted as orphaned",
        "SELECT count(*) FROM embeddings e WHERE state <> 'free' AND orphaned_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM chunks WHERE slot = e.slot)"
        " AND NOT EXISTS (SELECT 1 FROM documents WHERE title_slot = e.slot)",
    ),
    (
        "slots noted as orphaned that something points to, or that wait for a vector",
        "SELECT count(*) FROM embeddings e WHERE orphaned_at IS NOT NULL AND (state NOT IN ('ready', 'bad')"
        " OR EXISTS (SELECT 1 FROM chunks WHERE slot = e.slot)"
        " OR EXISTS (SELECT 1 FROM documents WHERE title_slot = e.slot))",
    ),
    (
        "chunks without trigrams, or trigrams without a chunk",
        "SELECT count(*) FROM (SELECT chunk_id FROM chunks) FULL JOIN chunks_trigram_docsize ON id = chunk_id"
        " WHERE id IS NULL OR chunk_id IS NULL",
    ),
    (
        "chunks without words, or words without a chunk",
        "SELECT count(*) FROM (SELECT chunk_id FROM chunks) FULL JOIN chunks_words_docsize ON id = chunk_id"
        " WHERE id IS NULL OR chunk_id IS NULL",
    ),
    (
        "documents without words, or words without a document",
        "SELECT count(*) FROM (SELECT document_id FROM documents) FULL JOIN documents_words_docsize"
        " ON id = document_id WHERE id IS NULL OR document_id IS NULL",
    ),
)
_VECTOR_RULES: tuple[tuple[str, str], ...] = (
    (
        "slots that should have a vector and have none",
        "SELECT count(*) FROM embeddings WHERE state = 'ready' AND slot NOT IN (SELECT rowid FROM vectors_rowids)",
    ),
    (
        "vectors of slots that do not exist",
        "SELECT count(*) FROM vectors_rowids WHERE rowid NOT IN (SELECT slot FROM embeddings)",
    ),
)
_NO_VECTORS: tuple[tuple[str, str], ...] = (
    ("slots with a vector, though no embedder was bound", "SELECT count(*) FROM embeddings WHERE state = 'ready'"),
)


def disagreements(database: Database) -> Sequence[str]:
    """Each rule that does not hold, with the number of rows that break it."""
    rules = _RULES + (_VECTOR_RULES if vector_table.exists(database) else _NO_VECTORS)
    counted = ((text, database.value(sql)) for text, sql in rules)
    found = [f"{count} {text}" for text, count in counted if count]
    found += [f"foreign key: {row}" for row in database.rows("PRAGMA foreign_key_check")]
    return found
