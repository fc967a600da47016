"""Reading the index: filters, full text, documents and chunks.

What always holds: a reader has a connection of its own that cannot write, belongs to one thread, and never waits for
the writer.  Filters are part of each search, so a search that admits ten chunks of a million returns those ten.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from groove_daemon.domain.document import ChunkId, DocumentId, Sibling, StoredChunk, StoredDocument
from groove_daemon.domain.hit import Place
from groove_daemon.domain.query import Filters
from groove_daemon.errors import Cancelled, NotIndexed, StoreCorrupt, StoreError, StoreFull, StoreLocked
from groove_daemon.store import lexical
from groove_daemon.store.connection import Database, Row, int_array
from groove_daemon.store.consistency import disagreements
from groove_daemon.store.failures import read_failures
from groove_daemon.store.filters import Allowed, matching_documents
from groove_daemon.store.full_text import Health
from groove_daemon.store.numbers import to_stat
from groove_daemon.store.records import CollectionCounts, Counts, DocumentProblem, FailureRecord, TopicRecord
from groove_daemon.store.sampling import PhraseSample
from groove_daemon.store.state import read_calibration, read_generation
from groove_daemon.store.vectors import VectorSpace
from groove_daemon.store.view import Ids, Mask, as_ids

EVEN_WEIGHTS = (1.0, 1.0, 1.0)

# A list of row ids costs less than ranking what it leaves out, up to this share of all rows or this many.
_LIST_SHARE = 4
_LIST_ROWS = 4096
_WIDEN = 4

_DOCUMENT_COLUMNS = (
    "d.document_id, k.name, d.path, d.title, d.topic, d.category, d.date, d.tags, d.format,"
    " d.size_bytes, d.mtime_ns, d.ctime_ns, d.inode, d.indexed_at,"
    " (SELECT count(*) FROM chunks x WHERE x.document_id = d.document_id)"
)
_SELECT_DOCUMENTS = f"SELECT {_DOCUMENT_COLUMNS} FROM documents d JOIN collections k USING (collection_id)"
_SELECT_CHUNKS = (
    "SELECT c.document_id, c.chunk_id, c.position, c.heading, c.level, c.heading_path, c.context, c.content,"
    " c.line_start, c.line_end, c.byte_start, c.byte_end, c.token_count, c.quality, c.created_at, e.state = 'ready'"
    " FROM chunks c JOIN embeddings e USING (slot)"
)
_SELECT_SIBLINGS = (
    "SELECT document_id, chunk_id, position, level, content, line_start, line_end, byte_start, byte_end, token_count"
    " FROM chunks WHERE document_id IN (SELECT value FROM carray(?)) ORDER BY document_id, position"
)
# As `Sibling._make`, in a third of the time: that is a function of Python, and an answer may read hundreds.
_as_sibling: Callable[[Row], Sibling] = partial(tuple.__new__, Sibling)
_SELECT_COUNTS = """
    SELECT k.name,
           (SELECT count(*) FROM documents d WHERE d.collection_id = k.collection_id),
           count(c.chunk_id), total(e.state = 'ready'), total(e.state = 'pending'), total(e.state = 'bad')
    FROM collections k
    LEFT JOIN documents d USING (collection_id)
    LEFT JOIN chunks c USING (document_id)
    LEFT JOIN embeddings e ON e.slot = c.slot
    GROUP BY k.collection_id ORDER BY k.name
