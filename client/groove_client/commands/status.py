"""`status` and `failures`: they answer across any difference of versions."""

from __future__ import annotations

from groove_client.commands.output import filters, show
from groove_client.errors import DaemonIncompatible
from groove_client.render_status import failures, status
from groove_client.session import as_map
from groove_client.table import number_of, rows_of
from groove_client.transport import deadline_after, hello_params

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.session import Session


def _status(session: Session) -> int:
    deadline = deadline_after(session.timeout_s)
    channel = session.channel(deadline)
    try:
        session.check_versions(channel.call("hello", hello_params(), deadline=deadline))
    except DaemonIncompatible as error:
        # The answer is shown field by field and an unknown one does no harm, so it is better than none.
        session.screen.note(str(error))
    show(session, as_map(channel.call("status", deadline=deadline)), status)
    return 0


def _failures(session: Session) -> int:
    answer = session.ask("failures", filters(session, "collections", "limit", "offset"))
    show(session, answer, failures)
    _remark_on_rest(session, answer, "failures")
    return 0


def _remark_on_rest(session: Session, answer: dict[str, object], key: str) -> None:
    shown, total = len(rows_of(answer, key)), int(number_of(answer, "total"))
    if not session.arguments.flag("json") and not total:
        session.screen.note("no file failed")
    elif shown < total:
        session.screen.note(f"{shown} of {total}; --limit and --offset show others")


RUNNERS = {"status": _status, "failures": _failures}
