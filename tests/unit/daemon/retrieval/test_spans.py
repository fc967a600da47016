"""Where phrases stand in content: bytes, accents, budgets, overlaps, lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.hit import ByteSpan
from groove_daemon.domain.query import Query
from groove_daemon.retrieval.spans import MAX_CONTENT_BYTES, Segment, match_lines, match_spans
from support.retrieval import make_query


def found(content: str, text: str) -> list[str] | None:
    """The texts at the spans, cut out of the encoded content."""
    spans = match_spans(content, make_query(text))
    return None if spans is None else [content.encode()[span.start : span.end].decode() for span in spans]


@pytest.mark.parametrize(
    ("content", "text", "expected"),
    [
        ("An Owl, an owl.", "OWL", ["Owl", "owl"]),
        ("nothing here", "owl", []),
        ("Café Übersicht Šárka", "cafe", ["Café"]),
        ("Café Übersicht Šárka", "ubersicht", ["Übersicht"]),
        ("cafe\u0301 noir", "café", ["cafe\u0301"]),
        ("Die STRASSE, die Straße", "straße", ["STRASSE", "Straße"]),
        ("мой дом, МОЙ ДОМ", "мой", ["мой", "МОЙ"]),
        ("今日は野鳥の観察記録を整理した", "観察記録", ["観察記録"]),
        ("鸟类", "鸟类", ["鸟类"]),
        ("a sync io loop", '"sync io" loop', ["sync io", "loop"]),
        ("release 2026.4.10 of 2026", "2026.4.10", ["2026.4.10", "2026"]),
        ("owls and rust", "owls -rust", ["owls"]),
        ("x ab y", "ab", ["ab"]),
        ("と AI", "AI と", []),
        ("“Owls” — an OWL", "owl", ["Owl", "OWL"]),
        ("ΟΔΟΣ — οδος", "οδος", ["ΟΔΟΣ", "οδος"]),
        ("İstanbul, istanbul", "istanbul", ["İstanbul", "istanbul"]),
        ("鸟类と記録", "鸟类 記録", ["鸟类", "記録"]),
    ],
)
def test_match_spans_finds_terms_as_written(content: str, text: str, expected: list[str]) -> None:
    assert found(content, text) == expected


def test_function_words_are_marked_only_when_there_is_nothing_else() -> None:
    assert match_spans("the owls and others", make_query("where are the owls")) == (ByteSpan(4, 8),)
    assert match_spans("to be, the question", make_query("the")) == (ByteSpan(7, 10),)


def test_match_spans_counts_bytes() -> None:
    assert match_spans("é owl 鸟 owl", make_query("owl")) == (ByteSpan(3, 6), ByteSpan(11, 14))


def test_match_spans_merges_overlaps_and_keeps_neighbours_apart() -> None:
    spans = match_spans("abcdefghi", make_query('"abcd" "cdef" "ghi"'))

    assert spans == (ByteSpan(0, 6), ByteSpan(6, 9))


def test_match_spans_shares_the_budget_between_terms() -> None:
    spans = match_spans("owl " * 200 + "rare", make_query("owl rare"))

    assert spans is not None
    assert len(spans) == 51
    assert spans[-1] == ByteSpan(800, 804)


def test_match_spans_does_not_overlap_occurrences_of_one_term() -> None:
    assert match_spans("aaaaaaa", make_query("aaa")) == (ByteSpan(0, 3), ByteSpan(3, 6))


def test_match_spans_is_none_when_content_is_too_long() -> None:
    assert match_spans("é" * (MAX_CONTENT_BYTES // 2), make_query("owl")) == ()
    assert match_spans("é" * (MAX_CONTENT_BYTES // 2) + "a", make_query("owl")) is None


def test_match_spans_is_none_when_there_is_nothing_to_look_for() -> None:
    assert match_spans("owl", Query(" ", " ", (), (), 5)) is None


@given(st.text(max_size=80), st.text(min_size=3, max_size=10))
def test_match_spans_are_sorted_disjoint_and_on_character_boundaries(content: str, term: str) -> None:
    query = Query(term, term, (term,), (), 5)
    encoded = content.encode()

    spans = match_spans(content, query) or ()

    ends = [0, *(span.end for span in spans)]
    assert all(start <= span.start < span.end for start, span in zip(ends, spans, strict=False))
    for span in spans:
        encoded[span.start : span.end].decode()


@given(
    st.text(max_size=30), st.text(alphabet=st.characters(codec="utf-8"), min_size=3, max_size=10), st.text(max_size=30)
)
def test_match_spans_finds_every_literal_term(before: str, term: str, after: str) -> None:
    query = Query(term, term, (term,), (), 5)

    spans = match_spans(before + term + after, query)

    assert spans != ()


def test_match_lines_counts_lines_of_the_file() -> None:
    content = "owl\nné\nowl owl\n\nowl"
    spans = match_spans(content, make_query("owl"))

    assert match_lines(content, spans, [Segment(0, 10)]) == (10, 12, 14)


def test_match_lines_follows_segments() -> None:
    content = "owl one\n\nsecond owl\nowl"
    spans = match_spans(content, make_query("owl"))

    assert match_lines(content, spans, [Segment(0, 3), Segment(9, 20)]) == (3, 20, 21)


def test_match_lines_of_spans_in_later_segments_and_none_in_some() -> None:
    content = "é owl\n\nnone\n\nx\nowl"
    spans = match_spans(content, make_query("owl"))

    assert match_lines(content, spans, [Segment(0, 3), Segment(7, 20), Segment(13, 40)]) == (3, 41)


def test_match_lines_of_no_spans_is_empty() -> None:
    assert match_lines("owl", None, [Segment(0, 1)]) == ()
