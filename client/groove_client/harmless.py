r"""Texts of notes, made harmless for a terminal.

What always holds: the result has no control character but the ones named in `keep`, and no character that turns the
direction of the text around it; each such character is replaced by a visible spelling such as `\x1b`.  Nothing else
changes.
"""

# Marks that override or isolate the writing direction can make a path or a command look like another one.
_DIRECTION_MARKS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
_SEPARATORS = (0x2028, 0x2029)
_shown: dict[int, str] = {}


def harmless(text: str, *, keep: str = "") -> str:
    """Return `text` without characters that a terminal obeys instead of showing; `keep` names exceptions."""
    if text.isprintable():
        return text
    if not _shown:
        _shown.update((code, f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}") for code in harmful_codes())
    if not keep:
        return text.translate(_shown)
    return text.translate({code: shown for code, shown in _shown.items() if chr(code) not in keep})


def harmful_codes() -> tuple[int, ...]:
    """Return the code points that `harmless` replaces, lone surrogates among them."""
    controls = (*range(0x20), *range(0x7F, 0xA0))
    return (*controls, *_DIRECTION_MARKS, *_SEPARATORS, *range(0xD800, 0xE000))
