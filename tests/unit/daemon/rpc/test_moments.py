"""Moments in and out of the wire."""

import time

import pytest

from groove_daemon.errors import InvalidParams
from groove_daemon.rpc import moments


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_seconds_become_text_in_utc():
    assert moments.to_text(1_779_100_000.9) == "2026-05-18T10:26:40Z"


@pytest.mark.parametrize("seconds", [1e18, -1e18, float("inf"), -62_135_596_801.0])
def test_seconds_beyond_the_calendar_become_some_text(seconds):
    assert moments.to_text(seconds).count("-") >= 2


def test_missing_and_numeric_bounds_stay_as_they_are():
    assert moments.from_bound("f", None, is_upper=True) is None
    assert moments.from_bound("f", 12.5, is_upper=True) == 12.5


def test_text_with_a_zone_is_that_moment():
    assert moments.from_bound("f", "2026-05-18T10:26:40Z", is_upper=False) == 1_779_100_000
    assert moments.from_bound("f", "2026-05-18T12:26:40+02:00", is_upper=True) == 1_779_100_000


def test_text_without_a_zone_is_local_time(berlin):
    assert moments.from_bound("f", "2026-05-18T12:26:40", is_upper=False) == 1_779_100_000


def test_date_alone_covers_its_whole_day(berlin):
    first = moments.from_bound("f", "2026-05-18", is_upper=False)
    last = moments.from_bound("f", "2026-05-18", is_upper=True)

    assert first == 1_779_055_200
    assert last == pytest.approx(first + 86_400, abs=0.001)
    assert last < first + 86_400


@pytest.mark.parametrize("text", ["soon", "", "2026-13-01", "18.05.2026", "0001-01-01T00:00:00+14:00x"])
def test_other_text_is_refused_with_the_name_of_the_parameter(text):
    with pytest.raises(InvalidParams, match="modified_from: "):
        moments.from_bound("modified_from", text, is_upper=False)
