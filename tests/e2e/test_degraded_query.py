"""A note changes, then the query cannot be embedded: the answer is there, is fresh, and says what did not happen."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import failing_query
from support.daemon import DaemonProcess


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon whose model fails for queries while the file `broken` is there; its notes are indexed with vectors."""
    with DaemonProcess.temporary() as made:
        made.wrap = [sys.executable, failing_query.__file__, str(made.folder / "broken")]
        made.write("heron.md", "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n")
        made.write("osprey.md", "# Osprey\n\nAn osprey dives into the lake to catch a trout.\n")
        made.start()
        made.wait_fresh(vectors=True)
        yield made


def test_a_degraded_query_takes_every_other_step_and_names_the_two_that_did_not_occur(daemon: DaemonProcess) -> None:
    (daemon.folder / "broken").touch()
    daemon.write("heron.md", "# Heron\n\nThe grey heron builds its nest in tall alder trees.\n")

    with daemon.client() as client:
        answer = client.search("alder nest", profile="memory", explain=True)

    assert answer.fresh, answer.stale_reason
    assert answer.mode == "embedding_fallback"
    assert [hit.path for hit in answer.results] == ["heron.md"]
    assert "alder" in answer.results[0].content
    assert answer.steps is not None
    assert [(step.stage, step.status) for step in answer.steps] == [
        ("sync", "ran"),
        ("text", "ran"),
        ("evergreen", "ran"),
        ("knn", "failed"),
        ("merge", "ran"),
        ("content_free", "ran"),
        ("decay", "ran"),
        ("source_weight", "ran"),
        ("access_boost", "ran"),
        ("min_score", "ran"),
        ("mmr", "skipped"),
        ("truncate", "ran"),
        ("present", "ran"),
    ]
    reasons = {step.stage: step.reason for step in answer.steps if step.status != "ran"}
    assert reasons == {"knn": f"the query could not be embedded: {failing_query.REASON}", "mmr": "off"}
    assert [(stage.stage, stage.reason) for stage in answer.degraded] == [("knn", reasons["knn"])]


def test_the_command_prints_the_steps_and_why_two_of_them_did_not_occur(daemon: DaemonProcess) -> None:
    (daemon.folder / "broken").touch()

    printed = daemon.ctl("search", "--profile", "memory", "--explain", "grey", "heron", wrap=())

    assert printed.returncode == 0, printed.stderr
    (knn,) = [line for line in printed.stdout.splitlines() if line.lstrip().startswith("knn")]
    (mmr,) = [line for line in printed.stdout.splitlines() if line.lstrip().startswith("mmr")]
    assert failing_query.REASON in knn
    assert "off" in mmr


def test_uses_are_counted_beside_the_search(daemon: DaemonProcess) -> None:
    def boost() -> float:
        with daemon.client() as client:
            (hit,) = client.search("osprey trout", profile="memory", explain=True, min_score=0.9, limit=1).results
        assert hit.evidence is not None
        return next(evidence.score for evidence in hit.evidence if evidence.stage == "access_boost")

    assert boost() == 1.0
    daemon.wait_fresh()
    assert boost() > 1.0


def test_a_least_score_is_refused_by_the_profile_that_has_none(daemon: DaemonProcess) -> None:
    refused = daemon.ctl("search", "--min-score", "0.5", "heron", wrap=())

    assert refused.returncode == 2
    assert "min_score" in refused.stderr
