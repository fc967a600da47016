"""The watcher on a real file system, alone and with the index worker behind it."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from groove_daemon.config.settings import CollectionSettings, WatchSettings
from groove_daemon.domain.change import PathHint
from groove_daemon.watching.observer import BarrierReport, Watcher
from support.indexing import Rig
from support.library import Library, wait_until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel's inotify is what is tested"),
    pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning"),
]

SENTENCE = "The {word} stands in shallow water for a long time and waits for a fish to come by.\n"


class Live:
    """Watcher, worker and index together, as the daemon has them."""

    def __init__(self, folder: Path, *collections: CollectionSettings, watch: WatchSettings | None = None) -> None:
        self.settings = watch or WatchSettings()
        self.rig = Rig(folder, collections, watch=self.settings)
        self.watcher = Watcher(self.settings, collections, on_hint=self.rig.worker.hint)
        self.watcher.start()
        self.rig.worker.start()
        self.settle()

    def close(self) -> None:
        self.watcher.stop()
        self.rig.close()

    def fresh(self, *, within: float = 5.0) -> tuple[bool, str]:
        """Barrier and sync, as a search does them."""
        deadline = time.monotonic() + within
        barrier = self.watcher.barrier(deadline=deadline)
        report = self.rig.worker.sync(deadline=deadline)
        return barrier.complete and report.fresh, barrier.reason or report.reason

    def settle(self, *, within: float = 15.0) -> None:
        wait_until(lambda: self.fresh(within=1.0)[0], within=within, what="fresh")

    def find(self, word: str) -> list[str]:
        """What a search finds that is fresh."""
        is_fresh, reason = self.fresh()
        assert is_fresh, reason
        return self.rig.find(word)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "notes")


@pytest.fixture
def live(library: Library, tmp_path: Path) -> Iterator[Live]:
    library.write("a.md", SENTENCE.format(word="heron"))
    running = Live(tmp_path / "state", library.settings())
    yield running
    running.close()


def test_search_sees_a_plain_save_at_once(live: Live, library: Library) -> None:
    for number in range(20):
        library.write("a.md", SENTENCE.format(word=f"osprey{number}"), fresh=True)

        assert live.find(f"osprey{number}") == ["a.md"]


def test_search_sees_a_save_by_rename_at_once(live: Live, library: Library) -> None:
    for number in range(20):
        library.save_by_rename("a.md", SENTENCE.format(word=f"osprey{number}"))

        assert live.find(f"osprey{number}") == ["a.md"]
        assert list(live.rig.documents()) == ["a.md"]


def test_search_sees_a_save_that_keeps_a_backup(live: Live, library: Library) -> None:
    """Move the note aside, write a new one, delete the old: as vi does with `backup`."""
    for number in range(10):
        os.rename(library.root / "a.md", library.root / "a.md~")
        library.write("a.md", SENTENCE.format(word=f"osprey{number}"), fresh=True)
        os.unlink(library.root / "a.md~")

        assert live.find(f"osprey{number}") == ["a.md"]
        assert list(live.rig.documents()) == ["a.md"]


def test_search_sees_an_edit_in_place_by_another_process(live: Live, library: Library) -> None:
    subprocess.run(["sed", "-i", "s/heron/egret/", str(library.root / "a.md")], check=True)

    assert live.find("egret") == ["a.md"]
    assert live.rig.find("heron") == []


def test_search_sees_text_of_a_file_that_is_still_open(live: Live, library: Library) -> None:
    with (library.root / "a.md").open("a") as file:
        file.write(SENTENCE.format(word="osprey"))
        file.flush()

        assert live.find("osprey") == ["a.md"]


def test_search_sees_a_deletion_at_once(live: Live, library: Library) -> None:
    library.write("b.md", SENTENCE.format(word="crake"), fresh=True)

    assert live.find("crake") == ["b.md"]

    library.remove("b.md")

    assert live.find("crake") == []


def test_search_sees_a_folder_move_out_and_in(live: Live, library: Library, tmp_path: Path) -> None:
    library.write("p/q/x.md", SENTENCE.format(word="kestrel"), fresh=True)

    assert live.find("kestrel") == ["p/q/x.md"]

    os.rename(library.root / "p", tmp_path / "elsewhere")

    assert live.find("kestrel") == []

    os.rename(tmp_path / "elsewhere", library.root / "back")

    assert live.find("kestrel") == ["back/q/x.md"]

    library.write("back/q/x.md", SENTENCE.format(word="merlin"), fresh=True)

    assert live.find("merlin") == ["back/q/x.md"]


def test_search_sees_a_folder_renamed_inside(live: Live, library: Library) -> None:
    library.write("p/q/x.md", SENTENCE.format(word="kestrel"), fresh=True)
    live.settle()
    library.move("p", "r")

    assert live.find("kestrel") == ["r/q/x.md"]

    library.write("r/q/x.md", SENTENCE.format(word="merlin"), fresh=True)

    assert live.find("merlin") == ["r/q/x.md"]


def test_search_sees_notes_in_chains_of_new_folders(live: Live, library: Library) -> None:
    script = "mkdir -p a/b/c/d && echo the plover runs along the beach > a/b/c/d/z.md;"
    script += "for i in $(seq 200); do mkdir -p m$i/s && echo the dunlin $i feeds in the mud > m$i/s/f.md; done"
    subprocess.run(["sh", "-c", script], cwd=library.root, check=True)
    live.settle()

    assert len(live.rig.documents()) == 202
    assert live.find("plover") == ["a/b/c/d/z.md"]


def test_reading_wakes_nothing(live: Live, library: Library) -> None:
    for number in range(50):
        library.write(f"n{number}.md", SENTENCE.format(word="heron"), fresh=True)
    live.settle()
    wait_until(lambda: live.rig.worker.status().waiting_hints == 0)
    wait_until(lambda: live.fresh()[0] and live.rig.worker.status().waiting_hints == 0)
    passes = live.rig.worker.status().passes
    for _ in range(5):
        for file in library.root.iterdir():
            file.read_text()
    subprocess.run(["find", str(library.root)], check=True, capture_output=True)

    assert live.fresh() == (True, "")
    assert live.rig.worker.status().waiting_hints == 0
    assert live.rig.worker.status().passes == passes


def test_barrier_leaves_no_file_behind_and_wakes_no_work(live: Live, library: Library) -> None:
    passes = live.rig.worker.status().passes
    for _ in range(50):
        assert live.fresh() == (True, "")

    assert [path.name for path in library.root.iterdir()] == ["a.md"]
    assert live.rig.worker.status().passes == passes


def test_barrier_is_quick_also_behind_a_file_that_left_the_folder(live: Live, library: Library, tmp_path: Path) -> None:
    library.write("b.md", "text", fresh=True)
    live.settle()
    os.rename(library.root / "b.md", tmp_path / "b.md")
    started = time.perf_counter()

    assert live.watcher.barrier(deadline=time.monotonic() + 5).complete
    assert time.perf_counter() - started < 0.25


def test_barrier_serves_many_searches_with_few_cookies(live: Live) -> None:
    results: list[bool] = []
    barrier = threading.Barrier(16)

    def search() -> None:
        barrier.wait()
        results.append(live.watcher.barrier(deadline=time.monotonic() + 5).complete)

    threads = [threading.Thread(target=search) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 16


def test_start_removes_cookies_of_a_crash(library: Library) -> None:
    left = library.root / ".groove-cookie-1-1"
    left.touch()
    watcher = Watcher(WatchSettings(), [library.settings()], on_hint=lambda _hints: None)
    watcher.start()
    watcher.stop()

    assert not left.exists()


def test_endless_writing_of_one_note_holds_up_no_other(live: Live, library: Library) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.wait(0.02):
            number += 1
            library.append("log.md", f"line {number} of the log that is never quiet\n")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        wait_until(lambda: (library.root / "log.md").exists())
        library.write("other.md", SENTENCE.format(word="osprey"), fresh=True)
        wait_until(lambda: live.rig.find("osprey") == ["other.md"], within=5)
        wait_until(lambda: live.rig.find("never quiet") == ["log.md"], within=5)
    finally:
        stop.set()
        thread.join()

    assert live.find("log that is never quiet") == ["log.md"]


def test_a_note_caught_empty_gets_its_text(live: Live, library: Library) -> None:
    with (library.root / "a.md").open("w") as file:
        assert live.fresh()[0]
        file.write(SENTENCE.format(word="osprey"))

    assert live.find("osprey") == ["a.md"]


def test_a_root_that_is_made_again_is_watched_again(live: Live, library: Library) -> None:
    shutil.rmtree(library.root)
    live.watcher.probe()
    is_fresh, reason = live.fresh(within=0.5)

    assert not is_fresh
    assert str(library.root) in reason
    assert "missing" in live.watcher.health().collections[0].reason
    assert "missing" in live.rig.worker.status().collections[0].unavailable

    library.write("n.md", SENTENCE.format(word="merlin"), fresh=True)
    live.watcher.probe()

    assert live.find("merlin") == ["n.md"]
    assert live.watcher.health().is_healthy

    library.write("n.md", SENTENCE.format(word="osprey"), fresh=True)

    assert live.find("osprey") == ["n.md"]
    assert live.rig.documents().keys() == {"n.md"}


def test_a_root_that_was_replaced_is_not_called_fresh_before_it_is_watched(live: Live, library: Library) -> None:
    os.rename(library.root, library.root.with_name("away"))
    library.root.mkdir()
    shutil.copy(library.root.with_name("away") / "a.md", library.root)

    assert not live.fresh(within=0.5)[0]

    live.watcher.probe()
    library.write("a.md", SENTENCE.format(word="osprey"), fresh=True)

    assert live.find("osprey") == ["a.md"]


def test_a_root_that_is_a_link_is_watched_under_its_own_name(tmp_path: Path) -> None:
    real = Library(tmp_path / "real")
    link = tmp_path / "link"
    link.symlink_to(real.root)
    live = Live(tmp_path / "state", CollectionSettings(path=str(link), name="notes"))
    try:
        (link / "a.md").write_text(SENTENCE.format(word="whinchat"))
        (real.root / "b.md").write_text(SENTENCE.format(word="wheatear"))

        assert live.find("whinchat") == ["a.md"]
        assert live.find("wheatear") == ["b.md"]
        assert live.rig.worker.absolute_path("notes", "a.md") == os.fsencode(link) + b"/a.md"
    finally:
        live.close()


def test_names_that_are_not_utf8_are_watched(live: Live, library: Library) -> None:
    raw = os.fsencode(library.root) + b"/caf\xe9.md"
    with open(raw, "w") as file:
        file.write(SENTENCE.format(word="fulmar"))

    assert live.find("fulmar") == ["bytes:caf%E9.md"]

    os.unlink(raw)

    assert live.find("fulmar") == []


def test_two_spellings_of_an_accent_are_two_notes(live: Live, library: Library) -> None:
    library.write("e\u0301.md", SENTENCE.format(word="dotterel"), fresh=True)
    library.write("\u00e9.md", SENTENCE.format(word="sanderling"), fresh=True)

    assert live.find("dotterel") == ["e\u0301.md"]

    library.remove("e\u0301.md")

    assert live.find("dotterel") == []
    assert live.find("sanderling") == ["\u00e9.md"]


def test_pipes_and_links_made_while_it_runs_are_left_alone(live: Live, library: Library, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(SENTENCE.format(word="wren"))
    os.mkfifo(library.root / "pipe.md")
    (library.root / "link.md").symlink_to(tmp_path / "secret.md")
    (library.root / "up").symlink_to("..")
    library.write("s.md", SENTENCE.format(word="siskin"), fresh=True)

    assert live.find("siskin") == ["s.md"]
    assert live.find("wren") == []


def test_a_new_ignore_file_takes_effect_at_once(live: Live, library: Library) -> None:
    library.write(".grooveignore", "a.md\n")

    assert live.find("heron") == []


def test_a_folder_that_is_ignored_wakes_nothing(live: Live, library: Library) -> None:
    library.write("target/a.md", "text")
    live.settle()
    passes = live.rig.worker.status().passes
    for number in range(10):
        library.write("target/a.md", f"text {number}", fresh=True)
    live.watcher.barrier(deadline=time.monotonic() + 5)

    assert live.rig.worker.status().waiting_hints == 0
    assert live.rig.worker.status().passes == passes


def test_lost_events_lead_to_a_look_at_everything(live: Live, library: Library) -> None:
    """The kernel's queue overflows while the thread that reads it stands still."""
    backend = live.watcher._backend
    assert backend
    inotify = backend._inotify
    held = threading.Event()
    go = threading.Event()
    original = inotify.read_events

    def hold(**named):
        held.set()
        go.wait(30)
        return original(**named)

    inotify.read_events = hold
    try:
        library.write("first.md", "text", fresh=True)
        assert held.wait(5)
        for number in range(9000):
            name = library.root / f"x{number}.tmp"
            name.touch()
            name.unlink()
        library.write("deep/lost.md", SENTENCE.format(word="osprey"), fresh=True)
    finally:
        go.set()
        del inotify.read_events
    live.settle(within=30)

    assert live.find("osprey") == ["deep/lost.md"]

    library.write("deep/lost.md", SENTENCE.format(word="kestrel"), fresh=True)

    assert live.find("kestrel") == ["deep/lost.md"]


