"""The limits of the wire in one place; each is answered with an error when it is passed, never with silence."""

from groove_wire.framing import MAX_FRAME_BYTES
from groove_wire.params import MAX_ENTRY_BYTES, MAX_LIST_ENTRIES

__all__ = [
    "MAX_CONNECTIONS",
    "MAX_ENTRY_BYTES",
    "MAX_FRAME_BYTES",
    "MAX_IN_FLIGHT",
    "MAX_LIMIT",
    "MAX_LIST_ENTRIES",
    "MAX_OUTGOING_BYTES",
    "MAX_QUERY_CHARS",
    "MAX_REQUEST_ITEMS",
]

MAX_LIMIT = 1000
MAX_QUERY_CHARS = 4096
MAX_IN_FLIGHT = 64
MAX_CONNECTIONS = 128
MAX_OUTGOING_BYTES = 16 * 1024 * 1024
# Requests are small; the bound keeps a frame of tiny values from growing fiftyfold when it is decoded.
MAX_REQUEST_ITEMS = 65_536
