"""What every parser promises, for each of them."""

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.errors import Unparseable
from groove_daemon.formats import PARSERS
from groove_daemon.formats.base import ParsedDocument, Parser
from support.documents import notes

SAMPLES = sorted((Path(__file__).parents[1] / "data" / "formats").iterdir())
PATH = PurePosixPath("folder/name.md")
parsers = pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)


def check(document: ParsedDocument, content: bytes) -> None:
    text = document.text
    text.encode()
    assert not set(text) & set("\0\r\ufeff")
    end = 0
    for section in document.sections:
        assert end <= section.heading_start <= section.start <= section.end <= len(text)
        assert (section.heading is None) == (section.level is None)
        assert section.level is None or 1 <= section.level <= 6
        assert len(section.ancestors) < (section.level or 1)
        end = section.end
    assert document.byte_offset(0) <= document.byte_offset(len(text)) <= len(content)
    for value in (*document.metadata.tags, *document.metadata.aliases, *document.metadata.problems):
        assert value
        assert "\n" not in value


@parsers
def test_parser_has_a_name_a_version_and_lower_case_suffixes(parser: Parser) -> None:
    assert PARSERS[parser.name] is parser
    assert parser.version >= 1
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in parser.suffixes)


def test_no_two_parsers_take_the_same_suffix() -> None:
    suffixes = [suffix for parser in PARSERS.values() for suffix in parser.suffixes]

    assert len(suffixes) == len(set(suffixes))


@parsers
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_parser_reads_every_sample(parser: Parser, sample: Path) -> None:
    content = sample.read_bytes()

    check(parser.parse(content, PATH), content)


@parsers
@given(content=st.binary(max_size=300))
def test_parser_raises_nothing_but_unparseable(parser: Parser, content: bytes) -> None:
    try:
        document = parser.parse(content, PATH)
    except Unparseable:
        return

    check(document, content)


@parsers
@given(text=notes())
def test_parser_is_pure_and_loses_no_text(parser: Parser, text: str) -> None:
    content = text.encode()
    first, second = parser.parse(content, PATH), parser.parse(content, PATH)

    check(first, content)
    assert (first.text, first.sections, first.metadata) == (second.text, second.sections, second.metadata)
    kept = "".join(first.text[section.heading_start : section.end] for section in first.sections)
    assert first.text.endswith(kept)
    assert kept == first.text or first.text.startswith("---")
