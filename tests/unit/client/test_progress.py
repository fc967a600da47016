"""Progress: lines where nothing can be redrawn, and not too many of them."""

import os

from groove_client.progress import Progress
from groove_client.render import Screen


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _shown(steps):
    reading, writing = os.pipe()
    seconds = Seconds()
    progress = Progress(Screen("never", {}, err=writing), seconds)
    for at, method, fields in steps:
        seconds.now = 100.0 + at
        progress.show(method, fields)
    progress.clear()
    os.close(writing)
    with os.fdopen(reading) as file:
        return file.read().splitlines()


def test_lines_come_with_each_phase_and_else_every_five_seconds():
    work = {"phase": "indexing", "total": 10}
    steps = [(at, "progress", work | {"done": at}) for at in range(8)]
    steps.append((8, "progress", {"phase": "embedding", "done": 1, "total": 4}))

    assert _shown(steps) == [
        "groovectl: indexing 0/10",
        "groovectl: indexing 5/10",
        "groovectl: embedding 1/4",
    ]


def test_other_notifications_show_nothing():
    assert _shown([(0, "index_changed", {"generation": 3})]) == []
