"""One connection to the daemon: frames out, frames in, each wait bounded by a deadline.

What always holds: no byte is sent to a process of another user; a wait ends at its deadline; closing the connection
cancels all that it had in flight.  Deadlines are monotonic seconds, None for no limit.
This module is part of the command's start time, hence `_socket`: `socket` costs as much as a whole search.
"""

from __future__ import annotations

import _socket
import os
import sys
import time

from groove_client.errors import DaemonIncompatible, DaemonNotResponding, DaemonNotRunning, RequestFailed
from groove_wire.framing import (
    NOTIFICATION,
    Decoder,
    FrameError,
    argument,
    encode_notification,
    encode_request,
    load_reader,
)
from groove_wire.version import PROTOCOL_VERSION, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    OnNotification = Callable[[str, dict[str, object]], None]

CLIENT_NAME = "groovectl"
_INCOMPATIBLE = 506
_READ_BYTES = 256 * 1024
# A full backlog of a Unix socket refuses at once instead of making the caller wait, so the wait is ours.
_BACKLOG_PAUSE_S = 0.01


class Channel:
    """A connected socket that speaks the protocol.

    Args:
        sock: connected stream socket; the channel owns it.
        path: where it is connected to, for messages.
    """

    __slots__ = ("_abandoned", "_answers", "_decoder", "_last_id", "_sock", "_unsent", "path")

    def __init__(self, sock: _socket.socket, path: str) -> None:
        self.path = path
        self._sock = sock
        self._decoder = Decoder(64 * 1024 * 1024)
        self._answers: dict[int, tuple[object, object]] = {}
        self._abandoned: set[int] = set()
        self._last_id = 0
        self._unsent = b""

    def request(
        self,
        method: str,
        params: dict[str, object] | None = None,
        *,
        deadline: float | None = None,
        with_next: bool = False,
    ) -> int:
        """Send a request and return its id, without waiting for the answer; `with_next` sends it with the next one."""
        self._last_id += 1
        self._unsent += encode_request(self._last_id, method, params or {})
        if not with_next:
            frames, self._unsent = self._unsent, b""
            self._send(frames, deadline)
        return self._last_id

    def notify(self, method: str, params: dict[str, object], *, deadline: float | None = None) -> None:
        """Send a notification."""
        self._send(encode_notification(method, params), deadline)

    def result(
        self, msgid: int, *, deadline: float | None = None, on_notification: OnNotification | None = None
    ) -> object:
        """Wait for the answer of a request; notifications that come first go to `on_notification`.

        Raises:
            RequestFailed: the daemon answered with an error.
            DaemonIncompatible: the error says that the two sides do not understand each other.
            DaemonNotResponding: no answer before the deadline, or the connection broke.
        """
        load_reader()
        while msgid not in self._answers:
            self._receive(deadline, on_notification)
        return outcome(*self._answers.pop(msgid))

    def call(
        self,
        method: str,
        params: dict[str, object] | None = None,
        *,
        deadline: float | None = None,
        on_notification: OnNotification | None = None,
    ) -> object:
        """Send a request and wait for its answer; errors as in `result`."""
        msgid = self.request(method, params, deadline=deadline)
        return self.result(msgid, deadline=deadline, on_notification=on_notification)

    def cancel(self, msgid: int, *, deadline: float | None = None) -> None:
        """Ask the daemon to stop a request; its answer is still to be waited for."""
        self.notify("$/cancel", {"msgid": msgid}, deadline=deadline)

    def abandon(self, msgid: int) -> None:
        """Drop the answer of a request when it comes."""
        self._abandoned.add(msgid)

    def wait_for_notification(self, on_notification: OnNotification, *, timeout_s: float | None = None) -> bool:
        """Wait until something arrives and hand the notifications in it on; False when the time is over.

        Raises:
            DaemonNotResponding: the connection broke.
        """
        self._sock.settimeout(timeout_s)
        try:
            data = self._sock.recv(_READ_BYTES)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            raise _broken(self.path, error) from error
        self._digest(data, on_notification)
        return True

    def detach(self) -> int:
        """Give the socket's descriptor away; the channel is of no use any more."""
        self._sock.setblocking(False)
        return self._sock.detach()

    def close(self) -> None:
        """Close the connection; the daemon cancels what is in flight."""
        self._sock.close()

    def _send(self, frame: bytes, deadline: float | None) -> None:
        try:
            self._sock.settimeout(_remaining(deadline, self.path))
            self._sock.sendall(frame)
        except TimeoutError as error:
            raise _no_answer(self.path) from error
        except BrokenPipeError:
            # The daemon closed after an error that it sent before: that error is worth more than this one.
            self._receive(deadline, None)
        except OSError as error:
            raise _broken(self.path, error) from error

    def _receive(self, deadline: float | None, on_notification: OnNotification | None) -> None:
        try:
            self._sock.settimeout(_remaining(deadline, self.path))
            data = self._sock.recv(_READ_BYTES)
        except TimeoutError as error:
            raise _no_answer(self.path) from error
        except OSError as error:
            raise _broken(self.path, error) from error
        self._digest(data, on_notification)

    def _digest(self, data: bytes, on_notification: OnNotification | None) -> None:
        if not data:
            raise DaemonNotResponding(f"the daemon closed the connection at {self.path} before it answered")
        try:
            messages = self._decoder.feed(data)
        except FrameError as error:
            raise DaemonNotResponding(f"what listens at {self.path} does not speak the protocol: {error}") from error
        for message in messages:
            self._take(message, on_notification)

    def _take(self, message: tuple[Any, ...], on_notification: OnNotification | None) -> None:
        if len(message) == 4:
            _, msgid, error, result = message
            if msgid in self._abandoned:
                self._abandoned.discard(msgid)
            else:
                self._answers[msgid] = (error, result)
            return
        kind, method, params = message
        if kind == NOTIFICATION and method == "error":
            raise_notified(argument(params))
        if on_notification is not None:
            on_notification(str(method), argument(params))


