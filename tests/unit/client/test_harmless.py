"""No text of a note may command the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_client.harmless import harmful_codes, harmless


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\x00b\x7fc\x9bd", "a\\x00b\\x7fc\\x9bd"),
        ("abc\u202edef", "abc\\u202edef"),
        ("line\u2028break", "line\\u2028break"),
        ("bad\udcffname", "bad\\udcffname"),
        ("nb\u00a0sp and \U0001f468\u200d\U0001f469", "nb\u00a0sp and \U0001f468\u200d\U0001f469"),
    ],
)
def test_harmless_spells_what_a_terminal_obeys(text, shown):
    assert harmless(text) == shown


def test_harmless_keeps_what_is_named():
    assert harmless("a\tb\nc\x1b", keep="\t\n") == "a\tb\nc\\x1b"


@given(st.text(alphabet=st.characters()))
def test_harmless_leaves_no_harmful_character(text):
    assert not {ord(char) for char in harmless(text)} & set(harmful_codes())
