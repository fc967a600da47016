"""The other commands as whole processes: what they ask the daemon, and what they print."""

import json

import pytest

from support.answers import make_status
from support.fake_daemon import NO_ANSWER, Exchange, Failure, FakeDaemon

DOCUMENT = {"document": {"path": "a.md"}, "content": "one\ntwo", "line_start": 1, "line_end": 2, "generation": 7}
CHUNK = {"chunk": {"id": 4, "content": "a chunk\n"}, "document": {"path": "a.md"}, "generation": 7}


def test_status_for_people_and_as_json(groovectl, socket_path):
    with FakeDaemon(socket_path, {"status": make_status()}):
        people = groovectl.run("status")
        machine = groovectl.run("status", "--json")

    assert people.out.startswith("up to date\n\ncollection")
    assert json.loads(machine.out) == make_status()
    assert (people.code, people.err) == (0, "")


def test_failures_are_listed_with_how_many_there_are(groovectl, socket_path):
    rows = [{"collection": "n", "path": "a.md", "reason": "not UTF-8", "attempts": 3}]
    with FakeDaemon(socket_path, {"failures": {"failures": rows, "total": 9}}) as daemon:
        some = groovectl.run("failures", "--collection", "n", "--limit", "1", "--offset", "2")
        daemon.answers["failures"] = {"failures": [], "total": 0}
        none = groovectl.run("failures")

    assert daemon.requests[1] == ("failures", {"collections": ["n"], "limit": 1, "offset": 2})
    assert "not UTF-8" in some.out
    assert some.err == "groovectl: 1 of 9; --limit and --offset show others\n"
    assert (none.code, none.out, none.err) == (0, "", "groovectl: no file failed\n")


@pytest.mark.parametrize(
    ("operand", "params"),
    [
        ("a.md", {"path": "a.md"}),
        ("a.md:12", {"path": "a.md", "line_start": 12, "line_end": 12}),
        ("a.md:12-20", {"path": "a.md", "line_start": 12, "line_end": 20}),
        ("/n/a:b.md", {"path": "/n/a:b.md"}),
    ],
)
def test_get_asks_for_a_document_or_its_lines(groovectl, socket_path, operand, params):
    with FakeDaemon(socket_path, {"get_document": DOCUMENT}) as daemon:
        done = groovectl.run("get", operand)

    assert daemon.params_of("get_document") == params
    assert (done.code, done.out) == (0, "one\ntwo\n")


def test_get_sends_a_file_that_is_here_as_an_absolute_path(groovectl, socket_path, tmp_path):
    (tmp_path / "here:7").touch()
    with FakeDaemon(socket_path, {"get_document": DOCUMENT}) as daemon:
        groovectl.run("get", "here:7", cwd=tmp_path)
        here = daemon.params_of("get_document")
        groovectl.run("get", "--collection", "n", "here:7", cwd=tmp_path)

    assert here == {"path": f"{tmp_path}/here:7"}
    assert daemon.params_of("get_document") == {"path": "here:7", "collection": "n"}


def test_get_of_an_id_prints_the_chunk(groovectl, socket_path):
    with FakeDaemon(socket_path, {"get_chunk": CHUNK}) as daemon:
        done = groovectl.run("get", "4")

    assert daemon.params_of("get_chunk") == {"id": 4}
    assert done.out == "a chunk\n"


def test_get_of_lines_that_are_no_range_is_wrong_usage(groovectl, socket_path):
    done = groovectl.run("--no-start", "get", "a.md:20-12")

    assert (done.code, done.err) == (2, "groovectl: get: 20-12 is no range of lines\n")


def test_document_that_is_not_indexed_is_a_failed_request(groovectl, socket_path):
    with FakeDaemon(socket_path, {"get_document": Failure(300, "document.not_indexed: a.md is not in the index")}):
        done = groovectl.run("get", "a.md")

    assert (done.code, done.err) == (1, "groovectl: a.md is not in the index\n")


def test_lists_send_their_filters(groovectl, socket_path):
    answers = {"list_documents": {"documents": [], "total": 0}, "list_topics": {"topics": [], "total": 0}}
    with FakeDaemon(socket_path, {**answers, "collections": {"collections": []}}) as daemon:
        groovectl.run("documents", "--format", "md", "--date-from", "2026", "-n", "3")
        groovectl.run("topics", "--tag-all", "a,b", "--offset", "5")
        collections = groovectl.run("collections")

    assert daemon.params_of("list_documents") == {"formats": ["md"], "date_from": "2026", "limit": 3}
    assert daemon.params_of("list_topics") == {"tags_all": ["a", "b"], "offset": 5}
    assert collections.out == "no collections; `groovectl add FOLDER` watches one\n"


