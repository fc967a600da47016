"""What is indexed: documents, their sections and their chunks, as parsing and the store exchange them.

Texts here are what the parser made of the file: decoded, line feed as line end, without NUL or lone surrogates.
Lines are 1-based lines of the file on disk, cut at line feeds; byte offsets are offsets into the file on disk.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, NewType

ChunkId = NewType("ChunkId", int)
DocumentId = NewType("DocumentId", int)
CollectionId = NewType("CollectionId", int)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a document says about itself.

    `date` is ISO 8601 text.  `problems` are one-line notes on what could not be understood, for example bad
    frontmatter with line and column; they never make a document fail.
    """

    title: str | None = None
    date: str | None = None
    topic: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text under it up to the next heading of any level.

    `start` and `end` are character offsets of the body in the parsed text, without the heading line;
    `heading_start` is where the heading line begins (equal to `start` when there is no heading).
    `level` is 1 to 6, or None for text before the first heading.  `ancestors` are the headings above, outermost
    first, without the section's own.
    """

    heading: str | None
    level: int | None
    heading_start: int
    start: int
    end: int
    ancestors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk as the chunker makes it, before it has an identity.

    `content` is the exact slice `[start, end)` of the parsed text, stripped of blank lines at both ends (the
    offsets are those of the stripped slice).  `heading_path` holds the headings above, outermost
    first, own heading last.
    `context` is the breadcrumb, at most 200 characters, or None.  `token_count` is in the embedder's tokens
    of what the embedder reads.
    """

    position: int
    heading: str | None
    level: int | None
    heading_path: tuple[str, ...]
    context: str | None
    content: str
    start: int
    end: int
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    token_count: int
    quality: float


@dataclass(frozen=True, slots=True)
class FileStat:
    """The stat fields that tell whether a file changed: size in bytes, times in ns since the epoch, inode."""

    size_bytes: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A parsed and chunked document, ready to be stored.

    `path` is relative to the collection's root with `/`, in the reversible spelling of `groove_wire.paths` when the
    name on disk is not valid UTF-8.  `parse_key` names parser and chunker with their versions and settings: when it
    differs from the stored one the file is parsed again.  `title` is never empty: frontmatter, first level-1 heading,
    or file stem.  `title_passage` is what the embedder reads for the title leg.
    """

    path: str
    title: str
    metadata: Metadata
    topic: str | None
    category: str | None
    format: str
    stat: FileStat
    content_hash: bytes
    parse_key: str
    encoding: str
    title_passage: str
    chunks: tuple[ChunkDraft, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What reconcile needs to know about a stored document."""

    document_id: DocumentId
    path: str
    stat: FileStat
    content_hash: bytes
    parse_key: str


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the store returns it."""

    document_id: DocumentId
    collection: str
    path: str
    title: str
    topic: str | None
    category: str | None
    date: str | None
    tags: tuple[str, ...]
    format: str
    stat: FileStat
    indexed_at: float
    chunk_count: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store returns it, with its document's fields beside it."""

    chunk_id: ChunkId
    document: StoredDocument
    position: int
    heading: str | None
    level: int | None
    heading_path: tuple[str, ...]
    context: str | None
    content: str
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    token_count: int | None
    quality: float
    created_at: float
    has_vector: bool


class Sibling(NamedTuple):
    """A stored chunk as one of its document's: its text and where that stands; the fields are those of `StoredChunk`.

    A plain tuple, because an answer reads some hundred of them.
    """

    document_id: DocumentId
    chunk_id: ChunkId
    position: int
    level: int | None
    content: str
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    token_count: int | None
