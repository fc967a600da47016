"""What the measurements report: rows of one table, with details below it; and how both are printed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

HELD, MISSED, ABSENT, TOLD = "held", "MISSED", "absent", "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    bar: str = ""
    verdict: str = TOLD


@dataclass(frozen=True, slots=True)
class Report:
    """What one part found: rows for the table, lines for below it, figures for the file."""

    rows: tuple[Row, ...]
    details: tuple[str, ...] = ()
    figures: dict[str, object] = field(default_factory=dict)


def at_most(value: float, bar: float) -> str:
    """The verdict on a value that should not be larger."""
    return HELD if value <= bar else MISSED


def at_least(value: float, bar: float) -> str:
    """The verdict on a value that should not be smaller."""
    return HELD if value >= bar else MISSED


def columns(rows: Sequence[Sequence[str]], *, gap: str = "  ") -> list[str]:
    """Lines of aligned columns, left-aligned, without spaces at the end."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def render(rows: Sequence[Row]) -> list[str]:
    """The table, as plain text."""
    body = [(row.what, row.measured, row.bar, row.verdict) for row in rows]
    lines = columns([("what", "measured", "bar", "verdict"), *body], gap=" | ")
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]
