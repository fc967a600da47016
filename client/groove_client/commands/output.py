"""An answer on the screen: as JSON when that is asked for, else as the text that a function makes of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from groove_client.render import Screen
    from groove_client.session import Session


def show(session: Session, answer: dict[str, object], text: Callable[[dict[str, object], Screen], str]) -> None:
    """Write an answer to standard output."""
    if session.arguments.flag("json"):
        from groove_client.jsontext import indented

        session.screen.write_bytes(indented(answer).encode("utf-8", "backslashreplace") + b"\n")
    else:
        session.screen.write(text(answer, session.screen))


def filters(session: Session, *names: str) -> dict[str, object]:
    """Return the values of the named options that were given, under the names of the wire."""
    values = session.arguments.values
    return {name: values[name] for name in names if name in values}
