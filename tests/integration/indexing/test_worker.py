"""The index worker with a real index, real files and a deterministic embedder."""

import os
import threading
import time
from pathlib import Path

import pytest

from groove_daemon.config.settings import CollectionSettings, IndexSettings, WatchSettings
from groove_daemon.domain.query import Filters
from groove_daemon.errors import Busy, ShuttingDown
from groove_daemon.formats import parser_for
from groove_daemon.indexing.report import IndexChanged, WorkerEvent
from support.indexing import CountingEmbedder, Rig, StandInModels, elapsed
from support.library import Library, wait_until

TEXT = "# {title}\n\nThe {word} stands in shallow water for a long time and waits for a fish to come by.\n"


def note(library: Library, path: str, word: str, *, fresh: bool = False) -> None:
    library.write(path, TEXT.format(title=path, word=word), fresh=fresh)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "notes")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def vectors(rig: Rig) -> tuple[int, int]:
    counts = rig.index.reader().counts()
    return counts.chunks, counts.vectors


def test_worker_makes_the_index_equal_to_the_folder_at_its_start(library: Library, state: Path) -> None:
    for number in range(20):
        note(library, f"x/n{number}.md", f"heron{number}")
    with Rig(state, [library.settings()]) as rig:
        report = rig.settle()

        assert report.fresh
        assert len(rig.documents()) == 20
        assert rig.find("heron7") == ["x/n7.md"]
        assert vectors(rig) == (20, 20)


