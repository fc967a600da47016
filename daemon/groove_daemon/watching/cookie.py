"""The cookie of a barrier: a hidden file that is made and removed so that its event proves what came before it.

Events of one emitter arrive in the order in which things happened.  So when the event of a file that was made just now
has arrived, every change that was complete before has been announced.  One cookie at a time is under way in a
collection; whoever asks meanwhile shares the next one.
"""

import os
import threading
from dataclasses import dataclass, field

from groove_daemon.domain.clock import Clock
from groove_daemon.indexing.ignore import COOKIE_PREFIX

# An event that takes longer than this is not going to come: the next one to ask writes another cookie.
_LOST_AFTER_S = 1.0


@dataclass(slots=True, eq=False)
class _Ticket:
    has_arrived: bool = False
    error: OSError | None = None


@dataclass(slots=True)
class CookieJar:
    """The cookies of one collection.

    `folder` is the root with links resolved.  `suspect` is set when a cookie did not come back in time, until one does.
    """

    folder: str
    clock: Clock
    suspect: bool = False
    arrived_at: float | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _next: _Ticket | None = None
    _under_way: _Ticket | None = None
    _name: str = ""
    _written_at: float = 0.0
    _count: int = 0

    def wait(self, deadline: float) -> bool:
        """Whether a cookie written after this call came back before `deadline`, monotonic seconds.

        Raises:
            OSError: the folder cannot be written.
        """
        with self._changed:
            ticket = self._next = self._next or _Ticket()
            while not (ticket.has_arrived or ticket.error):
                name = self._take_turn(ticket)
                if name:
                    self._changed.release()
                    try:
                        error = _write(os.path.join(self.folder, name))
                    finally:
                        self._changed.acquire()
                    if error:
                        self._fail(ticket, error)
                    continue
                left = deadline - self.clock.monotonic()
                if left <= 0:
                    self.suspect = True
                    return False
                self._changed.wait(min(left, _LOST_AFTER_S))
        if ticket.error:
            raise ticket.error
        return True

    def arrived(self, name: str) -> None:
        """An event told of this file in the folder."""
        with self._changed:
            if self._under_way and name == self._name:
                self._finish(self._under_way)

    def release(self) -> None:
        """Events were lost and the whole folder is announced instead, which proves as much as any cookie."""
        with self._changed:
            if self._under_way:
                self._finish(self._under_way)

    def sweep_out(self) -> int:
        """Remove what a crash left in the folder; how many files."""
        removed = 0
        try:
            names = [name for name in os.listdir(self.folder) if name.startswith(COOKIE_PREFIX)]
            for name in names:
                os.unlink(os.path.join(self.folder, name))
                removed += 1
        except OSError:
            # Somebody else removed it, or the folder cannot be written: then cookies are not used here anyway.
            return removed
        return removed

    def _take_turn(self, ticket: _Ticket) -> str:
        """The name of the cookie to write, if it is this ticket's turn and nobody writes it yet."""
        is_stuck = self.clock.monotonic() - self._written_at > _LOST_AFTER_S
        if self._next is not ticket or (self._under_way and not is_stuck):
            return ""
        self._next, self._under_way = None, ticket
        self._count += 1
        self._name = f"{COOKIE_PREFIX}{os.getpid()}-{self._count}"
        self._written_at = self.clock.monotonic()
        return self._name

    def _finish(self, ticket: _Ticket) -> None:
        ticket.has_arrived = True
        self._under_way = None
        self.suspect = False
        self.arrived_at = self.clock.monotonic()
        self._changed.notify_all()

    def _fail(self, ticket: _Ticket, error: OSError) -> None:
        ticket.error = error
        if self._under_way is ticket:
            self._under_way = None
        self._changed.notify_all()


def _write(path: str) -> OSError | None:
    """Make and remove a file; the error if it could not be made."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        return error
    try:
        os.unlink(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error
    return None
