"""The contract of a parser: bytes of one file in, text with its sections out.

A parser is pure: no I/O, no clock, the same bytes give the same document.  It never raises anything but
`Unparseable`; odd input gives a document with `metadata.problems`, not an error.  What it returns holds no NUL,
no lone surrogate and no carriage return.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from groove_daemon.domain.document import Metadata, Section


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The text of a document and where its sections are.

    `text` is the whole text, frontmatter included where the format has it, so that offsets and lines are those of the
    file.  `sections` are in order, do not overlap, and leave out only frontmatter and heading lines.
    `byte_offset` maps a character offset of `text` to a byte offset of the file.
    """

    text: str
    sections: tuple[Section, ...]
    metadata: Metadata
    encoding: str
    byte_offset: Callable[[int], int]


class Parser(Protocol):
    """One file format."""

    @property
    def name(self) -> str:
        """Short id used in config and filters, for example `md`."""
        ...

    @property
    def suffixes(self) -> frozenset[str]:
        """Lower-case suffixes with the dot."""
        ...

    @property
    def version(self) -> int:
        """Rises when the same bytes would give another document; such documents are parsed again."""
        ...

    def parse(self, content: bytes, path: PurePosixPath) -> ParsedDocument:
        """Parse one file.

        Raises:
            Unparseable: the content is not of this format at all.
        """
        ...
