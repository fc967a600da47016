"""Several rankings to one, by ranks or by values: pure arithmetic over identities.

What always holds of fusion by ranks: the order of the rankings makes no difference, not even in the last bit, because
each sum is exact.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from groove_daemon.domain.document import ChunkId, DocumentId

Key = TypeVar("Key", bound=Hashable)


def reciprocal_rank_fusion(rankings: Iterable[tuple[Sequence[Key], float]], *, rrf_k: float) -> dict[Key, float]:
    """Sum `weight / (rrf_k + rank)` over all rankings that hold the key, ranks from 1.

    Cormack, Clarke, Buettcher: Reciprocal rank fusion outperforms Condorcet and individual rank learning methods, 2009.

    Args:
        rankings: keys best first, each once, with the ranking's weight.
        rrf_k: how slowly the worth of a rank falls off; above 0.
    """
    parts: dict[Key, list[float]] = defaultdict(list)
    for keys, weight in rankings:
        for rank, key in enumerate(keys, start=1):
            parts[key].append(weight / (rrf_k + rank))
    return {key: math.fsum(values) for key, values in parts.items()}


def flow_down(
    chunk_scores: Mapping[ChunkId, float],
    document_scores: Mapping[DocumentId, float],
    *,
    documents_of: Mapping[ChunkId, DocumentId],
    best: Mapping[DocumentId, ChunkId],
    damping: float = 1.0,
) -> dict[ChunkId, float]:
    """Add what is known of documents to the scores of their chunks.

    The document's best candidate gets all of the document's score, its j-th candidate `1 / j ** damping` of it, so that
    a long document does not fill the answer.  A document without candidates enters by its `best` chunk, if it has one.

    Args:
        chunk_scores: the candidates so far.
        document_scores: what to add, by document.
        documents_of: the document of each candidate.
        best: the chunk that stands for a document.
        damping: 0 gives every candidate the whole score; larger values leave less for all but the first.
    """
    scores = dict(chunk_scores)
    candidates = candidates_by_document(chunk_scores, documents_of)
    for document_id, gain in document_scores.items():
        entry = [best[document_id]] if document_id in best else []
        for place, chunk_id in enumerate(candidates.get(document_id, entry), start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + gain / place**damping
    return scores


def candidates_by_document(
    chunk_scores: Mapping[ChunkId, float], documents_of: Mapping[ChunkId, DocumentId]
) -> dict[DocumentId, list[ChunkId]]:
    """Candidates grouped by document, each group best first, ties by chunk id; a chunk without document is left out."""
    groups: dict[DocumentId, list[ChunkId]] = defaultdict(list)
    for chunk_id in sorted(chunk_scores, key=lambda chunk_id: (-chunk_scores[chunk_id], chunk_id)):
        if chunk_id in documents_of:
            groups[documents_of[chunk_id]].append(chunk_id)
    return dict(groups)


def spread_to_unit(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores of full text (higher is better) brought to 0..1: the best is 1, the worst 0; 1 for all when equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    width = max(high - low, sys.float_info.epsilon)
    return {key: 1.0 - (high - score) / width for key, score in scores.items()}


def nearness(cosine: float) -> float:
    """A cosine on the scale `1 - d / 2` of the distance d between unit vectors: 1 for equal, 0 for opposite.

    The scale is absolute, because the candidates of one query lie close together.
    """
    distance = math.sqrt(max(2.0 - 2.0 * cosine, 0.0))
    return min(max(1.0 - distance / 2.0, 0.0), 1.0)


def text_or_blend(text: float, vector: float, *, text_weight: float, vector_weight: float) -> float:
    """One score from a text score and a vector score, both 0..1; 0 stands for none.

    A chunk that has both never scores less than by its text alone.

    >>> text_or_blend(0.5, 0.8, text_weight=0.3, vector_weight=0.7)
    0.71
    """
    if text <= 0.0:
        return vector_weight * vector
    return max(text, text_weight * text + vector_weight * vector) if vector > 0.0 else text
