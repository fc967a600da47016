"""Documents and their chunks: replacing, deleting, looking up by path.

What always holds: a document is stored or deleted in one transaction with its chunks, full text and slots; a chunk
whose passage did not change keeps its id, wherever it now stands in the document; a document that moves keeps its own.
"""

import json
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from groove_daemon.domain.document import (
    ChunkDraft,
    CollectionId,
    DocumentDraft,
    DocumentId,
    FileStat,
    KnownDocument,
)
from groove_daemon.domain.passage import embed_key, passage
from groove_daemon.store import full_text
from groove_daemon.store.connection import Row, int_array
from groove_daemon.store.embeddings import Slot, claim_slots, release_slots
from groove_daemon.store.numbers import stat_values, to_number, to_stat
from groove_daemon.store.records import Replaced
from groove_daemon.store.state import Effects, WriteSide
from groove_daemon.store.vectors import ChunkRow
from groove_daemon.store.view import as_ids

_DOCUMENT_COLUMNS = (
    "collection_id", "path", "title", "topic", "category", "date", "tags", "aliases", "problems", "format", "encoding",
    "size_bytes", "mtime_ns", "ctime_ns", "inode", "content_hash", "parse_key", "title_passage", "title_key",
    "title_slot", "indexed_at",
)  # fmt: skip
_CHUNK_COLUMNS = (
    "document_id", "position", "heading", "level", "heading_path", "context", "content", "line_start", "line_end",
    "byte_start", "byte_end", "token_count", "quality", "embed_key", "slot",
)  # fmt: skip
_TEXT = slice(_CHUNK_COLUMNS.index("heading"), _CHUNK_COLUMNS.index("content") + 1)
_KEY = _CHUNK_COLUMNS.index("embed_key")

_INSERT_DOCUMENT = (
    f"INSERT INTO documents ({', '.join(_DOCUMENT_COLUMNS)}) VALUES ({', '.join('?' * len(_DOCUMENT_COLUMNS))})"
)
_UPDATE_DOCUMENT = (
    f"UPDATE documents SET {', '.join(f'{name} = ?' for name in _DOCUMENT_COLUMNS)} WHERE document_id = ?"
)
_INSERT_CHUNK = (
    f"INSERT INTO chunks ({', '.join(_CHUNK_COLUMNS)}, created_at)"
    f" VALUES ({', '.join('?' * len(_CHUNK_COLUMNS))}, ?) RETURNING chunk_id"
)
_UPDATE_CHUNK = f"UPDATE chunks SET {', '.join(f'{name} = ?' for name in _CHUNK_COLUMNS)} WHERE chunk_id = ?"
_SELECT_CHUNKS = (
    f"SELECT {', '.join(_CHUNK_COLUMNS)}, chunk_id FROM chunks WHERE document_id = ? ORDER BY position, chunk_id"
)
_SELECT_KNOWN = (
    "SELECT document_id, path, size_bytes, mtime_ns, ctime_ns, inode, content_hash, parse_key FROM documents"
)


@dataclass(frozen=True, slots=True)
class _ChunkPlan:
    """What replacing does to the chunks: rows as `_CHUNK_COLUMNS`, each with the id that it keeps or None."""

    rows: list[tuple[Row, int | None]]
    old: dict[int, Row]

    @property
    def dropped(self) -> list[int]:
        """Chunks that are no longer in the document."""
        kept = {chunk_id for _, chunk_id in self.rows}
        return [chunk_id for chunk_id in self.old if chunk_id not in kept]


