"""Search, and reading what it found."""

from groove_daemon.domain.hit import Hit
from groove_daemon.errors import InvalidParams
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.documents import (
    chunk_fields,
    document_fields,
    file_uri,
    find_chunk,
    find_document,
    root_of,
)
from groove_daemon.rpc.methods.filters import check_collections, to_filters
from groove_daemon.search import Partial, SearchCall, SearchResult
from groove_wire import messages as m


def search(call: Call, request: m.SearchRequest) -> m.SearchResponse:
    """Run a search."""
    check_collections(request.collections, call.daemon.collections() if request.collections else ())
    call.reader()

    def tell(partial: Partial) -> None:
        hits = tuple(hit_fields(hit, explain=False) for hit in partial.hits)
        call.notify("partial", m.PartialNotification(call.msgid, partial.stage, hits))

    result = call.daemon.search(_to_call(request), call.token.is_cancelled, tell if request.stream else None)
    call.notes.update(hits=len(result.hits), mode=result.mode, generation=result.generation, fresh=result.fresh)
    return _to_response(result, explain=request.explain)


def _to_call(request: m.SearchRequest) -> SearchCall:
    return SearchCall(
        text=request.query,
        limit=request.limit,
        profile=request.profile,
        filters=to_filters(request),
        min_quality=request.min_quality,
        include_low_quality=request.include_low_quality,
        min_confidence_ratio=request.min_confidence_ratio,
        min_score=request.min_score,
        rerank=request.rerank,
        mmr=request.mmr,
        mmr_lambda=request.mmr_lambda,
        mmr_same_doc_penalty=request.mmr_same_doc_penalty,
        parent_retriever=request.parent_retriever,
        max_per_document=request.max_per_document,
        freshness="none" if request.freshness == "none" else "sync",
        within_ms=request.within_ms,
        explain=request.explain,
    )


def _to_response(result: SearchResult, *, explain: bool) -> m.SearchResponse:
    steps = tuple(
        m.StageStep(step.stage, step.status, step.took_ms, step.size_in, step.size_out, step.reason or None)
        for step in result.steps
    )
    return m.SearchResponse(
        results=tuple(hit_fields(hit, explain=explain) for hit in result.hits),
        low_confidence=result.low_confidence,
        confidence=result.confidence,
        filter_applied=result.filter_applied,
        mode=result.mode,
        degraded=tuple(m.DegradedStage(stage.stage, stage.reason) for stage in result.degraded),
        warnings=result.warnings,
        generation=result.generation,
        fresh=result.fresh,
        pending_vectors=result.pending_vectors,
        profile=result.profile,
        took_ms=result.took_ms,
        stale_reason=None if result.fresh else result.stale_reason,
        steps=steps if explain else None,
    )


def hit_fields(hit: Hit, *, explain: bool) -> m.SearchHit:
    """A hit as it travels; with `explain` its evidence too."""
    chunk, document = hit.chunk, hit.chunk.document
    spans = None if hit.match_spans is None else tuple(m.Span(span.start, span.end) for span in hit.match_spans)
    also_in = tuple(m.OtherPlace(place.collection, place.path, place.line_start) for place in hit.also_in)
    evidence = None
    if explain:
        evidence = tuple(m.StageEvidence(item.stage, item.rank, float(item.score)) for item in hit.evidence)
    return m.SearchHit(
        id=chunk.chunk_id,
        score=float(hit.score),
        collection=document.collection,
        path=document.path,
        absolute_path=hit.absolute_path,
        title=document.title,
        tags=document.tags,
        format=document.format,
        line_start=hit.line_start,
        line_end=hit.line_end,
        content=hit.content,
        uri=file_uri(hit.absolute_path),
        heading_path=chunk.heading_path,
        heading=chunk.heading,
        topic=document.topic,
        category=document.category,
        date=document.date,
        match_spans=spans,
        match_lines=None if spans is None else hit.match_lines,
        expanded_from=_to_expanded_from(hit),
        stale=True if hit.stale else None,
        also_in=also_in or None,
        also_in_count=hit.also_in_count or None,
        more_in_document=hit.more_in_document or None,
        evidence=evidence,
    )


def _to_expanded_from(hit: Hit) -> m.ExpandedFrom | None:
    origin = hit.expanded_from
    if origin is None:
        return None
    return m.ExpandedFrom(origin.kind, origin.from_position, origin.to_position, origin.total_chunks)


def get_chunk(call: Call, request: m.GetChunkRequest) -> m.GetChunkResponse:
    """Return a chunk by its id, or the one that covers a line."""
    if (request.id is None) == (request.path is None):
        raise InvalidParams("id: give either id or path", field="id")
    reader, collections = call.reader(), call.daemon.collections()
    with reader.snapshot() as generation:
        if request.path is None:
            assert request.id is not None
            chunk = find_chunk(reader, request.id)
        else:
            document = find_document(reader, request.path, collection=request.collection, collections=collections)
            chunks = reader.document_chunks(document.document_id)
            if not chunks:
                raise InvalidParams(f"path: {request.path!a} has no text", field="path")
            line = request.line or 1
            chunk = next((chunk for chunk in chunks if chunk.line_end >= line), chunks[-1])
    root = root_of(chunk.document.collection, collections)
    return m.GetChunkResponse(chunk_fields(chunk), document_fields(chunk.document, root), generation)


def get_document(call: Call, request: m.GetDocumentRequest) -> m.GetDocumentResponse:
    """Return the text of a document, or some of its lines."""
    if (request.id is None) == (request.path is None):
        raise InvalidParams("id: give either id or path", field="id")
    if request.line_start and request.line_end and request.line_end < request.line_start:
        raise InvalidParams("line_end: must not be before line_start", field="line_end")
    reader, collections = call.reader(), call.daemon.collections()
    with reader.snapshot() as generation:
        if request.path is None:
            assert request.id is not None
            document = find_chunk(reader, request.id).document
        else:
            document = find_document(reader, request.path, collection=request.collection, collections=collections)
    text = call.daemon.document_text(document)
    content, first, last = lines_of(text, request.line_start or 1, request.line_end)
    fields = document_fields(document, root_of(document.collection, collections))
    return m.GetDocumentResponse(fields, content, first, last, generation)


def lines_of(text: str, first: int, last: int | None) -> tuple[str, int, int]:
    """Lines `first` to `last` of a text, cut at line feeds alone, and the numbers of the lines that there were.

    Both numbers are 0 when there is no such line.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        # The line feed that ends a file does not begin a line.
        lines.pop()
    end = len(lines) if last is None else min(last, len(lines))
    if first > end:
        return "", 0, 0
    piece = "\n".join(lines[first - 1 : end])
    return (piece + "\n" if end < len(lines) or text.endswith("\n") else piece), first, end


def list_documents(call: Call, request: m.ListDocumentsRequest) -> m.ListDocumentsResponse:
    """Return one page of the documents that fit."""
    reader, collections = call.reader(), call.daemon.collections()
    check_collections(request.collections, collections)
    with reader.snapshot() as generation:
        total, documents = reader.documents(to_filters(request), offset=request.offset, limit=request.limit)
    fields = tuple(document_fields(document, root_of(document.collection, collections)) for document in documents)
    return m.ListDocumentsResponse(fields, total, generation)
