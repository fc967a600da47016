"""Errors and responses as frames.

What always holds: whatever happens becomes exactly one frame; the text of an error is one printable line that begins
with the error's dotted name; nothing that cannot be encoded gets past here.
"""

from groove_daemon.errors import GrooveError
from groove_wire.codes import ErrorCode
from groove_wire.framing import encode_notification, encode_response
from groove_wire.params import to_plain

MAX_TEXT = 2000

_CODES = {code.name_on_wire: code for code in ErrorCode}


def response_frame(msgid: int, response: object) -> bytes:
    """A response; raises EncodeError when a value in it cannot travel."""
    return encode_response(msgid, None, to_plain(response))


def error_frame(msgid: int, error: GrooveError) -> bytes:
    """The response that says what went wrong."""
    return encode_response(msgid, error_pair(error))


def error_notification(error: GrooveError) -> bytes:
    """The notification for a fault that belongs to no request."""
    code, text = error_pair(error)
    return encode_notification("error", {"code": code, "text": text})


def error_pair(error: GrooveError) -> tuple[int, str]:
    """Code and text as they travel."""
    return int(_CODES[error.code]), f"{error.code}: {one_line(str(error))}"


def one_line(text: str) -> str:
    """The text without line breaks and control characters, at most `MAX_TEXT` characters."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 3] + "..."
