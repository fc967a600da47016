"""One client as the dispatcher sees it: what it has in flight, what it listens to, and how to send it bytes.

What always holds: everything here runs on the loop's thread; a request is answered once; after `close` nothing is sent
and nothing is in flight.  Knows no socket: `send` takes whole frames.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from groove_daemon.rpc.cancel import CancelToken


@dataclass(eq=False, slots=True)
class InFlight:
    """A request that has no answer yet.  `began` is in monotonic seconds; `stop_timer` ends its time limit."""

    msgid: int
    method: str
    request_id: str
    began: float
    is_waiting: bool = False
    token: CancelToken = field(default_factory=CancelToken)
    stop_timer: Callable[[], None] = lambda: None


class Session:
    """A connected client.

    Args:
        send: takes a whole frame; must not block.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self.in_flight: dict[int, InFlight] = {}
        self.events: set[str] = set()
        self.spoken_protocol: tuple[int, ...] | None = None
        self.is_closed = False

    def send(self, frame: bytes) -> None:
        """Send a frame, unless the client has gone."""
        if not self.is_closed:
            self._send(frame)

    def take(self, request: InFlight) -> bool:
        """Remove a request that is about to be answered; False when it was answered before."""
        if self.in_flight.get(request.msgid) is not request:
            return False
        del self.in_flight[request.msgid]
        request.stop_timer()
        return True

    def close(self) -> list[InFlight]:
        """The client has gone: forget everything; returns what was in flight."""
        self.is_closed = True
        left = list(self.in_flight.values())
        self.in_flight.clear()
        self.events.clear()
        for request in left:
            request.stop_timer()
        return left
