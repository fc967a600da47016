"""Builders for parsed documents and chunks, a tokenizer without a model, and generated Markdown."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from hypothesis import strategies as st

from groove_daemon.chunking.by_heading import HeadingChunker
from groove_daemon.config.settings import IndexSettings
from groove_daemon.domain.document import ChunkDraft
from groove_daemon.formats import document_title, parser_for
from groove_daemon.formats.base import ParsedDocument


class PieceTokenizer:
    """Tokens of at most four letters or digits, and one for each other character that is no space.

    `(?:\\w{1,4})` depends on where a word begins, so a cut inside a word changes the tokens, as with real ones.
    """

    _TOKEN = re.compile(r"\w{1,4}|[^\w\s]")

    def __init__(self, max_tokens: int = 254) -> None:
        self.max_tokens = max_tokens
        self.calls = 0
        self.characters = 0

    @property
    def name(self) -> str:
        return f"pieces-{self.max_tokens}"

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        self.calls += 1
        self.characters += len(text)
        return [match.span() for match in self._TOKEN.finditer(text)]


def parse(content: str | bytes, path: str = "note.md") -> ParsedDocument:
    name = PurePosixPath(path)
    parser = parser_for(name.suffix, ("md", "txt"))
    assert parser is not None
    return parser.parse(content if isinstance(content, bytes) else content.encode(), name)


def chunks_of(
    content: str | bytes,
    *,
    path: str = "note.md",
    tokenizer: PieceTokenizer | None = None,
    settings: IndexSettings | None = None,
) -> Sequence[ChunkDraft]:
    document, name = parse(content, path), PurePosixPath(path)
    chunker = HeadingChunker(settings or IndexSettings(), tokenizer or PieceTokenizer())
    return chunker.chunk(document, title=document_title(document, name), path=name)


_LINE_PARTS = (
    *("# a", "## b #", "### c d", "a", "b c", "===", "---", "-", "- ", "- a", "* a", "+", "1. a", "2. b", "10) c"),
    *("> ", ">", "> a", "```", "~~~", "````", "    ", "  ", " ", "\t", "<div>", "</div>", "<!--", "-->", "<a>"),
    *("<a b='c'>", "<pre>", "</pre>", "***", "* * *", "_ _ _", "- - -", "", "", "#", "#x", "####### a", "\\# a"),
    *("| a |", "|---|", "<?", "?>", "`", "`x`", "[[a|b]]", "#tag", "word. Another", "日本語。", "é\u0301"),
)


def markdown_lines(*, without: str = "") -> st.SearchStrategy[str]:
    """Texts of up to 12 lines made of what Markdown gives a meaning to; parts with a character of `without` are out."""
    parts = [part for part in _LINE_PARTS if not set(part) & set(without)]
    line = st.lists(st.sampled_from(parts), min_size=1, max_size=3).map("".join)
    return st.lists(line, max_size=12).map("\n".join)


_prose = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=40)


def notes() -> st.SearchStrategy[str]:
    """Texts with headings, prose long enough to be split, and odd line ends."""
    words = st.lists(st.sampled_from(("lark", "owl.", "heron", "日本語の文。", "x" * 90, "a-b", "\u3000")), max_size=60)
    block = st.one_of(words.map(" ".join), words.map("\n".join), st.sampled_from(_LINE_PARTS), _prose)
    ends = st.sampled_from(("\n", "\n\n", "\r\n", "\r", "\n\n\n"))
    return st.lists(st.tuples(block, ends), max_size=14).map(lambda pairs: "".join(part + end for part, end in pairs))
