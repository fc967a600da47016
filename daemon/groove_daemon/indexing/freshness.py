"""What a search is told when it asks for everything saved before it: fresh, or why not.

What always holds: a report is fresh only when the store takes work, the collections are known to equal their folders,
and no passage lacks its vector.  Looks at the two phases, changes nothing.
"""

from collections.abc import Callable, Iterable

from groove_daemon.indexing.report import SyncReport
from groove_daemon.indexing.store_trouble import StoreTrouble
from groove_daemon.indexing.text_phase import TextPhase
from groove_daemon.indexing.ticket import Fence
from groove_daemon.indexing.vector_phase import VectorPhase


class Freshness:
    """Makes reports.

    Args:
        text: the state of texts.
        vectors: the state of vectors.
        trouble: the state of the store.
        full_text_is_damaged: whether full text waits for repair.
        sync_embed: so many passages at most are worth waiting for.
    """

    def __init__(
        self,
        *,
        text: TextPhase,
        vectors: VectorPhase,
        trouble: StoreTrouble,
        full_text_is_damaged: Callable[[], bool],
        sync_embed: int,
    ) -> None:
        self._text = text
        self._vectors = vectors
        self._trouble = trouble
        self._full_text_is_damaged = full_text_is_damaged
        self._sync_embed = sync_embed

    @property
    def is_settled(self) -> bool:
        """Whether waiting would change nothing, as far as work goes that was taken in hand."""
        if self._text.queue.has_urgent or self._full_text_is_damaged():
            return False
        few = self._vectors.pending <= self._sync_embed
        return not (few and self._vectors.can_embed())

    def report(self, collections: Iterable[str]) -> SyncReport:
        """How it is now."""
        pending = self._vectors.pending
        reason = self._trouble.problem
        for name in sorted(collections):
            reason = reason or self._text.staleness(name)
        if not reason and pending:
            reason = f"{pending} passages wait for their vectors"
            reason += f": {self._vectors.problem}" if self._vectors.problem else ""
        return SyncReport(not reason, reason, pending)

    def too_late(self) -> SyncReport:
        """For a search that has waited as long as it may."""
        left, pending = len(self._text.queue), self._vectors.pending
        what = f"{left} changed files are still to be read" if left else f"{pending} passages wait for their vectors"
        return SyncReport(False, f"not done within the time allowed: {what}", pending)

    def not_fresh(self, reason: str) -> SyncReport:
        """For a search that is told something else."""
        return SyncReport(False, reason, self._vectors.pending)

    def resolve(self, fence: Fence) -> None:
        """Give the searches of a fence their reports."""
        for ticket in fence.tickets:
            report = self.report(ticket.collections)
            ticket.settle(self.not_fresh(fence.problem) if fence.problem and report.fresh else report)
