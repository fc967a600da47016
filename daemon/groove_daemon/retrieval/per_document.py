"""At most so many hits of one document, so that a long note cannot fill the answer.

What is kept is the best of each document in the order of the ranking; scores stay.  Each kept candidate tells how many
candidates its document had, so that the answer can say how many more there are.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking
from groove_daemon.retrieval.trace import StageSkipped, Trace


@dataclass(frozen=True, slots=True)
class PerDocument:
    """Refiner that keeps the first `most` candidates of each document; a chunk without document is left alone.

    Args:
        most: how many; 0 turns the stage off.
        documents_of: the document of each chunk.
        name: the stage's name in the trace.
    """

    most: int
    documents_of: Callable[[Sequence[ChunkId]], Mapping[ChunkId, DocumentId]] = field(repr=False, compare=False)
    name: str = "max_per_document"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Keep at most `most` candidates of a document.

        Raises:
            StageSkipped: `most` is 0.
        """
        if self.most <= 0:
            raise StageSkipped("off")
        documents = self.documents_of([candidate.chunk_id for candidate in ranking])
        totals = Counter(documents.values())
        taken: Counter[DocumentId] = Counter()
        kept = []
        for candidate in ranking:
            document = documents.get(candidate.chunk_id)
            if document is None:
                kept.append(candidate)
                continue
            taken[document] += 1
            if taken[document] <= self.most:
                kept.append(candidate._replace(in_document=totals[document]))
        return tuple(kept)
