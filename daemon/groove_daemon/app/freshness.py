"""Freshness as searches need it: the watcher's barrier, then the worker's sync, within one deadline.

What always holds: `fresh` is True only when every asked-for collection passed its barrier and the worker has taken in
everything that came before it.  Until the watcher and the worker run, nothing is fresh, and the reason says so.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from groove_daemon.domain.document import StoredChunk
from groove_daemon.search import Sync

if TYPE_CHECKING:
    from groove_daemon.indexing.worker import IndexWorker

_LOOK_EVERY_S = 0.01
STARTING = "the daemon is starting: the folders are not compared with the index yet"


class Barrier(Protocol):
    """Whether all events up to now have arrived; `reason` is empty when `complete`."""

    @property
    def complete(self) -> bool:
        """All earlier events are in."""
        ...

    @property
    def reason(self) -> str:
        """Why not."""
        ...


class BarrierSource(Protocol):
    """The watcher, as far as freshness needs it."""

    def barrier(self, collections: Sequence[str], *, deadline: float) -> Barrier:
        """Wait until all earlier events of these collections have arrived, until `deadline` (monotonic) at most."""
        ...


class IndexFreshness:
    """Implements `search.Freshness` over parts that may come later.

    Args:
        pending_vectors: how many passages lack a vector, known even before the worker runs.
    """

    def __init__(self, pending_vectors: Callable[[], int]) -> None:
        self._pending_vectors = pending_vectors
        self._parts: tuple[IndexWorker, BarrierSource] | None = None
        self._reason = STARTING
        self._up = threading.Event()

    def attach(self, worker: "IndexWorker", watcher: BarrierSource) -> None:
        """The worker and the watcher run now."""
        self._parts = (worker, watcher)
        self._up.set()

    def give_up(self, reason: str) -> None:
        """There will be no worker and no watcher: searches do not wait for them, and say why."""
        self._reason = reason
        self._up.set()

    def sync(self, collections: Sequence[str], *, deadline: float, is_cancelled: Callable[[], bool]) -> Sync:
        """See `search.Freshness.sync`."""
        if self._parts is None:
            self._up.wait(max(0.0, deadline - time.monotonic()))
        if self._parts is None or is_cancelled():
            return Sync(False, self._reason, self._pending_vectors())
        worker, watcher = self._parts
        barrier = watcher.barrier(collections, deadline=deadline)
        report = worker.sync(collections=collections, deadline=deadline)
        # A start compares all folders first: an answer that waits a moment for it is worth more than a stale one.
        while not report.fresh and worker.is_nearly_read() and time.monotonic() < deadline and not is_cancelled():
            time.sleep(_LOOK_EVERY_S)
            report = worker.sync(collections=collections, deadline=deadline)
        reason = report.reason or barrier.reason
        return Sync(report.fresh and barrier.complete, reason, report.pending_vectors)

    def unverified(self, collections: Sequence[str]) -> Sync:  # noqa: ARG002 (the protocol's signature)
        """See `search.Freshness.unverified`."""
        # The worker counts as it goes; counting the rows of a large index for each search would cost more than it.
        pending = self._parts[0].status().pending_vectors if self._parts else self._pending_vectors()
        return Sync(False, "not checked: the search asked for freshness none", pending)

    def changed(self, chunks: Sequence[StoredChunk]) -> Mapping[int, bool]:
        """See `search.Freshness.changed`."""
        if self._parts is None:
            return {}
        documents = {chunk.document.document_id: chunk.document for chunk in chunks}
        states = self._parts[0].check_files(documents.values())
        # Whether a file changed that cannot be looked at, nobody knows; the answer says already why it is not fresh.
        return {document_id: state == "changed" for document_id, state in states.items() if state != "unreachable"}
