"""Running work on the screen: a bar that is redrawn on a terminal, now and then a line elsewhere.

What always holds: everything goes to standard error; the bar is gone when the work is done.
"""

from __future__ import annotations

import time

from groove_client.render_status import progress_line
from groove_client.table import number_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from groove_client.render import Screen

_BAR_CELLS = 24
_REDRAW_S = 0.1
_LINE_S = 5.0


class Progress:
    """Shows notifications of progress; `show` fits as the receiver of a connection's notifications.

    Args:
        screen: where to show it.
        monotonic: seconds of a clock that never runs backwards.
    """

    def __init__(self, screen: Screen, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._monotonic = monotonic
        self._redraws = screen.shows_progress
        self._phase = ""
        self._next_at = 0.0

    def show(self, method: str, fields: dict[str, object]) -> None:
        """Show one notification if it is one of progress and the last is some time ago."""
        if method != "progress":
            return
        phase, now = text_of(fields, "phase"), self._monotonic()
        if now < self._next_at and (self._redraws or phase == self._phase):
            return
        self._phase = phase
        self._next_at = now + (_REDRAW_S if self._redraws else _LINE_S)
        if self._redraws:
            self._screen.redraw(f"{_bar(fields)} {progress_line(fields)}"[: self._screen.columns - 1])
        else:
            self._screen.note(progress_line(fields))

    def clear(self) -> None:
        """Take the bar away."""
        if self._redraws and self._next_at:
            self._screen.redraw("")


def _bar(fields: dict[str, object]) -> str:
    total = number_of(fields, "total")
    share = min(max(number_of(fields, "done") / total, 0.0), 1.0) if total > 0 else 0.0
    filled = round(share * _BAR_CELLS)
    return f"[{'#' * filled}{'.' * (_BAR_CELLS - filled)}]"