def outcome(error: object, result: object) -> object:
    """Return the result of a response, or raise its error.

    Raises:
        RequestFailed: the error, which the decoder has found to be a pair.
        DaemonIncompatible: the error says that the two sides do not understand each other.
    """
    if not isinstance(error, tuple):
        return result
    code, text = error
    failure = RequestFailed(code, text)
    raise DaemonIncompatible(failure.message) if code == _INCOMPATIBLE else failure


def raise_notified(problem: dict[str, object]) -> None:
    """Raise the error that came as a notification, because no request is to blame for it alone."""
    code, text = problem.get("code", 0), problem.get("text", "error")
    raise RequestFailed(code if isinstance(code, int) else 0, str(text))


def deadline_after(seconds: float | None) -> float | None:
    """Return the moment `seconds` from now in monotonic seconds; None stays None."""
    return None if seconds is None else time.monotonic() + seconds


def _remaining(deadline: float | None, path: str) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise _no_answer(path)
    return left


def _broken(path: str, error: OSError) -> DaemonNotResponding:
    return DaemonNotResponding(f"the connection to {path} broke: {error.strerror or error}")


def _no_answer(path: str) -> DaemonNotResponding:
    return DaemonNotResponding(f"no answer from {path} in the time allowed; `groovectl status` shows what it does")


def connect(paths: Sequence[str], *, deadline: float | None = None) -> Channel:
    """Connect to the first of `paths` where somebody listens.

    Raises:
        DaemonNotRunning: nobody listens at any of them, or the listener is another user's.
        DaemonNotResponding: the listener takes no connection before the deadline.
    """
    reasons = []
    for path in paths:
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            _dial(sock, path, deadline)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            sock.close()
            absent = not isinstance(error, ConnectionRefusedError)
            reasons.append(f"{'no socket at' if absent else 'nobody listens at'} {path}")
        except OSError as error:
            sock.close()
            raise DaemonNotRunning(f"cannot open {path}: {error.strerror or error}", may_start=False) from error
        else:
            return _trusted(sock, path)
    raise DaemonNotRunning("no daemon is running: " + ", ".join(reasons))


def _dial(sock: _socket.socket, path: str, deadline: float | None) -> None:
    while True:
        sock.settimeout(_remaining(deadline, path))
        try:
            sock.connect(path)
        except BlockingIOError:
            time.sleep(_BACKLOG_PAUSE_S)
        except TimeoutError as error:
            raise _no_answer(path) from error
        else:
            return


def _trusted(sock: _socket.socket, path: str) -> Channel:
    owner = _peer_uid(sock)
    if owner not in (None, os.getuid()):
        sock.close()
        raise DaemonNotRunning(f"{path} belongs to a process of user {owner}, not to yours", may_start=False)
    return Channel(sock, path)


def _peer_uid(sock: _socket.socket) -> int | None:
    """The user who listens; None where the platform does not tell."""
    if sys.platform == "linux":
        credentials = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    elif sys.platform == "darwin":
        credentials = sock.getsockopt(0, _socket.LOCAL_PEERCRED, 76)
    else:
        return None
    # pid, uid, gid on Linux; version, uid, groups on macOS
    return int.from_bytes(credentials[4:8], sys.byteorder)


def hello_params(client: str = CLIENT_NAME) -> dict[str, object]:
    """Return what this side says about itself in `hello`."""
    return {"client": client, "version": VERSION, "protocol": list(PROTOCOL_VERSION)}


def check_protocol(hello: object) -> dict[str, object]:
    """Return the daemon's answer to `hello` if both sides speak the same major version.

    Raises:
        DaemonIncompatible: they do not; the message names both versions and the remedy.
    """
    if not isinstance(hello, dict):
        raise DaemonIncompatible("the daemon's answer to hello cannot be read; `groovectl restart` starts this version")
    protocol = hello.get("protocol")
    theirs = protocol if isinstance(protocol, (list, tuple)) and protocol else [protocol]
    if theirs[0] == PROTOCOL_VERSION[0]:
        return hello
    spoken = ".".join(str(part) for part in theirs)
    ours = ".".join(str(part) for part in PROTOCOL_VERSION)
    raise DaemonIncompatible(
        f"this is {VERSION} with protocol {ours}, the daemon is {hello.get('version')} with protocol {spoken}; "
        "install both from the same release, then run `groovectl restart`"
    )
