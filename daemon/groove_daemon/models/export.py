"""Models exported to ONNX, once for each, and kept under the user's cache with proof of their fidelity.

An export is a folder named after the model's key: the graph, the tokenizer, and `manifest.json` with the hashes of
both.  It appears by one rename, so it is there as a whole or not at all; a damaged one counts as absent.  A verdict
that a model has no faithful ONNX form is kept too, until one of the libraries changes.  The work itself is done by a
child process; torch is not imported here.
"""

import contextlib
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import structlog

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.catalog import ModelFiles, file_hash
from groove_daemon.models.child import ChildGone, ChildProcess, torch_child_argv
from groove_daemon.models.onnx import OnnxModel
from groove_daemon.models.recipe import Recipe
from groove_daemon.models.requirements import installed_versions, require
from groove_daemon.models.source import Source, read_source

log = structlog.get_logger()

# Raised when an export of today would differ from the stored ones.
_FORMAT = 1
_TIMEOUT_S = 1800.0
_LOCK_POLL_S = 0.2
_LIBRARIES = ("torch", "onnx", "onnxruntime", "sentence-transformers", "transformers")


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How an export compares with its original over the canary texts.

    `mean_cosine` and `min_cosine` are between the two vectors of a text; `overlap` is the mean share of each text's
    ten nearest others that both agree on.  All are at most 1.
    """

    mean_cosine: float
    min_cosine: float
    overlap: float


@dataclass(frozen=True, slots=True)
class Rejected:
    """The model has no faithful ONNX form with the libraries that are installed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known about an export; `form` and `fidelity` are empty when it was rejected for `rejected`."""

    format: int
    name: str
    short_name: str
    folder: str
    sha256: str
    size_bytes: int
    mtime_ns: int
    key: str
    recipe: Recipe
    form: str = ""
    fidelity: Fidelity | None = None
    rejected: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def describes(self, files: ModelFiles) -> bool:
        """Whether these weights are the exported ones, judged by name, size and time."""
        try:
            stat = files.weights.stat()
        except OSError:
            return False
        return (self.name, self.folder, self.size_bytes, self.mtime_ns) == (
            files.name,
            str(files.folder),
            stat.st_size,
            stat.st_mtime_ns,
        )


class ExportCache:
    """The exports of this user.

    Args:
        root: the folder that holds them, made when it is needed.
        threads: CPU threads that an export may take.
        argv: the command of the child that exports.
    """

    def __init__(self, root: Path, *, threads: int, argv: Sequence[str] | None = None) -> None:
        self._root = root
        self._argv = argv or torch_child_argv()
        self._threads = threads
        self._interrupted = threading.Event()
        self._child: ChildProcess | None = None

    def recall(self, files: ModelFiles) -> OnnxModel | None:
        """The export of a model whose weights look unchanged, found without reading them."""
        for manifest in self._manifests():
            if manifest.describes(files) and read_source(files, sha256=manifest.sha256).key == manifest.key:
                return self._opened(manifest)
        return None

    def recall_by_hash(self, name: str, sha256: str) -> OnnxModel | None:
        """The export of a known model whose own files are gone."""
        for manifest in self._manifests():
            if (manifest.name, manifest.sha256) == (name, sha256):
                return self._opened(manifest)
        return None

    def obtain(self, source: Source, *, on_start: Callable[[], None]) -> OnnxModel | Rejected:
        """The export of a model, made now if there is none; `on_start` is called before the long work.

        Raises:
            ModelUnavailable: the export could not be made for a reason outside the model; trying again may help.
        """
        found = self._stored(source)
        if found is not None:
            return found
        require("torch", "sentence_transformers", "onnx")
        self._interrupted.clear()
        with self._lock(source):
            found = self._stored(source)  # another process may have made it while this one waited
            if found is None:
                on_start()
                found = self._make(source)
        return found

    def interrupt(self) -> None:
        """Give up an export that is under way, from another thread."""
        self._interrupted.set()
        child = self._child
        if child is not None:
            child.stop()

    def _manifests(self) -> Iterator[Manifest]:
        for file in sorted(self._root.glob("*/manifest.json")):
            manifest = _read_manifest(file)
            if manifest is not None:
                yield manifest

    def _stored(self, source: Source) -> OnnxModel | Rejected | None:
        manifest = _read_manifest(self._root / source.key / "manifest.json")
        if manifest is None or manifest.key != source.key:
            return None
        if not manifest.rejected:
            return self._opened(manifest)
        return Rejected(manifest.rejected) if manifest.versions == installed_versions(*_LIBRARIES) else None

    def _opened(self, manifest: Manifest) -> OnnxModel | None:
        folder = self._root / manifest.key
        if manifest.rejected or not _is_whole(folder, manifest):
            return None
        return OnnxModel(
            name=manifest.short_name,
            graph=folder / "model.onnx",
            tokenizer=folder / "tokenizer.json",
            recipe=manifest.recipe,
            form=manifest.form,
            key=manifest.key,
        )

    @contextlib.contextmanager
    def _lock(self, source: Source) -> Iterator[None]:
        """One process exports a model at a time; the kernel gives the lock back when its holder dies."""
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._root / f"{source.key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _no_room(self._root, error) from error
        try:
            self._acquire(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _acquire(self, descriptor: int) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if self._interrupted.wait(_LOCK_POLL_S):
                    raise ModelUnavailable("the export was given up, the daemon is stopping") from None
            else:
                return

    def _make(self, source: Source) -> OnnxModel | Rejected:
        target, work = self._root / source.key, self._root / f".{source.key}.tmp"
        log.info("models.export_started", model=source.files.short_name)
        try:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(mode=0o700)
            manifest = self._exported(source, work)
            (work / "manifest.json").write_text(json.dumps(asdict(manifest), indent=2), encoding="ascii")
            if target.exists():
                shutil.rmtree(target)
            work.rename(target)
        except OSError as error:
            raise _no_room(self._root, error) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)
        if manifest.rejected:
            log.warning("models.export_rejected", model=source.files.short_name, reason=manifest.rejected)
            return Rejected(manifest.rejected)
        log.info("models.export_done", model=manifest.short_name, form=manifest.form, fidelity=manifest.fidelity)
        opened = self._opened(manifest)
        if opened is None:
            raise ModelUnavailable(f"the export in {target} was damaged while it was written")
        return opened

    def _exported(self, source: Source, work: Path) -> Manifest:
        stat = source.files.weights.stat()
        about: dict[str, Any] = {
            "format": _FORMAT,
            "name": source.files.name,
            "short_name": source.files.short_name,
            "folder": str(source.files.folder),
            "sha256": source.sha256,
            "size_bytes": stat.st_size,
            "mtime_ns": stat.st_mtime_ns,
            "key": source.key,
            "recipe": source.recipe,
            "versions": installed_versions(*_LIBRARIES),
        }
        answer = self._ask_child(source, work)
        if "rejected" in answer:
            return Manifest(**about, rejected=answer["rejected"])
        shutil.copyfile(source.tokenizer, work / "tokenizer.json")
        files = {name: file_hash(work / name) for name in ("model.onnx", "tokenizer.json")}
        return Manifest(**about, form=answer["form"], fidelity=Fidelity(**answer["fidelity"]), files=files)

    def _ask_child(self, source: Source, work: Path) -> dict[str, Any]:
        if self._interrupted.is_set():
            raise ModelUnavailable("the export was given up, the daemon is stopping")
        self._child = ChildProcess(self._argv, name="export", threads=self._threads)
        request = {
            "op": "export",
            "folder": str(source.files.folder),
            "work": str(work),
            "name": source.files.short_name,
            "key": source.key,
            "recipe": source.recipe.as_json(),
            "threads": self._threads,
        }
        try:
            answer, _ = self._child.request(request, timeout_s=_TIMEOUT_S)
        except ChildGone as gone:
            if not gone.raised:
                raise
            return {"rejected": f"the export failed ({gone.last_words})"}
        finally:
            self._child.stop()
            self._child = None
        if "failed" in answer:
            raise ModelUnavailable(f"the model could not be exported ({answer['failed']})")
        return answer


def _read_manifest(file: Path) -> Manifest | None:
    try:
        values = json.loads(file.read_bytes())
        values["recipe"] = Recipe(**values["recipe"])
        values["fidelity"] = Fidelity(**values["fidelity"]) if values["fidelity"] else None
        manifest = Manifest(**values)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        log.warning("models.export_damaged", file=str(file), reason=str(error))
        return None
    return manifest if manifest.format == _FORMAT else None


def _is_whole(folder: Path, manifest: Manifest) -> bool:
    for name, digest in manifest.files.items():
        try:
            actual = file_hash(folder / name)
        except ModelUnavailable as error:
            log.warning("models.export_damaged", file=str(folder / name), reason=error.message)
            return False
        if actual != digest:
            log.warning("models.export_damaged", file=str(folder / name), reason="its hash differs")
            return False
    return set(manifest.files) == {"model.onnx", "tokenizer.json"}


def _no_room(root: Path, error: OSError) -> ModelUnavailable:
    return ModelUnavailable(
        f"the exported model cannot be stored under {root} ({error.strerror or error})",
        hint="make room there, or make the folder writable",
    )
