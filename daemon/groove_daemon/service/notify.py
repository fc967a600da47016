"""What the daemon tells systemd about itself, by datagrams to the socket in `NOTIFY_SOCKET`.

What always holds: without that variable every call does nothing; a manager that cannot be reached stops nothing.
Knows nothing about the daemon: who calls, and when, is the composition root's business.
"""

import os
import socket
from collections.abc import Mapping

import structlog

log = structlog.get_logger()


class Notifier:
    """The channel to the service manager; any thread may use it.

    Args:
        environment: read for `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
        pid: this process.
    """

    def __init__(self, environment: Mapping[str, str], *, pid: int | None = None) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # `@` stands for the NUL of the abstract namespace.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_s = _watchdog_s(environment, os.getpid() if pid is None else pid)

    @property
    def is_connected(self) -> bool:
        """Whether a service manager listens."""
        return bool(self._address)

    @property
    def ping_every_s(self) -> float | None:
        """Seconds between two calls of `alive`: half of what the manager allows; None when it watches nothing."""
        return None if self._watchdog_s is None else self._watchdog_s / 2

    def ready(self, status: str = "") -> None:
        """The daemon serves requests."""
        self._send("READY=1", *_status(status))

    def status(self, text: str) -> None:
        """One line about what the daemon is doing, for `systemctl status`."""
        self._send(*_status(text))

    def stopping(self, status: str = "") -> None:
        """The daemon has begun to stop."""
        self._send("STOPPING=1", *_status(status))

    def alive(self) -> None:
        """The daemon's loop turns: resets the watchdog."""
        self._send("WATCHDOG=1")

    def extend(self, seconds: float) -> None:
        """A start or stop needs this long from now on."""
        self._send(f"EXTEND_TIMEOUT_USEC={round(seconds * 1_000_000)}")

    def _send(self, *fields: str) -> None:
        if not self._address or not fields:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | _CLOSE_ON_EXEC) as channel:
                # A manager that does not read must not stop the loop.
                channel.setblocking(False)
                channel.sendto("\n".join(fields).encode(), self._address)
        except OSError as error:
            log.debug("service.notify_failed", reason=str(error))


_CLOSE_ON_EXEC = getattr(socket, "SOCK_CLOEXEC", 0)


def _status(text: str) -> tuple[str, ...]:
    return (f"STATUS={' '.join(text.split())}",) if text else ()


def _watchdog_s(environment: Mapping[str, str], pid: int) -> float | None:
    allowed = environment.get("WATCHDOG_USEC", "")
    if not allowed.isdecimal() or int(allowed) == 0:
        return None
    # Set for a process that is not this one when a parent was started by systemd.
    return int(allowed) / 1_000_000 if environment.get("WATCHDOG_PID", str(pid)) == str(pid) else None
