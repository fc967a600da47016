"""A search's answer as text: for people, pipes and editors; worked by hand for the answer in `support.answers`."""

import os

import pytest

from groove_client.render import Screen
from groove_client.render_search import file_uri, paths, people, remarks, target_line, vimgrep
from support.answers import make_answer, make_hit


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    return Screen("never", {"COLUMNS": "60"})


@pytest.fixture
def colors(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    return Screen("always", {"COLUMNS": "60"})


def test_hit_shows_rank_title_place_headings_snippet_and_score(screen):
    assert people(make_answer(make_hit()), screen) == (
        "1  Async 1  0.0325\n"
        "   ~/notes/rust/note 1.md:11  Tasks > Cancelling\n"
        "   Rust has tasks.\n"
        "   The async runtime cancels a task.\n"
        "   Then nothing.\n"
    )


def test_hits_stand_apart_and_ranks_line_up(screen):
    lines = people(make_answer(*(make_hit(number) for number in range(1, 11))), screen).split("\n\n")

    assert len(lines) == 10
    assert lines[0].startswith(" 1  Async 1  ")
    assert lines[9].startswith("10  Async 10  ")


def test_match_is_painted_where_colors_are_asked_for(colors):
    assert "The \x1b[1;33masync\x1b[0m runtime" in people(make_answer(make_hit()), colors)


def test_control_characters_of_notes_never_reach_the_screen(screen):
    evil = "\x1b]0;owned\x07\x9b31m"
    hit = make_hit(title=evil, heading_path=[evil], content=evil, match_spans=[], path=f"{evil}.md", collection=evil)
    text = people(make_answer(hit, steps=[{"stage": evil, "reason": evil}]), screen, explain=True)

    assert all(char.isprintable() or char == "\n" for char in text)


def test_absent_fields_are_left_out(screen):
    assert people(make_answer({"id": 1, "path": "a.md"}), screen) == "1  a.md  0.0000\n   a.md:1\n"


def test_long_title_is_cut_and_score_stays(screen):
    first = people(make_answer(make_hit(title="very long title " * 10)), screen).split("\n")[0]

    assert len(first) <= 60
    assert first.endswith("…  0.0325")


def test_other_places_and_the_rest_of_the_note_are_told(screen):
    place = {"collection": "notes", "path": "b.md", "line_start": 3}
    own = {"collection": "notes", "path": "rust/note 1.md", "line_start": 90}

    def row(**fields):
        return people(make_answer(make_hit(**fields)), screen).splitlines()[2]

    assert row(also_in=[place], also_in_count=1) == "   also in 1 other note"
    assert row(also_in=[place, place | {"path": "c.md"}], also_in_count=2) == "   also in 2 other notes"
    assert row(also_in=[own], also_in_count=1) == "   also in 1 other place"
    assert row(also_in=[place], also_in_count=40) == "   also in 40 other places"
    assert row(more_in_document=3) == "   +3 more in this note"
    assert row(also_in=[place], also_in_count=1, more_in_document=3) == "   also in 1 other note, +3 more in this note"


def test_stale_hit_is_marked(screen):
    assert "0.0325  file changed since\n" in people(make_answer(make_hit(stale=True)), screen)


def test_explain_shows_evidence_and_steps(screen):
    hit = make_hit(
        evidence=[{"stage": "trigram", "rank": 1, "score": -12.5}, {"stage": "dense", "rank": 3, "score": 0.5}]
    )
    steps = [
        {"stage": "trigram", "status": "ran", "took_ms": 1.25, "size_in": 0, "size_out": 40},
        {"stage": "rerank", "status": "skipped", "took_ms": 0.0, "size_in": 40, "size_out": 40, "reason": "off"},
    ]
    text = people(make_answer(hit, steps=steps), screen, explain=True)

    assert "   trigram #1 -12.5\n   dense #3 0.5\n" in text
    assert text.endswith(
        "stage    status     ms  in  out  reason\n"
        "trigram  ran      1.25   0   40\n"
        "rerank   skipped  0.00  40   40  off\n"
        "4.2 ms in all\n"
    )


def test_paths_are_given_once_in_order_of_rank():
    hits = [make_hit(1, path="b.md"), make_hit(2, path="a.md"), make_hit(3, path="b.md")]

    assert paths(hits, end=b"\0", is_terminal=False) == b"/home/ada/notes/b.md\0/home/ada/notes/a.md\0"


def test_paths_below_the_current_folder_are_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hit = make_hit(absolute_path=f"{tmp_path}/sub/a.md")

    assert paths([hit], end=b"\n", is_terminal=False) == b"sub/a.md\n"


def test_path_that_is_not_utf8_keeps_its_bytes():
    hit = make_hit(absolute_path="/home/ada/notes/bytes:caf%E9.md")

    assert paths([hit], end=b"\n", is_terminal=False) == b"/home/ada/notes/caf\xe9.md\n"
    assert b"\xe9" not in paths([hit], end=b"\n", is_terminal=True)


def test_vimgrep_names_line_byte_column_and_text():
    hit = make_hit(content="eins\nMöwen füttern\tgut", match_spans=[{"start": 12, "end": 20}], match_lines=[41])

    assert vimgrep([hit], is_terminal=False).decode() == "/home/ada/notes/rust/note 1.md:41:8:Möwen füttern\tgut\n"


def test_target_line_follows_match_lines_of_an_expanded_hit():
    hit = make_hit(content="a owl\nb\nc owl gull", match_lines=[5, 90], line_start=5)
    spans = [{"start": 2, "end": 5}, {"start": 10, "end": 13}, {"start": 14, "end": 18}]

    assert target_line(hit | {"match_spans": spans}) == 90


def test_target_line_without_matches_is_the_first_line():
    assert target_line(make_hit(match_spans=[], match_lines=[])) == 10


def test_file_uri_escapes_bytes():
    assert file_uri("/a b/ü#%.md") == "file:///a%20b/%C3%BC%23%25.md"
    assert file_uri(os.fsdecode(b"/\xff")) == "file:///%FF"


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"fresh": False, "stale_reason": "a watcher is dead"}, "not fresh: a watcher is dead"),
        ({"fresh": False}, "not fresh: the index lags behind the files"),
        (
            {"low_confidence": True, "filter_applied": {"min_confidence_ratio": 1.2}},
            "low confidence: the best hits stand out little from the rest",
        ),
        (
            {"degraded": [{"stage": "dense", "reason": "loading"}, {"stage": "title", "reason": "loading"}]},
            "without dense, title: loading",
        ),
        ({"confidence": 0.25}, "confidence 0.25: the notes may hold no answer to this"),
        ({"mode": "fts_only"}, "found by words alone, without vectors"),
        ({"pending_vectors": 3}, "3 passages have no vector yet and are found by their words alone"),
        ({"warnings": ["two phrases left out"]}, "two phrases left out"),
        ({"results": []}, "nothing found"),
    ],
)
def test_remark_tells_what_is_unusual(fields, remark):
    assert remarks(make_answer(make_hit()) | fields) == [remark]


def test_passages_that_wait_for_vectors_are_remarked_on_once():
    waiting = {"fresh": False, "stale_reason": "77 passages wait for their vectors", "pending_vectors": 77}

    assert remarks(make_answer(make_hit()) | waiting) == ["not fresh: 77 passages wait for their vectors"]


def test_ordinary_answer_has_no_remarks():
    assert remarks(make_answer(make_hit())) == []


def test_low_confidence_is_not_remarked_on_when_nobody_asked():
    assert remarks(make_answer(make_hit()) | {"low_confidence": True}) == []
