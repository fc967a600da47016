"""`documents`, `topics` and `collections`: what is in the index."""

from __future__ import annotations

from groove_client.commands.output import filters, show
from groove_client.render_status import collections, documents, topics
from groove_client.table import number_of, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.session import Session

_TOPIC_FILTERS = ("collections", "category", "path_globs", "tags_any", "tags_all", "limit", "offset")
_FILTERS = (*_TOPIC_FILTERS, "topic", "date_from", "date_to", "modified_from", "modified_to", "formats")


def _documents(session: Session) -> int:
    answer = session.ask("list_documents", filters(session, *_FILTERS))
    show(session, answer, documents)
    _remark_on_rest(session, answer, "documents")
    return 0


def _topics(session: Session) -> int:
    answer = session.ask("list_topics", filters(session, *_TOPIC_FILTERS))
    show(session, answer, topics)
    _remark_on_rest(session, answer, "topics")
    return 0


def _remark_on_rest(session: Session, answer: dict[str, object], key: str) -> None:
    shown, total = len(rows_of(answer, key)), int(number_of(answer, "total"))
    if not shown:
        session.screen.note("nothing found")
    elif shown < total:
        session.screen.note(f"{shown} of {total}; --limit and --offset show others")


def _collections(session: Session) -> int:
    show(session, session.ask("collections"), collections)
    return 0


RUNNERS = {"documents": _documents, "topics": _topics, "collections": _collections}
