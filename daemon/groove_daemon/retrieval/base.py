"""The two kinds of stage.

A retriever turns a query into a ranking; a refiner turns a ranking into a ranking.  Contract of both: the input is not
changed; the same input gives the same output; an empty ranking stays empty; a refiner never invents a chunk; every
candidate that a stage scored carries one more `Evidence` of that stage; a retriever keeps filters and exclusions and
returns no chunk twice.  A stage that cannot run raises `StageSkipped` or `StageFailed` of `retrieval.trace`.
"""

from typing import Protocol

from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking
from groove_daemon.retrieval.trace import Trace


class Stage(Protocol):
    """Anything with a name in the trace."""

    @property
    def name(self) -> str:
        """The stage's name in steps and evidence."""
        ...


class Retriever(Stage, Protocol):
    """Query to ranking; a leg of a fusion, or a whole pipeline."""

    def retrieve(self, query: Query, trace: Trace) -> Ranking:
        """Find candidates."""
        ...


class Refiner(Stage, Protocol):
    """Ranking to ranking."""

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        """Reorder, rescore or drop candidates."""
        ...