def test_a_dead_emitter_is_noticed_and_replaced(live: Live, library: Library) -> None:
    backend = live.watcher._backend
    assert backend
    for emitter in backend.observer.emitters:
        emitter.stop()
        emitter.join()
    library.write("a.md", SENTENCE.format(word="osprey"), fresh=True)
    is_fresh, reason = live.fresh(within=0.5)

    assert not is_fresh
    assert "dead" in reason
    assert not live.watcher.health().is_healthy

    live.watcher.probe()

    assert live.find("osprey") == ["a.md"]
    assert live.watcher.health().is_healthy


def test_dead_threads_are_replaced(live: Live, library: Library) -> None:
    backend = live.watcher._backend
    assert backend
    backend._inotify.stop()
    backend._inotify.join()

    assert not live.fresh(within=0.5)[0]

    live.watcher.probe()
    library.write("a.md", SENTENCE.format(word="osprey"), fresh=True)

    assert live.find("osprey") == ["a.md"]


def test_a_deaf_watcher_is_found_by_a_cookie(live: Live, library: Library) -> None:
    """Threads live, the kernel's watches are gone."""
    backend = live.watcher._backend
    assert backend
    for emitter in backend.observer.emitters:
        group = emitter._inotify
        backend._inotify.remove_callbacks([(wd, group._id) for wd in list(group._active_callbacks_by_watch)])
    library.write("a.md", SENTENCE.format(word="osprey"), fresh=True)

    assert not live.fresh(within=0.3)[0]

    live.watcher.probe()

    assert live.find("osprey") == ["a.md"]


