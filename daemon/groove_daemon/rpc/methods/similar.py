"""What is near a document, a chunk or a text."""

from dataclasses import replace

from groove_daemon.errors import InvalidParams
from groove_daemon.retrieval.similar import Kind, SimilarCall, Source
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.documents import document_fields, find_chunk, find_document, root_of
from groove_daemon.rpc.methods.filters import check_collections, to_filters
from groove_daemon.rpc.methods.search import hit_fields
from groove_wire import messages as m


def similar(call: Call, request: m.SimilarRequest) -> m.SimilarResponse:
    """Find what is near."""
    if sum(value is not None for value in (request.path, request.id, request.text)) != 1:
        raise InvalidParams("path: give exactly one of path, id and text", field="path")
    collections = call.daemon.collections()
    check_collections(request.collections, collections)
    source = _source(call, request)
    result = call.daemon.similar(
        SimilarCall(
            source,
            _kind(request),
            limit=request.limit,
            filters=replace(to_filters(request), min_quality=request.min_quality),
        )
    )
    call.notes.update(documents=len(result.documents), chunks=len(result.chunks), generation=result.generation)
    return m.SimilarResponse(
        documents=tuple(
            m.SimilarDocument(
                near.score, document_fields(near.document, root_of(near.document.collection, collections))
            )
            for near in result.documents
        ),
        chunks=tuple(hit_fields(hit, explain=False) for hit in result.chunks),
        without_vector=result.without_vector,
        generation=result.generation,
    )


def _source(call: Call, request: m.SimilarRequest) -> Source:
    if request.text is not None:
        return request.text
    reader = call.reader()
    with reader.snapshot():
        if request.path is None:
            assert request.id is not None
            return find_chunk(reader, request.id)
        return find_document(reader, request.path, collection=request.collection, collections=call.daemon.collections())


def _kind(request: m.SimilarRequest) -> Kind:
    if request.kind is not None:
        return "documents" if request.kind == "documents" else "chunks"
    return "documents" if request.path is not None else "chunks"
