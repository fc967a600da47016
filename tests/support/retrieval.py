"""A corpus in memory, canned stages and small builders for tests of retrieval.

`MemoryCorpus` implements what retrieval asks of a reader and of the vector space, by plain loops over a few notes:
full text is substring and word search, vectors are given by hand.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import apsw
import numpy as np

from groove_daemon.domain.document import ChunkId, DocumentId, FileStat, Sibling, StoredChunk, StoredDocument
from groove_daemon.domain.hit import Place
from groove_daemon.domain.query import Filters, Query
from groove_daemon.domain.ranking import Candidate, Evidence, Ranking, ranked
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.base import Matrix, Vector
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.trace import Trace


@dataclass(frozen=True)
class Note:
    """A document: its title and its chunks; vectors are optional."""

    title: str
    chunks: tuple["Passage", ...]
    title_vector: tuple[float, ...] | None = None
    collection: str = "notes"
    topic: str | None = None

    @property
    def path(self) -> str:
        return f"{self.title}.md"


@dataclass(frozen=True)
class Passage:
    """A chunk of a note."""

    content: str
    vector: tuple[float, ...] | None = None
    heading: str | None = None
    quality: float = 1.0
    created_at: float = 0.0


def note(title: str, *contents: str, topic: str | None = None, collection: str = "notes") -> Note:
    """A note without vectors."""
    return Note(title, tuple(Passage(content) for content in contents), topic=topic, collection=collection)


def make_chunk(
    chunk_id: int = 1,
    content: str = "an owl",
    *,
    position: int = 0,
    line_start: int = 1,
    document_id: int = 1,
    path: str = "owl.md",
    collection: str = "notes",
    quality: float = 1.0,
    heading: str | None = None,
    context: str | None = None,
    created_at: float = 0.0,
) -> StoredChunk:
    """A stored chunk with a document of its own."""
    document = StoredDocument(
        document_id=DocumentId(document_id),
        collection=collection,
        path=path,
        title=path.removesuffix(".md"),
        topic=None,
        category=None,
        date=None,
        tags=(),
        format="md",
        stat=FileStat(size_bytes=len(content), mtime_ns=0),
        indexed_at=0.0,
        chunk_count=1,
    )
    return StoredChunk(
        chunk_id=ChunkId(chunk_id),
        document=document,
        position=position,
        heading=heading,
        level=None,
        heading_path=(),
        context=context,
        content=content,
        line_start=line_start,
        line_end=line_start + content.count("\n"),
        byte_start=0,
        byte_end=len(content.encode()),
        token_count=None,
        quality=quality,
        created_at=created_at,
        has_vector=False,
    )


def as_sibling(chunk: StoredChunk) -> Sibling:
    """A stored chunk as one of its document's."""
    return Sibling(chunk.document.document_id, *(getattr(chunk, name) for name in Sibling._fields[1:]))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _occurrences(text: str, words: Sequence[str]) -> int:
    """How often any of `words` stands in `text`; a word of several tokens must stand there side by side."""
    tokens = _words(text)
    count = 0
    for word in words:
        wanted = _words(word)
        count += sum(
            tokens[start : start + len(wanted)] == wanted for start in range(len(tokens) - len(wanted) + 1) if wanted
        )
    return count


class MemoryAllowed(frozenset[ChunkId]):
    """The chunks that a query may see."""

    def admits_chunks(self, chunk_ids: Iterable[int]) -> list[bool]:
        return [chunk_id in self for chunk_id in chunk_ids]


class MemoryDatabase:
    """The stored texts as a table, for statements that scan it."""

    def __init__(self, chunks: Iterable[StoredChunk]) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute("CREATE TABLE chunks (chunk_id INTEGER PRIMARY KEY, context TEXT, content TEXT)")
        self._connection.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?)", [(chunk.chunk_id, chunk.context, chunk.content) for chunk in chunks]
        )

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        return self._connection.execute(sql, values).fetchall()


