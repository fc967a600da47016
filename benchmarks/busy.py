"""Searches inside a real daemon while it indexes another big folder, against the same searches when nothing else runs.

Quiet and busy stretches alternate; each busy one indexes a folder of texts that were never embedded before.  Searches
come at a steady pace, as from a person or an editor, not back to back.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from benchmarks.figures import ms, percentile, spread
from benchmarks.table import Report, Row, at_most
from benchmarks.world import Daemon, World, is_indexed, say, tempfile_folder
from groove_client.client import Client

Freshness = Literal["sync", "none"]

BAR = 2.0
CYCLES = 3
MORE_SECTIONS = 1_500
QUIET_SEARCHES = 150
PACE_S = 0.05
LIMIT = 10


@dataclass(slots=True)
class Taken:
    """What the answers said: seconds inside the daemon, seconds seen by the client, and odd answers by name."""

    inside: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    odd: dict[str, int] = field(default_factory=dict)

    def add(self, client: Client, question: str, freshness: Freshness) -> None:
        """Ask once, and wait for the pace."""
        began = time.perf_counter()
        answer = client.search(question, limit=LIMIT, freshness=freshness, explain=True)
        self.outside.append(time.perf_counter() - began)
        self.inside.append(answer.took_ms / 1000)
        for step in answer.steps or ():
            if step.status == "ran":
                self.stages.setdefault(step.stage, []).append(step.took_ms / 1000)
        if answer.mode != "hybrid" or answer.degraded:
            self.odd[answer.mode] = self.odd.get(answer.mode, 0) + 1
        time.sleep(PACE_S)


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the signature of every part)
    """`CYCLES` times quiet, then busy; then quiet once more."""
    quiet, busy, sync_quiet, sync_busy = Taken(), Taken(), Taken(), Taken()
    rates = []
    with world.daemon(settings="[models]\nquery_cache = 0\n") as daemon, tempfile_folder() as folders:
        daemon.start()
        questions = iter(world.questions(8_000, seed=17))
        with daemon.client() as client:
            for _ in range(40):
                client.search(next(questions), limit=LIMIT)
            for cycle in range(CYCLES):
                say(f"busy: cycle {cycle + 1} of {CYCLES} ...")
                _ask_quietly(client, questions, quiet, "none", QUIET_SEARCHES)
                _ask_quietly(client, questions, sync_quiet, "sync", 30)
                folder = world.more_notes(folders / f"more{cycle}", MORE_SECTIONS, part=cycle)
                rates.append(_index_beside(daemon, client, folder, questions, busy, sync_busy))
            _ask_quietly(client, questions, quiet, "none", QUIET_SEARCHES)
    ratio = percentile(busy.inside, 0.95) / percentile(quiet.inside, 0.95)
    row = Row(
        "the same while a full index runs, p95 / quiet p95",
        f"{ratio:.2f}x ({ms(percentile(busy.inside, 0.95))} / {ms(percentile(quiet.inside, 0.95))})",
        f"<= {BAR}x",
        at_most(ratio, BAR),
    )
    details = (
        f"quiet, inside        {spread(quiet.inside)}",
        f"busy, inside         {spread(busy.inside)}",
        f"quiet, by the client {spread(quiet.outside)}",
        f"busy, by the client  {spread(busy.outside)}",
        f"busy / quiet at p50: {median(busy.inside) / median(quiet.inside):.2f}",
        f"with freshness sync, inside: quiet {spread(sync_quiet.inside)}; busy {spread(sync_busy.inside)}",
        f"indexing went on at {', '.join(f'{rate:.0f}' for rate in rates)} passages/s beside the searches",
        f"answers that were not hybrid: quiet {quiet.odd or 0}, busy {busy.odd or 0}, sync {sync_busy.odd or 0}",
        *_stages(quiet, busy),
    )
    figures = {"ratio": ratio, "quiet_s": quiet.inside, "busy_s": busy.inside, "sync_busy_s": sync_busy.inside}
    return Report((row,), details, figures)


def _ask_quietly(client: Client, questions: Iterator[str], taken: Taken, freshness: Freshness, count: int) -> None:
    for _ in range(count):
        taken.add(client, next(questions), freshness)


def _index_beside(
    daemon: Daemon, client: Client, folder: Path, questions: Iterator[str], busy: Taken, sync_busy: Taken
) -> float:
    """Index one more folder and search meanwhile; returns passages a second."""
    before = client.status().index.vectors
    began = time.perf_counter()
    with daemon.client() as other:
        other.add_collection(str(folder), name=folder.name)
        is_done = _watched(lambda: is_indexed(other))
        while not is_done():
            for _ in range(9):
                busy.add(client, next(questions), "none")
            sync_busy.add(client, next(questions), "sync")
        rate = (other.status().index.vectors - before) / (time.perf_counter() - began)
        other.remove_collection(folder.name)
        daemon.until(lambda: is_indexed(other), 60)
    return rate


def _watched(is_done: Callable[[], bool]) -> Callable[[], bool]:
    """The same, but never done at the first look, when the new folder has not been seen yet."""
    looks = iter((False,))
    return lambda: is_done() if next(looks, True) else False


def _stages(quiet: Taken, busy: Taken) -> list[str]:
    lines = ["stages, p50 and p95, quiet then busy:"]
    for name, values in quiet.stages.items():
        other = busy.stages.get(name, values)
        lines.append(
            f"  {name:<15} {ms(median(values)):>8} {ms(percentile(values, 0.95)):>8}"
            f"   {ms(median(other)):>8} {ms(percentile(other, 0.95)):>8}"
        )
    return lines