class DocumentWriter(WriteSide):
    """The documents of the index."""

    def known_documents(self, collection: str) -> dict[str, KnownDocument]:
        """All documents of a collection by path, with what tells whether a file changed."""
        rows = self.database.rows(f"{_SELECT_KNOWN} WHERE collection_id = ?", (self._collection_id(collection),))
        return {row[1]: _known(row) for row in rows}

    def known_document(self, collection: str, path: str) -> KnownDocument | None:
        """The same for one path."""
        row = self.database.row(
            f"{_SELECT_KNOWN} WHERE collection_id = ? AND path = ?", (self._collection_id(collection), path)
        )
        return None if row is None else _known(row)

    def replace_document(
        self, collection: str, draft: DocumentDraft, *, document_id: DocumentId | None = None, now: float
    ) -> Replaced:
        """Store a document in the place of what the index has at its path, in one transaction.

        Args:
            collection: must have been made known before.
            draft: the document.
            document_id: a document that is this one under its old path: it keeps its id, and what stood at the new
                path is deleted.
            now: seconds since the epoch.

        Raises:
            NotIndexed: no such collection.
            StoreFull: nothing was changed, because there is no space.
        """
        with self._write() as effects:
            collection_id = self._collection_id(collection)
            at_path = self._document_at(collection_id, draft.path)
            identity = document_id if document_id is not None and self._exists(document_id) else at_path
            if at_path is not None and at_path != identity:
                self._delete([at_path], now=now, effects=effects)
            keys = [embed_key(passage(chunk.context, chunk.content)) for chunk in draft.chunks]
            title_key = embed_key(draft.title_passage)
            slots = claim_slots(self.database, [title_key, *keys], wanted_at=to_number(draft.stat.mtime_ns))
            freed = self._slots_of_document(identity)
            names = self._names(identity)
            identity = self._put_row(identity, collection_id, draft, slots[title_key], title_key, now)
            plan = self._plan(identity, draft.chunks, keys, slots)
            chunk_ids = self._apply(plan, now)
            release_slots(self.database, freed, now=now)
            self.database.run("DELETE FROM failures WHERE collection_id = ? AND path = ?", (collection_id, draft.path))
            # Full text comes last: FTS5 writes a segment out whenever SQLite opens a savepoint for another statement.
            self._put_chunk_texts(plan, chunk_ids)
            self._put_document_text(identity, draft, before=None if names is None else _fields_before(names, plan))
            chunks = [
                ChunkRow(chunk_id, slots[key].number, chunk.quality)
                for chunk_id, key, chunk in zip(chunk_ids, keys, draft.chunks, strict=True)
            ]
            effects.after_commit.append(lambda: self.space.put_document(identity, slots[title_key].number, chunks))
        return Replaced(identity, len(chunks), sum(slot.is_pending for slot in slots.values()))

    def touch_document(self, document_id: DocumentId, stat: FileStat) -> None:
        """The file's content is the same, its stat is not."""
        with self._write(is_visible=False):
            self.database.run(
                "UPDATE documents SET size_bytes = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE document_id = ?",
                (*stat_values(stat), document_id),
            )

    def delete_documents(self, document_ids: Sequence[DocumentId]) -> int:
        """Delete documents in one transaction; how many there were."""
        existing = [document_id for document_id in dict.fromkeys(document_ids) if self._exists(document_id)]
        if not existing:
            return 0
        with self._write() as effects:
            self._delete(existing, now=self.clock.now(), effects=effects)
        return len(existing)

    def remove_collection(self, name: str) -> int:
        """Forget a collection with all its documents; how many documents it had, 0 if it is not known."""
        row = self.database.row("SELECT collection_id FROM collections WHERE name = ?", (name,))
        if row is None:
            return 0
        with self._write() as effects:
            documents = self.database.rows("SELECT document_id FROM documents WHERE collection_id = ?", row)
            self._delete([found[0] for found in documents], now=self.clock.now(), effects=effects)
            self.database.run("DELETE FROM collections WHERE collection_id = ?", row)
        return len(documents)

    def _document_at(self, collection_id: CollectionId, path: str) -> DocumentId | None:
        found: DocumentId | None = self.database.value(
            "SELECT document_id FROM documents WHERE collection_id = ? AND path = ?", (collection_id, path)
        )
        return found

    def _exists(self, document_id: DocumentId) -> bool:
        return self.database.row("SELECT 1 FROM documents WHERE document_id = ?", (document_id,)) is not None

    def _slots_of_document(self, document_id: DocumentId | None) -> list[int]:
        rows = self.database.rows(
            "SELECT slot FROM chunks WHERE document_id = ?1"
            " UNION SELECT title_slot FROM documents WHERE document_id = ?1",
            (document_id,),
        )
        return [row[0] for row in rows]

    def _put_row(
        self,
        document_id: DocumentId | None,
        collection_id: CollectionId,
        draft: DocumentDraft,
        title_slot: Slot,
        title_key: bytes,
        now: float,
    ) -> DocumentId:
        values = (
            collection_id,
            draft.path,
            draft.title,
            draft.topic,
            draft.category,
            draft.metadata.date,
            _json(draft.metadata.tags),
            _json(draft.metadata.aliases),
            _json(draft.metadata.problems),
            draft.format,
            draft.encoding,
            *stat_values(draft.stat),
            draft.content_hash,
            draft.parse_key,
            draft.title_passage,
            title_key,
            title_slot.number,
            now,
        )
        if document_id is None:
            return DocumentId(self.database.insert(_INSERT_DOCUMENT, values))
        self.database.run(_UPDATE_DOCUMENT, (*values, document_id))
        return document_id

    def _plan(
        self, document_id: DocumentId, drafts: Sequence[ChunkDraft], keys: Sequence[bytes], slots: dict[bytes, Slot]
    ) -> _ChunkPlan:
        """Match new chunks to old ones of the same passage, in order."""
        old = {row[-1]: row[:-1] for row in self.database.rows(_SELECT_CHUNKS, (document_id,))}
        by_key: defaultdict[bytes, deque[int]] = defaultdict(deque)
        for chunk_id, row in old.items():
            by_key[row[_KEY]].append(chunk_id)
        rows: list[tuple[Row, int | None]] = []
        for draft, key in zip(drafts, keys, strict=True):
            kept = by_key[key].popleft() if by_key[key] else None
            rows.append((_chunk_values(document_id, draft, key, slots[key]), kept))
        return _ChunkPlan(rows, old)

    def _names(self, document_id: DocumentId | None) -> Row | None:
        """Title, aliases as JSON, and path of a document that is there."""
        return self.database.row("SELECT title, aliases, path FROM documents WHERE document_id = ?", (document_id,))

    def _apply(self, plan: _ChunkPlan, now: float) -> list[int]:
        """Write the chunks without their full text; returns the ids in order."""
        self.database.run_many("DELETE FROM chunks WHERE chunk_id = ?", [(chunk_id,) for chunk_id in plan.dropped])
        self.database.run_many(
            _UPDATE_CHUNK,
            [(*row, chunk_id) for row, chunk_id in plan.rows if chunk_id is not None and row != plan.old[chunk_id]],
        )
        made = self.database.rows_many(_INSERT_CHUNK, [(*row, now) for row, chunk_id in plan.rows if chunk_id is None])
        new_ids = iter(made)
        return [next(new_ids)[0] if chunk_id is None else chunk_id for _, chunk_id in plan.rows]

    def _put_chunk_texts(self, plan: _ChunkPlan, chunk_ids: Sequence[int]) -> None:
        rewritten = {
            chunk_id for row, chunk_id in plan.rows if chunk_id is not None and _text(row) != _text(plan.old[chunk_id])
        }
        full_text.drop_chunks(self.database, [*plan.dropped, *rewritten])
        full_text.put_chunks(
            self.database,
            [
                (chunk_id, *_text(row))
                for chunk_id, (row, kept) in zip(chunk_ids, plan.rows, strict=True)
                if kept is None or kept in rewritten
            ],
        )

    def _put_document_text(
        self, document_id: DocumentId, draft: DocumentDraft, *, before: full_text.DocumentFields | None
    ) -> None:
        """Write what is searched of the whole document, unless `before` is the same; None for a new document."""
        fields = full_text.document_fields(
            title=draft.title,
            aliases=draft.metadata.aliases,
            path=draft.path,
            headings=(chunk.heading for chunk in draft.chunks),
            contents=(chunk.content for chunk in draft.chunks),
        )
        if fields == before:
            return
        if before is not None:
            full_text.drop_document(self.database, document_id)
        full_text.put_document(self.database, document_id, fields)

    def _delete(self, document_ids: Sequence[DocumentId], *, now: float, effects: Effects) -> None:
        ids = as_ids(document_ids)
        slots = self.database.rows(
            "SELECT slot FROM chunks WHERE document_id IN (SELECT value FROM carray(?1))"
            " UNION SELECT title_slot FROM documents WHERE document_id IN (SELECT value FROM carray(?1))",
            (int_array(ids),),
        )
        full_text.drop_documents(self.database, ids)
        self.database.run("DELETE FROM documents WHERE document_id IN (SELECT value FROM carray(?))", (int_array(ids),))
        release_slots(self.database, (row[0] for row in slots), now=now)
        effects.after_commit.append(lambda: self.space.drop_documents(document_ids))


