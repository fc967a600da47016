"""The recipes: which stages make a profile, in which order, with which legs and weights.

`PROFILES`, `LEG_SETS` and `LEGS` are the only places that know profiles and legs by name.  A pipeline is built for one
query and is itself a retriever; stages that are off stay in the list and say so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from groove_daemon.config.settings import ProfileSettings, SearchSettings
from groove_daemon.domain.document import ChunkId
from groove_daemon.errors import InvalidParams
from groove_daemon.retrieval.base import Refiner, Retriever
from groove_daemon.retrieval.compose import Blend, Chain, Fusion, Leg, Off
from groove_daemon.retrieval.dense import DenseRetriever
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.diversity import Cosine, Diversity, Jaccard, Similarity
from groove_daemon.retrieval.documents import DocumentWordsRetriever, MeanRetriever, TitleRetriever
from groove_daemon.retrieval.duplicates import DUPLICATES, Copies, Distinct, Distinctly, Duplicates
from groove_daemon.retrieval.per_document import PerDocument
from groove_daemon.retrieval.probe import Probe, store_failures
from groove_daemon.retrieval.rerank import Rerank, Reranking, ScoreCache
from groove_daemon.retrieval.scripts import Script, script_of
from groove_daemon.retrieval.short_terms import ShortTermsRetriever
from groove_daemon.retrieval.sources import KeywordRetriever, KnnRetriever, Source, Sources
from groove_daemon.retrieval.sparse import (
    AllWordsRetriever,
    ChunkWordsRetriever,
    ColumnWeights,
    ExactTermsRetriever,
    TrigramRetriever,
)
from groove_daemon.retrieval.truncate import Truncate
from groove_daemon.retrieval.weighing import ContentFree, Factor, MinScore, access_boost, decay
from groove_daemon.workers import Workers

LegWeights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LegSet:
    """Legs and their weights, by the script of the query; a leg that is not named does not run.

    `may_drop_common` allows phrases that stand in most chunks to be left out of the trigram leg.
    """

    weights: Mapping[Script, LegWeights]
    may_drop_common: bool = True


_TWO_LEGS: LegWeights = {"trigram": 1.0, "dense": 1.0}

LEG_SETS: Mapping[str, LegSet] = {
    "chunks": LegSet({"spaced": _TWO_LEGS, "cjk": _TWO_LEGS}, may_drop_common=False),
    "documents": LegSet(
        {
            "spaced": {
                "chunk_words": 0.25,
                "all_words": 2.0,
                "exact_terms": 2.0,
                "short_terms": 1.0,
                "trigram": 0.25,
                "document_words": 1.0,
                "dense": 1.0,
                "mean": 0.5,
                "title": 0.5,
            },
            "cjk": {
                "trigram": 1.0,
                "all_words": 2.0,
                "exact_terms": 2.0,
                "short_terms": 1.0,
                "document_words": 0.5,
                "dense": 1.0,
                "mean": 0.5,
                "title": 0.5,
            },
        }
    ),
}
"""What the setting `legs` can name.

In `documents` titles count half, because they say little about long notes, and so do means, because they rest on the
same vectors as the leg over chunks.  Trigrams look for what is no word of the notes; in unspaced text they look for
everything, because words find little there.  Chunks that hold every word weigh most: whoever types only words of one
passage wants it.
Legs run in this order, and trigrams can take all of a small budget, so other legs over chunks come before them.
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a recipe is made of, for one query.

    `settings` are the effective ones, the request's own included.  `workers` is the pool in which vector legs run
    beside full text; None runs everything in the calling thread.  `mmr_overridden` says that the request itself named a
    parameter of diversity.  `sources` and `now` (seconds since the epoch) are for weighing memories.
    `copies` is filled while the pipeline runs.
    """

    settings: SearchSettings
    probe: Probe
    workers: Workers | None = None
    reranking: Reranking = field(default_factory=Reranking)
    scores: ScoreCache = field(default_factory=ScoreCache)
    mmr_overridden: bool = False
    sources: Sources = field(default_factory=dict)
    now: float = 0.0
    copies: Copies = field(default_factory=dict, compare=False)

    @property
    def depths(self) -> Depths:
        """How deep legs and fusion look."""
        return Depths(
            reranking=self.reranking.is_on,
            diversifying=self.settings.mmr.enabled,
            collapsing=self.settings.merge_duplicates,
            capping=self.settings.max_per_document > 0,
        )

    @property
    def columns(self) -> ColumnWeights:
        """Weights of heading, context and content in bm25."""
        fusion = self.settings.fusion
        return (fusion.heading_weight, fusion.context_weight, fusion.content_weight)

    @property
    def drop_common(self) -> bool:
        """Whether phrases that stand in most chunks may be left out; legs chosen one by one say it by the setting."""
        may_drop = bool(self.settings.weights) or LEG_SETS[self.settings.legs].may_drop_common
        return self.settings.drop_common_phrases and may_drop

    @property
    def leg_weights(self) -> LegWeights:
        """The legs that run: those that a profile names, or those of the setting for the query's script."""
        if self.settings.weights:
            return {name: weight for name, weight in self.settings.weights if weight > 0}
        return LEG_SETS[self.settings.legs].weights[script_of(self.probe.query.positive_text)]


