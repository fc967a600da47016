"""Collections, configuration, documents and the index as a whole, by the command, while the daemon runs."""

import json
import os
import re
from pathlib import Path

import pytest

from support.daemon import DaemonProcess
from support.library import wait_until

HERON = "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n\nIt is a patient bird.\n"
ZEBRA = "# Zebra\n\nThe zebra finch sings in a cage in the kitchen all day.\n"
CONFIG = """\
# What I keep here.
[models]
embedder = "hashing"  # quick

# The main ones.
[[collections]]
name = "notes"
path = "{notes}"  # mine
"""


@pytest.fixture
def notes(daemon: DaemonProcess) -> DaemonProcess:
    """A running daemon with a commented configuration, a note, and a folder `zoo` that is no collection."""
    daemon.write("birds/heron.md", HERON)
    (daemon.folder / "the zoo").mkdir()
    (daemon.folder / "the zoo" / "zebra.md").write_text(ZEBRA)
    daemon.configure(CONFIG.format(notes=daemon.notes))
    daemon.start()
    daemon.wait_fresh(vectors=True)
    return daemon


# -- collections -----------------------------------------------------------------------------------------------------


def test_add_and_remove_change_the_configuration_and_keep_its_comments(notes: DaemonProcess) -> None:
    before = notes.config_file.read_text()

    added = notes.ctl("add", "the zoo", "--name", "zoo", "--ignore", "*.tmp")
    with_zoo = notes.config_file.read_text()
    found = notes.found("zebra")
    removed = notes.ctl("remove", "zoo")

    assert added.returncode == 0, added.stderr
    assert with_zoo.startswith(before)
    assert f'path = "{notes.folder / "the zoo"}"' in with_zoo
    assert found[0] == "zebra.md"
    assert "1 document forgotten" in removed.stdout
    assert notes.config_file.read_text().rstrip() == before.rstrip()
    assert "zebra.md" not in notes.found("zebra")
    assert (notes.folder / "the zoo" / "zebra.md").read_text() == ZEBRA


def test_a_folder_added_to_a_running_daemon_is_there_after_a_restart(notes: DaemonProcess) -> None:
    notes.ctl("add", "the zoo")
    notes.restart()
    notes.wait_fresh()

    names = [row["name"] for row in notes.ctl_json("collections")["collections"]]

    assert names == ["notes", "the-zoo"]
    assert notes.found("zebra")[0] == "zebra.md"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("notes", "is already the collection 'notes'"),
        ("notes/birds", "lies within the folder of the collection 'notes'"),
        (".", "contains the folder of the collection 'notes'"),
        ("nowhere", "is not there"),
        ("the zoo/zebra.md", "is a file, not a folder"),
    ],
)
def test_add_refuses_a_folder_that_cannot_be_one(notes: DaemonProcess, path: str, words: str) -> None:
    before = notes.config_file.read_text()

    done = notes.ctl("add", path)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert notes.config_file.read_text() == before


def test_remove_of_an_unknown_collection_names_those_there_are(notes: DaemonProcess) -> None:
    done = notes.ctl("remove", "zoo")

    assert done.returncode == 2
    assert '"zoo"' in done.stderr
    assert "notes" in done.stderr


# -- configuration ---------------------------------------------------------------------------------------------------


def test_config_shows_every_value_with_its_origin(notes: DaemonProcess) -> None:
    values = {row["key"]: row for row in notes.ctl_json("config")["values"]}

    assert values["models.embedder"]["value"] == "hashing"
    assert str(notes.config_file) in values["models.embedder"]["origin"]
    assert values["search.limit"]["origin"] == "default"


def test_reload_applies_what_it_can_and_names_what_needs_a_restart(notes: DaemonProcess) -> None:
    for number in range(4):
        notes.write(f"birds/{number}.md", HERON.replace("patient", f"patient {number}"))
    notes.configure(notes.config_file.read_text() + "\n[search]\nlimit = 2\n[limits]\nreaders = 2\n")

    reloaded = notes.ctl("reload")

    assert reloaded.returncode == 0
    assert "search.limit" in reloaded.stdout
    assert "limits.readers" in reloaded.stdout.splitlines()[1]
    assert len(notes.found("heron")) == 2


