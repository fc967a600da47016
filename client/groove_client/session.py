"""What a command has at hand: its arguments, the screen, and a connection to the daemon when it asks for one.

What always holds: a connection is opened once, at the first call; a missing daemon is started unless that is
forbidden; both sides have told their versions before anything but `status` and the stop of a daemon is believed.
"""

from __future__ import annotations

import os

from groove_client.errors import DaemonNotRunning
from groove_client.render import Screen
from groove_client.syntax import Arguments, UsageError
from groove_client.transport import Channel, check_protocol, connect, deadline_after, hello_params
from groove_wire import paths
from groove_wire.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from groove_client.service import Target
    from groove_client.transport import OnNotification

DEFAULT_TIMEOUT_S = 30.0


class Session:
    """One run of the command.

    Args:
        arguments: of the command, global options among them.
        screen: where answers go.

    Raises:
        UsageError: the name of the instance is no name.
    """

    def __init__(self, arguments: Arguments, screen: Screen) -> None:
        self.arguments = arguments
        self.screen = screen
        self.instance = arguments.text("instance") or os.environ.get("GROOVE_INSTANCE") or paths.DEFAULT_INSTANCE
        self.timeout_s = arguments.number("timeout") or DEFAULT_TIMEOUT_S
        self.may_start = not arguments.flag("no_start")
        self._channel: Channel | None = None
        try:
            self.socket_paths = self._socket_paths()
        except ValueError as error:
            raise UsageError(str(error)) from error

    def _socket_paths(self) -> tuple[str, ...]:
        paths.check_instance(self.instance)
        chosen = self.arguments.text("socket")
        if chosen:
            return (paths.fit_socket_path(os.path.abspath(chosen)),)
        return paths.socket_candidates(self.instance)

    @property
    def state_dir(self) -> str:
        """Folder for what this program remembers and for the log of a daemon that it started."""
        return paths.state_dir(self.instance)

    def ask(
        self, method: str, params: dict[str, object] | None = None, *, timeout_s: float | None = None
    ) -> dict[str, object]:
        """Ask the daemon for something that changes nothing.

        Raises:
            ClientError: no daemon, no answer, or an error for an answer.
        """
        return self.send(method, params, timeout_s=timeout_s)()

    def send(
        self,
        method: str,
        params: dict[str, object] | None = None,
        *,
        timeout_s: float | None = None,
        on_notification: OnNotification | None = None,
    ) -> Callable[[], dict[str, object]]:
        """Ask for something that changes nothing, and return the function that waits for the answer.

        `hello` travels with the question, so that knowing each other costs no time.  What comes before the answer goes
        to `on_notification`.

        Raises:
            ClientError: no daemon; from the returned function: no answer, or an error for an answer.
        """
        deadline = deadline_after(timeout_s or self.timeout_s)
        channel = self.channel(deadline)
        hello = channel.request("hello", hello_params(), deadline=deadline, with_next=True)
        msgid = channel.request(method, params, deadline=deadline)

        def answer() -> dict[str, object]:
            self.check_versions(channel.result(hello, deadline=deadline, on_notification=on_notification))
            return as_map(channel.result(msgid, deadline=deadline, on_notification=on_notification))

        return answer

    def tell(
        self,
        method: str,
        params: dict[str, object] | None = None,
        *,
        timeout_s: float | None = None,
        is_endless: bool = False,
        on_notification: OnNotification | None = None,
    ) -> dict[str, object]:
        """Have the daemon do something: it is asked only after both sides know that they understand each other.

        Raises:
            ClientError: no daemon, no answer, or an error for an answer.
        """
        deadline = deadline_after(timeout_s or self.timeout_s)
        channel = self.channel(deadline)
        self.check_versions(channel.call("hello", hello_params(), deadline=deadline))
        deadline = None if is_endless else deadline
        return as_map(channel.call(method, params, deadline=deadline, on_notification=on_notification))

    def check_versions(self, hello: object) -> dict[str, object]:
        """Refuse a daemon of another protocol; remark on one of another release."""
        greeting = check_protocol(hello)
        version = greeting.get("version")
        if version != VERSION:
            self.screen.note(
                f"the daemon is version {version}, this is {VERSION}; `groovectl restart` renews the daemon"
            )
        return greeting

    def channel(self, deadline: float | None = None) -> Channel:
        """Return the connection; open it first, and start a daemon for it if need be."""
        return self._channel or self._connect(deadline)

    def _connect(self, deadline: float | None) -> Channel:
        try:
            self._channel = connect(self.socket_paths, deadline=deadline)
            return self._channel
        except DaemonNotRunning as error:
            if not error.may_start:
                raise
            if not self.may_start:
                raise DaemonNotRunning(f"{error}; `groovectl start` starts it") from error
        self.start()
        self.screen.note("started the daemon")
        return self.channel()

    def start(self) -> None:
        """Start the daemon and connect to it; errors as in `service.start_daemon`."""
        from groove_client.service import start_daemon

        self._channel = start_daemon(self.target())

    def target(self) -> Target:
        """Which daemon this is about, as `service` needs to know it."""
        from groove_client.service import Target

        is_chosen = self.arguments.text("socket") is not None
        return Target(self.socket_paths, self.instance, is_chosen)

    def close(self) -> None:
        """Close the connection if there is one."""
        if self._channel is not None:
            self._channel.close()


def as_map(value: object) -> dict[str, object]:
    """Return an answer as a map; anything else counts as an empty one."""
    return value if isinstance(value, dict) else {}
