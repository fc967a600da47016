"""Ranking to hits: one batched read, expansion, spans on the final content, lines and absolute paths.

What is shown may grow by expansion; score, order and path never change here.  A chunk that is gone from the snapshot,
or whose collection is gone from the configuration, is left out.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol
from urllib.parse import quote_from_bytes

from groove_daemon.domain.document import DocumentId, Sibling, StoredChunk, StoredDocument
from groove_daemon.domain.hit import ByteSpan, Expansion, Hit
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate, Ranking
from groove_daemon.retrieval.corpus import Allowed, CorpusReader, VectorIndex
from groove_daemon.retrieval.duplicates import Copies
from groove_daemon.retrieval.spans import Segment, match_lines, match_spans

MAX_PLACES = 20
"""How many other places of a passage a hit names."""

_SPELLED = "bytes:"
"""Marks a path that is not valid UTF-8 on the disk: the rest is percent-encoded."""


class Shown(Protocol):
    """Content to show in place of a hit's own, the lines that it covers, where it came from, and its segments."""

    @property
    def content(self) -> str:
        """The text."""
        ...

    @property
    def line_start(self) -> int:
        """First line of the file, from 1."""
        ...

    @property
    def line_end(self) -> int:
        """Last line of the file, inclusive."""
        ...

    @property
    def expansion(self) -> Expansion:
        """Which chunks it was made of."""
        ...

    @property
    def segments(self) -> Sequence[Segment]:
        """Where each chunk's text begins in the content, and on which line of the file; the first one at 0."""
        ...


Matches = tuple[tuple[ByteSpan, ...] | None, tuple[int, ...]]
"""Spans in shown content, and the lines on which they begin."""

Expand = Callable[[StoredChunk, Sequence[Sibling]], Shown]
"""A hit and all chunks of its document, in order, to what is shown."""


def present(
    ranking: Ranking, query: Query, *, reader: CorpusReader, roots: Mapping[str, str], expand: Expand | None = None
) -> tuple[Hit, ...]:
    """Make a ranking presentable.

    Args:
        ranking: what to show, in this order.
        query: for the spans.
        reader: the snapshot that the ranking came from.
        roots: the folder of each collection, by name.
        expand: shows more of the document; None shows the chunk alone.
    """
    found = reader.chunks([candidate.chunk_id for candidate in ranking])
    chunks = {chunk_id: chunk for chunk_id, chunk in found.items() if chunk.document.collection in roots}
    documents: Mapping[DocumentId, Sequence[Sibling]] = {}
    if expand is not None:
        documents = reader.siblings(list({chunk.document.document_id for chunk in chunks.values()}))

    matches: dict[tuple[DocumentId, Expansion], Matches] = {}

    def matches_in(shown: Shown, document_id: DocumentId) -> Matches:
        # Hits of one document often grow to the same stretch of it.
        key = (document_id, shown.expansion)
        if key not in matches:
            matches[key] = _matches(shown.content, query, shown.segments)
        return matches[key]

    def hit(candidate: Candidate) -> Hit:
        chunk = chunks[candidate.chunk_id]
        document_id = chunk.document.document_id
        if expand is None:
            shown = None
            found = _matches(chunk.content, query, (Segment(0, chunk.line_start),))
        else:
            shown = expand(chunk, documents[document_id])
            found = matches_in(shown, document_id)
        return _hit(candidate, chunk, found, path=absolute_path(chunk.document, roots), shown=shown)

    shown = [candidate for candidate in ranking if candidate.chunk_id in chunks]
    counts = Counter(chunks[candidate.chunk_id].document.document_id for candidate in shown)

    def hit_with_rest(candidate: Candidate) -> Hit:
        made = hit(candidate)
        more = candidate.in_document - counts[made.chunk.document.document_id]
        return replace(made, more_in_document=more) if more > 0 else made

    return tuple(hit_with_rest(candidate) for candidate in shown)


def with_copies(
    hits: Sequence[Hit],
    *,
    reader: CorpusReader,
    vectors: VectorIndex,
    allowed: Allowed,
    roots: Mapping[str, str],
    known: Copies | None = None,
) -> tuple[Hit, ...]:
    """Hits that say where else their passage stands: the first `MAX_PLACES` by collection and path, and how many.

    Args:
        hits: what is shown.
        reader: the snapshot that the hits came from.
        vectors: the vector space, which knows copies.
        allowed: what the query may see; nothing else is named.
        roots: the folder of each collection, by name; places in others are left out.
        known: copies that have another passage.
    """
    groups = {hit.chunk.chunk_id: [hit.chunk.chunk_id, *(known or {}).get(hit.chunk.chunk_id, ())] for hit in hits}
    same = vectors.copies_of([chunk_id for group in groups.values() for chunk_id in group], allowed=allowed)
    copies = {
        key: {*group, *(other for chunk_id in group for other in same.get(chunk_id, ()))} - {key}
        for key, group in groups.items()
    }
    found = reader.places([other for others in copies.values() for other in others]) if any(copies.values()) else {}
    places = {chunk_id: place for chunk_id, place in found.items() if place.collection in roots}

    def completed(hit: Hit) -> Hit:
        own = [places[other] for other in copies.get(hit.chunk.chunk_id, ()) if other in places]
        if not own:
            return hit
        own.sort(key=lambda place: (place.collection, place.path, place.line_start))
        return replace(hit, also_in=tuple(own[:MAX_PLACES]), also_in_count=len(own))

    return tuple(map(completed, hits))


def _matches(content: str, query: Query, segments: Sequence[Segment]) -> Matches:
    spans = match_spans(content, query)
    return spans, match_lines(content, spans, segments)


def _hit(candidate: Candidate, chunk: StoredChunk, matches: Matches, *, path: str, shown: Shown | None) -> Hit:
    spans, lines = matches
    return Hit(
        chunk=chunk,
        score=candidate.score,
        content=shown.content if shown else chunk.content,
        line_start=shown.line_start if shown else chunk.line_start,
        line_end=shown.line_end if shown else chunk.line_end,
        absolute_path=path,
        match_spans=spans,
        match_lines=lines,
        expanded_from=shown.expansion if shown else None,
        evidence=candidate.evidence,
    )


def absolute_path(document: StoredDocument, roots: Mapping[str, str]) -> str:
    """The file's path; in the spelling of its relative path, so percent-encoded as a whole when that one is."""
    root = roots[document.collection].rstrip("/")
    if document.path.startswith(_SPELLED):
        encoded = quote_from_bytes(root.encode("utf-8", "surrogateescape"))
        return f"{_SPELLED}{encoded}/{document.path.removeprefix(_SPELLED)}"
    return f"{root}/{document.path}"
