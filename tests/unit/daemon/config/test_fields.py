"""Texts of options become values, wrong ones become clear messages, and values become texts that give them back."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.config.fields import (
    FieldError,
    format_duration,
    format_size,
    parse_duration,
    parse_glob,
    parse_name_or_path,
    parse_path,
    parse_size,
    parse_switch,
    show,
)

BASE = Path("/etc/groove")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0),
        (30, 30.0),
        (0.25, 0.25),
        ("500ms", 0.5),
        ("1ms", 0.001),
        ("30s", 30.0),
        ("5m", 300.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        (" 2 h ", 7200.0),
        ("90", 90.0),
    ],
)
def test_duration_is_read_in_seconds(value: object, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize("value", ["", "5 minutes", "fast", "-5s", -1, True, None, [5], math.nan, math.inf, 10**400])
def test_duration_refuses_anything_else(value: object) -> None:
    with pytest.raises(FieldError, match="must be a"):
        parse_duration(value)


@given(st.integers(min_value=0, max_value=10**12).map(lambda millis: millis / 1000) | st.floats(0, 1e9))
def test_duration_survives_being_written(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.5, "500ms"), (90.0, "90s"), (900.0, "15m"), (21600.0, "6h"), (604800.0, "7d"), (0.0, "0s")]
)
def test_duration_is_written_in_the_largest_whole_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 0), (1024, 1024), ("50MiB", 52_428_800), ("1GB", 10**9), ("64 kib", 65_536), ("1.5KiB", 1536), ("7B", 7)],
)
def test_size_is_read_in_bytes(value: object, size: int) -> None:
    assert parse_size(value) == size


@pytest.mark.parametrize("value", ["", "50 megs", "-1MiB", "1TB", -1, 1.5, True, None])
def test_size_refuses_anything_else(value: object) -> None:
    with pytest.raises(FieldError, match=r'"50MiB"'):
        parse_size(value)


@given(st.integers(min_value=0, max_value=2**45))
def test_size_survives_being_written(size: int) -> None:
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(("text", "truth"), [("true", True), ("ON", True), ("1", True), ("no", False), ("off", False)])
def test_switch_is_read_from_words(text: str, truth: bool) -> None:
    assert parse_switch(text) is truth


def test_switch_refuses_other_words() -> None:
    with pytest.raises(FieldError, match='must be true or false, is "perhaps"'):
        parse_switch("perhaps")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/notes", "/notes"),
        ("notes", "/etc/groove/notes"),
        ("../notes/./a/", "/etc/notes/a"),
        ("My Notes", "/etc/groove/My Notes"),
    ],
)
def test_path_is_absolute_and_plain(text: str, path: str) -> None:
    assert parse_path(text, base=BASE) == path


def test_path_knows_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")

    assert parse_path("~/Notes", base=BASE) == "/home/ann/Notes"
    assert parse_path("~", base=BASE) == "/home/ann"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        (5, "is 5"),
        ("a\0b", "NUL"),
        ("~nobody-of-this-name/x", "there is no home for"),
    ],
)
def test_path_says_what_is_wrong(value: object, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        parse_path(value, base=BASE)


@pytest.mark.parametrize(
    ("text", "value"),
    [("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"), ("org/name", "org/name"), ("./model", "/etc/groove/model")],
)
def test_name_stays_a_name_unless_it_starts_like_a_path(text: str, value: str) -> None:
    assert parse_name_or_path(text, base=BASE) == value


@pytest.mark.parametrize("pattern", ["*.log", "/drafts/", "**/tmp", "!keep.md", "[ab]*", "a\\[b"])
def test_glob_is_taken_as_it_is(pattern: str) -> None:
    assert parse_glob(pattern) == pattern


@pytest.mark.parametrize("pattern", ["", "  ", "a\nb", "[ab", 5])
def test_glob_refuses_what_is_no_pattern(pattern: object) -> None:
    with pytest.raises(FieldError):
        parse_glob(pattern)


@given(st.text())
def test_value_is_shown_in_one_short_line_of_ascii(text: str) -> None:
    shown = show(text)

    assert shown.isascii()
    assert "\n" not in shown
    assert len(shown) <= 80
