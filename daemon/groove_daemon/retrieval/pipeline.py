"""The recipes: which stages make a profile, in which order, with which legs and weights.

`PROFILES`, `LEG_SETS` and `LEGS` are the only places that know profiles and legs by name.  A pipeline is built for one
query and is itself a retriever; stages that are off stay in the list and say so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from groove_daemon.config.settings import SearchSettings
from groove_daemon.errors import InvalidParams
from groove_daemon.retrieval.base import Retriever
from groove_daemon.retrieval.compose import Chain, Fusion, Leg, Off
from groove_daemon.retrieval.dense import DenseRetriever
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.documents import DocumentWordsRetriever, MeanRetriever, TitleRetriever
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.scripts import Script, script_of
from groove_daemon.retrieval.short_terms import ShortTermsRetriever
from groove_daemon.retrieval.sparse import (
    ChunkWordsRetriever,
    ColumnWeights,
    ExactTermsRetriever,
    TrigramRetriever,
)
from groove_daemon.retrieval.truncate import Truncate
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
    "seed": LegSet({"spaced": _TWO_LEGS, "cjk": _TWO_LEGS}, may_drop_common=False),
    "documents": LegSet(
        {
            "spaced": {
                "trigram": 0.25,
                "exact_terms": 2.0,
                "short_terms": 1.0,
                "document_words": 1.0,
                "dense": 1.0,
                "mean": 0.5,
                "title": 0.5,
            },
            "cjk": {
                "trigram": 1.0,
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
same vectors as the leg over chunks.  Trigrams repeat what words already said, unless the query is unspaced text, where
it is words that find little.
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a recipe is made of, for one query.

    `settings` are the effective ones, the request's own included.  `workers` is the pool in which vector legs run
    beside full text; None runs everything in the calling thread.
    """

    settings: SearchSettings
    probe: Probe
    workers: Workers | None = None
    reranking: bool = False

    @property
    def depths(self) -> Depths:
        """How deep legs and fusion look."""
        return Depths(reranking=self.reranking, diversifying=self.settings.mmr.enabled)

    @property
    def columns(self) -> ColumnWeights:
        """Weights of heading, context and content in bm25."""
        fusion = self.settings.fusion
        return (fusion.heading_weight, fusion.context_weight, fusion.content_weight)

    @property
    def drop_common(self) -> bool:
        """Whether phrases that stand in most chunks may be left out."""
        return self.settings.drop_common_phrases and LEG_SETS[self.settings.legs].may_drop_common


def _trigram(parts: Parts, weight: float) -> Leg:
    return Leg(TrigramRetriever(parts.probe, parts.depths, parts.columns, parts.drop_common), weight)


def _chunk_words(parts: Parts, weight: float) -> Leg:
    return Leg(ChunkWordsRetriever(parts.probe, parts.depths, parts.columns), weight)


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
    "exact_terms": _exact_terms,
    "short_terms": _short_terms,
    "document_words": _document_words,
    "dense": _dense,
    "title": _title,
    "mean": _mean,
}
"""How each leg is made."""


def _fusion(parts: Parts) -> Fusion:
    """The legs of the setting, with the weights for the query's script."""
    weights = LEG_SETS[parts.settings.legs].weights[script_of(parts.probe.query.positive_text)]
    return Fusion(
        "rrf",
        tuple(LEGS[name](parts, weight) for name, weight in weights.items()),
        parts.depths,
        parts.probe.vectors.documents_of,
        parts.workers,
        rrf_k=parts.settings.fusion.rrf_k,
    )


def _notes(parts: Parts) -> Retriever:
    return Chain("notes", _fusion(parts), (Off("rerank"), Off("mmr"), Truncate()))


Recipe = Callable[[Parts], Retriever]

PROFILES: Mapping[str, Recipe] = {
    "notes": _notes,
}
"""The recipe of each profile."""


def build_pipeline(profile: str, parts: Parts) -> Retriever:
    """The profile's pipeline for one query.

    Raises:
        InvalidParams: there is no such profile.
    """
    recipe = PROFILES.get(profile)
    if recipe is None:
        nearest = get_close_matches(profile, PROFILES, n=1) or sorted(PROFILES)
        raise InvalidParams(f"there is no profile {profile!r}", hint=f"try {nearest[0]!r}", profile=profile)
    return recipe(parts)
