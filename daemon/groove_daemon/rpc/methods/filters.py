"""Filters and scopes of requests as the domain has them."""

from collections.abc import Sequence

from groove_daemon.domain.query import Filters
from groove_daemon.errors import InvalidParams
from groove_daemon.rpc import moments
from groove_daemon.rpc.context import CollectionState
from groove_wire.messages import ListDocumentsRequest, SearchRequest, SimilarRequest

DocumentConditions = SearchRequest | ListDocumentsRequest | SimilarRequest


def to_filters(request: DocumentConditions) -> Filters:
    """The conditions of a request as filters.  Raises InvalidParams for a moment that cannot be read."""
    return Filters(
        collections=request.collections,
        category=request.category,
        topic=request.topic,
        path_globs=request.path_globs,
        tags_any=request.tags_any,
        tags_all=request.tags_all,
        date_from=request.date_from,
        date_to=request.date_to,
        modified_from=moments.from_bound("modified_from", request.modified_from, is_upper=False),
        modified_to=moments.from_bound("modified_to", request.modified_to, is_upper=True),
        formats=request.formats,
    )


def check_collections(wanted: Sequence[str], known: Sequence[CollectionState]) -> None:
    """Refuse a name that no collection has.

    Raises:
        InvalidParams: with the names that there are.
    """
    names = [collection.name for collection in known]
    for name in wanted:
        if name not in names:
            hint = f"there are {', '.join(names)}" if names else "there are no collections yet"
            raise InvalidParams(f"collections: no collection {name!a}", hint=hint, field="collections")
