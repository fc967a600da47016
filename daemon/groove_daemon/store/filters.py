"""Which documents pass a query's filters, and what of them a query may see.

Conditions on documents become one statement over `documents`; tags and globs are tested on its rows.  The quality
threshold is a comparison on the resident arrays.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Filters
from groove_daemon.store.connection import Database
from groove_daemon.store.globs import compile_globs, fixed_starts
from groove_daemon.store.view import Ids, Mask, View

# CPython computes `st_mtime` this way, so a bound taken from there includes its own file.
_MTIME_S = "(d.mtime_ns / 1000000000 + 1e-9 * (d.mtime_ns % 1000000000))"


def matching_documents(database: Database, filters: Filters) -> Ids:
    """Ids of all documents that pass every condition but the quality threshold, ascending.

    Raises:
        InvalidParams: a path glob is malformed.
    """
    where, values = conditions(filters)
    row_test = _row_test(filters)
    rows = database.rows(f"SELECT d.document_id, d.path, d.tags FROM documents d WHERE {where} ORDER BY 1", values)
    return np.array([row[0] for row in rows if row_test(row[1], row[2])], dtype=np.int64)


def conditions(filters: Filters) -> tuple[str, list[object]]:
    """The part of the filters that SQL can judge: an expression over `documents d`, and its values."""
    table: tuple[tuple[str, object], ...] = (
        (
            "d.collection_id IN (SELECT collection_id FROM collections WHERE name IN (SELECT value FROM json_each(?)))",
            json.dumps(filters.collections) if filters.collections else None,
        ),
        ("d.category = ?", filters.category),
        ("d.topic = ?", filters.topic),
        ("d.date >= ?", filters.date_from),
        ("d.date <= ?", filters.date_to),
        ("d.format IN (SELECT value FROM json_each(?))", json.dumps(filters.formats) if filters.formats else None),
        (f"{_MTIME_S} >= ?", filters.modified_from),
        (f"{_MTIME_S} <= ?", filters.modified_to),
    )
    active = [(text, value) for text, value in table if value is not None]
    texts, values = [text for text, _ in active], [value for _, value in active]
    for tags in _tag_groups(filters):
        # What stands in the JSON text may still be part of another tag: the test on the rows has the last word.
        texts.append("(" + " OR ".join("instr(d.tags, ?)" for _ in tags) + ")")
        values += [json.dumps(tag, ensure_ascii=False) for tag in tags]
    starts = fixed_starts(filters.path_globs)
    if starts:
        texts.append("(" + " OR ".join("substr(d.path, 1, ?) = ?" for _ in starts) + ")")
        values += [value for start in starts for value in (len(start), start)]
    return " AND ".join(texts) or "1", values


def _tag_groups(filters: Filters) -> Iterator[Sequence[str]]:
    """Tags of which a document needs one of each group."""
    if filters.tags_any:
        yield filters.tags_any
    for tag in filters.tags_all:
        yield (tag,)


def _row_test(filters: Filters) -> Callable[[str, str], bool]:
    path_passes = compile_globs(filters.path_globs) if filters.path_globs else None
    tags_any, tags_all = frozenset(filters.tags_any), frozenset(filters.tags_all)

    def passes(path: str, tags_json: str) -> bool:
        if path_passes is not None and not path_passes(path):
            return False
        if not tags_any and not tags_all:
            return True
        tags = frozenset(json.loads(tags_json))
        return (not tags_any or bool(tags & tags_any)) and tags >= tags_all

    return passes


class Allowed:
    """What one query may see, by chunk and by document.

    It is made from one state of the resident arrays and can be asked about any other: what is newer than the filters'
    own statement counts as not allowed.

    Args:
        view: the arrays that ids are looked up in.
        min_quality: chunks below it are not allowed.
        document_ids: ascending ids of the documents that pass; None when no condition on documents is set.
    """

    def __init__(self, view: View, *, min_quality: float = 0.0, document_ids: Ids | None = None) -> None:
        self.view = view
        self.min_quality = min_quality
        self.document_ids = document_ids
        self._masks: tuple[View, Mask, Mask] | None = None

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self.document_ids is None and self.min_quality <= 0.0

    @property
    def chunk_count(self) -> int:
        """How many chunks are allowed."""
        return int(np.count_nonzero(self.chunk_mask(self.view)))

    @property
    def chunk_ids(self) -> Ids:
        """All allowed chunks."""
        ids: Ids = self.view.chunk_ids[self.chunk_mask(self.view)]
        return ids

    @property
    def allowed_document_ids(self) -> Ids:
        """All documents of which something is allowed."""
        ids: Ids = self.view.document_ids[self.document_mask(self.view)]
        return ids

    def without_document(self, document_id: DocumentId) -> "Allowed":
        """The same, but for one document."""
        ids = self.document_ids
        if ids is None:
            ids = np.sort(self.view.document_ids[self.view.document_alive])
        return Allowed(self.view, min_quality=self.min_quality, document_ids=ids[ids != document_id])

    def chunk_mask(self, view: View) -> Mask:
        """By chunk ordinal of `view`: whether it is allowed."""
        return self._masks_for(view)[0]

    def document_mask(self, view: View) -> Mask:
        """By document ordinal of `view`: whether it passes and has an allowed chunk, or no chunk at all."""
        return self._masks_for(view)[1]

    def admits_chunks(self, chunk_ids: Ids) -> Mask:
        """For each chunk whether it is allowed."""
        return _picked(self.chunk_mask(self.view), self.view.chunk_ordinals(chunk_ids))

    def admits_documents(self, document_ids: Ids) -> Mask:
        """For each document whether something of it is allowed."""
        return _picked(self.document_mask(self.view), self.view.document_ordinals(document_ids))

    def admits(self, chunk_id: ChunkId) -> bool:
        """Whether one chunk is allowed."""
        return bool(self.admits_chunks(np.array([chunk_id], dtype=np.int64))[0])

    def _masks_for(self, view: View) -> tuple[Mask, Mask]:
        masks = self._masks
        if masks is None or masks[0] is not view:
            masks = (view, *self._compute(view))
            self._masks = masks
        return masks[1], masks[2]

    def _compute(self, view: View) -> tuple[Mask, Mask]:
        chunks, documents = view.chunk_alive, view.document_alive
        if self.document_ids is not None:
            passing = np.zeros(len(documents), dtype=np.bool_)
            ordinals = view.document_ordinals(self.document_ids)
            passing[ordinals[ordinals >= 0]] = True
            documents = documents & passing
            chunks = chunks & documents[view.chunk_documents]
        if self.min_quality > 0.0:
            chunks = chunks & (view.chunk_quality >= self.min_quality)
            with_chunk = view.document_counts == 0
            with_chunk[view.chunk_documents[chunks]] = True
            documents = documents & with_chunk
        return chunks, documents


def _picked(mask: Mask, ordinals: NDArray[Any]) -> Mask:
    if not len(mask):
        return np.zeros(len(ordinals), dtype=np.bool_)
    picked: Mask = mask[ordinals] & (ordinals >= 0)
    return picked
