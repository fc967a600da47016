"""Moments as they travel: ISO 8601 text out, seconds or text in.

A text without a zone is local time, because it comes from a person; a date alone means its first moment as a lower
bound and its last as an upper bound.  What goes out is UTC with a `Z`.
"""

from datetime import UTC, datetime, timedelta

from groove_daemon.errors import InvalidParams


def to_text(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 text in UTC, whole seconds.

    A moment that the calendar cannot hold becomes its nearest end: file systems do carry such times.
    """
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year >= 1000 else moment.isoformat(timespec="seconds")


def from_bound(field: str, value: float | str | None, *, is_upper: bool) -> float | None:
    """A bound of a filter in seconds since the epoch; None stays None.

    Raises:
        InvalidParams: the text is no ISO 8601 date or time.
    """
    if value is None or isinstance(value, float):
        return value
    text = value.strip()
    try:
        moment = datetime.fromisoformat(text)
        if is_upper and _is_date_alone(text):
            moment += timedelta(days=1, microseconds=-1)
        return moment.timestamp()
    except (ValueError, OverflowError, OSError) as error:
        hint = "write 2026-05-18, 2026-05-18T10:00, or seconds since the epoch"
        raise InvalidParams(f"{field}: {value!a} is no ISO 8601 date or time", hint=hint, field=field) from error


def _is_date_alone(text: str) -> bool:
    return "T" not in text.upper() and ":" not in text and " " not in text
