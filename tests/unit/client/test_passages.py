"""Which lines of a hit are shown, and where the matches stand in them."""

from hypothesis import example, given
from hypothesis import strategies as st

from groove_client.passages import best_line, lines_of, snippet
from groove_client.width import width


def _spans(content: str, *words: str) -> list[tuple[int, int]]:
    raw = content.encode()
    return [(raw.index(word.encode()), raw.index(word.encode()) + len(word.encode())) for word in words]


def _marked(line) -> list[str]:
    return [line.text[start:end] for start, end in line.spans]


def test_spans_are_handed_to_their_lines_as_characters():
    content = "größe\nzwei Möwen\n日本語 text"
    lines = lines_of(content, _spans(content, "Möwen", "本", "text"))

    assert [_marked(line) for line in lines] == [[], ["Möwen"], ["本", "text"]]
    assert [line.column for line in lines] == [0, 5, 3]


def test_span_over_a_line_end_is_cut_and_overlaps_are_joined():
    lines = lines_of("abcd\nefgh", [(2, 7), (1, 3), (2, 2)])

    assert [line.spans for line in lines] == [[(1, 4)], [(0, 2)]]


def test_best_line_has_the_most_different_matches():
    content = "owl owl owl\nowl and gull\ngull"
    raw_spans = [(0, 3), (4, 7), (8, 11), (12, 15), (20, 24), (25, 29)]

    assert best_line(lines_of(content, raw_spans)).index == 1


def test_best_line_without_matches_is_the_first_with_text():
    assert best_line(lines_of("\n  \nfirst\nsecond", [])).index == 2


def test_snippet_shows_the_best_line_and_what_follows():
    content = "one\n\ntwo\nthree owl\n\nfour\nfive\nsix"
    rows = snippet(lines_of(content, _spans(content, "owl")), rows=3, cells=40, ellipsis="…")

    assert [row.text for row in rows] == ["three owl", "four", "five"]
    assert _marked(rows[0]) == ["owl"]


def test_snippet_takes_matching_neighbours_in():
    content = "gull\nowl lark\nplain\nplain"
    rows = snippet(lines_of(content, _spans(content, "gull", "owl", "lark")), rows=2, cells=40, ellipsis="…")

    assert [row.text for row in rows] == ["gull", "owl lark"]


def test_snippet_of_a_long_line_begins_near_the_match():
    content = "word " * 200 + "the owl sleeps " + "more " * 200
    rows = snippet(lines_of(content, _spans(content, "owl")), rows=3, cells=30, ellipsis="…")

    assert len(rows) == 3
    assert rows[0].text.startswith("…word")
    assert rows[-1].text.endswith("…")
    assert [text for row in rows for text in _marked(row)] == ["owl"]
    assert all(width(row.text) <= 30 for row in rows)


def test_snippet_moves_spans_when_controls_and_tabs_are_replaced():
    content = "\ta\x1b[31m owl\tgull"
    (row,) = snippet(lines_of(content, _spans(content, "owl", "gull")), rows=1, cells=60, ellipsis="…")

    assert row.text == "a\\x1b[31m owl    gull"
    assert _marked(row) == ["owl", "gull"]


def test_snippet_of_blank_content_is_empty():
    assert snippet(lines_of(" \n\n", []), rows=3, cells=20, ellipsis="…") == []


@example(content="\x1f", spans=[], cells=12)
@given(st.text(), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80))), st.integers(12, 60))
def test_snippet_fits_and_its_spans_lie_inside(content, spans, cells):
    rows = snippet(lines_of(content, spans), rows=3, cells=cells, ellipsis="…")

    assert len(rows) <= 3
    assert all(width(row.text) <= cells for row in rows)
    for row in rows:
        edges = [edge for span in row.spans for edge in span]
        assert edges == sorted(edges)
        assert not edges or (edges[0] >= 0 and edges[-1] <= len(row.text))
