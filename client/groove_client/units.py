"""Amounts as people read them."""


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units, for example `3 h 12 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def size(count: float) -> str:
    """Return a number of bytes, for example `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def counted(number: float, one: str, many: str = "") -> str:
    """Return a number with its noun, for example `1 document`, `5 documents`."""
    return f"{number:.0f} {one if number == 1 else many or one + 's'}"
