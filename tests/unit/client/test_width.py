"""Cells of a terminal: values worked by hand, and that cutting keeps its promise for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_client.width import clusters, pad, prefix_length, truncate, width


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("", 0),
        ("note", 4),
        ("日本", 4),
        ("e\u0301", 1),
        ("\u00e9", 1),
        ("ＡＢ", 4),
        ("한글", 4),
        ("\U0001f44b", 2),
        ("\U0001f44b\U0001f3fd", 4),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", 2),
        ("\U0001f1e9\U0001f1ea", 2),
        ("\u2764\ufe0f", 2),
        ("a\u200bb", 2),
        ("a\tb", 2),
        ("\xad", 1),
        ("नमस्ते", 4),
    ],
)
def test_width_counts_cells(text, cells):
    assert width(text) == cells


@pytest.mark.parametrize(
    ("text", "cells", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("abc def", 5, "abc…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_truncate_cuts_between_characters_as_shown(text, cells, cut):
    assert truncate(text, cells) == cut


def test_truncate_uses_another_ellipsis_where_asked():
    assert truncate("abcdefgh", 6, ellipsis="...") == "abc..."


@given(st.text(), st.integers(0, 40))
def test_truncate_is_never_wider_than_asked(text, cells):
    assert width(truncate(text, cells)) <= cells


@given(st.text())
def test_clusters_cover_the_text_in_order(text):
    assert "".join(cluster for cluster, _ in clusters(text)) == text


@given(st.text(), st.integers(0, 40))
def test_prefix_fits_and_the_next_character_would_not(text, cells):
    length = prefix_length(text, cells)

    assert width(text[:length]) <= cells
    assert length == len(text) or width(text) > cells


def test_pad_fills_to_cells_on_the_asked_side():
    assert pad("日", 4) == "日  "
    assert pad("日", 4, right=True) == "  日"
    assert pad("long", 2) == "long"
