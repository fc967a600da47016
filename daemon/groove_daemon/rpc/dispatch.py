"""From a message to its answer: validate, run in the right threads, translate every error, log one line.

What always holds: each request gets exactly one response, or its connection is gone; the loop's thread never runs a
handler that can block; a cancelled request is answered at once, and its work is told to stop.  Knows no socket.
All methods run on the loop's thread, except `publish` and what `_work` does.
"""

import asyncio
import difflib
import itertools
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

import structlog

from groove_daemon.errors import (
    BadFrame,
    Busy,
    Cancelled,
    DeadlineExceeded,
    GrooveError,
    InvalidParams,
    ShuttingDown,
    TooLarge,
    UnknownMethod,
)
from groove_daemon.rpc import answers
from groove_daemon.rpc.context import Daemon
from groove_daemon.rpc.meter import Meter
from groove_daemon.rpc.methods import HANDLERS
from groove_daemon.rpc.methods.base import Call, Handler, Lane
from groove_daemon.rpc.methods.status import incompatible
from groove_daemon.rpc.session import InFlight, Session
from groove_daemon.workers import Workers
from groove_wire.framing import NOTIFICATION, REQUEST, EncodeError, FrameError, argument, encode_notification
from groove_wire.messages import CancelNotification, WireLimits
from groove_wire.methods import METHODS
from groove_wire.params import ParamsError, from_params, to_plain

log = structlog.get_logger()

# Answered whatever protocol the client speaks, so that it can find out what runs and stop it.
_ALWAYS_ANSWERED = ("hello", "ping", "status", "shutdown")
_QUIET = ("hello", "ping", "status")


