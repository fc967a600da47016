"""The connections: bytes in, frames out, and the limits that keep one client from harming another.

What always holds: a fault of one connection ends that connection alone, after an error was sent; a client that stops
reading is dropped when its buffer is full; nothing here blocks the loop.
"""

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import structlog

from groove_daemon.errors import BadFrame, Busy, Forbidden, GrooveError, ShuttingDown, TooLarge
from groove_daemon.rpc import answers
from groove_daemon.rpc.dispatch import Dispatcher
from groove_daemon.rpc.listener import Listener
from groove_daemon.rpc.peer import peer_uid
from groove_daemon.rpc.session import Session
from groove_wire import limits as wire
from groove_wire.framing import Decoder, FrameError
from groove_wire.messages import WireLimits

log = structlog.get_logger()

Result = TypeVar("Result")

# How long a client that is being turned away gets to read why.
GOODBYE_S = 1.0


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How much one daemon takes on; sizes in bytes."""

    connections: int = wire.MAX_CONNECTIONS
    in_flight: int = wire.MAX_IN_FLIGHT
    frame_bytes: int = wire.MAX_FRAME_BYTES
    outgoing_bytes: int = wire.MAX_OUTGOING_BYTES

    def to_wire(self) -> WireLimits:
        """All limits as `hello` tells them."""
        return WireLimits(
            frame_bytes=self.frame_bytes,
            outgoing_buffer_bytes=self.outgoing_bytes,
            connections=self.connections,
            in_flight=self.in_flight,
            query_chars=wire.MAX_QUERY_CHARS,
            list_entries=wire.MAX_LIST_ENTRIES,
            list_entry_bytes=wire.MAX_ENTRY_BYTES,
            limit=wire.MAX_LIMIT,
        )


class Connection(asyncio.Protocol):
    """One client's bytes."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._decoder = Decoder(server.limits.frame_bytes, max_items=wire.MAX_REQUEST_ITEMS)
        self._transport: asyncio.Transport | None = None
        self._session: Session | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the client in, or turn it away."""
        self._transport = cast(asyncio.Transport, transport)
        refusal = self._server.admit(self, self._transport)
        if refusal is not None:
            self._turn_away(refusal)
            return
        self._session = self._server.dispatcher.open(self._send)

    def data_received(self, data: bytes) -> None:
        """Take what arrived; a fault ends the connection."""
        if self._session is None:
            return
        try:
            messages, fault = self._decoder.feed(data), None
        except FrameError as error:
            messages, fault = error.before, _frame_fault(error)
        try:
            for message in messages:
                self._server.dispatcher.receive(self._session, message)
        except BadFrame as error:
            fault = error
        if fault is not None:
            log.info("rpc.bad_client", reason=fault.message)
            self._turn_away(fault)

    def eof_received(self) -> bool:
        """A client that closes its half has no more questions, and its answers have no reader."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel what was in flight."""
        if exc is not None:
            log.debug("rpc.connection_lost", reason=str(exc))
        self._leave()
        self._server.forget(self)

    def close(self) -> None:
        """Send what is left to send, then close."""
        self._leave()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close without sending what is left."""
        self._leave()
        if self._transport is not None:
            self._transport.abort()

    def _leave(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            self._server.dispatcher.close(session)

    def _turn_away(self, error: GrooveError) -> None:
        assert self._transport is not None
        self._transport.write(answers.error_notification(error))
        self.close()
        # A client that reads nothing must not keep the connection open for the sake of its goodbye.
        asyncio.get_running_loop().call_later(GOODBYE_S, self._transport.abort)

    def _send(self, frame: bytes) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        self._transport.write(frame)
        waiting = self._transport.get_write_buffer_size()
        if waiting > self._server.limits.outgoing_bytes:
            log.warning("rpc.slow_client_dropped", waiting_bytes=waiting)
            self.abort()


class Server:
    """Serves a listener on the running loop.

    Args:
        dispatcher: answers the messages.
        listener: what to accept from; the server ends it when it stops, its lock stays with whoever made it.
        limits: see `ServerLimits`.
        uid_of: tells the user of a connected socket; the kernel's word, unless a test stands in for another user.
        own_uid: whose connections are taken; this process's user when not given.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        listener: Listener,
        limits: ServerLimits,
        own_uid: int | None = None,
        uid_of: Callable[[socket.socket], int] = peer_uid,
    ) -> None:
        self.dispatcher = dispatcher
        self.limits = limits
        self._listener = listener
        self._own_uid = os.getuid() if own_uid is None else own_uid
        self._uid_of = uid_of
        self._connections: set[Connection] = set()
        self._all_gone = asyncio.Event()
        self._accepting: asyncio.Server | None = None
        self._is_stopping = False

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    async def start(self) -> None:
        """Begin to accept."""
        options: dict[str, Any] = {}
        if sys.version_info >= (3, 13):
            # The listener removes its file, and only if it is still its own.
            options["cleanup_socket"] = False
        loop = asyncio.get_running_loop()
        self._listener.sock.setblocking(False)
        self._accepting = await loop.create_unix_server(lambda: Connection(self), sock=self._listener.sock, **options)
        log.info("rpc.listening", path=self._listener.path, inherited=self._listener.is_inherited)

    async def stop(self, deadline_s: float) -> None:
        """Accept no more, let running requests end within `deadline_s`, then close all connections."""
        self._is_stopping = True
        if self._accepting is not None:
            self._accepting.close()
        await self.dispatcher.drain(deadline_s)
        for connection in list(self._connections):
            connection.close()
        if self._connections:
            await self._wait_until_gone()
        self._listener.stop_listening()
        log.info("rpc.stopped")

    async def _wait_until_gone(self) -> None:
        """Let the last answers flow out; whoever does not read them is cut off."""
        self._all_gone.clear()
        try:
            async with asyncio.timeout(GOODBYE_S):
                await self._all_gone.wait()
        except TimeoutError:
            for connection in list(self._connections):
                connection.abort()

    def admit(self, connection: Connection, transport: asyncio.Transport) -> GrooveError | None:
        """Count a connection in; why it must go again, or None."""
        self._connections.add(connection)
        if not self._is_own(transport.get_extra_info("socket")):
            return Forbidden("this daemon serves another user")
        if len(self._connections) > self.limits.connections:
            return Busy(f"{self.limits.connections} connections are open", hint="close one")
        if self._is_stopping:
            return ShuttingDown("the daemon is stopping")
        return None

    def _is_own(self, sock: socket.socket) -> bool:
        try:
            uid = self._uid_of(sock)
        except OSError as error:
            log.warning("rpc.unknown_user_refused", reason=str(error))
            return False
        if uid != self._own_uid:
            log.warning("rpc.foreign_user_refused", uid=uid)
        return uid == self._own_uid

    def forget(self, connection: Connection) -> None:
        """A connection is closed."""
        self._connections.discard(connection)
        if not self._connections:
            self._all_gone.set()


