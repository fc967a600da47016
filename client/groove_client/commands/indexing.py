"""`reindex` and `wait-fresh`: work of the daemon that the command waits for."""

from __future__ import annotations

from groove_client.commands.output import filters, show
from groove_client.places import wire_path
from groove_client.progress import Progress
from groove_client.render_status import calibration
from groove_client.table import map_of, number_of, text_of
from groove_client.units import counted, duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.render import Screen
    from groove_client.session import Session

_WAIT_FRESH_S = 10.0
# The daemon ends the wait by itself; the connection is given this much longer to say so.
_GRACE_S = 5.0


def _reindex(session: Session) -> int:
    params = filters(session, "collections", "force")
    if session.arguments.operands:
        params["paths"] = [wire_path(path) for path in session.arguments.operands]
    progress = Progress(session.screen)
    try:
        is_endless = session.arguments.number("timeout") is None
        answer = session.tell("reindex", params, is_endless=is_endless, on_notification=progress.show)
    finally:
        progress.clear()
    show(session, answer, _reindexed)
    return 1 if number_of(answer, "failed") else 0


def _reindexed(answer: dict[str, object], _screen: Screen) -> str:
    counts = [f"{number_of(answer, key):.0f} {key}" for key in ("indexed", "unchanged", "removed", "skipped", "failed")]
    lines = f"{', '.join(counts)} in {duration(number_of(answer, 'took_ms') / 1000)}\n"
    pending = number_of(answer, "pending_vectors")
    if pending:
        lines += f"{counted(pending, 'passage')} without a vector yet\n"
    if number_of(answer, "failed"):
        lines += "`groovectl failures` tells why files failed\n"
    return lines


def _calibrate(session: Session) -> int:
    progress = Progress(session.screen)
    try:
        is_endless = session.arguments.number("timeout") is None
        params = filters(session, "questions")
        answer = session.tell("calibrate", params, is_endless=is_endless, on_notification=progress.show)
    finally:
        progress.clear()
    show(session, answer, lambda told, _screen: calibration(map_of(told, "calibration")) + "\n")
    return 0 if map_of(answer, "calibration").get("is_usable") is True else 1


def _wait_fresh(session: Session) -> int:
    seconds = session.arguments.number("timeout") or _WAIT_FRESH_S
    params = filters(session, "collections", "vectors")
    params["deadline_ms"] = max(int(seconds * 1000), 1)
    progress = Progress(session.screen)
    if session.screen.shows_progress:
        session.tell("subscribe", {"events": ["progress"]})
    try:
        answer = session.tell("wait_fresh", params, timeout_s=seconds + _GRACE_S, on_notification=progress.show)
    finally:
        progress.clear()
    show(session, answer, _waited)
    return 0 if answer.get("fresh") is True else 1


def _waited(answer: dict[str, object], _screen: Screen) -> str:
    if answer.get("fresh") is True:
        return f"fresh after {duration(number_of(answer, 'took_ms') / 1000)}\n"
    return f"not fresh: {text_of(answer, 'reason') or 'the time is over'}\n"


RUNNERS = {"reindex": _reindex, "calibrate": _calibrate, "wait-fresh": _wait_fresh}
