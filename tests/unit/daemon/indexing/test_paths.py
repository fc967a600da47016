import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.indexing.paths import lies_below, on_disk, spell, unspell

NAMES = [
    b"# Meeting - 12 [draft] (a&b).md",
    b"2026_06_16.md",
    b"2026-06-16.md",
    "e\u0301te\u0301.md".encode(),
    "\u00e9t\u00e9.md".encode(),
    b"50%25 off.md",
]


@pytest.mark.parametrize("raw", NAMES)
def test_spell_leaves_utf8_names_as_they_are(raw: bytes) -> None:
    assert spell(raw).encode() == raw


def test_spell_marks_and_encodes_a_name_that_is_not_utf8() -> None:
    assert spell(b"sub/caf\xe9.md") == "bytes:sub/caf%E9.md"


def test_spell_marks_a_name_that_starts_with_the_marker() -> None:
    assert spell(b"bytes:a.md") == "bytes:bytes%3Aa.md"


@given(st.binary(max_size=40).filter(lambda raw: b"\0" not in raw))
def test_unspell_gives_back_every_name(raw: bytes) -> None:
    spelled = spell(raw)

    assert unspell(spelled) == raw
    spelled.encode("utf-8")


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_spell_never_gives_two_names_one_spelling(one: bytes, other: bytes) -> None:
    assert (spell(one) == spell(other)) == (one == other)


def test_on_disk_joins_the_root_with_the_bytes() -> None:
    assert on_disk("/notes", "bytes:caf%E9.md") == b"/notes/caf\xe9.md"


def test_lies_below_compares_whole_names() -> None:
    assert lies_below(b"a/b.md", b"a")
    assert lies_below(b"a", b"a")
    assert lies_below(b"anything", b"")
    assert not lies_below(b"ab/c.md", b"a")
