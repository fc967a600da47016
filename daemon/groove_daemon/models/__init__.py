"""Machine-learning models: which ones the settings name, and what runs them.

The tables here are the only place that knows all backends.  Making a model is cheap and needs no library of machine
learning; loading is `warm_up`, or the business of `ModelHost`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import structlog

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.base import PairScorer, RuntimeEmbedder
from groove_daemon.models.catalog import EMBEDDERS, SCORERS, ModelFiles, locate, weights_hash
from groove_daemon.models.cross_encoder import OnnxScorer, TorchScorer
from groove_daemon.models.export import ExportCache, Rejected
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.models.late import LateEmbedder, LateScorer
from groove_daemon.models.onnx import OnnxEmbedder, OnnxModel
from groove_daemon.models.priority import worker_threads
from groove_daemon.models.recipe import pair_length, read_recipe
from groove_daemon.models.sentence_transformer import TorchEmbedder
from groove_daemon.models.source import GIVEN, read_source, tokenizer_file
from groove_daemon.models.tokens import SubwordTokenizer

__all__ = ["EXPORTING", "NO_MODEL", "create_embedder", "create_scorer"]

log = structlog.get_logger()

NO_MODEL = "none"
EXPORTING = "exporting to ONNX, once"

Progress = Callable[[str], None]


def create_embedder(
    settings: ModelSettings, *, cache_dir: Path, on_progress: Progress = lambda _: None
) -> RuntimeEmbedder:
    """Make the embedder that the settings name.

    Args:
        settings: the section `models`.
        cache_dir: the program's cache; exported models are kept in its folder `models`.
        on_progress: called from `warm_up` with one line when something takes long.

    Raises:
        ModelUnavailable: the settings name no model.
    """
    if settings.embedder == NO_MODEL:
        raise ModelUnavailable("no embedding model is set", hint='set `embedder` in the section "models"')
    if settings.embedder in _WITHOUT_MODEL:
        return _WITHOUT_MODEL[settings.embedder]()
    threads = worker_threads(settings.threads)
    wanted = _Wanted(settings.embedder, ExportCache(cache_dir / "models", threads=threads), threads, on_progress)
    choose = _RUNTIMES[settings.runtime]
    return LateEmbedder(
        settings.embedder,
        choose=lambda: choose(wanted),
        early_tokenizer=wanted.tokenizer,
        interrupt=wanted.cache.interrupt,
    )


def create_scorer(settings: ModelSettings, *, cache_dir: Path) -> PairScorer | None:  # noqa: ARG001
    """Make the reranker that the settings name, or None when they name none.

    `cache_dir` is where exported models are kept; rerankers are run as they are.
    """
    if settings.reranker == NO_MODEL:
        return None
    name, threads = settings.reranker, worker_threads(settings.threads)
    return LateScorer(name, choose=lambda: _scorer(name, threads))


class _Wanted:
    """A model that somebody asked for by name, and what its runtime may take."""

    def __init__(self, name: str, cache: ExportCache, threads: int, on_progress: Progress) -> None:
        self.name = name
        self.cache = cache
        self.threads = threads
        self._on_progress = on_progress
        self._tokenizer: SubwordTokenizer | None = None

    def tokenizer(self) -> SubwordTokenizer:
        """The model's tokenizer, read once; raises ModelUnavailable."""
        if self._tokenizer is None:
            self._tokenizer = _read_tokenizer(self.name, self.cache)
        return self._tokenizer

    def in_onnx(self, model: OnnxModel) -> RuntimeEmbedder:
        """Run it in this process."""
        return OnnxEmbedder(model, threads=self.threads, tokenizer=self.tokenizer())

    def in_torch(self) -> RuntimeEmbedder:
        """Run it in a process of its own."""
        source = read_source(locate(self.name, EMBEDDERS))
        return TorchEmbedder(source, threads=self.threads, tokenizer=self.tokenizer())

    def exported(self) -> OnnxModel | Rejected:
        """The model's graph, or why there is none; raises ModelUnavailable."""
        try:
            files = locate(self.name, EMBEDDERS)
        except ModelUnavailable:
            orphan = _orphan(self.name, self.cache)
            if orphan is None:
                raise
            return orphan
        recalled = None if files.is_onnx else self.cache.recall(files)
        if recalled is not None:
            return recalled
        source = read_source(files)
        if source.recipe.obstacle:
            return Rejected(source.recipe.obstacle)
        if files.is_onnx:
            return OnnxModel(files.short_name, files.weights, source.tokenizer, source.recipe, GIVEN, source.key)
        return self.cache.obtain(source, on_start=lambda: self._on_progress(EXPORTING))


def _exported_or_torch(wanted: _Wanted) -> RuntimeEmbedder:
    outcome = wanted.exported()
    if isinstance(outcome, OnnxModel):
        return wanted.in_onnx(outcome)
    log.warning("models.runs_in_torch", model=wanted.name, reason=outcome.reason)
    return wanted.in_torch()


def _only_exported(wanted: _Wanted) -> RuntimeEmbedder:
    outcome = wanted.exported()
    if isinstance(outcome, Rejected):
        raise ModelUnavailable(
            f"the model {wanted.name} has no ONNX form: {outcome.reason}",
            hint='set `runtime = "auto"` or `"torch"`',
        )
    return wanted.in_onnx(outcome)


_RUNTIMES: Mapping[str, Callable[[_Wanted], RuntimeEmbedder]] = MappingProxyType(
    {"auto": _exported_or_torch, "onnx": _only_exported, "torch": _Wanted.in_torch}
)
_WITHOUT_MODEL: Mapping[str, Callable[[], RuntimeEmbedder]] = MappingProxyType({"hashing": HashingEmbedder})


def _orphan(name: str, cache: ExportCache) -> OnnxModel | None:
    """The export of a known model that was made while its package was installed."""
    known = EMBEDDERS.known.get(name)
    return cache.recall_by_hash(name, known.sha256) if known else None


def _read_tokenizer(name: str, cache: ExportCache) -> SubwordTokenizer:
    try:
        folder = locate(name, EMBEDDERS).folder
        recipe, file = read_recipe(folder), tokenizer_file(folder)
    except ModelUnavailable:
        orphan = _orphan(name, cache)
        if orphan is None:
            raise
        recipe, file = orphan.recipe, orphan.tokenizer
    return SubwordTokenizer(
        file, max_length=recipe.max_length, prompt=recipe.passage_prompt, lower_case=recipe.lower_case
    )


def _scorer(name: str, threads: int) -> PairScorer:
    files: ModelFiles = locate(name, SCORERS)
    make = OnnxScorer if files.is_onnx else TorchScorer
    return make(files, sha256=weights_hash(files), max_length=pair_length(files.folder), threads=threads)
