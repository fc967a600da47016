"""The screen: the only file that writes to standard output and standard error.

What always holds: results go to standard output, everything else to standard error as ASCII lines that begin with the
program's name; a write never fails because of a character; escape sequences are written to terminals alone, unless
colour is asked for; a reader that goes away ends the output and is no error.
"""

from __future__ import annotations

import os
import sys

from groove_client.harmless import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = "groovectl"
_PIPED_COLUMNS = 100
_FEWEST_COLUMNS = 20
_STYLES = {"title": "1", "path": "36", "match": "1;33", "faint": "2", "good": "32", "bad": "1;31", "warn": "33"}
# The Linux console and GNU screen print what they do not know of a link.
_TERMINALS_WITHOUT_LINKS = ("dumb", "linux", "screen", "vt")


class OutputClosed(Exception):
    """Whoever read the output is gone; there is nothing more to do."""


class OutputFailed(Exception):
    """The output cannot be written; the message says why."""


class Screen:
    """Where the answers go.

    Args:
        color: `auto`, `always` or `never`.
        env: environment variables.
        out: file descriptor of the results.
        err: file descriptor of everything else.
    """

    def __init__(self, color: str = "auto", env: Mapping[str, str] = os.environ, *, out: int = 1, err: int = 2) -> None:
        self._out = out
        self._err = err
        self._env = env
        terminal = env.get("TERM", "")
        self.is_terminal = _is_terminal(out)
        obeys = self.is_terminal and terminal not in ("", "dumb")
        self.is_colored = color == "always" or (color == "auto" and obeys and not env.get("NO_COLOR"))
        self.has_links = obeys and color != "never" and not terminal.startswith(_TERMINALS_WITHOUT_LINKS)
        encoding = getattr(sys.stdout, "encoding", None)
        self._encoding = encoding or "utf-8"
        self.is_unicode = self._encoding.lower().replace("-", "").replace("_", "") == "utf8"
        self.ellipsis = "…" if self.is_unicode else "..."

    @property
    def columns(self) -> int:
        """Width to lay out for: of the terminal, of `$COLUMNS`, or a fixed one for pipes."""
        told = self._env.get("COLUMNS", "")
        if told.isdigit() and int(told):
            return max(int(told), _FEWEST_COLUMNS)
        if not self.is_terminal:
            return _PIPED_COLUMNS
        try:
            return max(os.get_terminal_size(self._out).columns or _PIPED_COLUMNS, _FEWEST_COLUMNS)
        except OSError:
            return _PIPED_COLUMNS

    @property
    def shows_progress(self) -> bool:
        """Whether standard error is a terminal that can redraw a line."""
        return _is_terminal(self._err) and self._env.get("TERM", "") not in ("", "dumb")

    def write(self, text: str) -> None:
        """Write text to standard output.

        Raises:
            OutputClosed: the reader is gone.
            OutputFailed: any other fault, for example a full disk.
        """
        self.write_bytes(text.encode(self._encoding, "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        """Write bytes to standard output; errors as in `write`."""
        if sys.stdout is None and self._out == 1:
            # Closed before the start: the number may belong to the connection by now.
            raise OutputFailed("standard output is closed")
        try:
            _write_all(self._out, data)
        except BrokenPipeError as error:
            raise OutputClosed from error
        except OSError as error:
            raise OutputFailed(f"cannot write to standard output: {error.strerror}") from error

    def note(self, text: str) -> None:
        """Write one line to standard error."""
        self._complain(f"{PROGRAM}: {harmless(' '.join(text.split()))}\n")

    def redraw(self, text: str) -> None:
        """Show `text` in place of the last line of standard error; empty clears it."""
        self._complain(f"\r\x1b[K{text}")

    def _complain(self, text: str) -> None:
        if sys.stderr is None and self._err == 2:
            return
        try:
            _write_all(self._err, text.encode("ascii", "backslashreplace"))
        except OSError:
            # There is nowhere left to say that standard error cannot be written.
            return

    def style(self, text: str, name: str) -> str:
        """Return `text` in one of the styles, or as it is where there are no colours."""
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self.is_colored and text else text

    def link(self, text: str, uri: str) -> str:
        """Return `text` as a link to `uri` where the terminal has links."""
        if not self.has_links or not uri.isascii() or not uri.isprintable():
            return text
        return f"\x1b]8;;{uri}\x1b\\{text}\x1b]8;;\x1b\\"


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[_write_some(descriptor, view) :]


def _write_some(descriptor: int, view: memoryview) -> int:
    try:
        return os.write(descriptor, view)
    except BlockingIOError:
        # Somebody who shares the terminal or the pipe made it non-blocking.
        import select

        select.select([], [descriptor], [])
        return 0
