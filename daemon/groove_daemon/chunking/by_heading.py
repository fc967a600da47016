"""One chunk for each section: structure first, size second.

Always: a section too long for the embedder is split, a tiny one joins its neighbour under the same parent, and a
heading with nothing under it keeps its words: in the breadcrumb of a section below it, or as a line in the content of
a neighbour.  The content of a chunk is an exact slice of the text.  Knows nothing about formats or embedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import PurePosixPath

from groove_daemon.chunking.base import TokenOffsets
from groove_daemon.chunking.breadcrumb import breadcrumb
from groove_daemon.chunking.quality import stored_quality
from groove_daemon.chunking.split import Piece, Splitter
from groove_daemon.config.settings import IndexSettings
from groove_daemon.domain.document import ChunkDraft, Section
from groove_daemon.domain.passage import passage
from groove_daemon.formats.base import ParsedDocument

VERSION = 1
_TOP = -1
_NO_TEXT = " \t\n-*_"


class HeadingChunker:
    """Chunker for documents with headings; a document without any is one section.

    Args:
        settings: sizes, context mode, headings to leave out.
        tokenizer: the embedder's; its `max_tokens` bounds every passage.
    """

    def __init__(self, settings: IndexSettings, tokenizer: TokenOffsets) -> None:
        self._settings = settings
        self._splitter = Splitter(tokenizer, limit=settings.chunk_tokens, overlap=settings.chunk_overlap)
        self._key = _key(settings, tokenizer)

    @property
    def key(self) -> str:
        """Name, version, the settings that matter, and the tokenizer."""
        return self._key

    def chunk(self, document: ParsedDocument, *, title: str, path: PurePosixPath) -> Sequence[ChunkDraft]:  # noqa: ARG002 -- part of the contract
        """Cut a document; see the contract in `chunking.base`."""
        groups = _Grouping(document, title, settings=self._settings, splitter=self._splitter).run()
        drafting = _Drafting(document)
        for group in groups:
            section = document.sections[group.owner]
            for piece in self._splitter.pieces(document.text, group.start, group.end, context=group.context):
                drafting.add(piece, section=section, context=group.context)
        return drafting.drafts or [self._title_alone(title)]

    def _title_alone(self, title: str) -> ChunkDraft:
        """The one chunk of a document without text; good enough to be shown to whoever looks for its title."""
        context = self._splitter.shorten(breadcrumb(title, ())) if self._settings.context == "static" else None
        return ChunkDraft(
            position=0,
            heading=None,
            level=None,
            heading_path=(),
            context=context,
            content="",
            start=0,
            end=0,
            line_start=1,
            line_end=1,
            byte_start=0,
            byte_end=0,
            token_count=self._splitter.count(context or ""),
            quality=1.0,
        )


def _key(settings: IndexSettings, tokenizer: TokenOffsets) -> str:
    excluded = blake2b("\0".join(settings.exclude_headings).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    sizes = f"{settings.chunk_tokens}-{settings.chunk_overlap}-{settings.min_chunk_bytes}-{tokenizer.max_tokens}"
    return f"by-heading-{VERSION}:{sizes}:{settings.context}:{excluded}:{tokenizer.name}"


@dataclass(slots=True)
class _Group:
    """A range of the text that becomes one chunk, or several when it is long; `owner` gives heading and ancestry.

    `tokens` is a count of its passage, summed up as sections join; None until somebody asks.
    """

    owner: int
    start: int
    end: int
    context: str | None
    tokens: int | None = None


@dataclass(slots=True)
class _Grouping:
    """One pass over the sections.

    `open` is the last group while the next section may still join it; `bare` are the headings without text since, and
    `cut_off` those among them that an excluded section parts from what follows.
    """

    document: ParsedDocument
    title: str
    settings: IndexSettings
    splitter: Splitter
    groups: list[_Group] = field(default_factory=list)
    open: _Group | None = None
    bare: list[int] = field(default_factory=list)
    cut_off: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)

    def run(self) -> list[_Group]:
        self.parents = _parents(self.document.sections)
        for index, section in enumerate(self.document.sections):
            if self._is_excluded(section):
                self.cut_off += self.bare
                self.bare.clear()
                self.open = None
            elif self._is_blank(section):
                if section.heading:
                    self.bare.append(index)
            else:
                self._add(index, section)
        self._flush()
        return self.groups

    def _is_excluded(self, section: Section) -> bool:
        heading = section.heading
        return heading is not None and any(part in heading for part in self.settings.exclude_headings if part)

    def _is_blank(self, section: Section) -> bool:
        """Whether nothing stands under the heading but white space, rules and empty bullets."""
        return not self.document.text[section.start : section.end].strip().strip(_NO_TEXT)

    def _add(self, index: int, section: Section) -> None:
        context = self._context(section)
        start = self._place_bare(index, context)
        body = self.document.text[section.start : section.end].strip()
        is_small = len(body.encode()) < self.settings.min_chunk_bytes
        if is_small and start == section.start and self._joins(index) and self._extend(section.end):
            return
        self._start(_Group(index, start, section.end, context))

    def _start(self, group: _Group) -> None:
        self.groups.append(group)
        self.open = group

    def _context(self, section: Section) -> str | None:
        if self.settings.context == "off":
            return None
        return self.splitter.shorten(breadcrumb(self.title, _heading_path(section)))

    def _place_bare(self, index: int, context: str | None) -> int:
        """Find a place for the bare headings before a section that has text; say where its chunk begins."""
        sections = self.document.sections
        self._flush_cut_off([bare for bare in self.cut_off if not self._is_told(bare, index, context)])
        untold = [bare for bare in self.bare if not self._is_told(bare, index, context)]
        start = sections[index].start
        if untold:
            first, end = untold[0], sections[untold[-1]].start
            open_ = self.open
            if open_ and self._all_under(self.parents[open_.owner], self.bare) and self._extend(end):
                pass
            elif self._is_under(self.parents[first], index):
                start = sections[first].heading_start
            else:
                self._flush()
        self.bare.clear()
        return start

    def _is_told(self, bare: int, index: int, context: str | None) -> bool:
        """Whether the breadcrumb of the section at `index` says the bare heading above it."""
        heading = self.document.sections[bare].heading or ""
        return context is not None and heading in context and bare in self._above(index)

    def _flush(self) -> None:
        """Give bare headings that no section takes a place: the group before them, or a chunk of their own."""
        self._flush_cut_off(self.cut_off)
        if not self.bare:
            return
        sections, first = self.document.sections, self.bare[0]
        end = sections[self.bare[-1]].start
        fits_before = self.open and self._all_under(self.parents[self.open.owner], self.bare) and self._extend(end)
        if not fits_before:
            self._start(_Group(first, sections[first].heading_start, end, self._context(sections[first])))
        self.bare.clear()

    def _flush_cut_off(self, untold: list[int]) -> None:
        for index in untold:
            section = self.document.sections[index]
            self.groups.append(_Group(index, section.heading_start, section.start, self._context(section)))
        self.cut_off.clear()

    def _extend(self, end: int) -> bool:
        """Make the open group longer, if its passage stays within the limit."""
        group, text = self.open, self.document.text
        if group is None or end - group.start > self.splitter.max_chars:
            return False
        if group.tokens is None:
            group.tokens = self.splitter.count(passage(group.context, text[group.start : group.end]))
        tokens = group.tokens + self.splitter.count(text[group.end : end])
        if tokens > self.splitter.limit:
            return False
        group.end, group.tokens = end, tokens
        return True

    def _joins(self, index: int) -> bool:
        """Whether a section has the same parent as the open group, or that group for a parent."""
        if self.open is None:
            return False
        owner = self.open.owner
        return self.parents[index] == self.parents[owner] or owner in self._above(index)

    def _all_under(self, parent: int, indexes: list[int]) -> bool:
        # They follow each other, so one that left the parent would be no deeper than it.
        return all(self._is_under(parent, index) for index in indexes)

    def _is_under(self, parent: int, index: int) -> bool:
        return parent == _TOP or parent in self._above(index)

    def _above(self, index: int) -> list[int]:
        """The sections above one, innermost first: six at most."""
        above: list[int] = []
        parent = self.parents[index]
        while parent != _TOP:
            above.append(parent)
            parent = self.parents[parent]
        return above


def _parents(sections: Sequence[Section]) -> list[int]:
    """For each section the index of the section above it, `_TOP` where there is none."""
    parents: list[int] = []
    stack: list[tuple[int, int]] = []
    for index, section in enumerate(sections):
        level = section.level or 0
        while stack and stack[-1][0] >= level:
            stack.pop()
        parents.append(stack[-1][1] if stack and level else _TOP)
        if level:
            stack.append((level, index))
    return parents


def _heading_path(section: Section) -> tuple[str, ...]:
    return tuple(heading for heading in (*section.ancestors, section.heading) if heading)


class _Drafting:
    """Makes drafts of pieces; these come in rising order, so that line ends are counted once."""

    def __init__(self, document: ParsedDocument) -> None:
        self._document = document
        self._offset = 0
        self._line = 1
        self.drafts: list[ChunkDraft] = []

    def add(self, piece: Piece, *, section: Section, context: str | None) -> None:
        document, content = self._document, self._document.text[piece.start : piece.end]
        line = self._line_of(piece.start)
        draft = ChunkDraft(
            position=len(self.drafts),
            heading=section.heading or None,
            level=section.level,
            heading_path=_heading_path(section),
            context=context,
            content=content,
            start=piece.start,
            end=piece.end,
            line_start=line,
            line_end=line + content.count("\n"),
            byte_start=document.byte_offset(piece.start),
            byte_end=document.byte_offset(piece.end),
            token_count=piece.tokens,
            quality=stored_quality(content, binary=False),
        )
        self.drafts.append(draft)

    def _line_of(self, offset: int) -> int:
        self._line += self._document.text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line
