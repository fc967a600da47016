"""The identity of a model: its files, its recipe, and the names of the vector spaces that they make.

The key covers everything that decides a vector but the runtime; a fingerprint is a key with the family of the
arithmetic.  Float32 is one family, whichever runtime does it; int8 is another one.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from groove_daemon.models.catalog import ModelFiles, file_hash, weights_hash
from groove_daemon.models.recipe import Recipe, read_recipe

FLOAT32 = "float32"
INT8 = "int8"
GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Source:
    """A model as it is on this machine, its weights verified.  `key` is 32 hex digits."""

    files: ModelFiles
    recipe: Recipe
    sha256: str
    key: str

    @property
    def tokenizer(self) -> Path:
        """The tokenizer's file."""
        return tokenizer_file(self.files.folder)


def tokenizer_file(folder: Path) -> Path:
    """Where a model folder keeps its tokenizer."""
    return folder / "tokenizer.json"


def read_source(files: ModelFiles, *, sha256: str | None = None) -> Source:
    """Read recipe and hashes; `sha256` spares the reading of weights whose hash is known.

    Raises:
        ModelUnavailable: a file is missing, damaged, or not the pinned one.
    """
    recipe = read_recipe(files.folder)
    digest = sha256 or weights_hash(files)
    parts = {
        "weights": digest,
        "more": [file_hash(file) for file in _more_weights(files.folder)],
        "tokenizer": file_hash(tokenizer_file(files.folder)),
        "recipe": recipe.as_json(),
    }
    key = hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()
    return Source(files, recipe, digest, key)


def fingerprint(name: str, *, key: str, form: str, dimension: int) -> str:
    """The identity of a vector space, readable at its head."""
    return f"{name}/{dimension}/{form}/{key}"


def _more_weights(folder: Path) -> list[Path]:
    """Weights of modules after the transformer, for example `2_Dense/model.safetensors`."""
    return sorted(file for suffix in ("safetensors", "bin") for file in folder.glob(f"[0-9]*_*/*.{suffix}"))
