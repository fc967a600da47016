"""One change to its outcome: read once, parse, chunk, store.

A file is read through one handle that was reached through no link and is checked on the handle.  A file that fails
keeps its old rows; a file that is not indexed on purpose loses them.  Embeds nothing: what lacks a vector afterwards
is counted in the outcome.
"""

import errno
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Protocol

from groove_daemon.chunking.base import Chunker
from groove_daemon.domain.change import Change, ChangeKind, Failed, Indexed, IngestOutcome, Removed, Skipped, Unchanged
from groove_daemon.domain.clock import Clock
from groove_daemon.domain.document import DocumentDraft, DocumentId, FileStat, KnownDocument
from groove_daemon.errors import Unparseable
from groove_daemon.formats import document_title
from groove_daemon.formats.base import Parser
from groove_daemon.formats.path_fields import category_of, topic_of
from groove_daemon.indexing.folder import Folder
from groove_daemon.indexing.paths import unspell
from groove_daemon.indexing.reconcile import settled
from groove_daemon.indexing.scan import file_stat, open_folder, refusal
from groove_daemon.store.records import Replaced

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Unsettled(Failed):
    """The file changed or went away while it was looked at: look again soon, nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes with the stat that belongs to them."""

    data: bytes
    stat: FileStat

    @property
    def digest(self) -> bytes:
        """Hash of the bytes: 16 bytes of BLAKE2b."""
        return blake2b(self.data, digest_size=16).digest()


class DocumentWriter(Protocol):
    """What ingest needs of the store."""

    def known_document(self, collection: str, path: str) -> KnownDocument | None:
        """The stored document at a path."""
        ...

    def replace_document(
        self, collection: str, draft: DocumentDraft, *, document_id: DocumentId | None = None, now: float
    ) -> Replaced:
        """Store a document in one transaction."""
        ...

    def touch_document(self, document_id: DocumentId, stat: FileStat) -> None:
        """Store a new stat."""
        ...

    def delete_documents(self, document_ids: Sequence[DocumentId]) -> int:
        """Remove documents."""
        ...


def read_file(root: str, path: str, max_size: int) -> FileContent | Skipped | Failed:
    """Read one file of a collection.

    Args:
        root: the collection's folder.
        path: relative path, spelled.
        max_size: a larger file is skipped; never more than that is read, whatever the stat said.
    """
    outcome: FileContent | Skipped | Failed = Unsettled("it changes while it is read")
    for _ in range(_ATTEMPTS):
        try:
            outcome = _read_once(root, path, max_size)
        except OSError as error:
            return _refused(error)
        if not isinstance(outcome, Unsettled):
            break
    return outcome


def _read_once(root: str, path: str, max_size: int) -> FileContent | Skipped | Failed:
    folder, _, name = unspell(path).rpartition(b"/")
    parent = open_folder(root, folder)
    try:
        handle = os.open(name, _READ_FLAGS, dir_fd=parent)
    finally:
        os.close(parent)
    with os.fdopen(handle, "rb", buffering=0) as file:
        before = os.fstat(handle)
        if reason := refusal(before, max_size):
            return Skipped(reason)
        data = _read_all(file.fileno(), before.st_size, max_size)
        after = os.fstat(handle)
    if file_stat(before) != file_stat(after) or len(data) != after.st_size:
        return Unsettled("it changes while it is read")
    return FileContent(data, file_stat(after))


