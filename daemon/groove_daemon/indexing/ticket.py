"""Searches that wait for the index: their tickets, the fences behind the urgent work of a pass, and waits for vectors.

A ticket is put in by a search and gets its report from the writer's thread, once.  Knows nothing of what is waited for.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from groove_daemon.indexing.report import SyncReport


@dataclass(slots=True, eq=False)
class Ticket:
    """A search that waits: `collections` is what it will look at."""

    collections: frozenset[str]
    done: threading.Event = field(default_factory=threading.Event)
    report: SyncReport | None = None

    def settle(self, report: SyncReport) -> None:
        """Give the search its report."""
        self.report = report
        self.done.set()


@dataclass(slots=True, eq=False)
class Fence:
    """Stands behind the urgent work of one pass; `problem` is why the pass did not take in everything."""

    tickets: list[Ticket]
    problem: str = ""


@dataclass(slots=True, eq=False)
class _VectorWait:
    fence: Fence
    keys: set[bytes]


class VectorWaits:
    """Fences whose text is stored and whose searches wait for the vectors of a few passages."""

    def __init__(self) -> None:
        self._waits: list[_VectorWait] = []

    def add(self, fence: Fence, keys: set[bytes]) -> None:
        """Let a fence wait for the passages with these keys."""
        self._waits.append(_VectorWait(fence, set(keys)))

    def settled(self, keys: Iterable[bytes]) -> list[Fence]:
        """Nobody need wait for these passages any more; the fences that now wait for none are taken out."""
        gone = set(keys)
        for wait in self._waits:
            wait.keys -= gone
        done = [wait.fence for wait in self._waits if not wait.keys]
        self._waits = [wait for wait in self._waits if wait.keys]
        return done

    def fences(self) -> list[Fence]:
        """All fences that wait."""
        return [wait.fence for wait in self._waits]
