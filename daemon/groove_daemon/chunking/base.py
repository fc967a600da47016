"""The contract of a chunker: a parsed document in, chunk drafts out.

Chunks are in order; together they cover all text of all sections but white space, rules and empty bullets; no passage
is longer than the embedder reads; two chunks overlap only where one section was split.  A document without text has
one chunk, which is empty and carries the title, so that the document can be found.  A chunker is pure.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Protocol

from groove_daemon.domain.document import ChunkDraft
from groove_daemon.formats.base import ParsedDocument


class TokenOffsets(Protocol):
    """What a chunker needs of the embedder's tokenizer (see `groove_daemon.models.base.Tokenizer`)."""

    @property
    def name(self) -> str:
        """Identity of the tokenizer."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of text that the embedder reads."""
        ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character ranges of all tokens."""
        ...


class Chunker(Protocol):
    """Cuts documents into chunks."""

    @property
    def key(self) -> str:
        """Name, version and settings; part of `DocumentDraft.parse_key`."""
        ...

    def chunk(self, document: ParsedDocument, *, title: str, path: PurePosixPath) -> Sequence[ChunkDraft]:
        """Cut a document; `title` starts each breadcrumb."""
        ...