class MemoryCorpus:
    """Reader and vector space over notes.  Document ids and chunk ids count from 1 in the given order."""

    def __init__(self, *notes: Note, accesses: Mapping[int, int] | None = None) -> None:
        self.calls: list[str] = []
        self._accesses = accesses or {}
        self._chunks: dict[ChunkId, StoredChunk] = {}
        self._passages: dict[ChunkId, Passage] = {}
        self._notes = {DocumentId(number): entry for number, entry in enumerate(notes, start=1)}
        for document_id, entry in self._notes.items():
            for position, passage in enumerate(entry.chunks):
                chunk_id = ChunkId(len(self._chunks) + 1)
                self._passages[chunk_id] = passage
                self._chunks[chunk_id] = make_chunk(
                    chunk_id,
                    passage.content,
                    position=position,
                    document_id=document_id,
                    path=entry.path,
                    collection=entry.collection,
                    quality=passage.quality,
                    heading=passage.heading,
                    created_at=passage.created_at,
                )

    # ---- reader ----

    @property
    def database(self) -> MemoryDatabase:
        return MemoryDatabase(self._chunks.values())

    def allowed(self, filters: Filters) -> MemoryAllowed:
        return MemoryAllowed(
            chunk_id
            for chunk_id, chunk in self._chunks.items()
            if chunk.quality >= filters.min_quality
            and filters.topic in (None, self._notes[chunk.document.document_id].topic)
            and (not filters.collections or chunk.document.collection in filters.collections)
        )

    def trigram(
        self,
        phrases: Sequence[str],
        exclusions: Sequence[str],
        *,
        limit: int,
        allowed: frozenset[ChunkId],
        weights: tuple[float, float, float],
    ) -> Sequence[tuple[ChunkId, float]]:
        self.calls.append("trigram")
        excluded = self.excluded_chunks(exclusions)
        scores = {
            chunk_id: -sum(
                weights[0] * (chunk.heading or "").lower().count(phrase.lower())
                + weights[2] * chunk.content.lower().count(phrase.lower())
                for phrase in phrases
            )
            for chunk_id, chunk in self._chunks.items()
            if chunk_id in allowed and chunk_id not in excluded
        }
        return _best(scores, limit)

    def chunk_words(
        self,
        words: Sequence[str],
        excluded: Sequence[str],
        *,
        limit: int,
        allowed: frozenset[ChunkId],
        weights: tuple[float, float, float],
        every: bool = False,
    ) -> Sequence[tuple[ChunkId, float]]:
        self.calls.append("chunk_words")
        scores = {
            chunk_id: -float(_occurrences(chunk.content, words))
            for chunk_id, chunk in self._chunks.items()
            if chunk_id in allowed
            and not _occurrences(chunk.content, excluded)
            and not (every and not all(_occurrences(chunk.content, (word,)) for word in words))
        }
        return _best(scores, limit)

    def document_words(
        self,
        words: Sequence[str],
        excluded: Sequence[str],
        *,
        limit: int,
        allowed: frozenset[ChunkId],
        weights: tuple[float, float, float],
    ) -> Sequence[tuple[DocumentId, float]]:
        self.calls.append("document_words")
        visible = {self._chunks[chunk_id].document.document_id for chunk_id in allowed}
        scores = {
            document_id: -float(_occurrences(" \n".join([entry.title, *(c.content for c in entry.chunks)]), words))
            for document_id, entry in self._notes.items()
            if document_id in visible
        }
        return _best(scores, limit)

    def excluded_chunks(self, exclusions: Sequence[str]) -> frozenset[ChunkId]:
        return frozenset(
            chunk_id
            for chunk_id, chunk in self._chunks.items()
            if any(exclusion.lower() in chunk.content.lower() for exclusion in exclusions)
        )

    def known_words(self, words: Sequence[str], *, allowed: MemoryAllowed) -> frozenset[str]:
        contents = [self._chunks[chunk_id].content for chunk_id in allowed]
        return frozenset(word for word in words if any(_occurrences(content, [word]) for content in contents))

    def phrase_frequencies(self, phrases: Sequence[str]) -> Mapping[str, float]:
        return {
            phrase: sum(phrase.lower() in chunk.content.lower() for chunk in self._chunks.values()) / len(self._chunks)
            for phrase in phrases
        }

    def chunks(self, ids: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        self.calls.append("chunks")
        return {chunk_id: self._chunks[chunk_id] for chunk_id in ids if chunk_id in self._chunks}

    def same_texts(self, ids: Sequence[ChunkId]) -> dict[ChunkId, ChunkId]:
        first: dict[str, ChunkId] = {}
        firsts = {key: first.setdefault(self._chunks[key].content, key) for key in ids if key in self._chunks}
        return {key: earlier for key, earlier in firsts.items() if earlier != key}

    def places(self, ids: Sequence[ChunkId]) -> dict[ChunkId, Place]:
        return {
            key: Place(chunk.document.collection, chunk.document.path, chunk.line_start)
            for key, chunk in self.chunks(ids).items()
        }

    def access_counts(self, ids: Sequence[ChunkId]) -> dict[ChunkId, int]:
        return {chunk_id: self._accesses[chunk_id] for chunk_id in ids if chunk_id in self._accesses}

    def siblings(self, document_ids: Sequence[DocumentId]) -> dict[DocumentId, list[Sibling]]:
        self.calls.append("siblings")
        found: dict[DocumentId, list[Sibling]] = {document_id: [] for document_id in document_ids}
        for chunk in self._chunks.values():
            if chunk.document.document_id in found:
                found[chunk.document.document_id].append(as_sibling(chunk))
        return found

    # ---- vectors ----

    @property
    def dimension(self) -> int:
        lengths = {len(passage.vector) for passage in self._passages.values() if passage.vector}
        return max(lengths, default=0)

    def scan(self, query: Vector) -> "MemorySimilarities":
        self.calls.append("scan")
        return MemorySimilarities(
            chunks={
                chunk_id: None if passage.vector is None else float(np.dot(query, passage.vector))
                for chunk_id, passage in self._passages.items()
            },
            titles={
                document_id: float(np.dot(query, entry.title_vector))
                for document_id, entry in self._notes.items()
                if entry.title_vector is not None
            },
            means={document_id: _mean_cosine(entry, query) for document_id, entry in self._notes.items()},
            documents=self.documents_of(list(self._chunks)),
        )

    def documents_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, DocumentId]:
        return {
            chunk_id: self._chunks[chunk_id].document.document_id for chunk_id in chunk_ids if chunk_id in self._chunks
        }

    def passages_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]:
        keys = {key: (chunk.heading, chunk.content) for key, chunk in self._chunks.items()}
        passages = list(dict.fromkeys(keys.values()))
        return {key: passages.index(keys[key]) for key in chunk_ids if key in keys}

    def copies_of(
        self, chunk_ids: Sequence[ChunkId], *, allowed: frozenset[ChunkId]
    ) -> Mapping[ChunkId, Sequence[ChunkId]]:
        passages = self.passages_of(list(self._chunks))
        copies = {
            key: sorted(other for other in allowed if other != key and passages[other] == passages[key])
            for key in chunk_ids
            if key in passages
        }
        return {key: others for key, others in copies.items() if others}

    def vectors_of(self, chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, Vector]:
        known = {chunk_id: self._passages[chunk_id].vector for chunk_id in chunk_ids if chunk_id in self._passages}
        return {key: np.asarray(vector, dtype=np.float32) for key, vector in known.items() if vector is not None}

    def rows_of(self, chunk_ids: Sequence[ChunkId]) -> Matrix:
        known = self.vectors_of(chunk_ids)
        nothing = np.zeros(self.dimension, dtype=np.float32)
        return np.array([known.get(key, nothing) for key in chunk_ids], dtype=np.float32).reshape(len(chunk_ids), -1)


