"""From a folder of notes to a search that finds what was saved a moment ago, as a user does it."""

import shutil
from pathlib import Path

import pytest

from support.daemon import DaemonProcess
from support.library import wait_until

HERON = "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n"
OSPREY = "# Osprey\n\nAn osprey dives feet first into the lake to catch a trout.\n"
BREAD = "# Sourdough\n\nFeed the starter with flour and water, then knead the dough and bake it.\n"


@pytest.fixture
def notes(daemon: DaemonProcess) -> DaemonProcess:
    """A running daemon with three notes that can be found."""
    daemon.write("birds/heron.md", HERON)
    daemon.write("birds/osprey.md", OSPREY)
    daemon.write("kitchen/bread.md", BREAD)
    daemon.start()
    daemon.wait_fresh(vectors=True)
    return daemon


def embedded(daemon: DaemonProcess) -> int:
    """How many passages have been given to the model since the start."""
    with daemon.client() as client:
        return client.status().counters["index.embedded"]


def test_a_folder_is_added_indexed_and_searched_with_three_commands(daemon: DaemonProcess) -> None:
    daemon.write("birds/heron.md", HERON)
    daemon.configure('[models]\nembedder = "hashing"\n')

    added = daemon.ctl("add", str(daemon.notes))
    fresh = daemon.ctl("wait-fresh", "--vectors")
    found = daemon.ctl("search", "grey", "heron")

    assert (added.returncode, fresh.returncode, found.returncode) == (0, 0, 0), added.stderr + fresh.stderr
    assert found.stdout.splitlines()[0].startswith("1  Heron")
    assert "notes/birds/heron.md:3" in found.stdout


def test_search_finds_by_words_and_leaves_out_what_is_excluded(notes: DaemonProcess) -> None:
    notes.write("birds/both.md", "# Two\n\nA heron and an osprey share the lake with each other.\n")

    with_both = notes.found("heron", limit=10)
    without_osprey = notes.found("heron -osprey", limit=10)
    exact = notes.found('"grey heron" -osprey', limit=10)

    assert {"birds/heron.md", "birds/both.md"} <= set(with_both)
    assert "birds/both.md" not in without_osprey
    assert exact[0] == "birds/heron.md"
    assert "birds/osprey.md" not in exact


@pytest.mark.model
def test_search_finds_by_meaning_without_a_word_in_common(model_cache: Path) -> None:
    with DaemonProcess.temporary(embedder="all-MiniLM-L6-v2", cache=model_cache) as daemon:
        daemon.write("birds/osprey.md", OSPREY)
        daemon.write("kitchen/bread.md", BREAD)
        daemon.write("garden/mower.md", "# Mower\n\nSharpen the blade of the lawn mower every spring.\n")
        daemon.start()
        daemon.wait_fresh(vectors=True, within=60)

        assert daemon.found("making pastry")[0] == "kitchen/bread.md"
        assert daemon.found("bird of prey catching fish")[0] == "birds/osprey.md"


def test_the_very_next_search_sees_each_of_fifty_edits(notes: DaemonProcess) -> None:
    with notes.client() as client:
        for number in range(50):
            word = f"plumage{number}x"
            notes.write("birds/heron.md", f"{HERON}\nIts {word} is seen today.\n")

            answer = client.search(word)

            assert answer.fresh, answer.stale_reason
            assert answer.results[0].path == "birds/heron.md"
            assert word in answer.results[0].content


def test_an_old_text_is_gone_with_the_edit_that_replaced_it(notes: DaemonProcess) -> None:
    notes.write("kitchen/bread.md", "# Rye\n\nOnly rye now, and nothing else in the bowl.\n")

    with notes.client() as client:
        answer = client.search('"knead the dough"')

    assert all("knead" not in hit.content for hit in answer.results)


def test_a_renamed_note_is_found_under_its_new_name_and_not_embedded_again(notes: DaemonProcess) -> None:
    before = embedded(notes)
    (notes.notes / "birds" / "heron.md").rename(notes.notes / "birds" / "ardea.md")

    found = notes.found("grey heron")

    assert "birds/ardea.md" in found
    assert "birds/heron.md" not in found
    assert embedded(notes) == before


def test_a_deleted_note_is_gone_from_the_very_next_search(notes: DaemonProcess) -> None:
    (notes.notes / "birds" / "heron.md").unlink()

    assert "birds/heron.md" not in notes.found("grey heron", limit=10)


def test_a_folder_that_was_moved_away_takes_its_notes_with_it(notes: DaemonProcess) -> None:
    shutil.move(notes.notes / "birds", notes.folder / "elsewhere")

    assert notes.found("grey heron osprey", limit=10) in ([], ["kitchen/bread.md"])
    with notes.client() as client:
        assert client.status().index.documents == 1


def test_a_restart_keeps_everything_and_embeds_nothing_again(notes: DaemonProcess) -> None:
    with notes.client() as client:
        before = client.status().index

    notes.restart()
    notes.wait_fresh(vectors=True)

    with notes.client() as client:
        after = client.status().index
    assert (after.documents, after.chunks, after.vectors) == (before.documents, before.chunks, before.vectors)
    assert embedded(notes) == 0
    assert notes.found("grey heron")[0] == "birds/heron.md"


def test_changes_made_while_the_daemon_was_stopped_are_seen_by_the_first_search(notes: DaemonProcess) -> None:
    notes.terminate()
    notes.write("kitchen/bread.md", f"{BREAD}\nA pinch of cardamom.\n")
    (notes.notes / "birds" / "heron.md").rename(notes.notes / "birds" / "ardea.md")
    (notes.notes / "birds" / "osprey.md").unlink()
    notes.write("new.md", "# New\n\nA wren sings in the hedge behind the house, before the sun is up in the east.\n")
    notes.start()
    notes.wait_fresh(vectors=True)

    assert notes.found("cardamom")[0] == "kitchen/bread.md"
    assert notes.found("grey heron")[0] == "birds/ardea.md"
    assert "birds/osprey.md" not in notes.found("osprey trout lake", limit=10)
    assert notes.found("wren")[0] == "new.md"
    # The line that was added to the bread, and the new note; each may have a title of its own.
    assert embedded(notes) <= 4


def test_a_search_while_the_first_index_is_built_answers_and_says_what_is_missing(daemon: DaemonProcess) -> None:
    for number in range(400):
        daemon.write(f"{number % 30}/n{number}.md", f"# Note {number}\n\n{_filler(number)}\n")
    daemon.start()

    with daemon.client() as client:
        answer = client.search("heath")
        status = client.status(timeout_s=5)

    assert not answer.fresh
    assert answer.stale_reason
    assert status.progress.phase != "idle"
    shown = daemon.ctl("search", "heath")
    assert shown.returncode == 0
    wait_until(lambda: _is_complete(daemon, 400), within=60, what="all notes are indexed")


def _is_complete(daemon: DaemonProcess, documents: int) -> bool:
    with daemon.client() as client:
        index = client.status().index
    return index.documents == documents and index.pending_vectors == 0


def _filler(number: int) -> str:
    return "\n\n".join(
        f"The heath {number} {line} lies behind mill {number * line} at the river." for line in range(20)
    )
