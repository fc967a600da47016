"""State of daemon and index as text; fields may be absent."""

import pytest

from groove_client.render import Screen
from groove_client.render_status import (
    calibration,
    collections,
    config,
    documents,
    failures,
    progress_line,
    status,
    topics,
)
from support.answers import make_status

SCREEN = Screen("never", {"COLUMNS": "100"})


def test_status_of_an_idle_daemon_says_up_to_date_first():
    text = status(make_status(), SCREEN)

    assert text.startswith("up to date\n")
    assert "embedder       mini ready, on onnx, loaded in 400 ms\n" in text
    assert (
        "index          12 documents, 80 chunks, 79 vectors, generation 7, 1 passage that cannot have a vector, 1.5 MiB"
        in text
    )
    assert "search times   p50 8.0 ms, p95 12.5 ms, p99 13.0 ms, 3 so far\n" in text
    assert "memory         250.0 MiB\n" in text
    assert "daemon         0.1.0, pid 4711, up 3 h 12 min, 1 connection\n" in text


@pytest.mark.parametrize(
    ("learned", "line"),
    [
        ({}, ""),
        (
            {"is_usable": True, "answerable": 100, "unanswerable": 58, "false_accept": 0.031, "false_reject": 0.12},
            "calibrated on 100 questions with an answer and 58 without; at 0.5, 3% falsely accepted and 12% falsely "
            "rejected",
        ),
        (
            {"is_usable": False, "answerable": 3, "unanswerable": 60, "reason": "only 3 questions"},
            "not told: only 3 questions; learned from 3 questions with an answer and 60 without",
        ),
    ],
)
def test_calibration_is_one_line(learned, line):
    assert calibration(learned) == line


@pytest.mark.parametrize(
    ("fields", "headline"),
    [
        ({"state": "starting"}, "starting\n"),
        ({"state": "starting", "progress": {"phase": "starting", "done": 0, "total": 0}}, "starting\n"),
        (
            {"progress": {"phase": "embedding", "done": 120, "total": 400, "rate_per_s": 32.0, "eta_s": 8.75}},
            "ready: embedding 120/400, 32/s, 9 s left\n",
        ),
        ({"index": {"pending_vectors": 5}}, "ready: 5 passages without a vector yet\n"),
        ({"collections": [{"name": "notes", "pending": 1}]}, "ready: 1 change not indexed yet\n"),
        ({"collections": [{"name": "notes", "failed": 2}]}, "ready: 2 files failed\n"),
        (
            {"collections": [{"name": "notes", "problems": ["the folder is missing"]}], "problems": ["disk full"]},
            "ready: 2 problems\n",
        ),
    ],
)
def test_status_headline_tells_what_is_not_done(fields, headline):
    assert status(make_status(**fields), SCREEN).startswith(headline)


def test_status_shows_an_answer_without_any_known_field():
    assert status({}, SCREEN).startswith("unknown\n")


def test_status_shows_problems_and_hides_controls():
    text = status(make_status(problems=["index\x1b[2J full"], config_file="/x\x07"), SCREEN)

    assert text.endswith("index\\x1b[2J full\n")
    assert "\x07" not in text


def test_collections_are_a_table_with_their_problems():
    answer = make_status()
    answer["collections"][0] |= {
        "failed": 1,
        "unwatched_folders": ["a", "b"],
        "problems": ["2 folders are not watched"],
    }

    assert collections(answer, SCREEN) == (
        "collection  documents  chunks  pending  failed  skipped  unwatched  folder\n"
        "notes              12      80        0       1        2          2  /home/ada/notes\n"
        "notes: 2 folders are not watched\n"
    )


def test_collection_that_is_not_watched_at_all_says_so():
    answer = make_status()
    answer["collections"][0]["is_watched"] = False

    assert "     all  /home/ada/notes\n" in collections(answer, SCREEN)


def test_no_collections_tell_how_to_add_one():
    assert collections({"collections": []}, SCREEN) == "no collections; `groovectl add FOLDER` watches one\n"


def test_failures_tell_reason_and_next_try():
    rows = [
        {
            "collection": "n",
            "path": "a.md",
            "reason": "not UTF-8",
            "attempts": 3,
            "next_try_at": "2026-03-01T12:00:00Z",
        },
        {"collection": "n", "path": "b.md", "reason": "no access", "attempts": 1},
    ]

    assert failures({"failures": rows}, SCREEN) == (
        "collection  path  attempts  next try              reason\n"
        "n           a.md         3  2026-03-01T12:00:00Z  not UTF-8\n"
        "n           b.md         1  when it changes       no access\n"
    )


def test_documents_and_topics_are_tables_and_empty_without_rows():
    document = {
        "collection": "n",
        "path": "a.md",
        "chunk_count": 2,
        "modified_at": "2026-03-01T12:00:00Z",
        "title": "A",
    }
    topic = {
        "category": "c",
        "topic": "t",
        "file_count": 1,
        "last_modified": "2026-03-01T12:00:00Z",
        "titles": ["A", "B"],
    }

    assert "n           a.md       2  2026-03-01 12:00  A\n" in documents({"documents": [document]}, SCREEN)
    assert "c         t          1  2026-03-01 12:00  A, B\n" in topics({"topics": [topic]}, SCREEN)
    assert documents({}, SCREEN) == topics({}, SCREEN) == ""


def test_config_shows_origins_unless_told_not_to():
    values = [
        {"key": "search.limit", "value": 5, "origin": "default"},
        {"key": "index.formats", "value": ["md"], "origin": "file"},
    ]

    assert "search.limit   5  # default\n" in config({"values": values}, origin=True)
    assert "default" not in config({"values": values}, origin=False)


def test_progress_line_leaves_unknown_parts_out():
    assert progress_line({"phase": "scanning"}) == "scanning"
    assert progress_line({"phase": "embedding", "done": 1, "total": 9, "rate_per_s": 0.25}) == "embedding 1/9, 0.25/s"