def test_reload_of_a_broken_file_changes_nothing_and_names_line_and_key(notes: DaemonProcess) -> None:
    notes.configure(notes.config_file.read_text() + "\n[search]\nlimmit = 2\n")

    done = notes.ctl("reload")

    assert done.returncode == 2
    assert f"{notes.config_file}:11: search.limmit" in done.stderr
    assert "search.limit" in done.stderr
    assert notes.found("heron") == ["birds/heron.md"]


# -- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["birds/heron.md", "{notes}/birds/heron.md"])
def test_get_prints_a_document_by_relative_and_by_absolute_path(notes: DaemonProcess, name: str) -> None:
    done = notes.ctl("get", name.format(notes=notes.notes))

    assert (done.returncode, done.stdout) == (0, HERON)


def test_get_prints_lines_and_chunks(notes: DaemonProcess) -> None:
    hit = notes.ctl_json("search", "heron")["results"][0]

    assert notes.ctl("get", "birds/heron.md:3").stdout == "The grey heron stands in the reeds and waits for fish.\n"
    assert notes.ctl("get", "birds/heron.md:3-5").stdout.endswith("\n\nIt is a patient bird.\n")
    assert "patient" in notes.ctl("get", str(hit["id"])).stdout


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("nope.md", "'nope.md' is not in the index"),
        ("/etc/passwd", "'/etc/passwd' lies in no collection"),
        ("../../../etc/passwd", "lies in no collection"),
        ("99999", "no chunk has id 99999"),
    ],
)
def test_get_of_what_is_not_there_says_so(notes: DaemonProcess, what: str, words: str) -> None:
    done = notes.ctl("get", what)

    assert done.returncode == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_open_runs_the_editor_at_the_line_of_the_hit(notes: DaemonProcess) -> None:
    editor = _recording_editor(notes.folder / "vim")
    notes.ctl("search", "patient")

    done = notes.ctl("open", "1", EDITOR=str(editor), VISUAL=None)

    assert done.returncode == 0, done.stderr
    given = editor.with_suffix(".argv").read_text().splitlines()
    assert given[-1] == str(notes.notes / "birds" / "heron.md")
    assert any(word.startswith("+") for word in given)


def test_open_without_such_a_hit_says_how_many_there_were(notes: DaemonProcess) -> None:
    notes.ctl("search", "patient")

    done = notes.ctl("open", "7", EDITOR="true")

    assert done.returncode == 2
    assert "found 1" in done.stderr


def _recording_editor(path: Path) -> Path:
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {path.with_suffix(".argv")}\n')
    path.chmod(0o755)
    return path


# -- the index -------------------------------------------------------------------------------------------------------


def test_failures_names_the_file_and_the_reason_until_it_can_be_read(notes: DaemonProcess) -> None:
    bad = notes.notes / "broken.md"
    bad.write_bytes(b"\x00\x01\x02\x03 binary \x00\xff" * 100)
    notes.wait_fresh()
    listed = notes.ctl("failures")
    shown = notes.ctl("status")

    bad.write_text("# Fixed\n\nThe wallcreeper climbs the rock face of the gorge.\n")
    found = notes.found("wallcreeper")

    assert "broken.md" in listed.stdout
    assert re.search(r"\n?notes +1 +1 +0 +1 ", shown.stdout)
    assert found[0] == "broken.md"
    assert notes.ctl("failures").stdout == ""


def test_reindex_counts_files_and_keeps_the_vectors(notes: DaemonProcess) -> None:
    old = 1_600_000_000
    os.utime(notes.notes / "birds" / "heron.md", (old, old))
    notes.wait_fresh()

    done = notes.ctl_json("reindex")

    assert (done["indexed"], done["unchanged"], done["removed"]) == (0, 1, 0)
    assert done["pending_vectors"] == 0


def test_reindex_force_reads_and_embeds_everything_again(notes: DaemonProcess) -> None:
    done = notes.ctl_json("reindex", "--force")
    fresh = notes.ctl("wait-fresh", "--vectors")

    assert done["indexed"] == 1
    assert fresh.returncode == 0, fresh.stdout
    assert notes.ctl_json("status")["index"]["pending_vectors"] == 0
    assert notes.found("heron") == ["birds/heron.md"]