"""


class Reader:
    """One thread's view of the index.

    Args:
        database: a connection of its own.
        space: the resident arrays.
        health: where damage of the full-text tables is noted for the writer.
        sample: the shared sample for phrase frequencies.
    """

    def __init__(self, database: Database, space: VectorSpace, *, health: Health, sample: PhraseSample) -> None:
        self.database = database
        self._space = space
        self._health = health
        self._sample = sample

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Everything inside sees one committed state of the index, whose generation it yields."""
        with self.database.read_transaction():
            yield read_generation(self.database)

    def interrupt(self) -> None:
        """From another thread: stop the statement that runs; it raises `Cancelled` there."""
        self.database.interrupt()

    def close(self) -> None:
        """Close the connection; a statement that still runs is stopped."""
        self.database.interrupt()
        self.database.close()

    # ---- filters and full text ----

    def allowed(self, filters: Filters) -> Allowed:
        """What a query with these filters may see.

        Raises:
            InvalidParams: a path glob is malformed.
        """
        documents = matching_documents(self.database, filters) if filters.restricts_documents else None
        return Allowed(self._space.view(), min_quality=filters.min_quality, document_ids=documents)

    def trigram(
        self,
        phrases: Sequence[str],
        exclusions: Sequence[str],
        *,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float] = EVEN_WEIGHTS,
    ) -> Sequence[tuple[ChunkId, float]]:
        """The best allowed chunks that hold any phrase and no exclusion, as substrings; bm25, lower is better.

        Args:
            phrases: literal texts; those under three characters match nothing here.
            exclusions: literal texts of the same kind.
            limit: how many at most.
            allowed: what may be returned.
            weights: of heading, context and content.

        Raises:
            StoreCorrupt: full text is damaged; the other searches still work, and the writer repairs it.
            Cancelled: `interrupt` was called.
        """
        expression = lexical.phrase_expression(phrases, exclusions)
        return self._ranked_chunks("chunks_trigram", expression, limit, allowed, weights)

    def chunk_words(
        self,
        words: Sequence[str],
        excluded: Sequence[str],
        *,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float] = EVEN_WEIGHTS,
        every: bool = False,
    ) -> Sequence[tuple[ChunkId, float]]:
        """The same by whole words of any length, without regard to case and diacritics; raises the same.

        With `every`, a chunk has to hold all of the words.
        """
        expression = lexical.word_expression(words, excluded, every=every)
        return self._ranked_chunks("chunks_words", expression, limit, allowed, weights)

    def document_words(
        self,
        words: Sequence[str],
        excluded: Sequence[str],
        *,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float] = EVEN_WEIGHTS,
    ) -> Sequence[tuple[DocumentId, float]]:
        """The best documents by stems of words; `weights` of names, headings and body; raises the same."""
        expression = lexical.word_expression(words, excluded)
        rows = self._ranked(
            "documents_words",
            expression,
            limit,
            weights,
            _Restriction(allowed.allowed_document_ids, allowed.admits_documents, len(allowed.view.document_ids))
            if not allowed.everything
            else None,
        )
        return [(DocumentId(row_id), score) for row_id, score in rows]

    def excluded_chunks(self, exclusions: Sequence[str], *, words: Sequence[str] = ()) -> frozenset[ChunkId]:
        """All chunks that hold any of the exclusions as substrings, or any of `words` as words; raises the same."""
        found: set[int] = set()
        with self._full_text():
            if by_phrase := lexical.phrase_expression(exclusions):
                found.update(lexical.matching_rows(self.database, "chunks_trigram", by_phrase))
            if by_word := lexical.word_expression(words):
                found.update(lexical.matching_rows(self.database, "chunks_words", by_word))
        return frozenset(ChunkId(row_id) for row_id in found)

    def known_words(self, words: Sequence[str], *, allowed: Allowed) -> frozenset[str]:
        """Those of `words` that stand as whole words in any chunk of the allowed documents; raises the same.

        A word with several tokens stands where they stand side by side.
        """
        with self._full_text():
            # The least quality is no reason to look at every chunk's id: few chunks are below it.
            within = None if allowed.document_ids is None else allowed.chunk_ids
            return lexical.words_found(self.database, words, within=within)

    def phrase_frequencies(self, phrases: Sequence[str]) -> Mapping[str, float]:
        """The estimated share of all chunks that hold each phrase, 0 to 1."""
        generation = read_generation(self.database)
        return self._sample.shares(self.database, self._space.view(), generation, phrases)

    def _ranked_chunks(
        self,
        table: lexical.Table,
        expression: str | None,
        limit: int,
        allowed: Allowed,
        weights: tuple[float, float, float],
    ) -> Sequence[tuple[ChunkId, float]]:
        restriction = None
        if not allowed.everything:
            restriction = _Restriction(allowed.chunk_ids, allowed.admits_chunks, allowed.view.chunk_count)
        rows = self._ranked(table, expression, limit, weights, restriction)
        return [(ChunkId(row_id), score) for row_id, score in rows]

    def _ranked(
        self,
        table: lexical.Table,
        expression: str | None,
        limit: int,
        weights: tuple[float, float, float],
        restriction: "_Restriction | None",
    ) -> list[tuple[int, float]]:
        if expression is None or limit <= 0 or (restriction is not None and not len(restriction.ids)):
            return []
        with self._full_text():
            if restriction is None:
                return lexical.ranked_rows(self.database, table, expression, weights=weights, limit=limit)
            if restriction.is_selective:
                return lexical.ranked_rows(
                    self.database, table, expression, weights=weights, limit=limit, within=restriction.ids
                )
            return self._widening(table, expression, limit, weights, restriction)

    def _widening(
        self,
        table: lexical.Table,
        expression: str,
        limit: int,
        weights: tuple[float, float, float],
        restriction: "_Restriction",
    ) -> list[tuple[int, float]]:
        """Ask for more rows than wanted, drop what is not allowed, and ask again for more while there are too few."""
        depth = limit + limit * (restriction.total - len(restriction.ids)) // len(restriction.ids) + _WIDEN
        while True:
            rows = lexical.ranked_rows(self.database, table, expression, weights=weights, limit=depth)
            is_admitted = restriction.admits(as_ids(row[0] for row in rows))
            admitted = [row for row, is_in in zip(rows, is_admitted, strict=True) if is_in]
            if len(admitted) >= limit or len(rows) < depth:
                return admitted[:limit]
            depth *= _WIDEN

    @contextmanager
    def _full_text(self) -> Iterator[None]:
        """Whatever goes wrong in full text, beyond a busy or full disk, is damage that the writer can repair."""
        try:
            yield
        except (Cancelled, StoreLocked, StoreFull):
            raise
        except StoreError as error:
            self._health.is_damaged = True
            raise StoreCorrupt(
                f"full text is damaged: {error.message}", hint="it is rebuilt with the next change", **error.data
            ) from error

    # ---- documents and chunks ----

    def chunks(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """The chunks that exist, in the order asked for."""
        rows = self.database.rows(
            f"{_SELECT_CHUNKS} WHERE c.chunk_id IN (SELECT value FROM carray(?))", (int_array(chunk_ids),)
        )
        found = {chunk.chunk_id: chunk for chunk in self._stored_chunks(rows)}
        return {chunk_id: found[chunk_id] for chunk_id in chunk_ids if chunk_id in found}

    def chunk(self, chunk_id: ChunkId) -> StoredChunk:
        """One chunk.

        Raises:
            NotIndexed: there is no such chunk.
        """
        found = self.chunks([chunk_id])
        if chunk_id not in found:
            raise NotIndexed(f"there is no chunk {chunk_id}", chunk_id=chunk_id)
        return found[chunk_id]

    def same_texts(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, ChunkId]:
        """The chunks whose content is that of an earlier one of the list, whatever stands above it: to the first."""
        # Of some hundred chunks most have a size in common with another, so asking for sizes first would cost more; and
        # a join in this order looks each chunk up once, where IN sorts the list before.
        texts: dict[ChunkId, str] = dict(
            self.database.rows(
                "SELECT c.chunk_id, c.content FROM carray(?) AS a CROSS JOIN chunks AS c ON c.chunk_id = a.value",
                (int_array(chunk_ids),),
            )
        )
        if len(set(texts.values())) == len(texts):
            return {}
        first: dict[str, ChunkId] = {}
        firsts = {chunk_id: first.setdefault(texts[chunk_id], chunk_id) for chunk_id in chunk_ids if chunk_id in texts}
        return {chunk_id: earlier for chunk_id, earlier in firsts.items() if earlier != chunk_id}

    def places(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, Place]:
        """Where the chunks stand that exist, without reading their text."""
        rows = self.database.rows(
            "SELECT c.chunk_id, k.name, d.path, c.line_start FROM chunks c"
            " JOIN documents d USING (document_id) JOIN collections k USING (collection_id)"
            " WHERE c.chunk_id IN (SELECT value FROM carray(?))",
            (int_array(chunk_ids),),
        )
        return {ChunkId(row[0]): Place(row[1], row[2], row[3]) for row in rows}

    def access_counts(self, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, int]:
        """How often the passages of these chunks were returned; those that never were are missing."""
        rows = self.database.rows(
            "SELECT c.chunk_id, a.count FROM chunks c JOIN accesses a USING (embed_key)"
            " WHERE c.chunk_id IN (SELECT value FROM carray(?))",
            (int_array(chunk_ids),),
        )
        return {ChunkId(row[0]): row[1] for row in rows}

    def document(self, collection: str, path: str) -> StoredDocument | None:
        """The document at a path, or None."""
        row = self.database.row(f"{_SELECT_DOCUMENTS} WHERE k.name = ? AND d.path = ?", (collection, path))
        return None if row is None else _stored_document(row)

    def documents_by_id(self, document_ids: Sequence[DocumentId]) -> dict[DocumentId, StoredDocument]:
        """The documents that exist."""
        rows = self.database.rows(
            f"{_SELECT_DOCUMENTS} WHERE d.document_id IN (SELECT value FROM carray(?))", (int_array(document_ids),)
        )
        return {DocumentId(row[0]): _stored_document(row) for row in rows}

    def document_chunks(self, document_id: DocumentId) -> Sequence[StoredChunk]:
        """All chunks of a document, in order; none when it does not exist."""
        return self._stored_chunks(
            self.database.rows(f"{_SELECT_CHUNKS} WHERE c.document_id = ? ORDER BY c.position", (document_id,))
        )

    def siblings(self, document_ids: Sequence[DocumentId]) -> dict[DocumentId, list[Sibling]]:
        """All chunks of each of these documents, in order, in one read; a document that does not exist has none."""
        found: dict[DocumentId, list[Sibling]] = {document_id: [] for document_id in document_ids}
        for sibling in map(_as_sibling, self.database.rows(_SELECT_SIBLINGS, (int_array(document_ids),))):
            found[sibling.document_id].append(sibling)
        return found

    def documents(self, filters: Filters, *, offset: int, limit: int) -> tuple[int, Sequence[StoredDocument]]:
        """How many documents pass (quality has no part in it), and a page of them by collection and path."""
        ids = matching_documents(self.database, filters)
        rows = self.database.rows(
            f"{_SELECT_DOCUMENTS} WHERE d.document_id IN (SELECT value FROM carray(?))"
            " ORDER BY k.name, d.path LIMIT ? OFFSET ?",
            (int_array(ids), max(limit, 0), max(offset, 0)),
        )
        return len(ids), [_stored_document(row) for row in rows]

    def topics(self, filters: Filters) -> Sequence[TopicRecord]:
        """The documents that pass, by category and topic."""
        rows = self.database.rows(
            "SELECT category, topic, title, mtime_ns FROM documents"
            " WHERE document_id IN (SELECT value FROM carray(?)) ORDER BY category, topic, title",
            (int_array(matching_documents(self.database, filters)),),
        )
        groups: defaultdict[tuple[str | None, str | None], list[Row]] = defaultdict(list)
        for category, topic, title, mtime_ns in rows:
            groups[category, topic].append((title, int(mtime_ns)))
        return [
            TopicRecord(
                category, topic, len(found), max(mtime for _, mtime in found) / 1e9, tuple(title for title, _ in found)
            )
            for (category, topic), found in groups.items()
        ]

    def calibration(self) -> str | None:
        """What was learned about confidence, as `Writer.store_calibration` got it; None when nothing was."""
        return read_calibration(self.database)

    def counts(self) -> Counts:
        """Sizes of the index and of each collection."""
        collections = {
            row[0]: CollectionCounts(*(int(number) for number in row[1:])) for row in self.database.rows(_SELECT_COUNTS)
        }
        each = collections.values()
        return Counts(
            documents=sum(one.documents for one in each),
            chunks=sum(one.chunks for one in each),
            vectors=sum(one.vectors for one in each),
            pending=sum(one.pending for one in each),
            unembeddable=sum(one.unembeddable for one in each),
            collections=collections,
        )

    def failures(self) -> Sequence[FailureRecord]:
        """Files that should be in the index and are not, by collection and path."""
        return read_failures(self.database)

    def document_problems(self) -> Sequence[DocumentProblem]:
        """What could not be understood in documents that are in the index, by collection and path."""
        rows = self.database.rows(
            "SELECT c.name, d.path, p.value FROM documents AS d JOIN collections AS c USING (collection_id),"
            " json_each(d.problems) AS p WHERE d.problems != '[]' ORDER BY c.name, d.path, p.key"
        )
        return [DocumentProblem(*row) for row in rows]

    def disagreements(self) -> Sequence[str]:
        """Rules of the index that do not hold, one line each; empty when all is well.  For diagnosis: reads much."""
        with self.snapshot():
            return disagreements(self.database)

    def _stored_chunks(self, rows: Sequence[Row]) -> list[StoredChunk]:
        documents = self.documents_by_id(list({DocumentId(row[0]) for row in rows}))
        return [_stored_chunk(row, documents[DocumentId(row[0])]) for row in rows if row[0] in documents]


class _Restriction:
    """The rows that a search may return, of `total`."""

    def __init__(self, ids: Ids, admits: Callable[[Ids], Mask], total: int) -> None:
        self.ids = ids
        self.admits = admits
        self.total = total

    @property
    def is_selective(self) -> bool:
        """Whether naming the rows is cheaper than ranking others too."""
        return len(self.ids) <= _LIST_ROWS or len(self.ids) * _LIST_SHARE <= self.total


def _stored_document(row: Row) -> StoredDocument:
    document_id, collection, path, title, topic, category, date, tags, form = row[:9]
    return StoredDocument(
        document_id=DocumentId(document_id),
        collection=collection,
        path=path,
        title=title,
        topic=topic,
        category=category,
        date=date,
        tags=tuple(json.loads(tags)),
        format=form,
        stat=to_stat(*row[9:13]),
        indexed_at=row[13],
        chunk_count=row[14],
    )


def _stored_chunk(row: Row, document: StoredDocument) -> StoredChunk:
    return StoredChunk(
        chunk_id=ChunkId(row[1]),
        document=document,
        position=row[2],
        heading=row[3],
        level=row[4],
        heading_path=tuple(json.loads(row[5])),
        context=row[6],
        content=row[7],
        line_start=row[8],
        line_end=row[9],
        byte_start=row[10],
        byte_end=row[11],
        token_count=row[12],
        quality=row[13],
        created_at=row[14],
        has_vector=bool(row[15]),
    )