def _read_all(handle: int, expected: int, max_size: int) -> bytes:
    pieces: list[bytes] = []
    left = max_size + 1
    while left > 0 and (piece := os.read(handle, min(left, max(expected + 1, 65536)))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _refused(error: OSError) -> Skipped | Failed:
    if error.errno == errno.ELOOP:
        return Skipped("a link; links are not followed")
    if error.errno == errno.ENXIO:
        return Skipped("not a regular file")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Unsettled("it went away before it was read")
    return Failed(error.strerror or "cannot be read")


class Ingest:
    """Applies changes to the store.

    Args:
        writer: the store's one writer; used on the caller's thread.
        chunker: cuts parsed documents.
        parser_for: the parser of a suffix among the formats named, or None.
        clock: for the time of storing.
    """

    def __init__(
        self,
        writer: DocumentWriter,
        *,
        chunker: Chunker,
        parser_for: Callable[[str, Collection[str]], Parser | None],
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._chunker = chunker
        self._parser_for = parser_for
        self._clock = clock

    def apply(self, change: Change, folder: Folder, *, force: bool = False) -> IngestOutcome:
        """Bring one document up to date; with `force`, parse it even if nothing changed.

        Raises:
            StoreError: the store could not take it; nothing was changed.
        """
        known = self._known(change)
        if change.kind is ChangeKind.REMOVED:
            return self._remove(known)
        parser = self._parser(change.path, folder)
        if parser is None:
            return self._skip(known, "no parser takes this kind of file")
        read_at = self._clock.now()
        content = read_file(folder.root, change.path, folder.index.max_file_size)
        if isinstance(content, Skipped):
            return self._skip(known, content.reason)
        if isinstance(content, Failed):
            return content
        stat = settled(content.stat, read_at=read_at)
        if known and not force and self._is_same(known, change, content, parser):
            if known.stat != stat:
                self._writer.touch_document(known.document_id, stat)
            return Unchanged()
        try:
            draft = self._draft(change.path, parser, content, stat)
        except Unparseable as error:
            # What was there before is not what the file says now.
            self._skip(known, error.message)
            return Failed(error.message, is_final=True)
        replaced = self._writer.replace_document(
            change.collection, draft, document_id=known.document_id if known else None, now=self._clock.now()
        )
        return Indexed(replaced.chunks, replaced.pending, draft.metadata.problems)

    def parse_key(self, path: str, folder: Folder) -> str:
        """The key that the document at `path` would be stored with; empty when no parser takes it."""
        parser = self._parser(path, folder)
        return self._key(parser) if parser else ""

    def _known(self, change: Change) -> KnownDocument | None:
        known = self._writer.known_document(change.collection, change.path)
        if known is None and change.moved_from is not None:
            known = self._writer.known_document(change.collection, change.moved_from)
        return known

    def _remove(self, known: KnownDocument | None) -> IngestOutcome:
        if known is None:
            return Unchanged()
        self._writer.delete_documents([known.document_id])
        return Removed()

    def _skip(self, known: KnownDocument | None, reason: str) -> IngestOutcome:
        if known is not None:
            self._writer.delete_documents([known.document_id])
        return Skipped(reason)

    def _is_same(self, known: KnownDocument, change: Change, content: FileContent, parser: Parser) -> bool:
        return (
            known.path == change.path and known.content_hash == content.digest and known.parse_key == self._key(parser)
        )

    def _parser(self, path: str, folder: Folder) -> Parser | None:
        suffix = PurePosixPath(path).suffix.lower()
        return self._parser_for(suffix, folder.settings.formats or folder.index.formats)

    def _key(self, parser: Parser) -> str:
        return f"{parser.name}/{parser.version} {self._chunker.key}"

    def _draft(self, path: str, parser: Parser, content: FileContent, stat: FileStat) -> DocumentDraft:
        shown = PurePosixPath(unspell(path).decode("utf-8", "replace"))
        document = parser.parse(content.data, shown)
        title = document_title(document, shown)
        return DocumentDraft(
            path=path,
            title=title,
            metadata=document.metadata,
            topic=document.metadata.topic or topic_of(shown),
            category=category_of(shown),
            format=parser.name,
            stat=stat,
            content_hash=content.digest,
            parse_key=self._key(parser),
            encoding=document.encoding,
            title_passage=title,
            chunks=tuple(self._chunker.chunk(document, title=title, path=shown)),
        )
