"""The settings that could be other than they are: each choice with its variants, one thing changed in each."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.asking import Change
from groove_daemon.config.settings import IndexSettings, MmrSettings, SearchSettings
from groove_daemon.retrieval.pipeline import LEG_SETS, LEGS
from groove_daemon.retrieval.scripts import Script

IndexChange = Callable[[IndexSettings], IndexSettings]


def same(settings: SearchSettings, _script: Script) -> SearchSettings:
    """No change."""
    return settings


def _always(change: Callable[[SearchSettings], SearchSettings]) -> Change:
    return lambda settings, _script: change(settings)


def _weights(change: Callable[[Mapping[str, float]], Mapping[str, float]]) -> Change:
    """Other weights than those of the default set for the script."""

    def changed(settings: SearchSettings, script: Script) -> SearchSettings:
        default = LEG_SETS[settings.legs].weights[script]
        weights = {name: weight for name, weight in change(default).items() if weight > 0}
        return settings if weights == default else replace(settings, weights=tuple(weights.items()))

    return changed


def _weight(name: str, weight: float) -> Change:
    return _weights(lambda default: {**default, name: weight})


def _alone(name: str) -> Change:
    return _weights(lambda _default: {name: 1.0})


def _heading(weight: float) -> Change:
    return _always(lambda settings: replace(settings, fusion=replace(settings.fusion, heading_weight=weight)))


def _mmr(lambda_: float) -> Change:
    return _always(lambda settings: replace(settings, mmr=MmrSettings(enabled=True, lambda_=lambda_)))


def _chunk_tokens(tokens: int) -> IndexChange:
    return lambda settings: replace(settings, chunk_tokens=tokens)


def _overlap(tokens: int) -> IndexChange:
    return lambda settings: replace(settings, chunk_overlap=tokens)


QUERY_TIME: Mapping[str, Mapping[str, Change]] = {
    "the set of legs, against `documents`": {"`chunks`": _always(lambda settings: replace(settings, legs="chunks"))},
    "all legs but one": {f"without `{name}`": _weight(name, 0.0) for name in LEGS},
    "one leg alone": {f"`{name}`": _alone(name) for name in LEGS},
    "the weight of trigrams, against 0.25 (1 for unspaced text)": {
        f"trigram {weight:g}": _weight("trigram", weight) for weight in (0.0, 0.25, 1.0)
    },
    "the weight of the words of a chunk, against 0.25 (none for unspaced text)": {
        f"chunk_words {weight:g}": _weight("chunk_words", weight) for weight in (0.0, 1.0)
    },
    "the weight of chunks that hold every word, against 2": {
        f"all_words {weight:g}": _weight("all_words", weight) for weight in (1.0, 4.0)
    },
    "the weights of means and titles, against 0.5": {
        f"{name} {weight:g}": _weight(name, weight) for name in ("mean", "title") for weight in (0.0, 1.0)
    },
    "the weight of headings in bm25, against 2": {f"heading {weight:g}": _heading(weight) for weight in (1.0, 4.0)},
    "diversity, against none": {f"mmr, lambda {lambda_}": _mmr(lambda_) for lambda_ in (0.7, 0.5)},
    "the least quality of a chunk, against 0.3": {
        "min_quality 0": _always(lambda settings: replace(settings, min_quality=0.0))
    },
}
"""Choices that need no other index."""

INDEX_TIME: Mapping[str, Mapping[str, IndexChange]] = {
    "the longest chunk, against all that the model reads, 254 tokens": {
        f"{tokens} tokens": _chunk_tokens(tokens) for tokens in (64, 128)
    },
    "tokens that two pieces share, against 32": {f"overlap {tokens}": _overlap(tokens) for tokens in (0, 64)},
    "the breadcrumb, against `static`": {"context `off`": lambda settings: replace(settings, context="off")},
}
"""Choices that need an index of their own.  Longer chunks than the model reads are not made."""

RERANKING: Mapping[str, Mapping[str, Change]] = {
    "the reranker, against none": {"reranked": _always(lambda settings: replace(settings, rerank_by_default=True))}
}
"""Asked with fewer questions, because it takes seconds for each."""