def _mean_cosine(entry: Note, query: Vector) -> float | None:
    vectors = [passage.vector for passage in entry.chunks if passage.vector is not None]
    if not vectors:
        return None
    mean = np.mean(np.array(vectors), axis=0)
    return float(query @ mean / np.linalg.norm(mean))


@dataclass(frozen=True)
class MemorySimilarities:
    """Cosines of one query to the corpus."""

    chunks: Mapping[ChunkId, float | None]
    titles: Mapping[DocumentId, float]
    means: Mapping[DocumentId, float | None]
    documents: Mapping[ChunkId, DocumentId]

    def top_chunks(
        self, k: int, *, allowed: frozenset[ChunkId], excluded: frozenset[ChunkId]
    ) -> Sequence[tuple[ChunkId, float]]:
        scores = {
            chunk_id: -score
            for chunk_id, score in self.chunks.items()
            if score is not None and chunk_id in allowed - excluded
        }
        return [(chunk_id, -score) for chunk_id, score in sorted(scores.items(), key=lambda row: (row[1], row[0]))[:k]]

    def top_titles(self, k: int, *, allowed: frozenset[ChunkId]) -> Sequence[tuple[DocumentId, float]]:
        visible = {self.documents[chunk_id] for chunk_id in allowed}
        rows = [(document_id, score) for document_id, score in self.titles.items() if document_id in visible]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:k]

    def top_means(self, k: int, *, allowed: frozenset[ChunkId]) -> Sequence[tuple[DocumentId, float]]:
        visible = {self.documents[chunk_id] for chunk_id in allowed}
        rows = [(key, score) for key, score in self.means.items() if key in visible and score is not None]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:k]

    def best_chunks(
        self, document_ids: Sequence[DocumentId], *, allowed: frozenset[ChunkId], excluded: frozenset[ChunkId]
    ) -> Mapping[DocumentId, tuple[ChunkId, float]]:
        best: dict[DocumentId, tuple[ChunkId, float]] = {}
        for document_id in document_ids:
            own = [
                (chunk_id, self.chunks[chunk_id])
                for chunk_id in self.documents
                if self.documents[chunk_id] == document_id and chunk_id in allowed - excluded
            ]
            scored = [(chunk_id, score) for chunk_id, score in own if score is not None]
            if scored:
                best[document_id] = min(scored, key=lambda row: (-row[1], row[0]))
            elif own:
                best[document_id] = (own[0][0], 0.0)
        return best