def _trigram(parts: Parts, weight: float) -> Leg:
    beside_words = parts.leg_weights.get("chunk_words", 0.0) > 0.0
    return Leg(TrigramRetriever(parts.probe, parts.depths, parts.columns, parts.drop_common, beside_words), weight)


def _chunk_words(parts: Parts, weight: float) -> Leg:
    return Leg(ChunkWordsRetriever(parts.probe, parts.depths, parts.columns), weight, heir="trigram")


def _all_words(parts: Parts, weight: float) -> Leg:
    return Leg(AllWordsRetriever(parts.probe, parts.depths, parts.columns), weight, heir="trigram")


def _exact_terms(parts: Parts, weight: float) -> Leg:
    return Leg(ExactTermsRetriever(parts.probe, parts.depths, parts.columns), weight)


def _short_terms(parts: Parts, weight: float) -> Leg:
    return Leg(ShortTermsRetriever(parts.probe, parts.depths), weight)


def _document_words(parts: Parts, weight: float) -> Leg:
    # Where no whole word matches, as in unspaced text or for a part of a word, literal text speaks for both.
    return Leg(DocumentWordsRetriever(parts.probe, parts.depths), weight, whole_document=True, heir="trigram")


def _dense(parts: Parts, weight: float) -> Leg:
    return Leg(DenseRetriever(parts.probe, parts.depths), weight, pooled=True)


def _title(parts: Parts, weight: float) -> Leg:
    return Leg(TitleRetriever(parts.probe, parts.depths), weight, whole_document=True, pooled=True)


def _mean(parts: Parts, weight: float) -> Leg:
    return Leg(MeanRetriever(parts.probe, parts.depths), weight, whole_document=True, pooled=True)


LEGS: Mapping[str, Callable[[Parts, float], Leg]] = {
    "trigram": _trigram,
    "chunk_words": _chunk_words,
    "all_words": _all_words,
    "exact_terms": _exact_terms,
    "short_terms": _short_terms,
    "document_words": _document_words,
    "dense": _dense,
    "title": _title,
    "mean": _mean,
}
"""How each leg is made."""


def _fusion(parts: Parts) -> Fusion:
    """The legs that run, fused by ranks."""
    return Fusion(
        "rrf",
        tuple(LEGS[name](parts, weight) for name, weight in parts.leg_weights.items()),
        parts.depths,
        parts.probe.vectors.documents_of,
        parts.workers,
        rrf_k=parts.settings.fusion.rrf_k,
    )


def _cosines(parts: Parts) -> Callable[[Sequence[ChunkId]], tuple[Sequence[ChunkId], Similarity]]:
    """Similarity of chunks by their vectors; one whose vector is not there yet is unlike any other, but not lost."""

    def similarity_of(chunk_ids: Sequence[ChunkId]) -> tuple[Sequence[ChunkId], Similarity]:
        with store_failures():
            return chunk_ids, Cosine(parts.probe.vectors.rows_of(chunk_ids))

    return similarity_of


def _words_in_common(parts: Parts) -> Callable[[Sequence[ChunkId]], tuple[Sequence[ChunkId], Similarity]]:
    """Similarity of chunks by their words."""

    def similarity_of(chunk_ids: Sequence[ChunkId]) -> tuple[Sequence[ChunkId], Similarity]:
        chunks = parts.probe.stored(chunk_ids)
        return list(chunks), Jaccard([chunk.content for chunk in chunks.values()])

    return similarity_of


def _notes(parts: Parts) -> Retriever:
    mmr = parts.settings.mmr
    diversity = Diversity(
        mmr.enabled,
        mmr.lambda_,
        mmr.same_doc_penalty,
        _cosines(parts),
        parts.probe.vectors.documents_of,
        overridden=parts.mmr_overridden,
    )
    diverse: Refiner = diversity
    if parts.settings.merge_duplicates:
        diverse = Distinctly(diversity, _same_texts(parts), parts.copies)
    rerank = Rerank(parts.reranking, parts.probe.stored, parts.scores)
    # Before diversity, which chooses a page out of what is there.
    per_document = PerDocument(parts.settings.max_per_document, parts.probe.vectors.documents_of)
    return Chain("notes", _distinct(parts), (rerank, per_document, diverse, Truncate()), told=(rerank.name,))


