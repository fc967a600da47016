"""The breadcrumb of a chunk: title and headings above it, for the embedder and for full text.  Pure."""

from collections.abc import Sequence

MAX_CHARS = 200


def breadcrumb(title: str, headings: Sequence[str]) -> str | None:
    """Title and headings, outermost first, as `title > heading > heading`.

    Each is trimmed; empty ones and those equal to the one before are left out; the whole is cut to 200 characters.
    None when nothing is left.
    """
    parts: list[str] = []
    for part in (title, *headings):
        trimmed = part.strip()
        if trimmed and parts[-1:] != [trimmed]:
            parts.append(trimmed)
    return " > ".join(parts)[:MAX_CHARS].rstrip() or None