def test_collections_can_be_added_and_removed_while_it_watches(live: Live, library: Library, tmp_path: Path) -> None:
    other = Library(tmp_path / "other", name="other")
    both = [library.settings(), other.settings()]
    live.watcher.set_collections(both)
    live.rig.worker.set_collections(both).result(5)
    other.write("b.md", SENTENCE.format(word="osprey"), fresh=True)
    live.settle()

    assert live.find("osprey") == ["b.md"]

    live.watcher.set_collections([library.settings()])
    live.rig.worker.set_collections([library.settings()]).result(5)
    live.settle()

    assert live.find("osprey") == []
    assert [one.name for one in live.watcher.health().collections] == ["notes"]


def test_sweeping_sees_changes_without_any_watcher(library: Library, tmp_path: Path) -> None:
    library.write("a.md", SENTENCE.format(word="heron"))
    live = Live(tmp_path / "state", library.settings(), watch=WatchSettings(enabled=False, barrier="sweep"))
    try:
        library.write("a.md", SENTENCE.format(word="osprey"), fresh=True)

        assert live.find("osprey") == ["a.md"]

        library.remove("a.md")

        assert live.find("osprey") == []
    finally:
        live.close()


@pytest.mark.parametrize(
    ("watch", "part"),
    [(WatchSettings(barrier="none"), "none"), (WatchSettings(enabled=False), "watching is off")],
)
def test_barrier_claims_nothing_that_it_cannot_know(library: Library, watch: WatchSettings, part: str) -> None:
    watcher = Watcher(watch, [library.settings()], on_hint=lambda _hints: None)
    watcher.start()
    report = watcher.barrier(deadline=time.monotonic() + 1)
    watcher.stop()

    assert not report.complete
    assert part in report.reason


