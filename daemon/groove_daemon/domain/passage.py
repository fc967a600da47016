"""What an embedder reads for a chunk, and the key under which the result is kept.

The same passage always has the same key, so a passage is embedded once however often and wherever it occurs.
"""

from hashlib import blake2b

KEY_BYTES = 16


def passage(context: str | None, content: str) -> str:
    """The text for the embedder: the breadcrumb, a blank line, the content; the content alone without a breadcrumb."""
    return f"{context}\n\n{content}" if context else content


def embed_key(text: str) -> bytes:
    """Key of a passage: 16 bytes of BLAKE2b over its UTF-8 form."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
