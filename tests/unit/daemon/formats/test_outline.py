import time

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from groove_daemon.formats.outline import MAX_HEADINGS, has_candidates, outline
from support.documents import markdown_lines

REFERENCE = MarkdownIt("commonmark", {"maxNesting": 100})
REFERENCE.core.ruler.enableOnly(["block"])


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in outline(text).headings]


def reference(text: str) -> list[tuple[int, int, int, str]]:
    starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n"), len(text)]
    tokens = REFERENCE.parse(text)
    return [
        (int(token.tag[1]), starts[token.map[0]], min(starts[token.map[1]], len(text)), tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def scanned(text: str) -> list[tuple[int, int, int, str]]:
    return [(heading.level, heading.start, heading.end, heading.text) for heading in outline(text).headings]


def one_line(found: list[tuple[int, int, int, str]]) -> list[tuple[int, int, int, str]]:
    return [(level, start, end, " ".join(text.split())) for level, start, end, text in found]


# Where the reference parser and CommonMark's own differ: link definitions that go on, and `>` after four spaces.
@settings(max_examples=600)
@given(markdown_lines(without="[>"))
def test_outline_agrees_with_a_full_parser(text: str) -> None:
    assert one_line(scanned(text)) == one_line(reference(text))


@settings(max_examples=300)
@given(markdown_lines(without="[\t"))
def test_outline_agrees_with_a_full_parser_on_quotes(text: str) -> None:
    text = "\n".join(line.lstrip(" ") for line in text.split("\n"))

    assert one_line(scanned(text)) == one_line(reference(text))


@given(markdown_lines())
def test_no_heading_is_without_a_candidate_line(text: str) -> None:
    assert has_candidates(text) or not outline(text).headings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# a\n## b ##\n###### c\n####### d\n#e\n#\n", [(1, "a"), (2, "b"), (6, "c"), (1, "")]),
        ("One\n===\n\nTwo\nlines\n---\n", [(1, "One"), (2, "Two lines")]),
        ("```\n# a\n```\n# b", [(1, "b")]),
        ("~~~ sh\n# a\n```\n# b\n", []),
        ("    # a\n\n\t# b\n", []),
        ("<div>\n# a\n</div>\n\n# b\n", [(1, "b")]),
        ("<!--\n# a\n\n# b\n-->\n# c\n", [(1, "c")]),
        ("> # a\n\n- # b\n  # c\n\n1. x\n\n   # d\n# e\n", [(1, "e")]),
        ("> a\nlazy\n---\n", []),
        ("- a\n\nb\n---\n", [(2, "b")]),
        ("[a]: /x\n===\n", []),
        ("[a]: /x 'title'\nb\n===\n", [(1, "b")]),
        ("> [a]: /x\n> ===\nb\n---\n", []),
        ("\\# a\n", []),
        ("# a \\#\n# b#\n", [(1, "a \\#"), (1, "b#")]),
        ("- " * 30 + "deep\n# after\n", [(1, "after")]),
        (">" * 300 + " deep\n\n# after\n", [(1, "after")]),
    ],
)
def test_outline_finds_top_level_headings_alone(text: str, found: list[tuple[int, str]]) -> None:
    assert headings(text) == found


def test_outline_reports_code_and_html() -> None:
    text = "a\n\n```\nx\n```\n\n    y\n\n<!-- z -->\nb\n"

    assert [text[start:end] for start, end in outline(text).code] == ["```\nx\n```\n", "    y\n\n", "<!-- z -->\n"]


def test_outline_starts_where_it_is_told() -> None:
    assert [heading.text for heading in outline("# a\n# b\n", 4).headings] == ["b"]


def test_outline_bounds_what_it_reports() -> None:
    found = outline("#\n" * (MAX_HEADINGS + 5))

    assert len(found.headings) == MAX_HEADINGS
    assert found.truncated


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10**6,
        "- " * 10**5,
        ">" * 10**5,
        "\n" * 10**6,
        "[" * 10**5,
        "[a]: x\n===\n" * 10**4,
        "> - " * 10**5,
        "* " * 10**5,
        "<a " + "b " * 10**5,
        "`" * 10**5,
        "- " * 32 + "a\n" + "\n" * 10**6,
        "[a]: x '" + "y" * 10**6,
        "[a\n" * 10**5 + "===",
    ],
    ids=range(13),
)
def test_outline_takes_linear_time_on_hostile_text(text: str) -> None:
    began = time.perf_counter()
    outline(text)

    assert time.perf_counter() - began < 10
