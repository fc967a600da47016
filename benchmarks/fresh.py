"""Save, search at once, find: how often; and what the barrier costs a search when nothing changed.

Notes are saved as editors save them (in place, by a new file that takes the old one's name, by appending); each save
brings a word that stands nowhere else, and the very next search must show it.
"""

import os
import random
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from benchmarks.figures import in_turns, ms, spread
from benchmarks.table import HELD, MISSED, Report, Row, at_most
from benchmarks.world import World, say, tempfile_folder
from groove_client.client import Client
from groove_wire.messages import SearchResponse

EDITS = 100
BAR_BARRIER_S = 0.010
_LETTERS = "bcdfghjklmnpqrstvwz"


def measure(world: World, *, rounds: int) -> Report:
    """`EDITS` edits spread over a copy of the notes; then searches with and without the barrier, in turns."""
    with tempfile_folder() as folder:
        notes = folder / "notes"
        shutil.copytree(world.notes, notes)
        with world.daemon(notes=notes) as daemon:
            daemon.start()
            daemon.wait_indexed()
            say("fresh: editing ...")
            with daemon.client() as client:
                found = _edits(client, notes)
                daemon.wait_indexed()
                barrier = _barrier(client, world, rounds)
    added = median(with_sync - without for with_sync, without in zip(barrier["sync"], barrier["none"], strict=True))
    rows = (
        Row(
            "save to findable, the very next search", f"{found.in_five}/{EDITS} found",
            f"{EDITS}/{EDITS}", HELD if found.in_five == EDITS else MISSED,
        ),
        Row(
            "what the barrier adds when nothing changed, p50", ms(added), f"<= {ms(BAR_BARRIER_S)}",
            at_most(added, BAR_BARRIER_S),
        ),
    )  # fmt: skip
    details = (
        f"of {EDITS} edits: {found.fresh} answers said they were fresh; the passage came first {found.first} times,"
        f" in the first five {found.in_five}, in the first fifty {found.in_fifty}; in the first five with the word in"
        f" quotes {found.as_phrase}",
        "(fresh and in fifty but not in five is the ranking's doing, not the freshness's)",
        f"search right after a save, seen by the client: {spread(found.took)}",
        *(f"search with freshness {name:<5} {spread(values)}" for name, values in barrier.items()),
    )
    return Report(rows, details, {**asdict(found), "barrier_s": barrier})


@dataclass(slots=True)
class Found:
    """What became of the edits: seconds of the first searches, and counts."""

    took: list[float] = field(default_factory=list)
    fresh: int = 0
    first: int = 0
    in_five: int = 0
    in_fifty: int = 0
    as_phrase: int = 0


def _edits(client: Client, notes: Path) -> Found:
    source = random.Random(23)
    files = sorted(notes.rglob("*.md"))
    found = Found()
    for number in range(EDITS):
        word = "".join(source.choices(_LETTERS, k=12))
        file = files[source.randrange(len(files))]
        _SAVES[number % len(_SAVES)](file, f"\n\n## Remark {number}\n\nThe word {word} was written here just now.\n")
        began = time.perf_counter()
        answer = client.search(word, limit=5)
        found.took.append(time.perf_counter() - began)
        found.fresh += answer.fresh
        place = _place(answer, file, word)
        found.first += place == 0
        found.in_five += place is not None
        # How the ranking took it, when freshness is no longer the question.
        deeper = client.search(word, limit=50, freshness="none")
        found.in_fifty += place is not None or _place(deeper, file, word) is not None
        quoted = client.search(f'"{word}"', limit=5, freshness="none")
        found.as_phrase += _place(quoted, file, word) is not None
    return found


def _place(answer: SearchResponse, file: Path, word: str) -> int | None:
    """Where the passage with the word stands in the answer, from 0."""
    for place, hit in enumerate(answer.results):
        if hit.absolute_path == str(file) and word in hit.content:
            return place
    return None


def _in_place(file: Path, added: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + added, encoding="utf-8")


def _by_rename(file: Path, added: str) -> None:
    new = file.with_name(f".{file.name}.new")
    new.write_text(file.read_text(encoding="utf-8") + added, encoding="utf-8")
    os.replace(new, file)


def _by_appending(file: Path, added: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(added)


_SAVES = (_in_place, _by_rename, _by_appending)


def _barrier(client: Client, world: World, rounds: int) -> dict[str, list[float]]:
    """The same question is asked with and without, its vector remembered, so that nothing else differs."""
    pairs = max(100, rounds * 20)
    questions = world.questions(pairs + 20, seed=29)
    for question in questions:
        client.search(question, freshness="none")
    asked = {name: iter(questions) for name in ("none", "sync")}

    def ask(freshness: Literal["sync", "none"]) -> float:
        began = time.perf_counter()
        client.search(next(asked[freshness]), freshness=freshness)
        return time.perf_counter() - began

    return in_turns({"none": lambda: ask("none"), "sync": lambda: ask("sync")}, rounds=pairs, warm_up=10)
