"""`similar`: documents and chunks near a note, a hit or a text."""

from __future__ import annotations

import os

from groove_client.commands.output import filters, show
from groove_client.places import wire_path
from groove_client.syntax import UsageError
from groove_client.table import number_of, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.session import Session

_FILTERS = (
    "collections", "category", "topic", "path_globs", "tags_any", "tags_all", "date_from", "date_to", "modified_from",
    "modified_to", "formats", "min_quality", "kind", "limit",
)  # fmt: skip


def _similar(session: Session) -> int:
    from groove_client.render_similar import near

    answer = session.ask("similar", similar_params(session))
    show(session, answer, near)
    missing = int(number_of(answer, "without_vector"))
    if not rows_of(answer, "documents") and not rows_of(answer, "chunks"):
        session.screen.note("nothing found")
    if missing:
        session.screen.note(f"{missing} passages have no vector yet and were not compared")
    session.close()
    _remember(session, answer)
    return 0


def similar_params(session: Session) -> dict[str, object]:
    """Return the request: a number is the id of a hit, anything else a path.

    Raises:
        UsageError: there is no source, or more than one.
    """
    operands, text = session.arguments.operands, session.arguments.text("text")
    if (text is None) == (not operands):
        raise UsageError("similar needs either PATH or ID, or --text")
    params = filters(session, *_FILTERS)
    if text is not None:
        # A byte that is no UTF-8 means nothing to a model, and must not keep the rest from being compared.
        return params | {"text": text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")}
    if operands[0].isdecimal():
        return params | {"id": int(operands[0])}
    named = session.arguments.text("of_collection")
    if named is not None:
        return params | {"path": operands[0], "collection": named}
    is_here = os.path.isabs(operands[0]) or os.path.exists(operands[0])
    return params | {"path": wire_path(operands[0]) if is_here else operands[0]}


def _remember(session: Session, answer: dict[str, object]) -> None:
    from groove_client.last_search import save
    from groove_client.render_similar import places

    try:
        save(session.state_dir, places(answer))
    except OSError as error:
        # The answer is out and whole; only `open` would miss the list, and says so itself.
        if session.screen.is_terminal:
            session.screen.note(f"cannot remember the hits for `groovectl open`: {error.strerror}")


RUNNERS = {"similar": _similar}
