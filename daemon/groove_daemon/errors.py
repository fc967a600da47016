"""Every error that the daemon raises on purpose: one root, families by what the receiver can do.

What always holds: each class has a stable dotted `code` that equals a code of the wire; `str(error)` is
one line that names the thing; `hint` says what to do, or is empty.  Foreign exceptions are translated at
the module that owns the foreign library, with `from`.
"""

from typing import ClassVar


class GrooveError(Exception):
    """Root of all errors raised on purpose.

    Args:
        message: what happened, one line, naming the thing.
        hint: what the receiver can do; empty when there is nothing.
        data: the values that were wrong, for logs and tests.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, hint: str = "", **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data = data

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class ConfigError(GrooveError):
    """The configuration is wrong; `problems` lists every fault found, each with file, key and suggestion."""

    code = "config.invalid"

    def __init__(self, message: str, *, hint: str = "", problems: tuple[str, ...] = (), **data: object) -> None:
        super().__init__(message, hint=hint, **data)
        self.problems = problems or (message,)


class StoreError(GrooveError):
    """The index file cannot do what was asked."""

    code = "index.corrupt"


class StoreTooNew(StoreError):
    """The index was made by a newer version of the program."""

    code = "index.schema_too_new"


class StoreCorrupt(StoreError):
    """The file is damaged or is not an index of ours."""

    code = "index.corrupt"


class StoreLocked(StoreError):
    """Another process holds the index."""

    code = "index.locked"


class EmbedderMismatch(StoreError):
    """The vectors in the index were made by another model."""

    code = "index.embedder_mismatch"


class StoreFull(StoreError):
    """The disk that holds the index is full or may not be written."""

    code = "index.full"


class DocumentError(GrooveError):
    """A document cannot be had."""

    code = "document.not_indexed"


class NotIndexed(DocumentError):
    """No such document or chunk in the index."""

    code = "document.not_indexed"


class OutsideRoots(DocumentError):
    """The path lies under no collection."""

    code = "document.outside_roots"


class UnsupportedFormat(DocumentError):
    """No parser takes this kind of file."""

    code = "document.unsupported"


class Unparseable(DocumentError):
    """The file was read but cannot be parsed; the reason is in the message."""

    code = "document.unparseable"


class ModelError(GrooveError):
    """A model cannot answer."""

    code = "model.unavailable"


class ModelLoading(ModelError):
    """The model is being loaded; ask again."""

    code = "model.loading"


class ModelUnavailable(ModelError):
    """The model is missing or broken; the hint says what to install or set."""

    code = "model.unavailable"


class RequestError(GrooveError):
    """The request is wrong; sending it again unchanged cannot help."""

    code = "request.invalid_params"


class UnknownMethod(RequestError):
    """No such method."""

    code = "request.unknown_method"


class InvalidParams(RequestError):
    """A parameter is unknown, of the wrong type or out of range; the message names it."""

    code = "request.invalid_params"


class BadQuery(RequestError):
    """The query text cannot be searched for."""

    code = "request.bad_query"


class TooLarge(RequestError):
    """A stated limit of the wire was passed."""

    code = "request.too_large"


class Cancelled(RequestError):
    """The caller cancelled the request or went away."""

    code = "request.cancelled"


class BadFrame(RequestError):
    """The bytes are no message of the protocol."""

    code = "request.bad_frame"


class Incompatible(RequestError):
    """The other side speaks another major version of the protocol."""

    code = "request.incompatible"


class Forbidden(RequestError):
    """The caller may not do this."""

    code = "request.forbidden"


class Unavailable(GrooveError):
    """The daemon cannot take the request now."""

    code = "daemon.busy"


class Busy(Unavailable):
    """A limit of concurrent work is reached; ask again later."""

    code = "daemon.busy"


class DeadlineExceeded(Unavailable):
    """The time that the caller allowed is over."""

    code = "daemon.deadline"


class ShuttingDown(Unavailable):
    """The daemon is stopping."""

    code = "daemon.shutting_down"