class ServerThread:
    """A loop in a thread of its own that runs one server; every method may be called from any other thread.

    Args:
        make: builds the server; runs on the loop's thread.
    """

    def __init__(self, make: Callable[[], Server]) -> None:
        self._make = make
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rpc", daemon=True)
        self._server: Server | None = None

    def start(self) -> None:
        """Start the thread and accept connections; raises what `make` and `Server.start` raise."""
        self._thread.start()
        try:
            self._call(self._start()).result()
        except BaseException:
            self._end()
            raise

    def stop(self, deadline_s: float) -> None:
        """Stop the server within about `deadline_s`, then end the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        if self._server is not None:
            self._call(self._server.stop(deadline_s)).result()
        self._end()

    def is_turning(self, within_s: float) -> bool:
        """Whether the loop does what it is asked to within so many seconds; one that hangs serves nobody."""
        turned = threading.Event()
        self._loop.call_soon_threadsafe(turned.set)
        if turned.wait(within_s):
            return True
        log.error("rpc.loop_hangs", waited_s=within_s)
        return False

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        server = self._make()
        await server.start()
        self._server = server

    def _call(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


def _frame_fault(error: FrameError) -> GrooveError:
    text = f"{error}"
    return TooLarge(text, hint="the connection is closed") if error.too_large else BadFrame(text)
