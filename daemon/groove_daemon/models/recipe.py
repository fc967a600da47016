"""How a model wants to be used, read from its folder's sentence-transformers configuration.

A recipe says everything that decides a vector beside the weights: length, prompts, pooling.  What the ONNX route
cannot reproduce is named in `obstacle` instead of being left out in silence.  Knows nothing about runtimes.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from groove_daemon.errors import ModelUnavailable

POOLINGS = frozenset({"mean", "cls", "max", "lasttoken"})
_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
_PASSAGE_PROMPTS = ("document", "passage", "corpus")
_LENGTH_WHEN_UNSAID = 512


@dataclass(frozen=True, slots=True)
class Recipe:
    """How text becomes a vector.

    `max_length` counts all tokens, special ones and prompt included.  `dimension` is 0 where the configuration does
    not say it.  `obstacle` is empty, or one line on why only sentence-transformers itself can run the model.
    """

    max_length: int
    pooling: str
    dimension: int = 0
    query_prompt: str = ""
    passage_prompt: str = ""
    lower_case: bool = False
    obstacle: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values, in the order of the fields."""
        return asdict(self)


def read_recipe(folder: Path) -> Recipe:
    """Read a sentence-transformers model folder.

    Raises:
        ModelUnavailable: a file of the configuration is missing or damaged; the message names it.
    """
    modules = {_last_part(entry["type"]): folder / entry.get("path", "") for entry in _modules(folder)}
    transformer = _json(modules.get("Transformer", folder) / "sentence_bert_config.json", optional=True)
    pooling_config = _json(modules["Pooling"] / "config.json") if "Pooling" in modules else {}
    prompts = _json(folder / "config_sentence_transformers.json", optional=True)
    pooling = "+".join(_pooling_modes(pooling_config)) if pooling_config else ""
    query_prompt, passage_prompt = _prompts(prompts)
    return Recipe(
        max_length=_max_length(folder, transformer),
        pooling=pooling,
        dimension=_dimension(pooling_config),
        query_prompt=query_prompt,
        passage_prompt=passage_prompt,
        lower_case=bool(transformer.get("do_lower_case", False)),
        obstacle=_obstacle(modules, pooling_config, prompts=prompts),
    )


def pair_length(folder: Path) -> int:
    """How many tokens a cross-encoder reads for a pair, all included.

    Raises:
        ModelUnavailable: a file of the configuration is damaged.
    """
    return _max_length(folder, _json(folder / "sentence_bert_config.json", optional=True))


def _modules(folder: Path) -> list[dict[str, str]]:
    file = folder / "modules.json"
    entries = _parsed(file)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "type" in entry for entry in entries):
        raise _damaged(file, "it is no list of modules")
    return entries


def _last_part(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _pooling_modes(config: Mapping[str, Any]) -> list[str]:
    mode = config.get("pooling_mode") or [name for key, name in _LEGACY_POOLING.items() if config.get(key)] or "mean"
    return [mode] if isinstance(mode, str) else list(mode)


def _dimension(pooling: Mapping[str, Any]) -> int:
    return int(pooling.get("embedding_dimension") or pooling.get("word_embedding_dimension") or 0)


def _obstacle(modules: Mapping[str, Path], pooling: Mapping[str, Any], *, prompts: Mapping[str, Any]) -> str:
    unknown = sorted(set(modules) - _MODULES)
    if unknown:
        return f"the model has a module {unknown[0]}"
    if not pooling:
        return "the model has no pooling module"
    if not _dimension(pooling):
        return "the configuration does not say how long the vectors are"
    modes = _pooling_modes(pooling)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        return f"the model pools by {' and '.join(modes)}"
    if not pooling.get("include_prompt", True) and any((prompts.get("prompts") or {}).values()):
        return "the model leaves its prompt out of the pooling"
    return ""


def _prompts(config: Mapping[str, Any]) -> tuple[str, str]:
    """Query and passage prompt by sentence-transformers' own rule: by name first, then the default one."""
    prompts: Mapping[str, str] = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")
    passage = next((prompts[name] for name in _PASSAGE_PROMPTS if name in prompts), default)
    return prompts.get("query", default), passage


def _max_length(folder: Path, transformer: Mapping[str, Any]) -> int:
    tokenizer = _json(folder / "tokenizer_config.json", optional=True)
    architecture = _json(folder / "config.json", optional=True)
    said = (
        transformer.get("max_seq_length"),
        tokenizer.get("model_max_length"),
        architecture.get("max_position_embeddings"),
    )
    # Tokenizers without a limit of their own say so with a number of thirty digits.
    lengths = [int(length) for length in said if isinstance(length, int | float) and 0 < length < 1_000_000]
    return min(lengths, default=_LENGTH_WHEN_UNSAID)


def _json(file: Path, *, optional: bool = False) -> dict[str, Any]:
    if optional and not file.exists():
        return {}
    values = _parsed(file)
    if not isinstance(values, dict):
        raise _damaged(file, "it is no table")
    return values


def _parsed(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise ModelUnavailable(
            f"{file} cannot be read ({error.strerror})",
            hint="a sentence-transformers model folder has this file; install or copy the model again",
            file=str(file),
        ) from error
    except ValueError as error:
        raise _damaged(file, str(error)) from error


def _damaged(file: Path, how: str) -> ModelUnavailable:
    return ModelUnavailable(f"{file} is damaged ({how})", hint="install or copy the model again", file=str(file))