def _best(scores: Mapping[int, float], limit: int) -> list[tuple[int, float]]:
    matching = [(key, score) for key, score in scores.items() if score < 0]
    return sorted(matching, key=lambda row: (row[1], row[0]))[:limit]


# ---- models ----


@dataclass
class FixedEmbedder:
    """Embeds the texts that it was given, and nothing else; counts how often it was asked."""

    vectors: Mapping[str, tuple[float, ...]]
    asked: int = 0
    fingerprint: str = "fixed"

    @property
    def dimension(self) -> int:
        return len(next(iter(self.vectors.values())))

    def embed_query(self, text: str) -> Vector:
        self.asked += 1
        if text not in self.vectors:
            raise ModelUnavailable(f"no vector for {text!r}")
        return np.asarray(self.vectors[text], dtype=np.float32)


@dataclass
class FixedScorer:
    """Scores passages by a table of texts that they contain; 0 for the rest; notes what it was asked for."""

    scores: Mapping[str, float]
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    fingerprint: str = "fixed scorer"

    def warm_up(self) -> None:
        """Nothing to load."""

    def release(self) -> None:
        """Nothing to give back."""

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        self.asked.append((query, tuple(passages)))
        return [next((score for text, score in self.scores.items() if text in passage), 0.0) for passage in passages]


# ---- canned stages ----


@dataclass(frozen=True)
class UniformRetriever:
    """Gives the same chunks for every query, in this order; scores fall by 1 from their number."""

    name: str
    chunk_ids: tuple[int, ...]

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        count = len(self.chunk_ids)
        return ranked(
            self.name, [(ChunkId(chunk_id), float(count - place)) for place, chunk_id in enumerate(self.chunk_ids)]
        )


@dataclass(frozen=True)
class SourceRetriever:
    """Replays a ranking by the query's text; nothing for a text that it does not know."""

    name: str
    rankings: Mapping[str, tuple[tuple[int, float], ...]] = field(hash=False)

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        rows = self.rankings.get(query.text, ())
        return ranked(self.name, [(ChunkId(chunk_id), score) for chunk_id, score in rows])


@dataclass(frozen=True)
class RaisingStage:
    """A retriever and refiner that raises."""

    name: str
    error: Exception

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        raise self.error

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        raise self.error


# ---- builders ----


def make_query(text: str = "owl", *, limit: int = 5, filters: Filters | None = None) -> Query:
    return compile_query(text, limit=limit, filters=filters)


def make_ranking(*scores: tuple[int, float], stage: str = "source") -> Ranking:
    """A ranking with one piece of evidence each, in the given order."""
    return tuple(
        Candidate(ChunkId(chunk_id), score, (Evidence(stage, rank, score),))
        for rank, (chunk_id, score) in enumerate(scores, start=1)
    )


def ids(ranking: Iterable[Candidate]) -> list[int]:
    return [candidate.chunk_id for candidate in ranking]
