"""Plain values as JSON text, without the cost of loading the `json` package (10 ms, half of a whole search).

What always holds: the output is valid JSON in UTF-8; characters that a terminal obeys are escaped, all others are
written as they are; a number that JSON has no spelling for becomes null.
"""

try:
    from _json import encode_basestring as _quote
except ImportError:  # an interpreter without the accelerator
    from json.encoder import py_encode_basestring as _quote

from groove_client.harmless import harmful_codes

_escapes: dict[int, str] = {}


def compact(value: object) -> str:
    """Return `value` on one line."""
    return _text(value, None, "")


def indented(value: object) -> str:
    """Return `value` on many lines, two blanks a level."""
    return _text(value, "  ", "\n")


def _text(value: object, step: str | None, line: str) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if value - value == 0 else "null"
    if isinstance(value, bytes):
        return _string(value.hex())
    if isinstance(value, dict):
        pairs = [f"{_string(str(key))}: {_text(item, step, line + (step or ''))}" for key, item in value.items()]
        return _enclosed("{", pairs, "}", step, line)
    if isinstance(value, (list, tuple)):
        return _enclosed("[", [_text(item, step, line + (step or "")) for item in value], "]", step, line)
    raise TypeError(f"{type(value).__name__} is no plain value")


def _string(text: str) -> str:
    quoted: str = _quote(text)
    if quoted.isprintable():
        return quoted
    if not _escapes:
        _escapes.update((code, f"\\u{code:04x}") for code in harmful_codes())
    return quoted.translate(_escapes)


def _enclosed(opening: str, items: list[str], closing: str, step: str | None, line: str) -> str:
    if not items:
        return opening + closing
    if step is None:
        return opening + ", ".join(items) + closing
    inner = line + step
    return opening + inner + ("," + inner).join(items) + line + closing
