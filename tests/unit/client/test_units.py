"""Amounts as people read them."""

import pytest

from groove_client.units import counted, duration, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0042, "4 ms"),
        (9.4, "9 s"),
        (61, "1 min 1 s"),
        (11520, "3 h 12 min"),
        (47 * 3600, "47 h 0 min"),
        (50 * 3600, "2 d 2 h"),
    ],
)
def test_duration_has_two_units_at_most(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(512, "512 B"), (1536, "1.5 KiB"), (1572864, "1.5 MiB"), (3 << 30, "3.0 GiB")]
)
def test_size_is_in_binary_units(count, text):
    assert size(count) == text


def test_counted_agrees_with_its_noun():
    assert [counted(0, "hit"), counted(1, "hit"), counted(2, "hit")] == ["0 hits", "1 hit", "2 hits"]
