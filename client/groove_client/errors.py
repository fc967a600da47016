"""What can go wrong between a client and the daemon, told apart by what the caller can do next.

What always holds: `str(error)` is one line that says what happened and, where there is one, the remedy.
"""


class ClientError(Exception):
    """Root of all errors that this package raises on purpose."""


class DaemonNotRunning(ClientError):
    """Nobody listens where the daemon would: start it.

    Args:
        message: what happened.
        may_start: False when starting a daemon cannot help, for example because somebody else listens there.
    """

    def __init__(self, message: str, *, may_start: bool = True) -> None:
        super().__init__(message)
        self.may_start = may_start


class StartFailed(ClientError):
    """The daemon ended before it listened.

    Args:
        lines: what it said, a fault on each line.
        is_configuration: whether the configuration is at fault, which the user can repair.
    """

    def __init__(self, *lines: str, is_configuration: bool = False) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines
        self.is_configuration = is_configuration


class DaemonNotResponding(ClientError):
    """Somebody listens but gave no whole answer in the time allowed."""


class DaemonIncompatible(ClientError):
    """The daemon speaks another major version of the protocol: bring both to one version."""


class RequestFailed(ClientError):
    """The daemon answered with an error.

    Args:
        code: number of the error, one of `groove_wire.codes.ErrorCode`.
        text: the daemon's line, `name: what happened; what to do`.

    Attributes:
        name: dotted name of the error, for example `request.invalid_params`.
        message: the line without the name.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        name, separator, message = text.partition(": ")
        self.name = name if separator and " " not in name else ""
        self.message = message if self.name else text
