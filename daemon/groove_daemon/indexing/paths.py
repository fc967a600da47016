"""The spelling of file names that the index and the wire use, and its way back to the bytes on the disk.

A relative path that is valid UTF-8 is spelled as itself, byte for byte: no normalisation, no change of case.  Any other
path, and one that starts with the marker itself, is `bytes:` and the percent-encoding of the whole path.  The
two functions are inverse to each other.  Knows nothing of the file system.
"""

import os
from urllib.parse import quote_from_bytes, unquote_to_bytes

MARKER = "bytes:"


def spell(raw: bytes) -> str:
    """The text that stands for a relative path; never holds a lone surrogate."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return MARKER + quote_from_bytes(raw, safe="/")
    return MARKER + quote_from_bytes(raw, safe="/") if text.startswith(MARKER) else text


def unspell(path: str) -> bytes:
    """The bytes of a spelled path as the disk has them.

    Raises:
        UnicodeEncodeError: `path` holds a lone surrogate, so it was never spelled.
    """
    if path.startswith(MARKER):
        return unquote_to_bytes(path[len(MARKER) :])
    return path.encode("utf-8")


def on_disk(root: str, path: str) -> bytes:
    """The absolute path of a document: the root as configured, joined with the bytes of `path`."""
    return os.path.join(os.fsencode(root), unspell(path)) if path else os.fsencode(root)


def for_matching(raw: bytes) -> str:
    """The text of a path as patterns and suffixes see it: bytes that are not UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def lies_below(raw: bytes, folder: bytes) -> bool:
    """Whether a path is `folder` or below it; everything is below the root, `b""`."""
    return not folder or raw == folder or raw.startswith(folder + b"/")