@dataclass(frozen=True, slots=True)
class Pools:
    """The threads that run handlers, one pool for each kind of work, so that no kind waits for another.

    `readers` search and read; `control` answers status and the like; `waiting` holds requests that wait for others.
    """

    readers: Workers
    control: Workers
    waiting: Workers


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a worker made of a request: the frame to send, and the words for the log line."""

    frame: bytes
    code: str = "ok"
    notes: Mapping[str, object] | None = None


class Dispatcher:
    """Answers the messages of all sessions.

    Args:
        daemon: what the handlers work on.
        pools: their threads; closed by whoever made them.
        limits: what `hello` tells, and how many requests a session may have in flight.
        request_timeout_s: longest time of a request in the `readers` pool.
        handlers: method name to handler.
    """

    def __init__(
        self,
        daemon: Daemon,
        *,
        pools: Pools,
        limits: WireLimits,
        request_timeout_s: float = 30.0,
        handlers: Mapping[str, Handler] = HANDLERS,
    ) -> None:
        self.meter = Meter()
        self._daemon = daemon
        self._pools = {Lane.READER: pools.readers, Lane.CONTROL: pools.control, Lane.WAITING: pools.waiting}
        self._limits = limits
        self._timeout_s = request_timeout_s
        self._handlers = handlers
        self._sessions: set[Session] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False
        self._idle = asyncio.Event()
        # The prefix tells the lines of one start of the daemon from those of the next.
        prefix = os.urandom(3).hex()
        self._ids = (f"{prefix}-{number}" for number in itertools.count(1))

    def open(self, send: Callable[[bytes], None]) -> Session:
        """A client has connected; must be called on a running loop."""
        self._loop = asyncio.get_running_loop()
        session = Session(send)
        self._sessions.add(session)
        return session

    def close(self, session: Session) -> None:
        """A client has gone: cancel all that it had in flight."""
        self._sessions.discard(session)
        for request in session.close():
            request.token.cancel()
            self._log_done(request, "request.cancelled", None)
        self._note_idle()

    def receive(self, session: Session, message: tuple[object, ...]) -> None:
        """Take one message of `Decoder.feed`.

        Raises:
            BadFrame: a message that only a server sends; the connection should be closed.
        """
        if message[0] == REQUEST:
            _, msgid, method, params = message
            assert isinstance(msgid, int)
            self._request(session, msgid, method=str(method), params=params)
        elif message[0] == NOTIFICATION:
            self._notification(session, str(message[1]), message[2])
        else:
            raise BadFrame("a client sends requests and notifications, never responses")

    def publish(self, event: str, content: object) -> None:
        """Send a notification to all who subscribed to `event`; any thread may call this at any time."""
        if self._loop is None:
            return
        frame = encode_notification(event, to_plain(content))
        self._post(partial(self._publish, event, frame))

    def _publish(self, event: str, frame: bytes) -> None:
        for session in list(self._sessions):
            if event in session.events:
                session.send(frame)

    async def drain(self, deadline_s: float) -> None:
        """Take no more requests, let the running ones end for `deadline_s`, then answer the rest and stop them."""
        self._is_stopping = True
        for session in list(self._sessions):
            for request in [request for request in session.in_flight.values() if request.is_waiting]:
                self._give_up(session, request, ShuttingDown("the daemon is stopping"))
        self._note_idle()
        try:
            async with asyncio.timeout(deadline_s):
                await self._idle.wait()
        except TimeoutError:
            self._give_up_all()

    def _give_up_all(self) -> None:
        for session in list(self._sessions):
            for request in list(session.in_flight.values()):
                self._give_up(session, request, ShuttingDown("the daemon stopped before the answer was ready"))

    def _note_idle(self) -> None:
        if self._is_stopping and not any(session.in_flight for session in self._sessions):
            self._idle.set()

    # Requests

    def _request(self, session: Session, msgid: int, *, method: str, params: object) -> None:
        request = InFlight(msgid, method, next(self._ids), time.monotonic())
        try:
            handler, parsed = self._admit(session, request, params)
        except GrooveError as error:
            session.send(answers.error_frame(msgid, error))
            self._log_done(request, error.code, None)
            return
        session.in_flight[msgid] = request
        call = Call(
            daemon=self._daemon,
            session=session,
            msgid=msgid,
            token=request.token,
            notify=partial(self._notify, session, request),
            limits=self._limits,
            meter=self.meter,
            connections=len(self._sessions),
        )
        with structlog.contextvars.bound_contextvars(request_id=request.request_id):
            self._start(request, handler, call=call, parsed=parsed)

    def _admit(self, session: Session, request: InFlight, params: object) -> tuple[Handler, object]:
        """The handler and the checked parameters of a request that may run."""
        if request.msgid in session.in_flight:
            raise BadFrame(f"msgid {request.msgid} is in flight already")
        if len(session.in_flight) >= self._limits.in_flight:
            text = f"{self._limits.in_flight} requests are in flight on this connection"
            raise Busy(text, hint="wait for an answer or cancel one")
        handler = self._handlers.get(request.method)
        if handler is None:
            raise UnknownMethod(_unknown_method(request.method, self._handlers))
        if self._is_stopping and request.method not in _ALWAYS_ANSWERED:
            raise ShuttingDown("the daemon is stopping")
        if session.spoken_protocol is not None and request.method not in _ALWAYS_ANSWERED:
            raise incompatible(session.spoken_protocol)
        request.is_waiting = handler.lane is Lane.WAITING
        try:
            return handler, from_params(METHODS[request.method].request, argument(params))
        except ParamsError as error:
            raise InvalidParams(str(error), field=error.field) from error
        except FrameError as error:
            raise InvalidParams(str(error)) from error

    def _start(self, request: InFlight, handler: Handler, *, call: Call, parsed: object) -> None:
        if handler.lane is Lane.LOOP:
            self._finish(call.session, request, self._work(request, handler, call=call, parsed=parsed))
            return
        loop = asyncio.get_running_loop()
        if handler.lane is Lane.READER:
            timer = loop.call_later(self._timeout_s, self._expire, call.session, request)
            request.stop_timer = timer.cancel
        try:
            future = self._pools[handler.lane].submit(self._work, request, handler, call=call, parsed=parsed)
        except GrooveError as error:
            self._finish(call.session, request, _failure(request, error))
            return
        future.add_done_callback(partial(self._done, call.session, request))

    def _work(self, request: InFlight, handler: Handler, *, call: Call, parsed: object) -> _Outcome:
        """Run a handler; in a worker's thread, unless its lane is the loop."""
        try:
            if request.token.is_cancelled():
                raise Cancelled("the request was cancelled")
            frame = answers.response_frame(request.msgid, handler.run(call, parsed))
            return _Outcome(frame, notes=call.notes)
        except GrooveError as error:
            return _failure(request, error)
        except EncodeError as error:
            if error.too_large:
                text = f"the answer is too large: {error.reason}"
                return _failure(request, TooLarge(text, hint="ask for fewer hits or for a range of lines"))
            log.error("request.unencodable", method=request.method, place=error.path, reason=error.reason)
            return _failure(request, _internal(request, f"the answer cannot be encoded: {error}"))
        except Exception as error:
            log.exception("request.failed", method=request.method)
            return _failure(request, _internal(request, f"{type(error).__name__} in the daemon"))
        finally:
            request.token.finish()

    def _done(self, session: Session, request: InFlight, future: "Future[_Outcome]") -> None:
        """A worker has ended; still in its thread."""
        if future.cancelled():
            outcome = _failure(request, ShuttingDown("the daemon is stopping"))
        elif future.exception() is not None:
            outcome = _failure(request, _internal(request, "the daemon is going down"))
        else:
            outcome = future.result()
        self._post(partial(self._finish, session, request, outcome))

    def _finish(self, session: Session, request: InFlight, outcome: _Outcome) -> None:
        if session.take(request):
            session.send(outcome.frame)
            self._log_done(request, outcome.code, outcome.notes)
            self._note_idle()

    def _expire(self, session: Session, request: InFlight) -> None:
        text = f"{request.method} took longer than {self._timeout_s:g} s"
        self._give_up(session, request, DeadlineExceeded(text, hint="narrow the request, or raise request_timeout"))

    def _give_up(self, session: Session, request: InFlight, error: GrooveError) -> None:
        """Answer now with an error; the work is told to stop, and what it still brings is thrown away."""
        request.token.cancel()
        self._finish(session, request, _failure(request, error))

    # Notifications

    def _notification(self, session: Session, name: str, params: object) -> None:
        try:
            if name != "$/cancel":
                raise UnknownMethod(f"no notification {name[:64]!a}", hint="a client may send $/cancel")
            wanted = from_params(CancelNotification, argument(params))
        except (ParamsError, FrameError) as error:
            session.send(answers.error_notification(InvalidParams(f"$/cancel: {error}")))
            return
        except UnknownMethod as error:
            session.send(answers.error_notification(error))
            return
        request = session.in_flight.get(wanted.msgid)
        # An answer that crossed the cancellation on its way is no fault.
        if request is not None:
            self._give_up(session, request, Cancelled("the request was cancelled"))

    def _notify(self, session: Session, request: InFlight, name: str, content: object) -> None:
        """Send a notification that belongs to a request; from any thread."""
        frame = encode_notification(name, to_plain(content))
        self._post(partial(self._send_while_open, session, request, frame))

    def _send_while_open(self, session: Session, request: InFlight, frame: bytes) -> None:
        if session.in_flight.get(request.msgid) is request:
            session.send(frame)

    def _post(self, work: Callable[[], None]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            log.debug("rpc.loop_closed")

    def _log_done(self, request: InFlight, outcome: str, notes: Mapping[str, object] | None) -> None:
        took_ms = (time.monotonic() - request.began) * 1000
        method = request.method if request.method in self._handlers else "unknown"
        self.meter.time(f"request.{method}", took_ms)
        self.meter.count(f"request.{method}")
        if outcome != "ok":
            self.meter.count(f"error.{outcome}")
        write = log.debug if method in _QUIET and outcome == "ok" else log.info
        write(
            "request.done",
            method=method,
            took_ms=round(took_ms, 1),
            outcome=outcome,
            request_id=request.request_id,
            **(notes or {}),
        )


def _unknown_method(method: str, handlers: Mapping[str, Handler]) -> str:
    close = difflib.get_close_matches(method[:64], list(handlers), n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"no method {method[:64]!a}{hint}"


def _failure(request: InFlight, error: GrooveError) -> _Outcome:
    return _Outcome(answers.error_frame(request.msgid, error), code=error.code)


def _internal(request: InFlight, text: str) -> GrooveError:
    return GrooveError(text, hint=f"the log has the details under request_id {request.request_id}")
