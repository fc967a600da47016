"""The leg for CJK words that are too short for a trigram: a scan of the stored text.

Trigrams cannot hold two characters, and the words table keeps an unspaced run as one word, so without this leg such a
word would be found only where it stands alone.  It runs only for queries that have such a word.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from groove_daemon.domain.document import ChunkId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Ranking, ranked
from groove_daemon.retrieval.corpus import Allowed, CorpusReader
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.probe import Probe, store_failures
from groove_daemon.retrieval.trace import StageSkipped, Trace

_IN_CONTEXT = 0.5
"""What a term in heading or breadcrumb adds to one in the text."""

# 40,000 chunks of 1 KB take some 50 ms for one term.
_SCAN = """
    SELECT c.chunk_id, sum((instr(c.content, t.value) > 0) + ? * (instr(coalesce(c.context, ''), t.value) > 0)) AS score
    FROM json_each(?) t CROSS JOIN chunks c
    WHERE instr(c.content, t.value) OR instr(coalesce(c.context, ''), t.value)
    GROUP BY c.chunk_id
"""


def containing(reader: CorpusReader, terms: Sequence[str], *, allowed: Allowed) -> list[tuple[ChunkId, float]]:
    """All allowed chunks that hold any of `terms` as literal text, with a score that rises with each of them."""
    rows = reader.database.rows(_SCAN, (_IN_CONTEXT, json.dumps(list(terms))))
    admitted = allowed.admits_chunks(np.array([row[0] for row in rows], dtype=np.int64))
    return [(ChunkId(row[0]), row[1]) for row, is_in in zip(rows, admitted, strict=True) if is_in]


@dataclass(frozen=True, slots=True)
class ShortTermsRetriever:
    """Chunks that hold any of the query's short terms; those with more of them first, then in order of chunk id."""

    probe: Probe = field(repr=False, compare=False)
    depths: Depths
    name: str = "short_terms"

    def retrieve(self, query: Query, trace: Trace) -> Ranking:  # noqa: ARG002 (the protocol's signature)
        """Rank by the number of terms."""
        if not query.short_terms:
            raise StageSkipped("no short term")
        with store_failures():
            rows = containing(self.probe.reader, query.short_terms, allowed=self.probe.allowed)
        excluded = self.probe.excluded
        ranking = ranked(self.name, (row for row in rows if row[0] not in excluded))
        return ranking[: self.depths.leg(query.limit)]
