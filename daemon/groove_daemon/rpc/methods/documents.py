"""Documents and chunks of the index as messages, and how a request names one."""

import os
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from groove_daemon.domain.document import ChunkId, StoredChunk, StoredDocument
from groove_daemon.errors import InvalidParams, NotIndexed, OutsideRoots
from groove_daemon.indexing.paths import MARKER, spell, unspell
from groove_daemon.retrieval.present import absolute_path
from groove_daemon.rpc import moments
from groove_daemon.rpc.context import CollectionState, IndexReader
from groove_wire.messages import ChunkFields, DocumentFields

_SAFE_IN_URI = "/~!$&'()*+,;=:@"


def document_fields(document: StoredDocument, root: str) -> DocumentFields:
    """A document as it travels; `root` is its collection's folder."""
    absolute = absolute_path(document, {document.collection: root})
    return DocumentFields(
        collection=document.collection,
        path=document.path,
        absolute_path=absolute,
        title=document.title,
        tags=document.tags,
        format=document.format,
        size_bytes=document.stat.size_bytes,
        modified_at=moments.to_text(document.stat.mtime_ns / 1e9),
        indexed_at=moments.to_text(document.indexed_at),
        chunk_count=document.chunk_count,
        uri=file_uri(absolute),
        topic=document.topic,
        category=document.category,
        date=document.date,
    )


def chunk_fields(chunk: StoredChunk) -> ChunkFields:
    """A chunk as it travels."""
    return ChunkFields(
        id=chunk.chunk_id,
        position=chunk.position,
        content=chunk.content,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        byte_start=chunk.byte_start,
        byte_end=chunk.byte_end,
        quality=chunk.quality,
        has_vector=chunk.has_vector,
        heading_path=chunk.heading_path,
        heading=chunk.heading,
        level=chunk.level,
        context=chunk.context,
        token_count=chunk.token_count,
    )


def file_uri(absolute_path: str) -> str:
    """The `file:` URI of an absolute path in the spelling of `indexing.paths`."""
    if absolute_path.startswith(MARKER):
        return "file://" + absolute_path[len(MARKER) :]
    return "file://" + quote(absolute_path, safe=_SAFE_IN_URI)


def root_of(collection: str, collections: Sequence[CollectionState]) -> str:
    """The folder of a collection; empty for one that was removed meanwhile."""
    return next((state.root for state in collections if state.name == collection), "")


def find_chunk(reader: IndexReader, chunk_id: int) -> StoredChunk:
    """The chunk that a hit's id names.

    Raises:
        NotIndexed: there is none, or no longer.
    """
    try:
        return reader.chunk(ChunkId(chunk_id))
    except NotIndexed as error:
        hint = "its document was changed or removed; search again"
        raise NotIndexed(f"no chunk has id {chunk_id}", hint=hint) from error


def find_document(
    reader: IndexReader, path: str, *, collection: str | None, collections: Sequence[CollectionState]
) -> StoredDocument:
    """The document that a path names, absolute or relative, in the spelling of `indexing.paths`.

    Raises:
        NotIndexed: no such document.
        OutsideRoots: an absolute path under no collection.
        InvalidParams: no such collection, or several have the path.
    """
    if collection is not None and collection not in {state.name for state in collections}:
        raise InvalidParams(f"collection: no collection {collection!a}", field="collection")
    if path.startswith(("/", f"{MARKER}/")):
        places = places_of(path, {state.name: state.root for state in collections})
        if not places:
            raise OutsideRoots(f"{path!a} lies in no collection")
    else:
        places = [(state.name, path) for state in collections]
    named = [place for place in places if collection in (None, place[0])]
    found = [document for place in named if (document := reader.document(*place)) is not None]
    if not found:
        raise NotIndexed(f"{path!a} is not in the index", hint="failures lists the files that could not be indexed")
    if len({document.document_id for document in found}) > 1:
        names = ", ".join(document.collection for document in found)
        raise InvalidParams(f"path: {path!a} is in several collections", hint=f"name one of {names}", field="path")
    return found[0]


def places_of(path: str, roots: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each collection that an absolute path lies in, with the path relative to its folder, empty for the folder itself.

    Args:
        path: in the spelling of `indexing.paths`.
        roots: the folder of each collection.
    """
    absolute = os.path.normpath(unspell(path)) + b"/"
    places = []
    for name, folder in roots.items():
        root = os.fsencode(folder).rstrip(b"/") + b"/"
        if absolute.startswith(root):
            places.append((name, spell(absolute[len(root) :].rstrip(b"/"))))
    return places
