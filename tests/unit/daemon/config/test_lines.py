"""Keys are found in the text of the file, for messages."""

import pytest

from groove_daemon.config.lines import key_lines, line_of, table_lines

TEXT = '''\
# a comment = no key
limit = 1
[search]  # defaults
limit = 5
mmr.enabled = true
"odd key" = 2
text = """
fake = 1
[fake]
"""
[[collections]]
path = "a"
list = [
  "x",
]

[[ collections ]]
path = "b"
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("limit", 2),
        ("search", 3),
        ("search.limit", 4),
        ("search.mmr.enabled", 5),
        ("search.odd key", 6),
        ("collections[0]", 11),
        ("collections[0].path", 12),
        ("collections[1].path", 18),
    ],
)
def test_line_of_a_key_is_found(key: str, line: int) -> None:
    assert key_lines(TEXT)[key] == line


def test_text_in_a_string_is_no_key() -> None:
    assert not [key for key in key_lines(TEXT) if "fake" in key]


def test_nearest_table_stands_in_for_a_key_that_is_not_there() -> None:
    lines = key_lines(TEXT)

    assert line_of(lines, "collections[1].name") == 17
    assert line_of(lines, "search.fusion.rrf_k") == 3
    assert line_of(lines, "nothing.at.all") is None


def test_tables_come_in_the_order_of_the_text() -> None:
    assert table_lines(TEXT) == [(3, "search"), (11, "collections[0]"), (17, "collections[1]")]