def _chunk_values(document_id: DocumentId, draft: ChunkDraft, key: bytes, slot: Slot) -> Row:
    return (
        document_id,
        draft.position,
        draft.heading,
        draft.level,
        _json(draft.heading_path),
        draft.context,
        draft.content,
        draft.line_start,
        draft.line_end,
        draft.byte_start,
        draft.byte_end,
        draft.token_count,
        float(draft.quality),
        key,
        slot.number,
    )


def _text(row: Row) -> tuple[str | None, str | None, str]:
    """Heading, context and content of a row: what full text holds of a chunk."""
    heading, _level, _heading_path, context, content = row[_TEXT]
    return heading, context, content


def _fields_before(names: Row, plan: _ChunkPlan) -> full_text.DocumentFields:
    """What was searched of a document before it was replaced."""
    title, aliases, path = names
    texts = [_text(row) for row in plan.old.values()]
    return full_text.document_fields(
        title=title,
        aliases=json.loads(aliases),
        path=path,
        headings=(heading for heading, _, _ in texts),
        contents=(content for _, _, content in texts),
    )


def _known(row: Row) -> KnownDocument:
    return KnownDocument(DocumentId(row[0]), row[1], to_stat(*row[2:6]), row[6], row[7])


def _json(values: Sequence[str]) -> str:
    return json.dumps(values, ensure_ascii=False)
