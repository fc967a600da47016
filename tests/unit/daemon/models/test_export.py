import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import requirements
from groove_daemon.models.catalog import EMBEDDERS, locate
from groove_daemon.models.export import ExportCache, Rejected
from groove_daemon.models.onnx import OnnxModel
from groove_daemon.models.source import Source, read_source
from support.models import write_model_folder, write_tokenizer

# Exports as the real child answers, without a model: `{behaviour}` says how it goes.
CHILD = """
import json, os, sys
from pathlib import Path
from groove_daemon.models.frames import read_frame, write_frame
behaviour, log = sys.argv[1:]
request, _ = read_frame(sys.stdin.buffer)
with open(log, "a") as file:
    file.write("export\\n")
work = Path(request["work"])
(work / "model.onnx").write_bytes(b"graph")
if behaviour == "raise":
    raise ValueError("no such operator")
if behaviour == "die":
    os.kill(os.getpid(), 9)
answers = {
    "good": {"form": "int8", "fidelity": {"mean_cosine": 0.99, "min_cosine": 0.98, "overlap": 0.95}},
    "differs": {"rejected": "the ONNX forms differ"},
    "full": {"failed": "OSError: no space left"},
}
if behaviour == "hang":
    sys.stdin.buffer.read()
else:
    write_frame(sys.stdout.buffer, answers[behaviour])
"""


class Bench:
    """A model folder, a cache, and children that record that they ran."""

    def __init__(self, folder: Path) -> None:
        self.model = write_model_folder(folder / "model")
        self.root = folder / "cache" / "models"
        self.log = folder / "runs"
        self.started = 0

    def source(self) -> Source:
        return read_source(locate(str(self.model), EMBEDDERS))

    def cache(self, behaviour: str = "good") -> ExportCache:
        argv: Sequence[str] = (sys.executable, "-P", "-c", CHILD, behaviour, str(self.log))
        return ExportCache(self.root, threads=1, argv=argv)

    def obtain(self, behaviour: str = "good") -> OnnxModel | Rejected:
        return self.cache(behaviour).obtain(self.source(), on_start=self._start)

    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def _start(self) -> None:
        self.started += 1


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_export_is_stored_with_everything_that_it_needs(bench: Bench) -> None:
    model = bench.obtain()

    assert isinstance(model, OnnxModel)
    assert (model.graph.read_bytes(), model.form, model.name) == (b"graph", "int8", "model")
    assert model.tokenizer.read_bytes() == (bench.model / "tokenizer.json").read_bytes()
    assert model.recipe == bench.source().recipe
    manifest = json.loads((model.graph.parent / "manifest.json").read_text())
    assert manifest["sha256"] == bench.source().sha256
    assert manifest["fidelity"] == {"mean_cosine": 0.99, "min_cosine": 0.98, "overlap": 0.95}
    assert manifest["versions"]["onnxruntime"]


def test_export_is_made_once(bench: Bench) -> None:
    first = bench.obtain()

    again = bench.obtain()

    assert again == first
    assert (bench.runs(), bench.started) == (1, 1)


def test_export_leaves_nothing_else_behind(bench: Bench) -> None:
    bench.obtain()

    key = bench.source().key
    assert sorted(path.name for path in bench.root.iterdir()) == [key, f"{key}.lock"]
    assert bench.root.stat().st_mode & 0o777 == 0o700


