"""File formats: the table of parsers, by name and by suffix."""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from groove_daemon.formats.base import ParsedDocument, Parser
from groove_daemon.formats.markdown import MarkdownParser
from groove_daemon.formats.path_fields import title_from_path
from groove_daemon.formats.plain import PlainParser

PARSERS: Mapping[str, Parser] = MappingProxyType({parser.name: parser for parser in (MarkdownParser(), PlainParser())})


def parser_for(suffix: str, enabled: Collection[str]) -> Parser | None:
    """The parser of the enabled formats that takes a suffix, for example `.MD`; None when none does."""
    wanted = suffix.lower()
    names = {name.lower() for name in enabled}
    return next((parser for name, parser in PARSERS.items() if name in names and wanted in parser.suffixes), None)


def document_title(document: ParsedDocument, path: PurePosixPath) -> str:
    """What a document is called: by its frontmatter, else its first level-1 heading, else its file name."""
    headings = (section.heading for section in document.sections if section.level == 1 and section.heading)
    return document.metadata.title or next(headings, None) or title_from_path(path)
