"""Packing without the library: the same bytes as the library's, and what cannot be packed."""

import subprocess
import sys

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_wire.framing import EncodeError, encode_request
from groove_wire.packing import pack

ATOMS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
)
VALUES = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20), max_leaves=40
)


@given(VALUES)
def test_packs_what_the_library_packs(value):
    assert pack(value) == msgpack.packb(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "c0"),
        (True, "c3"),
        (0, "00"),
        (127, "7f"),
        (128, "cc80"),
        (256, "cd0100"),
        (65536, "ce00010000"),
        (2**32, "cf0000000100000000"),
        (-1, "ff"),
        (-32, "e0"),
        (-33, "d0df"),
        (-128, "d080"),
        (-129, "d1ff7f"),
        (-(2**63), "d38000000000000000"),
        (0.5, "cb3fe0000000000000"),
        ("", "a0"),
        ("é", "a2c3a9"),
        (b"\x01", "c40101"),
        ((1, "a"), "9201a161"),
        ({"k": []}, "81a16b90"),
    ],
)
def test_forms(value, expected):
    assert pack(value).hex() == expected


@pytest.mark.parametrize("count", [15, 16, 31, 32, 255, 256, 65535, 65536])
def test_counts_at_the_border_of_two_forms(count):
    for value in ("a" * count, b"a" * count, [0] * count, {str(number): number for number in range(count)}):
        assert pack(value) == msgpack.packb(value)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800", object(), {1, 2}])
def test_a_request_that_cannot_be_packed_names_the_value(value):
    with pytest.raises(EncodeError, match="here"):
        encode_request(1, "search", {"here": value})


def test_a_request_is_packed_before_the_library_is_loaded():
    program = (
        "import sys; from groove_wire.framing import encode_request, load_reader;"
        "frame = encode_request(1, 'search', {'query': 'owls', 'limit': 5});"
        "print('msgpack' in sys.modules); load_reader(); print('msgpack' in sys.modules); print(frame.hex())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == [
        "False",
        "True",
        msgpack.packb([0, 1, "search", [{"query": "owls", "limit": 5}]]).hex(),
    ]
