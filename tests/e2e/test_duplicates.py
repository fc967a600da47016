"""The same passage in several notes, and one note with many passages, as a user sees them."""

from support.daemon import DaemonProcess

RULE = "# Packing list\n\nTake the blue tent, the stove and two ropes for the ridge.\n"


def test_a_passage_in_several_notes_is_shown_once_and_names_the_others(daemon: DaemonProcess) -> None:
    for year in (2021, 2022, 2023):
        daemon.write(f"trips/{year}.md", RULE)
    daemon.write("tents.md", "# Tents\n\nA tent needs waxed seams before the autumn rain.\n")
    daemon.start()
    daemon.wait_fresh(vectors=True)

    with daemon.client() as client:
        answer = client.search("blue tent ropes", explain=True)
        only_old = client.search("blue tent ropes", path_globs=["!trips/2021.md", "!trips/2023.md"])
    shown = daemon.ctl("search", "blue", "tent", "ropes")

    first, *rest = answer.results
    others = sorted({"trips/2021.md", "trips/2022.md", "trips/2023.md"} - {first.path})
    assert [hit.path for hit in rest] == ["tents.md"]
    assert [(place.path, place.line_start) for place in first.also_in or ()] == [(path, 3) for path in others]
    assert first.also_in_count == 2
    assert "2 copies left out" in [step.reason for step in answer.steps or () if step.stage == "duplicates"]
    assert only_old.results[0].path == "trips/2022.md"
    assert only_old.results[0].also_in is None
    assert "also in 2 other notes" in shown.stdout


def test_a_passage_that_was_pasted_under_other_headings_is_shown_once(daemon: DaemonProcess) -> None:
    pasted = "Take the blue tent, the stove and two ropes for the ridge.\n"
    daemon.write("alps.md", f"# Alps\n\n## Gear\n\n{pasted}")
    daemon.write("lakes.md", f"# Lakes\n\n## Packing\n\n{pasted}")
    daemon.write("plain.md", pasted)
    daemon.start()
    daemon.wait_fresh(vectors=True)

    with daemon.client() as client:
        answer = client.search("blue tent ropes")

    (hit,) = answer.results
    assert {hit.path, *(place.path for place in hit.also_in or ())} == {"alps.md", "lakes.md", "plain.md"}
    assert hit.also_in_count == 2


def test_an_edited_copy_stands_for_itself_again(daemon: DaemonProcess) -> None:
    daemon.write("a.md", RULE)
    daemon.write("b.md", RULE)
    daemon.start()
    daemon.wait_fresh(vectors=True)
    before = daemon.found("blue tent ropes")

    daemon.write("b.md", RULE.replace("two ropes", "three ropes"))

    assert len(before) == 1
    assert sorted(daemon.found("blue tent ropes")) == ["a.md", "b.md"]


def test_hits_of_one_note_are_limited_on_demand_and_by_the_configuration(daemon: DaemonProcess) -> None:
    sections = "\n".join(
        f"## Day {number}\n\nThe heron stood in reed bed {number} until noon and flew.\n" for number in range(8)
    )
    daemon.write("diary.md", f"# Diary\n\n{sections}")
    daemon.write("heron.md", "# Heron\n\nThe heron is a patient bird of shallow water.\n")
    daemon.start()
    daemon.wait_fresh(vectors=True)

    everything = daemon.found("heron", limit=9)
    limited = daemon.ctl_json("search", "heron", "--limit", "9", "--max-per-document", "2")
    shown = daemon.ctl("search", "heron", "--max-per-document", "2")
    refused = daemon.ctl("search", "heron", "--profile", "memory", "--max-per-document", "2")
    daemon.configure(daemon.config_file.read_text() + "\n[search]\nmax_per_document = 1\n")
    assert daemon.ctl("reload").returncode == 0
    configured = daemon.found("heron", limit=9)

    assert everything.count("diary.md") == 8
    paths = [hit["path"] for hit in limited["results"]]
    assert (paths.count("diary.md"), paths.count("heron.md")) == (2, 1)
    assert {hit["path"]: hit.get("more_in_document") for hit in limited["results"]} == {"diary.md": 6, "heron.md": None}
    assert "+6 more in this note" in shown.stdout
    assert refused.returncode != 0
    assert "max_per_document" in refused.stderr
    assert sorted(configured) == ["diary.md", "heron.md"]
