"""`add`, `remove`, `config` and `reload`: what the daemon is told to do, which it keeps in its configuration file."""

from __future__ import annotations

from groove_client.commands.output import filters, show
from groove_client.harmless import harmless
from groove_client.places import wire_path
from groove_client.render_status import config
from groove_client.table import number_of, text_of, texts_of
from groove_client.units import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.session import Session


def _add(session: Session) -> int:
    params = filters(session, "name", "source", "ignore")
    params["path"] = wire_path(session.arguments.operands[0])
    answer = session.tell("add_collection", params)
    session.screen.write(f"{harmless(text_of(answer, 'name'))} watches {harmless(text_of(answer, 'root'))}\n")
    session.screen.note("the first index runs in the background; `groovectl wait-fresh --vectors` follows it")
    return 0


def _remove(session: Session) -> int:
    answer = session.tell("remove_collection", {"name": session.arguments.operands[0]})
    count = counted(number_of(answer, "documents_removed"), "document")
    session.screen.write(f"{harmless(text_of(answer, 'name'))} removed, {count} forgotten; no file was touched\n")
    return 0


def _config(session: Session) -> int:
    origin = session.arguments.values.get("origin") is not False
    show(session, session.ask("config"), lambda answer, _screen: config(answer, origin=origin))
    return 0


def _reload(session: Session) -> int:
    answer = session.tell("config", {"reload": True})
    changed, later = texts_of(answer, "changed"), texts_of(answer, "needs_restart")
    lines = f"changed: {', '.join(changed)}\n" if changed else "nothing changed\n"
    if later:
        lines += f"after `groovectl restart`: {', '.join(later)}\n"
    session.screen.write(harmless(lines, keep="\n"))
    return 0


RUNNERS = {"add": _add, "remove": _remove, "config": _config, "reload": _reload}