def test_barrier_sweeps_where_the_root_cannot_be_written(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints: list[PathHint] = []
    watcher = Watcher(WatchSettings(), [library.settings()], on_hint=hints.extend)
    watcher.start()
    real = os.open

    def refuse(path, flags, *rest, **named):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refuse)
    report = watcher.barrier(deadline=time.monotonic() + 1)
    monkeypatch.undo()
    watcher.stop()

    assert report == BarrierReport(True)
    assert [(hint.path, hint.subtree) for hint in hints] == [("", True)]


LIMITED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
open("/proc/sys/user/max_inotify_watches", "w").write(sys.argv[3])
from groove_daemon.config.settings import CollectionSettings, WatchSettings
from support.indexing import Rig
from support.library import wait_until
from groove_daemon.watching.observer import Watcher
root = Path(sys.argv[1])
for number in range(50):
    (root / f"f{number}").mkdir(parents=True)
    (root / f"f{number}" / "a.md").write_text("the heron stands in the water for a long time")
settings = [CollectionSettings(path=str(root), name="notes")]
rig = Rig(root.parent / "state", settings)
watcher = Watcher(WatchSettings(), settings, on_hint=rig.worker.hint)
watcher.start()
rig.worker.start()
wait_until(lambda: rig.sync(within=1).fresh)
for number in range(50):
    (root / f"f{number}" / "a.md").write_text("the osprey dives into the lake for its food")
