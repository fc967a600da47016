"""Markdown: frontmatter, sections at headings of every level, and tags.

Sections lie one after the other and leave out only frontmatter and heading lines.  Links, embeds, footnotes and task
lists stay in the text as they were written, so that all their words are found.  Where headings are is `outline`'s
matter; this module makes their text readable and builds the ancestry.
"""

import re
from bisect import bisect_right
from dataclasses import replace
from html import unescape
from pathlib import PurePosixPath

from groove_daemon.domain.document import Metadata, Section
from groove_daemon.formats.base import ParsedDocument
from groove_daemon.formats.encoding import decode
from groove_daemon.formats.frontmatter import read_frontmatter
from groove_daemon.formats.outline import MAX_HEADINGS, Heading, Outline, has_candidates, outline

# A longer one is a paragraph above a rule, or no prose at all: it counts as text, so that it is cut like text.
MAX_HEADING_CHARS = 256
_MAX_TAGS = 256
_LOOK_BACK = 1000
# Not the target of a link to a heading: `[text](#heading)`, `[label]: #heading`.
_TAG = re.compile(r"(?<![^\s(])(?<!\]\()(?<!\]: )#(\w[\w/-]*)(?![\w#])")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:[ \t]+[^()]*)?\)|\[[^\[\]]*\])")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^`]|[^`].*?[^`])\1(?!`)")
_STRONG = re.compile(r"(\*\*|__|~~|==)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![*\w])\*(?=[^\s*])([^*]+)(?<=\S)\*(?![*\w])|(?<![_\w])_(?=[^\s_])([^_]+)(?<=\S)_(?![_\w])")
_TAGS_OF_HTML = re.compile(
    r"<!--.*?-->|</?(?:a|abbr|b|br|center|code|del|div|em|font|i|img|ins|kbd|mark|p|s|small|span|strong|sub|sup|u)\b[^<>]*>",
    re.IGNORECASE,
)
_ATTRIBUTES = re.compile(r"[ \t]*\{[#.:][^{}]*\}$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


class MarkdownParser:
    """Parser of the format `md`."""

    name = "md"
    suffixes = frozenset({".md", ".markdown", ".mdown", ".mkd"})
    version = 1

    def parse(self, content: bytes, path: PurePosixPath) -> ParsedDocument:  # noqa: ARG002 -- part of the contract
        """Parse one note; see `Parser.parse`."""
        decoded = decode(content)
        text = decoded.text
        front = read_frontmatter(text)
        found = outline(text, front.end) if has_candidates(text) or "#" in text else Outline([], [])
        headings = [heading for heading in found.headings if len(heading.text) <= MAX_HEADING_CHARS]
        problems = (*decoded.problems, *front.metadata.problems)
        if found.truncated:
            problems = (*problems, f"more than {MAX_HEADINGS} headings; those after them are read as text")
        tags = _all_tags(front.metadata, text, start=front.end, found=found)
        return ParsedDocument(
            text=text,
            sections=_sections(headings, front.end, len(text)),
            metadata=replace(front.metadata, tags=tags, problems=problems),
            encoding=decoded.encoding,
            byte_offset=decoded.byte_offset,
        )


def _sections(headings: list[Heading], start: int, end: int) -> tuple[Section, ...]:
    """One section for the text before the first heading, unless there is none, and one for each heading."""
    first = headings[0].start if headings else end
    sections = [Section(None, None, start, start, first)] if first > start else []
    above: list[tuple[int, str]] = []
    for position, heading in enumerate(headings):
        while above and above[-1][0] >= heading.level:
            above.pop()
        name = heading_text(heading.text)
        body_end = headings[position + 1].start if position + 1 < len(headings) else end
        ancestors = tuple(text for _, text in above)
        sections.append(Section(name, heading.level, heading.start, heading.end, body_end, ancestors))
        above.append((heading.level, name))
    return tuple(sections)


def heading_text(raw: str) -> str:
    """What a reader sees of a heading: without emphasis, code marks, link targets and HTML tags."""
    text = " ".join(raw.split())
    if text.isalnum():
        return text
    text = _ATTRIBUTES.sub("", text)
    text = _CODE_SPAN.sub(lambda match: match[2].strip(), text)
    text = _TAGS_OF_HTML.sub("", text)
    text = _WIKILINK.sub(lambda match: match[2] or match[1], text)
    # Twice, because a link may be around an image.
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))
    text = _STRONG.sub(r"\2", _STRONG.sub(r"\2", text))
    text = _EMPHASIS.sub(lambda match: match[1] or match[2], text)
    return " ".join(unescape(_ESCAPE.sub(r"\1", text)).split())


def _all_tags(metadata: Metadata, text: str, *, start: int, found: Outline) -> tuple[str, ...]:
    """The tags of the frontmatter, then `#tags` of the text, outside code and headings."""
    known = {tag.casefold(): tag for tag in metadata.tags}
    ranges = sorted([*found.code, *((heading.start, heading.end) for heading in found.headings)])
    starts = [begin for begin, _ in ranges]
    for match in _TAG.finditer(text, start):
        name = match[1].rstrip("/-")
        if name.casefold() in known:
            continue
        block = bisect_right(starts, match.start()) - 1
        if name.replace("/", "").isdigit() or (block >= 0 and match.start() < ranges[block][1]):
            continue
        reach = max(0, match.start() - _LOOK_BACK)
        line_start = max(text.rfind("\n", reach, match.start()) + 1, reach)
        if text.count("`", line_start, match.start()) % 2 == 0:
            known.setdefault(name.casefold(), name)
        if len(known) >= _MAX_TAGS:
            break
    return tuple(known.values())