def test_recall_finds_the_export_without_reading_the_weights(bench: Bench) -> None:
    made = bench.obtain()
    weights = bench.model / "model.safetensors"
    stat = weights.stat()
    weights.write_bytes(weights.read_bytes()[:-4] + b"\x00" * 4)
    os.utime(weights, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert bench.cache().recall(locate(str(bench.model), EMBEDDERS)) == made


def test_stored_export_is_served_without_torch_and_a_missing_one_says_what_to_install(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bench.obtain()
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: None)

    assert bench.obtain() == made
    write_model_folder(bench.model, max_length=4)
    with pytest.raises(ModelUnavailable, match="not installed") as caught:
        bench.obtain()
    assert caught.value.hint == "run: pip install torch sentence-transformers onnx"


@pytest.mark.parametrize("change", ["weights", "tokenizer", "recipe"])
def test_recall_finds_nothing_when_the_model_changed(bench: Bench, change: str) -> None:
    bench.obtain()
    if change == "weights":
        with bench.model.joinpath("model.safetensors").open("ab") as file:
            file.write(b"more")
    elif change == "tokenizer":
        write_tokenizer(bench.model, words=("other",))
    else:
        write_model_folder(bench.model, max_length=4)

    assert bench.cache().recall(locate(str(bench.model), EMBEDDERS)) is None


def test_copied_model_uses_the_export_of_its_twin(bench: Bench, tmp_path: Path) -> None:
    made = bench.obtain()
    twin = write_model_folder(tmp_path / "twin")

    source = read_source(locate(str(twin), EMBEDDERS))

    assert bench.cache("die").obtain(source, on_start=lambda: None) == made


def test_recall_by_hash_serves_a_model_whose_files_are_gone(bench: Bench) -> None:
    made = bench.obtain()

    assert bench.cache().recall_by_hash(str(bench.model), bench.source().sha256) == made
    assert bench.cache().recall_by_hash(str(bench.model), "0" * 64) is None


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_damaged_export_is_made_again(bench: Bench, file: str, damage: str) -> None:
    made = bench.obtain()
    assert isinstance(made, OnnxModel)
    victim = made.graph.parent / file
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-1] if damage == "cut" else b"x" + victim.read_bytes()[1:])

    assert bench.cache().recall(bench.source().files) is None
    assert bench.obtain() == made
    assert bench.runs() == 2


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"recipe": {}}'])
def test_damaged_manifest_counts_as_no_export(bench: Bench, content: str) -> None:
    made = bench.obtain()
    assert isinstance(made, OnnxModel)
    (made.graph.parent / "manifest.json").write_text(content)

    assert bench.cache().recall(bench.source().files) is None
    assert bench.obtain() == made


def test_half_made_export_of_a_killed_daemon_is_cleared_away(bench: Bench) -> None:
    work = bench.root / f".{bench.source().key}.tmp"
    work.mkdir(parents=True)
    (work / "model.onnx").write_bytes(b"half a graph")

    assert isinstance(bench.obtain(), OnnxModel)
    assert not work.exists()


@pytest.mark.parametrize(
    ("behaviour", "reason"), [("differs", "the ONNX forms differ"), ("raise", "ValueError: no such operator")]
)
def test_verdict_against_a_model_is_remembered(bench: Bench, behaviour: str, reason: str) -> None:
    first = bench.obtain(behaviour)

    again = bench.obtain(behaviour)

    assert isinstance(first, Rejected)
    assert reason in first.reason
    assert again == first
    assert bench.runs() == 1


def test_verdict_is_taken_anew_when_a_library_changed(bench: Bench) -> None:
    bench.obtain("differs")
    file = bench.root / bench.source().key / "manifest.json"
    file.write_text(file.read_text().replace('"onnx": "', '"onnx": "0.'))

    assert isinstance(bench.obtain("good"), OnnxModel)


@pytest.mark.parametrize(("behaviour", "reason"), [("die", "status -9"), ("full", "no space left")])
def test_failure_from_outside_is_no_verdict(bench: Bench, behaviour: str, reason: str) -> None:
    with pytest.raises(ModelUnavailable, match=reason):
        bench.obtain(behaviour)

    assert isinstance(bench.obtain("good"), OnnxModel)


def test_cache_that_cannot_be_written_is_named(bench: Bench) -> None:
    bench.root.parent.mkdir()
    bench.root.write_text("a file in the way")

    with pytest.raises(ModelUnavailable, match="cannot be stored under") as caught:
        bench.obtain()

    assert caught.value.hint


def test_two_at_once_export_once(bench: Bench) -> None:
    outcomes: list[OnnxModel | Rejected] = []
    threads = [threading.Thread(target=lambda: outcomes.append(bench.obtain())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(outcomes) == 3
    assert len(set(map(repr, outcomes))) == 1
    assert bench.runs() == 1


def test_interrupt_ends_an_export_under_way(bench: Bench) -> None:
    cache = bench.cache("hang")
    began = threading.Event()
    failures: list[ModelUnavailable] = []

    def obtain() -> None:
        try:
            cache.obtain(bench.source(), on_start=began.set)
        except ModelUnavailable as error:
            failures.append(error)

    thread = threading.Thread(target=obtain)
    thread.start()
    assert began.wait(20)
    while thread.is_alive():
        cache.interrupt()
        thread.join(0.05)

    assert len(failures) == 1
    assert not (bench.root / bench.source().key).exists()