def test_worker_takes_in_what_changed_while_it_was_stopped_and_embeds_only_that(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    for name in ("edited", "deleted", "renamed", "same"):
        note(library, f"{name}.md", f"{name}bird")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
    embedder.texts.clear()
    note(library, "edited.md", "osprey", fresh=True)
    library.remove("deleted.md")
    library.move("renamed.md", "elsewhere/moved.md")
    note(library, "added.md", "kestrel")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()

        assert sorted(rig.documents()) == ["added.md", "edited.md", "elsewhere/moved.md", "same.md"]
        assert rig.find("osprey") == ["edited.md"]
        assert rig.find("deletedbird") == []
        assert len([text for text in embedder.texts if "stands" in text]) == 2


def test_sync_shows_a_change_that_was_hinted_before(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        for number in range(10):
            note(library, "a.md", f"osprey{number}", fresh=True)

            assert rig.sync("a.md").fresh
            assert rig.find(f"osprey{number}") == ["a.md"]
        assert rig.find("heron") == []
        assert vectors(rig)[0] == vectors(rig)[1]


def test_sync_shows_a_rewrite_of_equal_size_within_one_tick_of_the_clock(library: Library, state: Path) -> None:
    note(library, "a.md", "aaaa")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        for word in ("bbbb", "cccc", "dddd", "eeee", "ffff", "gggg"):
            with (library.root / "a.md").open("r+") as file:
                file.write(TEXT.format(title="a.md", word=word))
            os.utime(library.root / "a.md", ns=(0, 1_700_000_000_000_000_000))

            assert rig.sync("a.md").fresh
            assert rig.find(word) == ["a.md"]


def test_sync_without_anything_to_do_returns_at_once(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()

        assert elapsed(rig.sync) < 0.05
        assert rig.sync().fresh


def test_sync_is_shared_by_all_that_wait(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        passes = rig.worker.status().passes
        results = []
        note(library, "a.md", "osprey", fresh=True)
        rig.hint("a.md")
        threads = [threading.Thread(target=lambda: results.append(rig.sync().fresh)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert results == [True] * 8
        assert rig.worker.status().passes <= passes + 3


def test_worker_applies_hints_by_itself_when_the_path_is_quiet(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        note(library, "a.md", "osprey", fresh=True)
        rig.hint("a.md")
        wait_until(lambda: rig.find("osprey") == ["a.md"], within=5)


def test_worker_removes_a_folder_that_moved_out(library: Library, state: Path, tmp_path: Path) -> None:
    note(library, "p/q/x.md", "kestrel")
    note(library, "stays.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        os.rename(library.root / "p", tmp_path / "p")

        assert rig.sync("p", subtree=True).fresh
        assert list(rig.documents()) == ["stays.md"]
        assert vectors(rig) == (1, 1)

        os.rename(tmp_path / "p", library.root / "p")

        assert rig.sync("p", subtree=True).fresh
        assert rig.find("kestrel") == ["p/q/x.md"]


def test_worker_keeps_a_documents_identity_when_it_moves(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
        _, before = rig.index.reader().documents(Filters(), offset=0, limit=10)
        embedder.texts.clear()
        library.move("a.md", "b.md")

        assert rig.sync("a.md", "b.md").fresh
        _, after = rig.index.reader().documents(Filters(), offset=0, limit=10)
        assert [one.document_id for one in after] == [one.document_id for one in before]
        assert [one.path for one in after] == ["b.md"]
        assert embedder.texts == []


def test_worker_embeds_nothing_when_a_folder_moves(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    for number in range(5):
        note(library, f"old/n{number}.md", f"heron{number}")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
        before = rig.index.reader().counts()
        embedder.texts.clear()
        library.move("old", "new/place")

        assert rig.sync("old", "new", subtree=True).fresh
        assert sorted(rig.documents()) == [f"new/place/n{number}.md" for number in range(5)]
        assert rig.find("heron3") == ["new/place/n3.md"]
        assert embedder.texts == []
        assert rig.index.reader().counts() == before


def test_the_search_after_a_burst_of_changes_is_fresh(library: Library, state: Path) -> None:
    """500 files change at once, as a checkout of another branch does, and the next search may wait half a second."""
    for number in range(500):
        note(library, f"x{number % 20}/n{number}.md", f"heron{number}")
    with Rig(state, [library.settings()]) as rig:
        rig.settle(within=60)
        for number in range(500):
            note(library, f"x{number % 20}/n{number}.md", f"osprey{number}", fresh=True)
        rig.hint(*(f"x{number % 20}/n{number}.md" for number in range(500)))
        report = rig.sync(within=0.5)

        assert report.fresh or "still to be read" in report.reason or "vectors" in report.reason

        wait_until(lambda: rig.sync(within=0.5).fresh, within=60)

        assert rig.find("osprey499") == ["x19/n499.md"]
        assert rig.find("heron") == []


def test_worker_looks_at_nothing_while_nothing_happens(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        passes = rig.worker.status().passes
        for _ in range(20):
            assert rig.sync().fresh

        assert rig.worker.status().passes == passes


def test_worker_indexes_odd_names(library: Library, state: Path) -> None:
    names = ["# Meeting - 12 [draft] (a&b).md", "2026_06_16.md", "2026-06-16.md", "e\u0301.md", "\u00e9.md"]
    for number, name in enumerate(names):
        note(library, name, f"word{number}")
    with open(os.fsencode(library.root) + b"/caf\xe9.md", "w") as file:
        file.write("the fulmar flies over the sea\n")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()

        assert sorted(rig.documents()) == sorted([*names, "bytes:caf%E9.md"])
        assert rig.find("fulmar") == ["bytes:caf%E9.md"]
        assert rig.worker.absolute_path("notes", "bytes:caf%E9.md") == os.fsencode(library.root) + b"/caf\xe9.md"

        os.unlink(os.fsencode(library.root) + b"/caf\xe9.md")

        assert rig.sync("bytes:caf%E9.md").fresh
        assert sorted(rig.documents()) == sorted(names)


def test_worker_does_not_hang_on_a_pipe(library: Library, state: Path) -> None:
    os.mkfifo(library.root / "pipe.md")
    note(library, "s.md", "siskin")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        os.mkfifo(library.root / "later.md")

        assert rig.sync("later.md").fresh
        assert list(rig.documents()) == ["s.md"]
        assert rig.worker.status().collections[0].skipped == {
            "later.md": "not a regular file",
            "pipe.md": "not a regular file",
        }


def test_worker_keeps_everything_while_the_root_is_gone(library: Library, state: Path, tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    for number in range(50):
        note(library, f"n{number}.md", f"heron{number}")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
        embedder.texts.clear()
        os.rename(library.root, tmp_path / "away")
        report = rig.sync("", subtree=True)

        assert not report.fresh
        assert "is missing" in report.reason

        library.root.mkdir()
        report = rig.sync("", subtree=True)

        assert not report.fresh
        assert "suddenly empty" in report.reason
        assert "suddenly empty" in rig.worker.status().collections[0].unavailable
        assert len(rig.documents()) == 50

        library.root.rmdir()
        os.rename(tmp_path / "away", library.root)

        assert rig.sync("", subtree=True).fresh
        assert len(rig.documents()) == 50
        assert embedder.texts == []


def test_worker_keeps_everything_when_another_folder_took_the_roots_place_while_it_was_stopped(
    library: Library, state: Path, tmp_path: Path
) -> None:
    embedder = CountingEmbedder()
    for number in range(3):
        note(library, f"n{number}.md", f"heron{number}")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
    embedder.texts.clear()
    os.rename(library.root, tmp_path / "away")
    note(library, "other.md", "osprey")
    for _ in range(2):
        with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
            wait_until(lambda: "holds none of its documents" in rig.sync().reason)
            rig.sync("other.md")

            assert sorted(rig.documents()) == ["n0.md", "n1.md", "n2.md"]

    library.remove("other.md")
    library.root.rmdir()
    os.rename(tmp_path / "away", library.root)
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        assert rig.settle().fresh
        assert sorted(rig.documents()) == ["n0.md", "n1.md", "n2.md"]
        assert embedder.texts == []


def test_worker_takes_a_restored_copy_of_the_root_for_the_root(library: Library, state: Path, tmp_path: Path) -> None:
    for number in range(3):
        note(library, f"n{number}.md", f"heron{number}")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
    os.rename(library.root, tmp_path / "away")
    for name in ("n0.md", "n2.md"):
        note(library, name, f"heron{name[1]}")
    for _ in range(2):
        with Rig(state, [library.settings()]) as rig:
            assert rig.settle().fresh
            assert sorted(rig.documents()) == ["n0.md", "n2.md"]


def test_worker_takes_a_folder_that_was_emptied_by_hand_while_it_was_stopped_for_empty(
    library: Library, state: Path
) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
    library.remove("a.md")
    with Rig(state, [library.settings()]) as rig:
        assert rig.settle().fresh
        assert rig.documents() == {}


def test_worker_finds_a_root_that_came_back_by_itself(library: Library, state: Path, tmp_path: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        os.rename(library.root, tmp_path / "away")

        assert not rig.sync("", subtree=True).fresh

        os.rename(tmp_path / "away", library.root)
        wait_until(lambda: rig.sync(within=0.1).fresh, within=8)


def test_reindex_with_force_takes_an_emptied_root_for_what_it_is(library: Library, state: Path) -> None:
    for number in range(12):
        note(library, f"n{number}.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        for number in range(12):
            library.remove(f"n{number}.md")

        assert not rig.sync("", subtree=True).fresh
        assert rig.worker.rescan(["notes"], force=True).wait(10)
        assert rig.settle().fresh
        assert rig.documents() == {}


class FailingParser:
    """Fails for files that hold a marker."""

    name = "md"
    suffixes = frozenset({".md"})
    version = 1

    def __init__(self, inner) -> None:
        self.inner = inner
        self.is_broken = True

    def parse(self, content: bytes, path):
        if self.is_broken and b"broken" in content:
            raise RuntimeError("the parser is at a loss")
        return self.inner.parse(content, path)


def test_worker_survives_a_parser_that_raises(library: Library, state: Path) -> None:
    note(library, "bad.md", "egret")
    parser = FailingParser(parser_for(".md", ("md",)))
    with Rig(state, [library.settings()], parser_for=lambda _suffix, _enabled: parser) as rig:
        rig.settle()
        note(library, "bad.md", "broken", fresh=True)
        note(library, "good.md", "kestrel", fresh=True)
        report = rig.sync("bad.md", "good.md")

        assert not report.fresh
        assert "bad.md" in report.reason
        assert rig.find("kestrel") == ["good.md"]
        assert rig.find("egret") == ["bad.md"]
        failure = rig.index.writer.failures()[0]
        assert (failure.path, failure.attempts) == ("bad.md", 1)
        assert failure.next_try_at == pytest.approx(failure.last_at + 30)
        assert rig.worker.status().is_alive

        parser.is_broken = False
        note(library, "bad.md", "broken mended", fresh=True)

        assert rig.sync("bad.md").fresh
        assert rig.find("mended") == ["bad.md"]
        assert rig.index.writer.failures() == []


def test_text_is_searchable_while_the_model_loads(library: Library, state: Path) -> None:
    models = StandInModels(ready=False)
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], models=models) as rig:
        wait_until(lambda: rig.find("heron") == ["a.md"])
        report = rig.sync()

        assert not report.fresh
        assert report.pending_vectors == 2
        assert "loading" in report.reason

        models.load()

        assert rig.settle().fresh
        assert vectors(rig) == (1, 1)


def test_nothing_waits_for_vectors_without_an_embedder(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], models=StandInModels(off=True)) as rig:
        report = rig.settle()

        assert report.pending_vectors == 0


def test_text_is_taken_in_during_a_long_embedding_call(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
        embedder.gate.clear()
        embedder.entered.clear()
        note(library, "a.md", "egret", fresh=True)
        rig.hint("a.md")
        assert embedder.entered.wait(5)
        note(library, "b.md", "osprey", fresh=True)
        report = rig.sync("b.md", within=0.3)

        assert not report.fresh
        assert "vectors" in report.reason
        assert rig.find("osprey") == ["b.md"]
        assert rig.worker.run(lambda: "ran").result(2) == "ran"

        embedder.gate.set()

        assert rig.settle().fresh


def test_a_passage_that_the_embedder_fails_for_holds_up_no_other(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    embedder.fails_for = lambda text: "poison" in text
    for number in range(10):
        note(library, f"n{number}.md", "poison" if number == 4 else f"heron{number}")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        wait_until(lambda: vectors(rig) == (10, 9))
        status = rig.worker.status()

        assert status.held_passages == 1
        assert status.is_alive
        assert not rig.sync().fresh
        assert rig.find("poison") == ["n4.md"]


def test_a_passage_without_a_usable_vector_is_found_by_words_alone(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    embedder.blank_for = lambda text: "blank" in text
    note(library, "a.md", "heron")
    note(library, "b.md", "blank")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        rig.settle()
        counts = rig.index.reader().counts()

        assert (counts.vectors, counts.unembeddable, counts.pending) == (1, 1, 0)


def test_a_model_that_fails_for_everything_is_left_alone_for_a_while(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    embedder.fails_for = lambda _text: True
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], models=StandInModels(embedder)) as rig:
        wait_until(lambda: "fails" in rig.worker.status().vector_problem)

        assert rig.worker.status().held_passages == 0

        embedder.fails_for = lambda _text: False

        assert rig.settle().fresh


def test_another_model_is_named_and_used_after_a_forced_reindex(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
    other = StandInModels(CountingEmbedder(fingerprint="another/1"))
    note(library, "b.md", "osprey")
    with Rig(state, [library.settings()], models=other) as rig:
        wait_until(lambda: rig.find("osprey") == ["b.md"])

        assert "another/1" in rig.worker.status().vector_problem
        assert not rig.sync().fresh

        assert rig.worker.rescan(force=True).wait(10)
        assert rig.settle().fresh
        assert vectors(rig) == (2, 2)


def test_a_second_rescan_is_told_who_is_first(library: Library, state: Path) -> None:
    for number in range(50):
        note(library, f"n{number}.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        gate = threading.Event()
        rig.worker.run(gate.wait)
        job = rig.worker.rescan(["notes"], force=True)
        with pytest.raises(Busy, match="a rescan of notes since"):
            rig.worker.rescan()

        assert "notes" in rig.worker.status().rescan

        gate.set()
        report = job.wait(10)

        assert report
        assert report.indexed == 50
        assert rig.worker.status().rescan == ""
        assert rig.worker.rescan().wait(10)


def test_a_rescan_can_be_cancelled(library: Library, state: Path) -> None:
    for number in range(50):
        note(library, f"n{number}.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        gate = threading.Event()
        rig.worker.run(gate.wait)
        job = rig.worker.rescan(force=True)

        assert rig.worker.cancel()

        gate.set()
        report = job.wait(10)

        assert report
        assert report.was_cancelled
        assert report.indexed < 50
        assert not rig.worker.cancel()
        assert rig.settle().fresh


def test_a_rescan_of_one_path_leaves_the_others_alone(library: Library, state: Path) -> None:
    note(library, "x/a.md", "heron")
    note(library, "b.md", "egret")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        note(library, "x/a.md", "osprey", fresh=True)
        note(library, "b.md", "kestrel", fresh=True)
        report = rig.worker.rescan(["notes"], ["x/a.md"]).wait(10)

        assert report
        assert report.indexed == 1
        assert rig.find("osprey") == ["x/a.md"]
        assert rig.find("kestrel") == []


def test_listeners_hear_of_commits_and_progress(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    events: list[WorkerEvent] = []
    rig = Rig(state, [library.settings()])
    end = rig.worker.subscribe(events.append)
    with rig:
        rig.settle()
        wait_until(lambda: any(isinstance(event, IndexChanged) and event.collections == ("notes",) for event in events))
        end()
        events.clear()
        note(library, "a.md", "osprey", fresh=True)
        rig.sync("a.md")

        assert events == []


def test_a_listener_that_fails_harms_nobody(library: Library, state: Path) -> None:
    def fail(_event: WorkerEvent) -> None:
        raise RuntimeError("gone")

    note(library, "a.md", "heron")
    rig = Rig(state, [library.settings()])
    rig.worker.subscribe(fail)
    with rig:
        assert rig.settle().fresh


def test_collections_can_be_added_and_removed(library: Library, state: Path, tmp_path: Path) -> None:
    other = Library(tmp_path / "other", name="other")
    note(library, "a.md", "heron")
    note(other, "b.md", "osprey")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        rig.worker.set_collections([library.settings(), other.settings()]).result(5)
        rig.settle()

        assert sorted(rig.documents()) == ["a.md", "b.md"]

        rig.worker.set_collections([other.settings()]).result(5)

        assert list(rig.documents()) == ["b.md"]
        assert rig.settle().fresh
        assert not rig.worker.sync(collections=["notes"], deadline=time.monotonic() + 1).fresh


def test_new_ignore_rules_take_documents_out_and_let_them_back_in(library: Library, state: Path) -> None:
    note(library, "drafts/a.md", "heron")
    note(library, "b.md", "egret")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        library.write(".grooveignore", "drafts/\n")

        assert rig.sync(".grooveignore").fresh
        assert list(rig.documents()) == ["b.md"]

        library.remove(".grooveignore")

        assert rig.sync(".grooveignore").fresh
        assert sorted(rig.documents()) == ["b.md", "drafts/a.md"]


def test_own_files_inside_the_root_cause_no_work(library: Library) -> None:
    state = library.root / "state"
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], own_paths=[state]) as rig:
        rig.settle()
        passes = rig.worker.status().passes
        library.write("state/notes.md", "egret")
        rig.hint("state/index.db-wal", "state/index.db", "state/notes.md")
        rig.hint("state", subtree=True)

        assert rig.worker.status().waiting_hints == 0
        assert rig.worker.status().passes == passes
        assert list(rig.documents()) == ["a.md"]


def test_check_files_tells_changed_and_missing_apart(library: Library, state: Path) -> None:
    for name in ("same", "changed", "missing"):
        note(library, f"{name}.md", "heron")
    with Rig(state, [library.settings()], watch=WatchSettings(debounce=30, longest_wait=60)) as rig:
        rig.settle()
        _, documents = rig.index.reader().documents(Filters(), offset=0, limit=10)
        note(library, "changed.md", "osprey", fresh=True)
        library.remove("missing.md")
        by_id = {document.document_id: document.path for document in documents}
        found = {by_id[key]: state_ for key, state_ in rig.worker.check_files(documents).items()}

        assert found == {"changed.md": "changed", "missing.md": "missing"}
        assert rig.sync().fresh
        assert rig.find("osprey") == ["changed.md"]
        assert sorted(rig.documents()) == ["changed.md", "same.md"]


def test_stop_does_not_wait_for_the_model(library: Library, state: Path) -> None:
    embedder = CountingEmbedder()
    embedder.gate.clear()
    for number in range(200):
        note(library, f"n{number}.md", f"heron{number}")
    rig = Rig(state, [library.settings()], models=StandInModels(embedder))
    rig.worker.start()
    assert embedder.entered.wait(10)
    took = elapsed(lambda: rig.worker.stop(1.0))
    report = rig.sync(within=0.1)
    embedder.gate.set()
    rig.index.close()

    assert took < 2.0
    assert not report.fresh
    with pytest.raises(ShuttingDown):
        rig.worker.run(lambda: None).result(1)
    embedder.gate.set()
    with Rig(state, [library.settings()]) as again:
        again.settle()

        assert vectors(again) == (200, 200)


def test_larger_files_than_allowed_are_listed(library: Library, state: Path) -> None:
    library.write("big.md", "x" * 2000)
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()], index_settings=IndexSettings(max_file_size=1024)) as rig:
        rig.settle()

        assert list(rig.documents()) == ["a.md"]
        assert rig.worker.status().collections[0].skipped == {"big.md": "2000 bytes; the limit is 1024"}


def test_a_collection_without_a_folder_harms_no_other(library: Library, state: Path, tmp_path: Path) -> None:
    note(library, "a.md", "heron")
    missing = CollectionSettings(path=str(tmp_path / "missing"), name="missing")
    with Rig(state, [library.settings(), missing]) as rig:
        wait_until(lambda: rig.find("heron") == ["a.md"])
        wait_until(lambda: rig.worker.sync(collections=["notes"], deadline=time.monotonic() + 1).fresh)
        report = rig.sync()

        assert not report.fresh
        assert "missing" in report.reason

        note(Library(tmp_path / "missing"), "b.md", "osprey")
        rig.settle()

        assert sorted(rig.documents()) == ["a.md", "b.md"]


def test_a_full_disk_loses_nothing(library: Library, state: Path) -> None:
    note(library, "a.md", "heron")
    with Rig(state, [library.settings()]) as rig:
        rig.settle()
        database = rig.index.writer.database
        pages = database.value("PRAGMA page_count")
        rig.worker.run(lambda: database.value(f"PRAGMA max_page_count = {pages}")).result(5)
        for number in range(40):
            note(library, f"n{number}.md", f"osprey{number} " * 200, fresh=True)
        report = rig.sync("", subtree=True, within=3)

        assert not report.fresh
        assert report.reason.startswith("disk full")
        assert rig.worker.status().store_problem.startswith("disk full")
        assert rig.worker.status().is_alive
        assert rig.find("heron") == ["a.md"]

        database.value("PRAGMA max_page_count = 1000000")
        rig.settle()

        assert len(rig.documents()) == 41
        assert rig.worker.status().store_problem == ""