def _distinct(parts: Parts) -> Retriever:
    """The fused legs, each passage once."""
    vectors = parts.probe.vectors
    duplicates: Refiner = Off(DUPLICATES)
    if parts.settings.merge_duplicates:
        duplicates = Duplicates(vectors.passages_of, parts.depths, _same_texts(parts), parts.copies)
    return Distinct(_fusion(parts), duplicates, parts.depths, vectors.documents_of, parts.settings.max_per_document)


def _same_texts(parts: Parts) -> Callable[[Sequence[ChunkId]], Mapping[ChunkId, ChunkId]]:
    def texts_of(chunk_ids: Sequence[ChunkId]) -> Mapping[ChunkId, ChunkId]:
        with store_failures():
            return parts.probe.reader.same_texts(chunk_ids)

    return texts_of


def _memory(parts: Parts) -> Retriever:
    memory, probe = parts.settings.memory, parts.probe
    candidates = Blend(
        KeywordRetriever(probe),
        KeywordRetriever(probe, "evergreen", parts.sources),
        KnnRetriever(probe),
        memory.text_weight,
        memory.vector_weight,
    )
    diversity = Diversity(
        memory.mmr,
        memory.mmr_lambda,
        0.0,
        _words_in_common(parts),
        probe.vectors.documents_of,
        overridden=parts.mmr_overridden,
    )
    refiners = (
        ContentFree(probe.stored),
        _decay(parts),
        Factor("source_weight", lambda ids: {key: source.weight for key, source in _sources_of(parts, ids).items()}),
        _access_boost(parts),
        MinScore(memory.min_score),
        diversity,
        Truncate(shown_within=(0.0, 1.0)),
    )
    return Chain("memory", candidates, refiners)


def _sources_of(parts: Parts, chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, Source]:
    chunks = parts.probe.stored(chunk_ids)
    return {key: parts.sources.get(chunk.document.collection, Source()) for key, chunk in chunks.items()}


def _decay(parts: Parts) -> Refiner:
    memory = parts.settings.memory
    if not memory.decay:
        return Off("decay")
    if memory.half_life_days <= 0.0:
        return Off(
            "decay", "half_life_days is not above 0", "half_life_days is not above 0, so nothing decays with age"
        )

    def factors_of(chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        chunks = parts.probe.stored(chunk_ids)
        return {
            key: 1.0
            if source.evergreen
            else decay(parts.now - chunks[key].created_at, half_life_days=memory.half_life_days)
            for key, source in _sources_of(parts, chunk_ids).items()
        }

    return Factor("decay", factors_of)


def _access_boost(parts: Parts) -> Refiner:
    weight = parts.settings.memory.access_weight
    if weight == 0.0:
        return Off("access_boost")

    def factors_of(chunk_ids: Sequence[ChunkId]) -> dict[ChunkId, float]:
        with store_failures():
            counts = parts.probe.reader.access_counts(chunk_ids)
        return {chunk_id: access_boost(counts.get(chunk_id, 0), weight=weight) for chunk_id in chunk_ids}

    return Factor("access_boost", factors_of)


Recipe = Callable[[Parts], Retriever]


@dataclass(frozen=True, slots=True)
class Profile:
    """A recipe and what belongs to it.

    `default_limit` is how many hits when the request does not say.  `lacks` names parameters of a request that mean
    nothing to this recipe.  `records_accesses` says that what was returned counts as used.
    """

    recipe: Recipe
    default_limit: Callable[[SearchSettings], int]
    lacks: tuple[str, ...] = ()
    records_accesses: bool = False


PROFILES: Mapping[str, Profile] = {
    "notes": Profile(_notes, lambda settings: settings.limit, lacks=("min_score",)),
    "memory": Profile(
        _memory,
        lambda settings: settings.memory.limit,
        lacks=("rerank", "mmr_same_doc_penalty", "max_per_document"),
        records_accesses=True,
    ),
}
"""Every profile by name."""


def profile_of(
    name: str, settings: SearchSettings | None = None, own: Sequence[ProfileSettings] = ()
) -> tuple[Profile, SearchSettings]:
    """A profile by its name, and the settings that are in force for it.

    Args:
        name: built in, or one of `own`.
        settings: of the built-in ones; the defaults when left out.
        own: profiles of the user's own.

    Raises:
        InvalidParams: there is none.
    """
    if name in PROFILES:
        return PROFILES[name], settings or SearchSettings()
    for profile in own:
        if profile.name == name:
            return PROFILES[profile.base], profile.search
    known = [*PROFILES, *(profile.name for profile in own)]
    nearest = get_close_matches(name, known, n=1) or sorted(known)
    raise InvalidParams(f"profile: there is no profile {name!r}", hint=f"try {nearest[0]!r}", profile=name)


def build_pipeline(profile: str, parts: Parts) -> Retriever:
    """A built-in profile's pipeline for one query.

    Raises:
        InvalidParams: there is no such profile.
    """
    return profile_of(profile)[0].recipe(parts)
