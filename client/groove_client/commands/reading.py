"""`get` and `open`: the text of a document, and the way to it in an editor."""

from __future__ import annotations

import os

from groove_client.commands.output import filters, show
from groove_client.editors import command
from groove_client.harmless import harmless
from groove_client.last_search import load
from groove_client.places import wire_path
from groove_client.session import Session
from groove_client.syntax import UsageError
from groove_client.table import map_of, number_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.render import Screen


def _get(session: Session) -> int:
    operand = session.arguments.operands[0]
    if operand.isdecimal():
        show(session, session.ask("get_chunk", {"id": int(operand)}), _chunk_text)
    else:
        params = document_params(session, operand)
        answer = session.ask("get_document", params)
        show(session, answer, _document_text)
        if "line_start" in params and not number_of(answer, "line_start"):
            session.screen.note(f"get: {operand!r}: the document ends before line {params['line_start']}")
            return 1
    return 0


def document_params(session: Session, operand: str) -> dict[str, object]:
    """Return the request for `PATH` or `PATH:LINES`; a file whose name ends like lines do is taken as it is.

    A path that exists from here goes out absolute; another one is left to the daemon, which looks for it in the
    collections.
    """
    params = filters(session, "collection")
    path, lines = _split_lines(operand)
    if lines is not None:
        params["line_start"], params["line_end"] = lines
    is_here = "collection" not in params and (os.path.isabs(path) or os.path.exists(path))
    params["path"] = wire_path(path) if is_here else path
    return params


def _split_lines(operand: str) -> tuple[str, tuple[int, int] | None]:
    path, colon, lines = operand.rpartition(":")
    first, dash, last = lines.partition("-")
    if not colon or not path or not first.isdecimal() or (dash and not last.isdecimal()) or os.path.exists(operand):
        return operand, None
    start, end = int(first), int(last) if dash else int(first)
    if start < 1 or end < start:
        raise UsageError(f"get: {lines} is no range of lines")
    return path, (start, end)


def _document_text(answer: dict[str, object], screen: Screen) -> str:
    return _shown(text_of(answer, "content"), screen)


def _chunk_text(answer: dict[str, object], screen: Screen) -> str:
    return _shown(text_of(map_of(answer, "chunk"), "content"), screen)


def _shown(content: str, screen: Screen) -> str:
    text = harmless(content, keep="\n\t") if screen.is_terminal else content
    return text if text.endswith("\n") or not text else text + "\n"


def _best_practice(session: Session) -> int:
    params = filters(session, "category")
    params["target"] = session.arguments.operands[0]
    show(session, session.ask("get_best_practice", params), _document_text)
    return 0


def _open(session: Session) -> int:
    operand = session.arguments.operands[0]
    places = load(session.state_dir)
    if not operand.isdecimal() or not 1 <= int(operand) <= len(places):
        known = f"the last search found {len(places)}" if places else "there is no last search, or it found nothing"
        raise UsageError(f"open: no hit {operand!r}: {known}")
    path, line = places[int(operand) - 1]
    words = _editor_command(path, line)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise UsageError(f"open: cannot run {words[0]!r}: {error.strerror}; set $VISUAL or $EDITOR") from error


def _editor_command(path: str, line: int) -> list[str]:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        return command(editor, path, line)
    except ValueError as error:
        raise UsageError(f"open: $VISUAL or $EDITOR is {editor!r}: {error}") from error


RUNNERS = {"get": _get, "open": _open, "best-practice": _best_practice}
