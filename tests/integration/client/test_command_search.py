"""`groovectl search` as a whole process against a daemon on a real socket."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from support.answers import make_answer, make_hit
from support.fake_daemon import HELLO, NO_ANSWER, Exchange, Failure, FakeDaemon
from support.groovectl import PROGRAM


def test_search_prints_hits_and_nothing_else_to_standard_output(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = groovectl.run("search", "async", "rust")

    assert done.code == 0
    assert done.out.startswith("1  Async 1  0.0325\n   /home/ada/notes/rust/note 1.md:11  Tasks > Cancelling\n")
    assert done.err == ""


def test_search_sends_every_option_under_its_name_on_the_wire(groovectl, socket_path):
    words = [
        "search",
        "-n",
        "3",
        "--profile",
        "memory",
        "--collection",
        "a",
        "--collection",
        "b",
        "--category",
        "c",
        "--topic",
        "t",
        "--path-glob",
        "x,y",
        "--path-glob",
        "!z",
        "--tag-any",
        "a,b",
        "--tag-all",
        "c",
        "--date-from",
        "2026-01-01",
        "--date-to",
        "2026-02-01",
        "--modified-from",
        "2026-01-01",
        "--modified-to",
        "2026-02-01",
        "--format",
        "md,txt",
        "--min-quality",
        "0.5",
        "--include-low-quality",
        "--min-confidence-ratio",
        "2",
        "--min-score",
        "0.1",
        "--no-rerank",
        "--mmr",
        "--mmr-lambda",
        "0.3",
        "--mmr-same-doc-penalty",
        "0.2",
        "--parent",
        "--freshness",
        "none",
        "--within-ms",
        "50",
        "--explain",
        "rust",
        "-async",
    ]
    with FakeDaemon(socket_path, {"search": make_answer()}) as daemon:
        done = groovectl.run(*words)

    assert done.code == 0
    assert daemon.params_of("search") == {
        "query": "rust -async",
        "limit": 3,
        "profile": "memory",
        "collections": ["a", "b"],
        "category": "c",
        "topic": "t",
        "path_globs": ["x,y", "!z"],
        "tags_any": ["a", "b"],
        "tags_all": ["c"],
        "date_from": "2026-01-01",
        "date_to": "2026-02-01",
        "modified_from": "2026-01-01",
        "modified_to": "2026-02-01",
        "formats": ["md", "txt"],
        "min_quality": 0.5,
        "include_low_quality": True,
        "min_confidence_ratio": 2.0,
        "min_score": 0.1,
        "rerank": False,
        "mmr": True,
        "mmr_lambda": 0.3,
        "mmr_same_doc_penalty": 0.2,
        "parent_retriever": True,
        "freshness": "none",
        "within_ms": 50,
        "explain": True,
    }


def test_search_tells_its_versions_first(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer()}) as daemon:
        groovectl.run("search", "x")

    assert [method for method, _ in daemon.requests] == ["hello", "search"]
    assert daemon.params_of("hello") == {"client": "groovectl", "version": HELLO["version"], "protocol": [1, 0]}


def test_empty_result_is_no_failure(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer()}):
        done = groovectl.run("search", "x")

    assert (done.code, done.out, done.err) == (0, "", "groovectl: nothing found\n")


def test_remarks_go_to_standard_error_a_line_each(groovectl, socket_path):
    answer = make_answer(
        make_hit(),
        fresh=False,
        stale_reason="500 ms were not enough",
        low_confidence=True,
        filter_applied={"min_confidence_ratio": 1.5},
        degraded=[{"stage": "dense", "reason": "model\nloading"}],
        pending_vectors=3,
        warnings=["wörter\x1b[2J left out"],
    )
    with FakeDaemon(socket_path, {"search": answer}):
        done = groovectl.run("search", "x")

    assert done.err.splitlines() == [
        "groovectl: not fresh: 500 ms were not enough",
        "groovectl: low confidence: the best hits stand out little from the rest",
        "groovectl: without dense: model loading",
        "groovectl: 3 passages have no vector yet and are found by their words alone",
        "groovectl: w\\xf6rter\\x1b[2J left out",
    ]


def test_json_is_the_answer_as_it_came(groovectl, socket_path):
    answer = make_answer(make_hit(title="ü\x1b\x9b"), steps=[{"stage": "dense", "took_ms": 0.25}])
    with FakeDaemon(socket_path, {"search": answer}):
        done = groovectl.run("search", "x", "--json", LC_ALL="C")

    assert json.loads(done.out) == answer
    assert "ü\\u001b\\u009b" in done.out


def test_jsonl_is_one_line_for_each_hit(groovectl, socket_path):
    hits = [make_hit(1), make_hit(2)]
    with FakeDaemon(socket_path, {"search": make_answer(*hits)}):
        done = groovectl.run("search", "x", "--jsonl")

    assert [json.loads(line) for line in done.out.splitlines()] == hits


def test_stream_is_a_line_for_each_part_and_the_answer_as_the_last(groovectl, socket_path):
    def search(exchange: Exchange) -> object:
        exchange.notify("partial", msgid=exchange.msgid, stage="text", results=[make_hit(2)])
        exchange.notify("partial", msgid=exchange.msgid, stage="fusion", results=[make_hit(1)])
        return answer

    answer = make_answer(make_hit(1))
    with FakeDaemon(socket_path, {"search": search}) as daemon:
        done = groovectl.run("search", "x", "--jsonl", "--stream")

    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"stage": "text", "results": [make_hit(2)]},
        {"stage": "fusion", "results": [make_hit(1)]},
        {"stage": "answer", **answer},
    ]
    assert daemon.requests[-1] == ("search", {"query": "x", "stream": True})


@pytest.mark.parametrize("words", [(), ("--json",), ("--paths",)])
def test_stream_without_lines_of_json_is_a_mistake(groovectl, socket_path, words):
    with FakeDaemon(socket_path, {}):
        done = groovectl.run("search", "x", "--stream", *words)

    assert done.code == 2
    assert "--stream goes with --jsonl" in done.err


def test_paths_and_vimgrep_are_relative_below_the_current_folder(groovectl, socket_path, tmp_path):
    hits = [make_hit(1, absolute_path=f"{tmp_path}/a b.md"), make_hit(2, absolute_path="/elsewhere/c.md")]
    with FakeDaemon(socket_path, {"search": make_answer(*hits)}):
        paths = groovectl.run("search", "x", "--paths", cwd=tmp_path)
        grep = groovectl.run("search", "x", "--vimgrep", cwd=tmp_path)

    assert paths.out == "a b.md\n/elsewhere/c.md\n"
    assert grep.out.splitlines() == [
        "a b.md:11:5:The async runtime cancels a task.",
        "/elsewhere/c.md:11:5:The async runtime cancels a task.",
    ]


@pytest.mark.parametrize("words", [("-0",), ("--null",), ("--paths", "-0")])
def test_null_ends_each_path(groovectl, socket_path, words):
    hits = [make_hit(1), make_hit(2, absolute_path="/n/bytes:new%0Aline%FF.md")]
    with FakeDaemon(socket_path, {"search": make_answer(*hits)}):
        done = groovectl.run("search", "x", *words)

    assert os.fsencode(done.out) == b"/home/ada/notes/rust/note 1.md\0/n/new\nline\xff.md\0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("search",), "search needs QUERY..."),
        (("search", "x", "--json", "--paths"), "--json and --paths do not go together"),
        (("search", "x", "--limt=3"), "unknown option --limt; did you mean --limit?"),
        (("search", "x", "-n", "5000"), "-n: 5000 is above 1000"),
        (("serch", "x"), "unknown command 'serch'; did you mean search?"),
        (("rust",), "unknown command 'rust'; to search, write: groovectl search rust"),
        ((), "no command; `groovectl help` lists them"),
        (("--instance", "a/b", "search", "x"), "instance 'a/b': a name has 1 to 64 letters, digits, '_' or '-'"),
        (("search", "x", "--topic", b"caf\xe9"), "topic: text with a lone surrogate"),
    ],
)
def test_wrong_usage_exits_2_and_names_what_is_wrong(groovectl, socket_path, words, message):
    with FakeDaemon(socket_path, {"search": make_answer()}):
        done = groovectl.run(*words, GROOVE_INSTANCE=None)

    assert (done.code, done.out) == (2, "")
    assert done.err == f"groovectl: {message}\n"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (Failure(501, "request.invalid_params: limit must be a whole number; see the reference"), 2),
        (Failure(502, "request.bad_query: only exclusions"), 2),
        (Failure(100, "config.invalid: no collections"), 2),
        (Failure(601, "daemon.deadline: 30 s are over"), 1),
        (Failure(506, "request.incompatible: protocol 2 is spoken here; update the client"), 4),
    ],
)
def test_error_of_the_daemon_is_one_line_and_a_code(groovectl, socket_path, failure, code):
    with FakeDaemon(socket_path, {"search": failure}):
        done = groovectl.run("search", "x")

    _name, _, text = failure.text.partition(": ")
    assert (done.code, done.out, done.err) == (code, "", f"groovectl: {text}\n")


def test_no_daemon_exits_3_and_names_the_place(groovectl, socket_path):
    done = groovectl.run("--no-start", "search", "x")

    assert done.code == 3
    assert f"no daemon is running: no socket at {socket_path}" in done.err


def test_daemon_of_another_protocol_exits_4_and_names_both_versions(groovectl, socket_path):
    with FakeDaemon(socket_path, {"hello": HELLO | {"version": "9.0.0", "protocol": [9, 1]}, "search": make_answer()}):
        done = groovectl.run("search", "x")

    assert (done.code, done.out) == (4, "")
    assert "this is 0.1.0 with protocol 1.0, the daemon is 9.0.0 with protocol 9.1" in done.err
    assert "groovectl restart" in done.err


def test_daemon_of_another_release_is_used_and_remarked_on(groovectl, socket_path):
    with FakeDaemon(
        socket_path, {"hello": HELLO | {"version": "0.0.9", "protocol": [1, 7]}, "search": make_answer(make_hit())}
    ):
        done = groovectl.run("search", "x")

    assert done.code == 0
    assert done.err.startswith("groovectl: the daemon is version 0.0.9, this is 0.1.0;")


def test_daemon_that_never_answers_ends_the_command_in_its_time(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": lambda exchange: NO_ANSWER}):
        done = groovectl.run("search", "x", "--timeout", "0.3")

    assert done.code == 3
    assert "no answer" in done.err


def _hang_up(exchange: Exchange) -> object:
    exchange.hang_up()
    return NO_ANSWER


def _talk_nonsense(exchange: Exchange) -> object:
    exchange.send_bytes(b"HTTP/1.1 400 Bad Request\r\n")
    return NO_ANSWER


@pytest.mark.parametrize(
    ("answer", "message"),
    [(_hang_up, "closed the connection"), (_talk_nonsense, "does not speak the protocol")],
)
def test_broken_daemon_is_named(groovectl, socket_path, answer, message):
    with FakeDaemon(socket_path, {"search": answer}):
        done = groovectl.run("search", "x")

    assert done.code == 3
    assert message in done.err


def test_socket_option_wins_over_the_environment(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = groovectl.run("search", "--socket", socket_path, "x", GROOVE_SOCKET="/nowhere/d.sock")

    assert done.code == 0


def test_daemon_is_found_without_a_session_and_with_one(groovectl, tmp_path, socket_path):
    """The daemon was started in a login session; the second search comes from cron, which knows nothing of it."""
    folder = Path(f"/run/user/{os.getuid()}/groove")
    if not folder.parent.is_dir():
        folder = Path(f"/tmp/groove-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    instance = f"test-{os.getpid()}"
    with FakeDaemon(folder / f"{instance}.sock", {"search": make_answer(make_hit())}):
        with_session = groovectl.run(
            "--instance", instance, "search", "x", GROOVE_SOCKET=None, XDG_RUNTIME_DIR=f"/run/user/{os.getuid()}"
        )
        without = groovectl.run("--instance", instance, "search", "x", GROOVE_SOCKET=None)

    assert (with_session.code, without.code) == (0, 0)


def test_reader_that_goes_away_is_no_error(groovectl, socket_path):
    hits = [make_hit(number, content="long line " * 2000) for number in range(1, 200)]
    with FakeDaemon(socket_path, {"search": make_answer(*hits)}):
        process = subprocess.Popen(
            [PROGRAM, "search", "x", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=groovectl.environment(),
        )
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_an_error(groovectl, socket_path, redirection):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$0" search x {redirection}', PROGRAM],
            capture_output=True,
            env=groovectl.environment(),
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert b"standard output" in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "xx_NOWHERE"])
def test_no_locale_breaks_the_output(groovectl, socket_path, locale):
    hit = make_hit(title="Möwen füttern 日本", absolute_path="/n/bytes:%FF.md", content="async Möwe")
    with FakeDaemon(socket_path, {"search": make_answer(hit)}):
        done = groovectl.run("search", "Möwe", LC_ALL=locale, LANG=None)

    assert (done.code, done.err) == (0, "")
    assert "füttern" in done.out


def test_ascii_output_spells_what_it_cannot_show(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit(title="Möwen"))}):
        done = groovectl.run("search", "x", PYTHONIOENCODING="ascii")

    assert "M\\xf6wen" in done.out


def test_open_goes_to_the_line_of_the_hit(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit(1), make_hit(2, match_lines=[40]))}):
        groovectl.run("search", "x")
    editor = groovectl.home / "vim"
    editor.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    editor.chmod(0o755)
    done = groovectl.run("open", "2", VISUAL=str(editor))

    assert (done.code, done.out) == (0, "+40\n/home/ada/notes/rust/note 2.md\n")


@pytest.mark.parametrize(
    ("words", "editor", "message"),
    [
        (("open", "3"), "vim", "open: no hit '3': the last search found 1"),
        (("open", "x"), "vim", "open: no hit 'x': the last search found 1"),
        (("open", "1"), "/no/such/editor", "open: cannot run '/no/such/editor': No such file or directory"),
        (("open", "1"), "'vim", 'open: $VISUAL or $EDITOR is "\'vim": No closing quotation'),
    ],
)
def test_open_says_what_is_wrong(groovectl, socket_path, words, editor, message):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit(1))}):
        groovectl.run("search", "x")
    done = groovectl.run(*words, EDITOR=editor)

    assert done.code == 2
    assert done.err.startswith(f"groovectl: {message}")


def test_search_leaves_only_places_behind_and_for_its_user_alone(groovectl, socket_path):
    with FakeDaemon(socket_path, {"search": make_answer(make_hit(content="my secret text"))}):
        groovectl.run("search", "secret")
    files = [path for path in groovectl.home.rglob("*") if path.is_file()]

    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600]
    assert b"secret" not in files[0].read_bytes()


def test_search_works_where_nothing_can_be_remembered(groovectl, socket_path):
    (groovectl.home / ".local").write_text("in the way")
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = groovectl.run("search", "x")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1  Async 1")


def test_hot_path_loads_no_module_that_is_slow_to_load(groovectl, socket_path):
    slow = {
        "argparse",
        "json",
        "typing",
        "dataclasses",
        "socket",
        "pathlib",
        "subprocess",
        "shutil",
        "locale",
        "asyncio",
    }
    report = "import sys, groove_client.cli as c; c.main(sys.argv[1:]); print(*sorted(sys.modules), file=sys.stderr)"
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = subprocess.run(
            [str(Path(PROGRAM).with_name("python")), "-c", report, "search", "x"],
            capture_output=True,
            text=True,
            env=groovectl.environment(),
            timeout=60,
            check=True,
        )

    assert not slow & set(done.stderr.split())
    assert "re" not in done.stderr.split()
