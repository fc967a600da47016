"""Own JSON writer: a reader of JSON gets the same value back."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_client.jsontext import compact, indented

_ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(_ATOMS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(_VALUES)
def test_json_reads_back_equal(value):
    assert json.loads(compact(value)) == value
    assert json.loads(indented(value)) == value


@given(_VALUES)
def test_compact_json_is_one_line_without_terminal_controls(value):
    assert all(char.isprintable() or ord(char) > 0x9F for char in compact(value))


def test_json_escapes_what_a_terminal_obeys_and_keeps_the_rest():
    assert compact('ü\x9b"\\x41\u202e') == r'"ü\u009b\"\\x41\u202e"'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_number_without_a_json_spelling_becomes_null(number):
    assert compact([number]) == "[null]"


def test_indented_json_puts_each_entry_on_its_line():
    assert (
        indented({"a": [1, True], "b": {}, "c": []}) == '{\n  "a": [\n    1,\n    true\n  ],\n  "b": {},\n  "c": []\n}'
    )


def test_value_that_is_not_plain_is_refused():
    with pytest.raises(TypeError, match="set is no plain value"):
        compact({"a": {1}})
