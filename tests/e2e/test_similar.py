"""Near a note, a hit and a text, on a real daemon."""

import pytest

from groove_client.errors import RequestFailed
from support.daemon import DaemonProcess


@pytest.fixture(scope="module")
def daemon():
    """A daemon with two notes on tents and one on bread."""
    with DaemonProcess.temporary() as made:
        made.write("tents/ridge.md", "# Ridge tent\n\nThe ridge tent has two poles and waxed canvas.\n")
        made.write("tents/dome.md", "# Dome tent\n\nThe dome tent has two poles and nylon cloth.\n")
        made.write("bread.md", "# Sourdough\n\nFeed the starter with flour and bake it hot.\n")
        made.start()
        made.wait_fresh(vectors=True)
        yield made


def test_notes_near_a_note(daemon: DaemonProcess) -> None:
    answer = daemon.ctl_json("similar", "tents/ridge.md")
    absolute = daemon.ctl_json("similar", str(daemon.notes / "tents" / "ridge.md"))
    shown = daemon.ctl("similar", "tents/ridge.md", "-n", "1")
    opened = daemon.ctl("open", "1", EDITOR="/bin/echo")

    assert [near["document"]["path"] for near in answer["documents"]] == ["tents/dome.md", "bread.md"]
    assert 1.0 >= answer["documents"][0]["score"] > answer["documents"][1]["score"] >= -1.0
    assert answer["chunks"] == []
    assert absolute["documents"] == answer["documents"]
    assert "tents/dome.md" in shown.stdout.splitlines()[1]
    assert len(shown.stdout.splitlines()) == 2
    assert "tents/dome.md" in opened.stdout


def test_passages_near_a_hit_and_near_a_text(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        hit = client.search("ridge canvas").results[0]
        near_hit = client.similar(id=hit.id, limit=1)
        near_text = client.similar(text="nylon cloth on two poles", path_globs=["!tents/ridge.md"])
    shown = daemon.ctl("similar", "--text", "nylon cloth on two poles")

    assert [found.path for found in near_hit.chunks] == ["tents/dome.md"]
    assert near_text.chunks[0].path == "tents/dome.md"
    assert "tents/ridge.md" not in [found.path for found in near_text.chunks]
    assert near_text.without_vector == 0
    assert shown.stdout.startswith("1  Dome tent")


def test_what_cannot_be_compared_is_an_error_with_a_reason(daemon: DaemonProcess) -> None:
    absent = daemon.ctl("similar", "absent.md")
    neither = daemon.ctl("similar")
    both = daemon.ctl("similar", "bread.md", "--text", "bread")
    with daemon.client() as client, pytest.raises(RequestFailed) as refused:
        client.similar(path="bread.md", text="bread")

    assert absent.returncode == 1
    assert "is not in the index" in absent.stderr
    assert (neither.returncode, both.returncode) == (2, 2)
    assert "needs either PATH or ID, or --text" in neither.stderr
    assert refused.value.name == "request.invalid_params"


def test_without_an_embedder_nothing_can_be_compared() -> None:
    with DaemonProcess.temporary(embedder="none") as daemon:
        daemon.write("bread.md", "# Sourdough\n\nFeed the starter with flour and bake it hot.\n")
        daemon.start()
        daemon.wait_fresh()
        note = daemon.ctl("similar", "bread.md")
        text = daemon.ctl("similar", "--text", "bread")

    assert (note.returncode, text.returncode) == (1, 1)
    assert "'bread.md' has no vector to compare because no embedder has been in use" in note.stderr
    assert "cannot be compared without an embedder" in text.stderr
