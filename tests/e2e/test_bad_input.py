"""What users and machines get wrong: one clear line for each fault, the right exit code, and a daemon that lives."""

import os
import shutil
import socket
import sqlite3
import struct
import subprocess
from pathlib import Path

import msgpack
import pytest

from groove_wire.paths import fit_socket_path
from support import namespaces
from support.daemon import GROOVECTL, DaemonProcess
from support.library import wait_until

HERON = "# Heron\n\nThe grey heron stands in the reeds and waits for fish.\n"


@pytest.fixture
def heron(daemon: DaemonProcess) -> DaemonProcess:
    """A running daemon with one note."""
    daemon.write("heron.md", HERON)
    daemon.start()
    daemon.wait_fresh(vectors=True)
    return daemon


def assert_refused(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    """It ended with this code, and its messages have these words and no traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


# -- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no command"),
        (["serch", "x"], "did you mean search?"),
        (["search"], "search needs QUERY"),
        (["search", "x", "--limit"], "--limit needs a value"),
        (["search", "x", "--limit", "many"], "'many' is no whole number"),
        (["search", "x", "--limit", "-3"], "-3 is below 0"),
        (["search", "x", "--limt", "3"], "did you mean --limit?"),
        (["search", "x", "--freshness", "maybe"], "none of sync, none"),
        (["status", "extra"], "unexpected 'extra'"),
        (["status", "--instance", "../x"], "instance '../x'"),
        (["wait-fresh", "--timeout", "nan"], "nan is no number"),
    ],
)
def test_groovectl_refuses_wrong_words_with_one_line(daemon: DaemonProcess, words: list[str], said: str) -> None:
    done = daemon.ctl(*words)

    assert_refused(done, 2, said)
    assert len(done.stderr.splitlines()) == 1
    assert not daemon.answers()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "COMMAND"),
        (["bogus"], "invalid choice: 'bogus'"),
        (["run", "--bogus"], "--bogus"),
        (["run", "--set", "x"], "--set x: must be KEY=VALUE"),
        (["run", "--set", "serach.limit=3"], "did you mean search.limit?"),
        (["run", "--set", "search.limit=many"], 'must be a whole number, is "many"'),
        (["run", "--instance", "a/b"], "instance 'a/b'"),
        (["run", "--config", "/no/such.toml"], "/no/such.toml: cannot be read: no such file"),
        (["check-config", "--config", "/no/such.toml"], "/no/such.toml: cannot be read: no such file"),
    ],
)
def test_grooved_refuses_wrong_words(daemon: DaemonProcess, words: list[str], said: str) -> None:
    assert_refused(daemon.grooved(*words), 2, said)


@pytest.mark.parametrize(
    ("query", "said"),
    [("x" * 70_000, "query"), ("-only -exclusions", "")],
)
def test_a_query_that_cannot_be_searched_is_refused_or_answered_and_the_daemon_lives(
    shared: DaemonProcess, query: str, said: str
) -> None:
    done = shared.ctl("search", "--", query)

    assert done.returncode in (0, 2)
    assert said in done.stderr
    assert shared.found("heron") == ["heron.md"]


@pytest.mark.parametrize(
    "query", ['"', '" OR 1', "NEAR(a b)", "a*", "content:heron", "h" * 2000, "\x01\x02", "(((", "\u0301", "AND", "'"]
)
def test_any_text_is_a_query(shared: DaemonProcess, query: str) -> None:
    done = shared.ctl("search", "--", query)

    assert done.returncode == 0, done.stderr


# -- the configuration -----------------------------------------------------------------------------------------------


def test_all_mistakes_of_a_configuration_are_told_at_once_with_line_and_nearest_key(daemon: DaemonProcess) -> None:
    daemon.configure(
        '[serach]\nlimit = 3\n[search]\nlimt = 4\nlimit = "many"\nmin_quality = 7\n[models]\nembedder = "MiniLM"\n'
        '[[collections]]\nname = "n"\n[[collections]]\npath = "/tmp"\nfoo = 1\n'
    )

    for done in (daemon.grooved("run"), daemon.grooved("check-config"), daemon.ctl("status")):
        lines = done.stderr.splitlines()
        assert_refused(done, 2, "toml:1: serach: there is no such key; did you mean search?")
        assert_refused(done, 2, "toml:4: search.limt", "toml:5: search.limit", "toml:6: search.min_quality")
        assert_refused(done, 2, "toml:9: collections[0].path: is missing", "toml:13: collections[1].foo")
        assert len(lines) == 6


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x = [1,\n", "is not TOML"),
        (b'[search]\nprofile = "caf\xe9"\n', "toml:2: is not UTF-8 (byte 0xe9)"),
        ('[search]\nprofile = "notes"\n'.encode("utf-16"), "is not UTF-8"),
        (b'[models]\nembedder = "MiniLM"\n', "known: all-MiniLM-L6-v2"),
        (b'[models]\nembedder = "/no/such/model"\n', "there is no folder '/no/such/model'"),
        (b'[index]\nformats = ["pdf"]\n', "index.formats"),
        (b'[search]\nprofile = "memry"\n', "memory"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_named(daemon: DaemonProcess, content: bytes, said: str) -> None:
    daemon.config_file.write_bytes(content)

    assert_refused(daemon.grooved("run"), 2, str(daemon.config_file), said)
    assert_refused(daemon.grooved("check-config"), 2, said)
    assert_refused(daemon.ctl("search", "heron"), 2, said)


def test_a_configuration_that_is_a_folder_is_named(daemon: DaemonProcess) -> None:
    daemon.config_file.unlink()
    daemon.config_file.mkdir()

    assert_refused(daemon.grooved("run"), 2, str(daemon.config_file), "is a directory")


def test_a_wrong_variable_is_named(daemon: DaemonProcess) -> None:
    done = daemon.grooved("check-config", GROOVE_SEARCH_LIMIT="x")

    assert_refused(done, 2, "GROOVE_SEARCH_LIMIT", "must be a whole number")


# -- one daemon, one socket ------------------------------------------------------------------------------------------


def test_a_second_daemon_leaves_with_5_and_names_the_first(shared: DaemonProcess) -> None:
    assert shared.process is not None

    assert_refused(shared.grooved("run"), 5, "already running", str(shared.process.pid))
    assert shared.found("heron") == ["heron.md"]


def test_a_second_daemon_on_another_socket_leaves_because_the_index_is_in_use(shared: DaemonProcess) -> None:
    assert shared.process is not None

    done = shared.grooved("run", "--socket", str(shared.runtime / "other.sock"))

    assert_refused(done, 1, "is in use by process", str(shared.process.pid))


def test_the_socket_of_a_crashed_daemon_is_no_obstacle(heron: DaemonProcess) -> None:
    heron.kill9()
    assert Path(heron.socket).is_socket()
    refused = heron.ctl("--no-start", "status")

    started = heron.ctl("search", "heron")

    assert_refused(refused, 3, "no daemon is running")
    assert "heron.md" in started.stdout


def test_a_socket_path_that_is_too_long_is_replaced_the_same_way_on_both_sides(daemon: DaemonProcess) -> None:
    long = str(daemon.folder / ("x" * 120) / "s.sock")
    daemon.write("heron.md", HERON)

    found = daemon.ctl("--socket", long, "search", "heron")
    stopped = daemon.ctl("--socket", long, "stop")
    Path(f"{fit_socket_path(long)}.lock").unlink(missing_ok=True)

    assert found.returncode == 0, found.stderr
    assert stopped.stdout == "stopped\n"


def test_a_file_in_the_place_of_the_socket_is_named(daemon: DaemonProcess) -> None:
    plain = daemon.runtime / "plain"
    plain.write_text("x")

    for done in (daemon.grooved("run", "--socket", str(plain)), daemon.ctl("--socket", str(plain), "status")):
        assert_refused(done, 2, str(plain), "is no socket")
    assert plain.read_text() == "x"


def test_a_folder_open_to_others_is_no_place_for_the_socket(daemon: DaemonProcess) -> None:
    shared = daemon.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)

    assert_refused(daemon.grooved("run", "--socket", str(shared / "s.sock")), 2, str(shared), "open to other users")


def test_files_and_socket_are_closed_to_others_whatever_the_umask(daemon: DaemonProcess) -> None:
    daemon.wrap = ["sh", "-c", 'umask 000; exec "$0" "$@"']
    daemon.start()
    made = [Path(daemon.socket), daemon.index_file, daemon.index_file.parent, Path(daemon.socket).parent]

    assert [oct(path.stat().st_mode & 0o077) for path in made] == ["0o0"] * len(made)


def test_another_user_is_refused_even_where_the_socket_is_open(heron: DaemonProcess) -> None:
    wrap = namespaces.as_nobody()
    for folder in (heron.folder, heron.runtime, Path(heron.socket).parent):
        folder.chmod(0o755)
    Path(heron.socket).chmod(0o777)
    program = f"import socket; s = socket.socket(1); s.connect({heron.socket!r}); s.settimeout(10); print(s.recv(100))"

    refused = heron.ctl("status", wrap=wrap)
    answer = subprocess.run([*wrap, "/usr/bin/python3", "-c", program], capture_output=True, text=True, check=False)

    assert_refused(refused, 3, "belongs to a process of user")
    assert answer.stdout.strip() in ("b''", "") or "Forbidden" in answer.stdout or "forbidden" in answer.stdout
    wait_until(lambda: heron.log_lines("rpc.foreign_user_refused"), what="it is logged")
    assert heron.found("heron") == ["heron.md"]


# -- the environment -------------------------------------------------------------------------------------------------


def test_everything_works_with_a_bare_environment(daemon: DaemonProcess) -> None:
    daemon.write("h\u00e9ron.md", HERON)
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(daemon.home), "GROOVE_SOCKET": daemon.socket}

    done = subprocess.run(
        [GROOVECTL, "search", "grey", "heron"], env=bare, capture_output=True, check=False, timeout=60, cwd="/"
    )
    again = subprocess.run([GROOVECTL, "wait-fresh"], env=bare, capture_output=True, check=False, timeout=60, cwd="/")
    found = subprocess.run(
        [GROOVECTL, "search", "grey", "heron"], env=bare, capture_output=True, check=False, timeout=60, cwd="/"
    )

    assert (done.returncode, again.returncode, found.returncode) == (0, 0, 0), done.stderr + again.stderr
    assert "h\u00e9ron.md".encode() in found.stdout


def test_names_and_queries_survive_the_plain_c_locale(daemon: DaemonProcess) -> None:
    daemon.write(
        "h\u00e9ron cendr\u00e9.md", "# H\u00e9ron\n\nLe h\u00e9ron cendr\u00e9 attend au bord de l'eau, immobile.\n"
    )
    daemon.start(LC_ALL="C", LANG=None)
    daemon.wait_fresh()

    done = daemon.ctl("search", "h\u00e9ron cendr\u00e9", LC_ALL="C", LANG=None)

    assert done.returncode == 0, done.stderr
    assert "notes/h\u00e9ron cendr\u00e9.md:3" in done.stdout


def test_daemon_and_command_meet_without_a_runtime_folder_in_one_of_them(daemon: DaemonProcess) -> None:
    """The daemon listens in its own place of last resort, and a command with a session's variables still finds it."""
    env = {"XDG_RUNTIME_DIR": None, "GROOVE_SOCKET": None}
    daemon.write("heron.md", HERON)
    instance = f"e2e-{os.getpid()}"

    started = daemon.ctl("--instance", instance, "start", **env)
    found = daemon.ctl("--instance", instance, "--no-start", "status", GROOVE_SOCKET=None)
    stopped = daemon.ctl("--instance", instance, "stop", **env)
    Path(f"/tmp/groove-{os.getuid()}/{instance}.sock.lock").unlink(missing_ok=True)

    assert started.returncode == 0, started.stderr
    assert found.returncode == 0, found.stderr
    assert stopped.stdout == "stopped\n"


def test_the_users_home_is_found_without_the_variable(daemon: DaemonProcess) -> None:
    done = daemon.grooved("check-config", "--config", str(daemon.config_file), HOME=None)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", ["grooved", "groovectl"])
def test_a_home_that_cannot_be_written_is_named(daemon: DaemonProcess, program: str) -> None:
    home = {"HOME": "/proc/nowhere"}

    if program == "grooved":
        assert_refused(daemon.grooved("run", **home), 1, "/proc/nowhere", "cannot be made")
    else:
        assert_refused(daemon.ctl("search", "heron", **home), 3, "/proc/nowhere", "cannot be written")


# -- the index -------------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_index_is_named_and_left_alone(daemon: DaemonProcess) -> None:
    daemon.index_file.parent.mkdir(parents=True)
    daemon.index_file.write_bytes(b"garbage" * 1000)

    assert_refused(daemon.grooved("run"), 1, str(daemon.index_file), "is not an index", "move it away")
    assert_refused(daemon.ctl("search", "heron"), 3, str(daemon.index_file), "is not an index")
    assert daemon.index_file.read_bytes() == b"garbage" * 1000


def test_an_index_of_a_newer_version_is_named_and_left_alone(heron: DaemonProcess) -> None:
    heron.terminate()
    with sqlite3.connect(heron.index_file) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {version + 1}")
    database.close()
    before = heron.index_file.read_bytes()

    done = heron.grooved("run")

    assert_refused(done, 1, f"schema {version + 1}", f"schema {version}", "update the program")
    assert heron.index_file.read_bytes() == before


def test_an_index_that_was_cut_off_is_named(heron: DaemonProcess) -> None:
    heron.terminate()
    os.truncate(heron.index_file, 5000)

    assert_refused(heron.grooved("run"), 1, str(heron.index_file), "malformed")


def test_an_index_on_a_read_only_file_system_is_named(daemon: DaemonProcess) -> None:
    daemon.index_file.parent.mkdir(parents=True)
    wrap = namespaces.read_only(daemon.index_file.parent)

    assert_refused(daemon.grooved("run", wrap=wrap), 1, str(daemon.index_file.parent), "read-only file system")
    assert_refused(daemon.ctl("search", "heron", wrap=wrap), 3, "read-only file system")


def test_a_full_disk_stops_indexing_and_nothing_else_and_is_recovered_from(daemon: DaemonProcess) -> None:
    daemon.index_file.parent.mkdir(parents=True)
    daemon.wrap = namespaces.small(daemon.index_file.parent, "4m")
    for number in range(600):
        lines = "\n\n".join(f"Line {line} of note {number} tells of mill {number * line}." for line in range(25))
        daemon.write(f"n{number}.md", f"# Note {number}\n\n{lines}\n")
    daemon.start()
    assert daemon.process is not None

    wait_until(lambda: "disk full" in daemon.ctl("status", wrap=()).stdout, within=30, what="status says it is full")
    with daemon.client() as client:
        stored = client.status().index.documents
        answer = client.search("mill")
    grown = namespaces.inside(daemon.process.pid, "mount", "-o", "remount,size=64m", str(daemon.index_file.parent))
    assert grown.returncode == 0, grown.stderr
    daemon.wait_fresh(vectors=True, within=60)

    assert 0 < stored < 600
    assert answer.results
    assert not answer.fresh
    with daemon.client() as client:
        status = client.status()
    assert status.index.documents == 600
    assert status.problems == ()


# -- the folder of notes ---------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_reported_and_watched_when_it_comes(daemon: DaemonProcess) -> None:
    shutil.rmtree(daemon.notes)
    daemon.start()
    wait_until(lambda: daemon.ctl_json("status")["state"] == "ready", what="it has begun")

    shown = daemon.ctl("status")
    searched = daemon.ctl("search", "heron")
    daemon.write("heron.md", HERON)
    wait_until(lambda: daemon.found("heron") == ["heron.md"], what="the note is found")

    assert f"the folder {daemon.notes} is missing" in shown.stdout
    assert not shown.stdout.startswith("up to date")
    assert f"the folder {daemon.notes} is missing" in searched.stderr
    daemon.wait_fresh()


def test_a_folder_that_vanishes_keeps_its_notes_until_it_is_back(heron: DaemonProcess) -> None:
    """The search in between is part of it: what it misses is no proof that a note was deleted."""
    heron.notes.rename(heron.folder / "away")
    while_missing = heron.ctl("search", "heron")
    heron.notes.mkdir()
    while_empty = heron.ctl("search", "heron")
    shown = heron.ctl("status")
    heron.notes.rmdir()
    (heron.folder / "away").rename(heron.notes)
    heron.wait_fresh(vectors=True)

    assert "is missing" in while_missing.stderr
    assert "suddenly empty" in while_empty.stderr
    assert "suddenly empty" in shown.stdout
    assert heron.found("heron") == ["heron.md"]
    assert heron.ctl_json("status")["counters"]["index.embedded"] <= 2


def test_a_file_in_the_place_of_the_folder_is_named(heron: DaemonProcess) -> None:
    heron.notes.rename(heron.folder / "away")
    heron.notes.write_text("x")

    assert f"{heron.notes} is not a folder" in heron.ctl("search", "heron").stderr
    heron.terminate()
    assert_refused(heron.grooved("run"), 2, str(heron.notes), "is a file, not a folder")


def test_what_cannot_be_read_is_counted_by_name_and_taken_in_when_it_can(daemon: DaemonProcess) -> None:
    wrap = namespaces.as_nobody()
    daemon.write("locked/owl.md", "# Owl\n\nThe owl sleeps in the barn by day and hunts mice by night.\n")
    daemon.write("heron.md", HERON)
    for path in (daemon.folder, *daemon.folder.rglob("*")):
        os.chown(path, namespaces.NOBODY, namespaces.NOBODY)
    (daemon.notes / "locked").chmod(0o000)
    daemon.wrap = wrap
    daemon.log_file.touch()
    daemon.spawn()
    wait_until(lambda: daemon.log_lines("daemon.serving"), what="it serves its own user")

    wait_until(lambda: "'locked' cannot be read" in daemon.ctl("status").stdout, what="status names it")
    assert "notes/heron.md" in daemon.ctl("search", "heron").stdout
    (daemon.notes / "locked").chmod(0o755)

    wait_until(lambda: "notes/locked/owl.md" in daemon.ctl("search", "owl").stdout, what="the owl is found")


# -- the socket ------------------------------------------------------------------------------------------------------


def framed(message: object) -> bytes:
    """A message with its length in front."""
    packed = msgpack.packb(message)
    return struct.pack(">I", len(packed)) + packed


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        struct.pack(">I", 4) + b"\xc1\xc1\xc1\xc1",
        struct.pack(">I", 3) + b"\x93\x00\x01",
        struct.pack(">I", 1) + b"\x01",
        struct.pack(">I", 200) + b"cut off",
    ],
)
def test_a_broken_frame_ends_its_own_connection_at_most(shared: DaemonProcess, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(shared.socket)
        channel.sendall(sent)
        channel.shutdown(socket.SHUT_WR)
        channel.settimeout(10)
        while channel.recv(65536):
            pass

    assert shared.found("heron") == ["heron.md"]
    assert shared.ctl_json("status")["pid"] > 0


@pytest.mark.parametrize("params", [[], [{"limit": "many"}], [{"query": 5}], [{"query": "x", "foo": 1}], "x", [[]]])
def test_wrong_params_are_answered_with_an_error_that_names_the_field(shared: DaemonProcess, params: object) -> None:
    frame = framed([0, 7, "search", params])
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(shared.socket)
        channel.settimeout(10)
        channel.sendall(frame)
        answer = channel.recv(65536)

    assert b"request." in answer or b"frame" in answer, answer
    assert shared.found("heron") == ["heron.md"]


def test_clients_that_leave_at_once_leave_nothing_behind(shared: DaemonProcess) -> None:
    assert shared.process is not None
    descriptors = Path(f"/proc/{shared.process.pid}/fd")
    frame = framed([0, 1, "search", [{"query": "heron"}]])
    shared.found("heron")
    before = len(list(descriptors.iterdir()))
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(shared.socket)
            channel.sendall(frame)

    wait_until(lambda: len(list(descriptors.iterdir())) <= before + 2, what="the descriptors are given back")
    assert shared.found("heron") == ["heron.md"]