deadline = time.monotonic() + 5
report = watcher.barrier(deadline=deadline)
rig.worker.sync(deadline=deadline)
health = watcher.health()
print(report.complete, len(rig.find("osprey")), len(health.collections[0].unwatched), health.is_healthy)
print(report.reason)
open("/proc/sys/user/max_inotify_watches", "w").write("10000")
watcher.probe()
print(watcher.health().is_healthy, watcher.barrier(deadline=time.monotonic() + 5).complete)
watcher.stop()
rig.close()
"""


def run_limited(tmp_path: Path, watches: int) -> list[str]:
    tests = Path(__file__).parents[2]
    command = ["unshare", "-U", "-r", sys.executable, "-c", LIMITED, str(tmp_path / "notes"), str(tests), str(watches)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in result.stdout.splitlines() if " [" not in line]
    assert len(lines) == 3, result.stdout + result.stderr
    return lines


def test_folders_beyond_the_watch_limit_are_named_and_swept(tmp_path: Path) -> None:
    lines = run_limited(tmp_path, 20)

    assert lines[0] == "False 50 31 False"
    assert "fs.inotify.max_user_watches" in lines[1]
    assert lines[2] == "True True"


def test_a_root_beyond_the_watch_limit_is_swept(tmp_path: Path) -> None:
    lines = run_limited(tmp_path, 0)

    assert lines[0].startswith("False 50 ")
    assert "fs.inotify.max_user_watches" in lines[1]
    assert lines[2] == "True True"


UNREADABLE = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from groove_daemon.config.settings import CollectionSettings, WatchSettings
from support.indexing import Rig
from support.library import wait_until
from groove_daemon.watching.observer import Watcher
root = Path(sys.argv[1])
(root / "x").mkdir()
(root / "x" / "a.md").write_text("the avocet sweeps its bill through the mud")
(root / "c.md").write_text("the curlew probes the mud with its long bill")
(root / "b.md").write_text("the bunting sings from the top of a bush")
(root / "x").chmod(0)
(root / "c.md").chmod(0)
settings = [CollectionSettings(path=str(root), name="notes")]
rig = Rig(root.parent / "state", settings)
watcher = Watcher(WatchSettings(), settings, on_hint=rig.worker.hint)
watcher.start()
rig.worker.start()
wait_until(lambda: rig.find("bunting") == ["b.md"])
wait_until(lambda: rig.worker.status().collections[0].failed)
status = rig.worker.status().collections[0]
print(sorted(status.unreadable), sorted(status.failed), rig.sync().fresh)
(root / "x").chmod(0o755)
(root / "c.md").chmod(0o644)
watcher.probe()
wait_until(lambda: rig.find("avocet") and rig.find("curlew"))
deadline = time.monotonic() + 5
print(watcher.barrier(deadline=deadline).complete, rig.worker.sync(deadline=deadline).fresh)
(root / "x" / "a.md").write_text("the godwit sweeps its bill through the mud")
deadline = time.monotonic() + 5
print(watcher.barrier(deadline=deadline).complete, rig.worker.sync(deadline=deadline).fresh, rig.find("godwit"))
watcher.stop()
rig.close()
"""


def test_unreadable_paths_are_named_and_taken_in_once_they_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    command = [sys.executable, "-c", UNREADABLE, str(tmp_path / "notes"), str(Path(__file__).parents[2])]
    if os.geteuid() == 0:
        # Without these two capabilities modes count for root as for anybody.
        lost = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}", *command]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    lines = [line for line in result.stdout.splitlines() if " [info" not in line and " [warn" not in line]
    lines = [line for line in lines if " [debug" not in line]
    assert lines == ["['x'] ['c.md'] False", "True True", "True True ['x/a.md']"], result.stdout + result.stderr
