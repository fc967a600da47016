"""The closed list of error codes on the wire.

A code is a number that never changes its meaning and is never used again, and a dotted name for people.
The hundreds digit is the family, that is: what the receiver can do about it.
"""

from enum import IntEnum


class ErrorCode(IntEnum):
    """Every error that a response can carry; `name_on_wire` is the dotted spelling used in texts."""

    INTERNAL = 1
    CONFIG_INVALID = 100
    INDEX_SCHEMA_TOO_NEW = 200
    INDEX_CORRUPT = 201
    INDEX_LOCKED = 202
    INDEX_EMBEDDER_MISMATCH = 203
    INDEX_FULL = 204
    DOCUMENT_NOT_INDEXED = 300
    DOCUMENT_OUTSIDE_ROOTS = 301
    DOCUMENT_UNSUPPORTED = 302
    DOCUMENT_UNPARSEABLE = 303
    MODEL_LOADING = 400
    MODEL_UNAVAILABLE = 401
    REQUEST_UNKNOWN_METHOD = 500
    REQUEST_INVALID_PARAMS = 501
    REQUEST_BAD_QUERY = 502
    REQUEST_TOO_LARGE = 503
    REQUEST_CANCELLED = 504
    REQUEST_BAD_FRAME = 505
    REQUEST_INCOMPATIBLE = 506
    REQUEST_FORBIDDEN = 507
    DAEMON_BUSY = 600
    DAEMON_DEADLINE = 601
    DAEMON_SHUTTING_DOWN = 602

    @property
    def name_on_wire(self) -> str:
        """The dotted name, for example `request.invalid_params`."""
        family, _, rest = self.name.lower().partition("_")
        return f"{family}.{rest}" if rest else family