@pytest.mark.parametrize(
    ("path", "count"), [("birds/heron.md", 1), ("birds", 1), (".", 1), ("{notes}/birds/heron.md", 1)]
)
def test_reindex_takes_paths_as_the_shell_has_them(notes: DaemonProcess, path: str, count: int) -> None:
    done = notes.ctl("reindex", "--force", "--json", path.format(notes=notes.notes), cwd=notes.notes)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["indexed"] == count


@pytest.mark.parametrize(("path", "words"), [("nope.md", "there is nothing at"), ("/etc", "lies in no collection")])
def test_reindex_of_a_path_that_is_not_there_says_so(notes: DaemonProcess, path: str, words: str) -> None:
    done = notes.ctl("reindex", path, cwd=notes.notes)

    assert done.returncode == 1
    assert words in done.stderr


def test_wait_fresh_gives_up_in_time_and_names_what_is_missing(notes: DaemonProcess) -> None:
    notes.ctl("add", "the zoo", "--name", "zoo")
    (notes.folder / "the zoo").rename(notes.folder / "elsewhere")

    done = notes.ctl("wait-fresh", "--timeout", "0.5")

    assert done.returncode == 1
    assert "the zoo is missing" in done.stdout


def test_documents_and_topics_list_what_is_indexed(notes: DaemonProcess) -> None:
    documents = notes.ctl_json("documents")
    topics = notes.ctl_json("topics")

    assert [(one["collection"], one["path"], one["title"]) for one in documents["documents"]] == [
        ("notes", "birds/heron.md", "Heron")
    ]
    assert [one["category"] for one in topics["topics"]] == ["birds"]


def test_status_of_a_daemon_at_rest_has_no_problem_and_counts_no_further_pass(notes: DaemonProcess) -> None:
    wait_until(lambda: notes.ctl_json("status")["progress"]["phase"] == "idle", what="it is idle")
    before = notes.ctl_json("status")
    for _ in range(3):
        (notes.notes / "birds" / "heron.md").read_bytes()
        list(notes.notes.rglob("*"))

    after = notes.ctl_json("status")

    assert after.get("problems", []) == []
    assert after["counters"]["index.passes"] == before["counters"]["index.passes"]
    assert "up to date" in notes.ctl("status").stdout


def test_logs_shows_the_last_lines_of_a_daemon_that_the_command_started(daemon: DaemonProcess) -> None:
    daemon.ctl("start")

    done = daemon.ctl("logs", "-n", "50")

    assert done.returncode == 0, done.stderr
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert "daemon.serving" in events


def test_version_tells_both_sides(notes: DaemonProcess) -> None:
    answer = notes.ctl_json("version")

    assert answer["version"] == answer["daemon"]["version"]


def test_a_note_that_became_no_text_is_gone_and_keeps_no_answer_from_being_fresh(notes: DaemonProcess) -> None:
    (notes.notes / "birds" / "heron.md").write_bytes(b"\x00\x01\x02\x03 heron \x00\xff" * 100)

    with notes.client() as client:
        answer = client.search("grey heron")

    assert answer.fresh, answer.stale_reason
    assert answer.results == ()
    assert "when it changes" in notes.ctl("failures").stdout


def test_get_says_when_the_document_ends_before_the_line(notes: DaemonProcess) -> None:
    done = notes.ctl("get", "birds/heron.md:99")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "groovectl: get: 'birds/heron.md:99': the document ends before line 99\n"


def test_failures_lists_what_was_not_understood_in_notes_that_are_indexed(notes: DaemonProcess) -> None:
    notes.write("odd.md", "---\ntitle: Re: budget talk\n---\n# Budget\n\nThe ouzel sings by the brook in winter too.\n")

    assert notes.found("ouzel")[0] == "odd.md"
    listed = notes.ctl("failures").stdout

    assert "in the index, but not wholly understood:" in listed
    assert "odd.md" in listed
    assert "line 2" in listed
