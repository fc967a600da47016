"""Fields of an answer that may be absent, and rows laid out in columns."""

from __future__ import annotations

from groove_client.width import pad, truncate, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from groove_client.render import Screen

    Fields = dict[str, object]


def text_of(fields: Fields, key: str) -> str:
    """Return a text; empty when it is absent."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def number_of(fields: Fields, key: str) -> float:
    """Return a number; 0 when it is absent."""
    value = fields.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def rows_of(fields: Fields, key: str) -> list[Fields]:
    """Return a list of maps; empty when it is absent."""
    value = fields.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_of(fields: Fields, key: str) -> list[str]:
    """Return a list of texts; empty when it is absent."""
    value = fields.get(key)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def map_of(fields: Fields, key: str) -> Fields:
    """Return a map; empty when it is absent."""
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def table(head: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen, *, right: Sequence[int] = ()) -> str:
    """Lay rows out under a faint head; the columns in `right` are aligned to the right.

    A row that is wider than a terminal is cut there; a pipe gets all of it.
    """
    every = [head, *rows]
    widths = [max(width(row[column]) for row in every) for column in range(len(head))]
    shown = []
    for place, row in enumerate(every):
        cells = [pad(cell, widths[column], right=column in right) for column, cell in enumerate(row)]
        text = "  ".join(cells).rstrip()
        if screen.is_terminal:
            text = truncate(text, screen.columns, ellipsis=screen.ellipsis)
        shown.append(screen.style(text, "faint") if place == 0 else text)
    return "".join(row + "\n" for row in shown)
