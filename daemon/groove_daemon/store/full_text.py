"""The rows of the full-text tables: writing them, checking them, and making them again from the stored text.

What always holds: every chunk has exactly one row in each chunk table, every document one in the document table.  The
tables keep no text of their own, so nothing is lost when they are damaged.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from groove_daemon.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked
from groove_daemon.store import lexical
from groove_daemon.store.connection import Database, int_array
from groove_daemon.store.lexical import Table
from groove_daemon.store.migrate import schema
from groove_daemon.store.view import Ids

CHUNK_TABLES: tuple[Table, ...] = ("chunks_trigram", "chunks_words")
DOCUMENT_TABLE: Table = "documents_words"
_OWNERS: Mapping[Table, str] = {"chunks_trigram": "chunks", "chunks_words": "chunks", DOCUMENT_TABLE: "documents"}

# Fixed row ids that FTS5 gives to its table of averages and its list of segments.
_BOOKKEEPING = (1, 10)
_MERGE_PAGES = 500
# A search that finds nothing and still opens every part of a table.
_PROBE = lexical.phrase_expression(["qzxqzx"]) or ""

ChunkText = tuple[int, str | None, str | None, str]
DocumentFields = tuple[str, str, str]


class Health:
    """Whether full text is known to be damaged; shared by readers, which notice, and the writer, which repairs."""

    def __init__(self) -> None:
        self.is_damaged = False


def put_chunks(database: Database, texts: Sequence[ChunkText]) -> None:
    """Write the rows of chunks: `(chunk_id, heading, context, content)`; they must have none."""
    for table in CHUNK_TABLES:
        database.run_many(f"INSERT INTO {table} (rowid, heading, context, content) VALUES (?, ?, ?, ?)", texts)


def drop_chunks(database: Database, chunk_ids: Iterable[int]) -> None:
    """Delete the rows of chunks."""
    for table in CHUNK_TABLES:
        database.run_many(f"DELETE FROM {table} WHERE rowid = ?", [(chunk_id,) for chunk_id in chunk_ids])


def drop_documents(database: Database, document_ids: Ids) -> None:
    """Delete the rows of documents and of their chunks; the documents themselves must still be there."""
    for table in CHUNK_TABLES:
        database.run(
            f"DELETE FROM {table} WHERE rowid IN (SELECT chunk_id FROM chunks"
            " WHERE document_id IN (SELECT value FROM carray(?)))",
            (int_array(document_ids),),
        )
    database.run(
        f"DELETE FROM {DOCUMENT_TABLE} WHERE rowid IN (SELECT value FROM carray(?))", (int_array(document_ids),)
    )


def drop_document(database: Database, document_id: int) -> None:
    """Delete the row of a document alone."""
    database.run(f"DELETE FROM {DOCUMENT_TABLE} WHERE rowid = ?", (document_id,))


def put_document(database: Database, document_id: int, fields: DocumentFields) -> None:
    """Write the row of a document, which must have none; `fields` are those of `document_fields`."""
    database.run(
        f"INSERT INTO {DOCUMENT_TABLE} (rowid, title, headings, body) VALUES (?, ?, ?, ?)", (document_id, *fields)
    )


def document_fields(
    *, title: str, aliases: Sequence[str], path: str, headings: Iterable[str | None], contents: Iterable[str]
) -> DocumentFields:
    """What is searched of a whole document: its names, its headings once each, its text."""
    names = dict.fromkeys((title, *aliases, PurePosixPath(path).stem))
    distinct = dict.fromkeys(heading for heading in headings if heading)
    return "\n".join(names), "\n".join(distinct), "\n".join(contents)


def looks_complete(database: Database) -> bool:
    """A quick look, for every start: the tables answer, have their bookkeeping, and one row for each owner."""
    try:
        return all(_looks_complete(database, table) for table in _OWNERS)
    except (StoreFull, StoreLocked):
        raise
    except StoreError:
        return False


def _looks_complete(database: Database, table: Table) -> bool:
    owners = database.value(f"SELECT count(*) FROM {_OWNERS[table]}")
    rows = database.value(f"SELECT count(*) FROM {table}_docsize")
    kept = database.value(f"SELECT count(*) FROM {table}_data WHERE id IN {_BOOKKEEPING}")
    lexical.matching_rows(database, table, _PROBE)
    return bool(owners == rows and kept == len(_BOOKKEEPING))


def is_sound(database: Database) -> bool:
    """A full check: each table's own integrity check, and the same ids on both sides."""
    try:
        return looks_complete(database) and all(_is_sound(database, table) for table in _OWNERS)
    except StoreCorrupt:
        return False


def _is_sound(database: Database, table: Table) -> bool:
    owner = _OWNERS[table]
    database.run(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    return not database.value(
        f"SELECT EXISTS (SELECT {owner[:-1]}_id FROM {owner} EXCEPT SELECT id FROM {table}_docsize)"
    )


def rebuild(database: Database) -> None:
    """Make all rows again from the stored text; call it inside a transaction."""
    for table in _OWNERS:
        _empty(database, table)
    for table in CHUNK_TABLES:
        database.run(
            f"INSERT INTO {table} (rowid, heading, context, content)"
            " SELECT chunk_id, heading, context, content FROM chunks ORDER BY chunk_id"
        )
    for document_id, title, aliases, path in database.rows("SELECT document_id, title, aliases, path FROM documents"):
        texts = database.rows(
            "SELECT heading, content FROM chunks WHERE document_id = ? ORDER BY position", (document_id,)
        )
        fields = document_fields(
            title=title,
            aliases=json.loads(aliases),
            path=path,
            headings=(row[0] for row in texts),
            contents=(row[1] for row in texts),
        )
        put_document(database, document_id, fields)


def _empty(database: Database, table: str) -> None:
    try:
        database.run(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    except (StoreFull, StoreLocked):
        raise
    except StoreError:
        _make_again(database, table)


def _make_again(database: Database, table: str) -> None:
    """Replace a table that cannot even be emptied."""
    # Dropping it would need it to work, so its parts go one by one.
    database.run("PRAGMA writable_schema = ON")
    try:
        database.run("DELETE FROM sqlite_schema WHERE name = ?", (table,))
    finally:
        database.run("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "content", "docsize", "config"):
        database.run(f"DROP TABLE IF EXISTS {table}_{part}")
    for statement in _statements(table):
        database.run(statement)


def _statements(table: str) -> list[str]:
    return re.findall(rf"^(?:CREATE VIRTUAL TABLE|INSERT INTO) {table} .*?;$", schema(), re.DOTALL | re.MULTILINE)


def merge(database: Database, *, should_stop: Callable[[], bool]) -> bool:
    """Merge the segments of each table, a bounded step for each transaction; False when stopped before the end.

    One segment halves the time of a ranked statement.
    """
    for table in _OWNERS:
        # A negative number starts merging segments of all sizes, positive ones go on with it.
        pages = -_MERGE_PAGES
        while True:
            if should_stop():
                return False
            before = database.total_changes
            with database.write_transaction():
                database.run(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
            pages = _MERGE_PAGES
            # FTS5 documents that less than two changes mean that nothing was left to merge.
            if database.total_changes - before < 2:
                break
    return True
