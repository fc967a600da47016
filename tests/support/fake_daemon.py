"""A daemon on a real socket that says what a test tells it to: one thread a connection, no index, no models."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from groove_wire.framing import Decoder, FrameError, argument, encode_notification, encode_response
from groove_wire.version import PROTOCOL_VERSION, VERSION

HELLO: dict[str, object] = {
    "server": "grooved",
    "version": VERSION,
    "protocol": list(PROTOCOL_VERSION),
    "pid": os.getpid(),
    "instance": "default",
    "started_at": "2026-03-01T12:00:00+00:00",
    "capabilities": {"methods": ["search"], "features": [], "events": ["index_changed", "progress"]},
    "limits": {
        "frame_bytes": 8 * 1024 * 1024,
        "outgoing_buffer_bytes": 16 * 1024 * 1024,
        "connections": 128,
        "in_flight": 64,
        "query_chars": 4096,
        "list_entries": 64,
        "list_entry_bytes": 1024,
        "limit": 1000,
    },
}


@dataclass(frozen=True)
class Failure:
    """An error for an answer."""

    code: int
    text: str


@dataclass
class Exchange:
    """One request as a scripted answer sees it."""

    method: str
    msgid: int
    params: dict[str, object]
    connection: socket.socket
    cancelled: threading.Event = field(default_factory=threading.Event)

    def notify(self, method: str, **params: object) -> None:
        self.connection.sendall(encode_notification(method, params))

    def send_bytes(self, data: bytes) -> None:
        self.connection.sendall(data)

    def hang_up(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)


NO_ANSWER = object()
Answer = Mapping[str, object] | Failure | Callable[[Exchange], Any]


class FakeDaemon:
    """Listens at `path` and answers each method as scripted.

    Args:
        path: of the socket.
        answers: method to a result, a `Failure`, or a function of the exchange whose return value is the result (or
            a `Failure`, or `NO_ANSWER`).
    """

    def __init__(self, path: str | os.PathLike[str], answers: Mapping[str, Answer]) -> None:
        self.path = os.fspath(path)
        self.answers: dict[str, Answer] = {"hello": HELLO, **answers}
        self.requests: list[tuple[str, dict[str, object]]] = []
        self.notifications: list[tuple[str, dict[str, object]]] = []
        self.closed_connections = threading.Semaphore(0)
        self._open: dict[tuple[int, int], Exchange] = {}
        self._connections: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def __enter__(self) -> "FakeDaemon":
        self._listener.bind(self.path)
        self._listener.listen()
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take no more connections, close the open ones, and wait for the threads."""
        self.stop_listening()
        for exchange in self._open.values():
            exchange.cancelled.set()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(10)

    def stop_listening(self) -> None:
        """Take no more connections; the open ones go on."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def params_of(self, method: str) -> dict[str, object]:
        """The parameters of the last request of that method."""
        return next(params for name, params in reversed(self.requests) if name == method)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        decoder = Decoder()
        try:
            while data := connection.recv(65536):
                for message in decoder.feed(data):
                    self._take(connection, message)
        except (OSError, FrameError):
            pass
        finally:
            for exchange in list(self._open.values()):
                if exchange.connection is connection:
                    exchange.cancelled.set()
            connection.close()
            self.closed_connections.release()

    def _take(self, connection: socket.socket, message: tuple[Any, ...]) -> None:
        if len(message) == 3:
            _, method, params = message
            given = argument(params)
            self.notifications.append((method, given))
            if method == "$/cancel":
                self._open[id(connection), given["msgid"]].cancelled.set()  # type: ignore[index]
            return
        _, msgid, method, params = message
        exchange = Exchange(method, msgid, argument(params), connection)
        self._open[id(connection), msgid] = exchange
        self.requests.append((method, exchange.params))
        answer = self.answers.get(method, Failure(500, f"request.unknown_method: no method {method}"))
        if callable(answer):
            self._start(self._answer_later, exchange, answer)
        else:
            self._answer(exchange, answer)

    def _answer_later(self, exchange: Exchange, answer: Callable[[Exchange], Any]) -> None:
        with contextlib.suppress(OSError):
            self._answer(exchange, answer(exchange))

    def _answer(self, exchange: Exchange, answer: Any) -> None:
        if answer is NO_ANSWER:
            return
        failure = (answer.code, answer.text) if isinstance(answer, Failure) else None
        exchange.connection.sendall(encode_response(exchange.msgid, failure, None if failure else answer))
