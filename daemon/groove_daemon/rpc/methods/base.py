"""What a handler is: a plain function from a checked request to a response, and the threads that it belongs to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from groove_daemon.rpc.cancel import CancelToken
from groove_daemon.rpc.context import Daemon, IndexReader
from groove_daemon.rpc.meter import Meter
from groove_daemon.rpc.session import Session
from groove_wire.messages import WireLimits


class Lane(Enum):
    """Where a handler runs.

    `LOOP` is the loop's own thread, for handlers that never block.  `READER` searches and reads the index, within the
    time limit of requests.  `CONTROL` answers quickly whatever the readers do.  `WAITING` waits for other work.
    """

    LOOP = "loop"
    READER = "reader"
    CONTROL = "control"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Call:
    """One request as its handler sees it.

    `notify(name, content)` sends a notification to the caller, from any thread.  `session` may be used in the lane
    `LOOP` alone.  `notes` goes into the request's log line.
    """

    daemon: Daemon
    session: Session
    msgid: int
    token: CancelToken
    notify: Callable[[str, object], None]
    limits: WireLimits
    meter: Meter
    connections: int
    notes: dict[str, object] = field(default_factory=dict)

    def reader(self) -> IndexReader:
        """This thread's reader of the index; its running statement is stopped when the request is cancelled."""
        reader = self.daemon.reader()
        self.token.on_cancel(reader.interrupt)
        return reader


@dataclass(frozen=True, slots=True)
class Handler:
    """A function `run(call, request) -> response`, and its lane."""

    run: Callable[[Call, Any], object]
    lane: Lane
