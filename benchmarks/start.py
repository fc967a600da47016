"""From `exec` of the daemon to its first answers, with an index of 10,000 chunks and the page cache warm.

A client connects as soon as it can and asks at once.  A first search that asks for freshness waits until the folders
are compared with the index, so that kind is measured beside the one that does not ask for it.
"""

import re
import time
from collections.abc import Iterator
from statistics import median
from typing import Literal

from benchmarks.figures import ms, spread
from benchmarks.table import Report, Row, at_most
from benchmarks.world import Daemon, World, say

Freshness = Literal["sync", "none"]

BAR_TEXT_S, BAR_HYBRID_S = 0.5, 2.5
_LONGEST_S = 60.0


def measure(world: World, *, rounds: int) -> Report:
    """`rounds` starts of each kind, in turns, after one that counts for nothing."""
    kinds: tuple[Freshness, Freshness] = ("none", "sync")
    taken: dict[str, list[float]] = {
        f"{moment} {kind}": [] for kind in kinds for moment in ("connected", "text", "hybrid")
    }
    logs: list[str] = []
    with world.daemon() as daemon:
        questions = iter(world.questions(20_000, seed=19))
        say("start: starting again and again ...")
        for number in range(-2, 2 * max(7, rounds)):
            freshness = kinds[number % 2]
            daemon.log.unlink(missing_ok=True)
            moments = _one_start(daemon, freshness, questions)
            daemon.stop()
            if number >= 0:
                for what, moment in moments.items():
                    taken[f"{what} {freshness}"].append(moment)
        logs = _milestones(daemon.log.read_text(encoding="utf-8", errors="replace"))
    text, sync = median(taken["text none"]), median(taken["text sync"])
    rows = (
        _row("exec of the daemon to the first full-text answer, freshness none", text, BAR_TEXT_S),
        _row("  the same, freshness sync", sync, BAR_TEXT_S),
        _row(
            "exec of the daemon to the first hybrid answer, freshness none", median(taken["hybrid none"]), BAR_HYBRID_S
        ),
        _row("  the same, freshness sync", median(taken["hybrid sync"]), BAR_HYBRID_S),
    )
    details = (
        *(f"{name:<15} {spread(values)}" for name, values in taken.items()),
        f"a first search that asks for freshness: {ms(sync)}, {ms(sync - text)} more, spent on waiting for watching and"
        " indexing to begin, and on comparing 1,250 notes",
        "the log of the last start, ms after its first line:",
        *logs,
    )
    return Report(rows, details, {"s": taken})


def _row(what: str, seconds: float, bar: float) -> Row:
    return Row(what, f"{seconds:.2f} s", f"<= {bar} s", at_most(seconds, bar))


def _one_start(daemon: Daemon, freshness: Freshness, questions: Iterator[str]) -> dict[str, float]:
    began = daemon.spawn()
    moments: dict[str, float] = {}
    with daemon.client(_LONGEST_S) as client:
        moments["connected"] = time.perf_counter() - began
        while "hybrid" not in moments:
            answer = client.search(next(questions), freshness=freshness)
            moment = time.perf_counter() - began
            if not answer.results:
                raise SystemExit("the first search found nothing")
            moments.setdefault("text", moment)
            if answer.mode == "hybrid":
                moments["hybrid"] = moment
            elif moment > _LONGEST_S:
                raise SystemExit(f"no hybrid answer: {answer.degraded}")
            else:
                time.sleep(0.01)
    return moments


_TIME = re.compile(r'"timestamp": "[^"]*T(\d+):(\d+):([\d.]+)Z".*?"event": "([^"]+)"')


def _milestones(log: str) -> list[str]:
    found = [
        (int(hour) * 3600 + int(minute) * 60 + float(second), event)
        for hour, minute, second, event in _TIME.findall(log)
        if not event.startswith("rpc.")
    ]
    return [f"  {(moment - found[0][0]) * 1000:7.0f}  {event}" for moment, event in found[:14]]
