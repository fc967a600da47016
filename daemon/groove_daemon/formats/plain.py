"""Plain text: one section without a heading, whatever the text holds."""

from pathlib import PurePosixPath

from groove_daemon.domain.document import Metadata, Section
from groove_daemon.formats.base import ParsedDocument
from groove_daemon.formats.encoding import decode


class PlainParser:
    """Parser of the format `txt`."""

    name = "txt"
    suffixes = frozenset({".txt", ".text"})
    version = 1

    def parse(self, content: bytes, path: PurePosixPath) -> ParsedDocument:  # noqa: ARG002 -- part of the contract
        """Decode the file; see `Parser.parse`."""
        decoded = decode(content)
        section = Section(heading=None, level=None, heading_start=0, start=0, end=len(decoded.text))
        return ParsedDocument(
            text=decoded.text,
            sections=(section,) if decoded.text else (),
            metadata=Metadata(problems=decoded.problems),
            encoding=decoded.encoding,
            byte_offset=decoded.byte_offset,
        )
