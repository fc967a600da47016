"""Builders for the store: drafts, vectors, an open index, and a connection that fails on purpose."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np

from groove_daemon.domain.document import ChunkDraft, DocumentDraft, DocumentId, FileStat, Metadata
from groove_daemon.domain.query import Filters
from groove_daemon.store.connection import Database
from groove_daemon.store.filters import Allowed
from groove_daemon.store.index import Index
from groove_daemon.store.view import Matrix, Vector
from groove_daemon.store.writer import Writer

COLLECTION = "notes"
FINGERPRINT = "hashing/8"
DIMENSION = 8
EVERYTHING = Filters()


def make_chunk(
    content: str,
    *,
    position: int = 0,
    heading: str | None = None,
    context: str | None = None,
    quality: float = 1.0,
    line_start: int = 1,
) -> ChunkDraft:
    lines = content.count("\n") + 1
    size = len(content.encode())
    return ChunkDraft(
        position=position,
        heading=heading,
        level=None if heading is None else 2,
        heading_path=() if heading is None else (heading,),
        context=context,
        content=content,
        start=0,
        end=len(content),
        line_start=line_start,
        line_end=line_start + lines - 1,
        byte_start=0,
        byte_end=size,
        token_count=max(1, size // 4),
        quality=quality,
    )


def make_document_draft(
    path: str,
    *contents: str | ChunkDraft,
    title: str | None = None,
    mtime_ns: int = 1_700_000_000_000_000_000,
    tags: Sequence[str] = (),
    aliases: Sequence[str] = (),
    date: str | None = None,
    topic: str | None = None,
    category: str | None = None,
    form: str = "md",
) -> DocumentDraft:
    """A draft whose chunks are the given contents, in order; ready chunks get their position set."""
    chunks = tuple(_placed(content, position) for position, content in enumerate(contents))
    name = title or path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    body = "\n".join(chunk.content for chunk in chunks).encode()
    return DocumentDraft(
        path=path,
        title=name,
        metadata=Metadata(title=title, date=date, topic=topic, tags=tuple(tags), aliases=tuple(aliases)),
        topic=topic,
        category=category,
        format=form,
        stat=FileStat(size_bytes=len(body), mtime_ns=mtime_ns, ctime_ns=mtime_ns, inode=1),
        content_hash=hashlib.sha256(body).digest(),
        parse_key="md/1",
        encoding="utf-8",
        title_passage=name,
        chunks=chunks,
    )


def _placed(content: str | ChunkDraft, position: int) -> ChunkDraft:
    if isinstance(content, str):
        return make_chunk(content, position=position)
    fields = {name: getattr(content, name) for name in ChunkDraft.__slots__}
    return ChunkDraft(**{**fields, "position": position})


def make_vector(text: str | bytes, dimension: int = DIMENSION) -> Vector:
    """A unit vector that depends on nothing but the text."""
    raw = text.encode() if isinstance(text, str) else text
    seed = int.from_bytes(hashlib.sha256(raw).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return cast("Vector", (vector / np.linalg.norm(vector)).astype(np.float32))


def make_matrix(texts: Sequence[str | bytes], dimension: int = DIMENSION) -> Matrix:
    return np.array([make_vector(text, dimension) for text in texts], dtype=np.float32).reshape(len(texts), dimension)


def open_index(path: Path, *, resident: bool = True, bind: bool = True) -> Index:
    """An index with the collection `notes` and, with `bind`, an embedder of eight numbers."""
    index = Index.open(path, resident=resident)
    index.writer.ensure_collection(COLLECTION, "/home/me/notes")
    if bind:
        index.writer.bind_vector_space(FINGERPRINT, DIMENSION)
    return index


def put(index: Index, draft: DocumentDraft, *, document_id: DocumentId | None = None, now: float = 1.0) -> DocumentId:
    return index.writer.replace_document(COLLECTION, draft, document_id=document_id, now=now).document_id


def embed_pending(index: Index) -> int:
    """Give every waiting passage the vector of its text; returns how many there were."""
    waiting = index.writer.pending(1_000_000)
    if waiting:
        index.writer.store_vectors(
            [one.embed_key for one in waiting], make_matrix([one.text for one in waiting], index.vectors.dimension)
        )
    return len(waiting)


def allowed(index: Index, filters: Filters = EVERYTHING) -> Allowed:
    return index.reader().allowed(filters)


def found_paths(index: Index, hits: Sequence[tuple[Any, float]]) -> list[str]:
    """The paths of chunk hits, in order."""
    chunks = index.reader().chunks([chunk_id for chunk_id, _ in hits])
    return [chunk.document.path for chunk in chunks.values()]


class FailingProxy:
    """Stands for a connection and raises `error` at the n-th statement; later statements work again.

    A rollback counts as no statement.
    """

    def __init__(self, connection: apsw.Connection, *, fail_at: int, error: apsw.Error) -> None:
        self._proxied = connection
        self._fail_at = fail_at
        self._error = error
        self.statements = 0

    def execute(self, sql: str, values: Any = ()) -> Any:
        self._count(sql)
        return self._proxied.execute(sql, values)

    def executemany(self, sql: str, values: Any) -> Any:
        self._count(sql)
        return self._proxied.executemany(sql, values)

    def _count(self, sql: str) -> None:
        if sql == "ROLLBACK":
            return
        self.statements += 1
        if self.statements == self._fail_at:
            raise self._error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._proxied, name)


def failing_writer(index: Index, *, fail_at: int, error: apsw.Error | None = None) -> tuple[Writer, FailingProxy]:
    """A writer of the index whose n-th statement from now on fails once, by default because the disk is full."""
    connection = index.writer.database.connection
    proxy = FailingProxy(connection, fail_at=fail_at, error=error or apsw.FullError("disk is full"))
    database = Database(connection, index.path)
    writer = Writer(database, index.vectors, health=index.health, clock=index.writer.clock)
    database._connection = cast("apsw.Connection", proxy)
    return writer, proxy