def test_reindex_sends_absolute_paths_and_prints_lines_of_progress(groovectl, socket_path, tmp_path):
    def reindex(exchange: Exchange) -> dict[str, object]:
        exchange.notify("progress", phase="indexing", done=1, total=4, msgid=exchange.msgid)
        counts = {"indexed": 3, "unchanged": 1, "removed": 0, "skipped": 0, "failed": 0, "pending_vectors": 2}
        return {"is_done": True, "took_ms": 2000.0, **counts}

    with FakeDaemon(socket_path, {"reindex": reindex}) as daemon:
        done = groovectl.run("reindex", "--force", "sub", "/x/../y", cwd=tmp_path)

    assert daemon.params_of("reindex") == {"force": True, "paths": [f"{tmp_path}/sub", "/y"]}
    assert done.err == "groovectl: indexing 1/4\n"
    assert done.out == (
        "3 indexed, 1 unchanged, 0 removed, 0 skipped, 0 failed in 2 s\n2 passages without a vector yet\n"
    )


def test_reindex_with_failed_files_exits_1(groovectl, socket_path):
    with FakeDaemon(socket_path, {"reindex": {"is_done": True, "failed": 2, "took_ms": 1.0}}):
        done = groovectl.run("reindex")

    assert done.code == 1
    assert done.out.endswith("`groovectl failures` tells why files failed\n")


def test_second_reindex_is_told_who_is_first(groovectl, socket_path):
    with FakeDaemon(socket_path, {"reindex": Failure(600, "daemon.busy: a reindex of notes is running")}):
        done = groovectl.run("reindex")

    assert (done.code, done.err) == (1, "groovectl: a reindex of notes is running\n")


@pytest.mark.parametrize(
    ("answer", "code", "out"),
    [
        ({"fresh": True, "took_ms": 12.0}, 0, "fresh after 12 ms\n"),
        (
            {"fresh": False, "took_ms": 100.0, "reason": "a folder is not watched"},
            1,
            "not fresh: a folder is not watched\n",
        ),
    ],
)
def test_wait_fresh_tells_whether(groovectl, socket_path, answer, code, out):
    with FakeDaemon(socket_path, {"wait_fresh": answer}) as daemon:
        done = groovectl.run("wait-fresh", "--timeout", "2.5", "--vectors")

    assert daemon.params_of("wait_fresh") == {"deadline_ms": 2500, "vectors": True}
    assert (done.code, done.out) == (code, out)


def test_add_and_remove_name_the_collection(groovectl, socket_path, tmp_path):
    answers = {
        "add_collection": {"name": "notes", "root": f"{tmp_path}/My Notes"},
        "remove_collection": {"name": "notes", "documents_removed": 1},
    }
    with FakeDaemon(socket_path, answers) as daemon:
        added = groovectl.run(
            "add", "My Notes", "--name", "notes", "--source", "global", "--ignore", "*.tmp", cwd=tmp_path
        )
        removed = groovectl.run("remove", "notes")

    assert daemon.params_of("add_collection") == {
        "path": f"{tmp_path}/My Notes",
        "name": "notes",
        "source": "global",
        "ignore": ["*.tmp"],
    }
    assert added.out == f"notes watches {tmp_path}/My Notes\n"
    assert removed.out == "notes removed, 1 document forgotten; no file was touched\n"


def test_what_changes_something_is_not_sent_to_another_protocol(groovectl, socket_path):
    incompatible = Failure(506, "request.incompatible: protocol 2.0")
    with FakeDaemon(socket_path, {"hello": incompatible, "remove_collection": {}}) as daemon:
        done = groovectl.run("remove", "notes")

    assert done.code == 4
    assert [method for method, _ in daemon.requests] == ["hello"]


def test_config_shows_origins_and_reload_what_changed(groovectl, socket_path):
    values = [{"key": "search.limit", "value": 5, "origin": "default"}]
    with FakeDaemon(
        socket_path, {"config": {"values": values, "changed": ["search.limit"], "needs_restart": []}}
    ) as daemon:
        shown = groovectl.run("config")
        bare = groovectl.run("config", "--no-origin")
        reloaded = groovectl.run("reload")

    assert "search.limit  5  # default\n" in shown.out
    assert "default" not in bare.out
    assert daemon.params_of("config") == {"reload": True}
    assert reloaded.out == "changed: search.limit\n"


def test_help_is_printed_for_every_way_of_asking(groovectl):
    ways = [("help", "status"), ("status", "--help"), ("status", "-h"), ("--help", "status")]
    runs = [groovectl.run(*words) for words in ways]

    assert {run.out for run in runs} == {runs[0].out}
    assert runs[0].out.startswith("groovectl status - ")
    assert {run.code for run in runs} == {0}


def test_status_of_a_daemon_that_hangs_ends_in_its_time(groovectl, socket_path):
    with FakeDaemon(socket_path, {"hello": lambda exchange: NO_ANSWER}):
        done = groovectl.run("status", "--timeout", "0.2")

    assert done.code == 3
