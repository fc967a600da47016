"""Log lines: one a record, in ASCII, from the first moment on, within a stated size, without the text of notes."""

import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
import structlog

from groove_daemon import logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.captureWarnings(False)
    root.setLevel(level)
    root.handlers = handlers


def configured(stream: TextIO | None = None, **options: Any) -> TextIO:
    target = io.StringIO() if stream is None else stream
    logs.configure(stream=target, environment=options.pop("environment", {}), **options)
    return target


def lines(stream: TextIO) -> list[dict[str, Any]]:
    assert isinstance(stream, io.StringIO)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_record_is_one_line_of_json_where_nobody_looks() -> None:
    stream = configured()
    structlog.get_logger().info("ingest.done", path="a.md", chunks=3)
    (line,) = lines(stream)

    assert list(line) == ["timestamp", "level", "event", "path", "chunks"]
    assert (line["level"], line["event"], line["path"], line["chunks"]) == ("info", "ingest.done", "a.md", 3)
    assert line["timestamp"].endswith("Z")


def test_record_is_for_people_on_a_terminal() -> None:
    stream = configured(Terminal(), environment={"NO_COLOR": "1"})
    structlog.get_logger().info("ingest.done", path="a b.md")

    assert isinstance(stream, Terminal)
    assert " [info     ] ingest.done " in stream.getvalue()
    assert stream.getvalue().endswith("path='a b.md'\n")


def test_terminal_has_colours_unless_they_are_unwanted() -> None:
    stream = configured(Terminal())
    structlog.get_logger().info("ingest.done")

    assert isinstance(stream, Terminal)
    assert "\x1b[" in stream.getvalue()


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize("value", ["naïve", "\x1b[2J", "a\nb", "\udc80", "日本", "\r\x00\x7f"])
def test_line_is_ascii_and_cannot_steer_a_terminal(form: str, value: str) -> None:
    stream = configured(form=form)
    structlog.get_logger().info("file.seen", path=value, paths=[value], more={value: value})

    assert isinstance(stream, io.StringIO)
    assert stream.getvalue().isascii()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue()[:-1].isprintable()


def test_records_below_the_level_are_not_written() -> None:
    stream = configured(level="warning")
    log = structlog.get_logger()
    log.info("request.done")
    log.warning("watch.deaf")

    assert [line["event"] for line in lines(stream)] == ["watch.deaf"]


def test_context_is_in_every_record() -> None:
    stream = configured()
    structlog.contextvars.bind_contextvars(request_id=7)
    structlog.get_logger().info("request.done")

    assert lines(stream)[0]["request_id"] == 7


def test_records_from_before_come_out_with_their_own_time() -> None:
    logs.hold()
    log = structlog.get_logger()
    log.info("start.begun", pid=1)
    log.debug("start.detail")
    stream = configured()
    log.info("start.done")
    begun, done = lines(stream)

    assert (begun["event"], begun["pid"], done["event"]) == ("start.begun", 1, "start.done")
    assert begun["timestamp"] < done["timestamp"]


def test_held_records_are_bounded_and_the_loss_is_told() -> None:
    logs.hold()
    for number in range(logs.HELD_RECORDS + 3):
        structlog.get_logger().info("start.step", number=number)
    first, second, *_rest = lines(configured())

    assert (first["event"], first["records"]) == ("log.dropped", 3)
    assert second["number"] == 3


def test_exception_before_the_configuration_keeps_its_traceback() -> None:
    logs.hold()
    try:
        raise KeyError("gone")
    except KeyError:
        structlog.get_logger().exception("start.failed")
    (line,) = lines(configured())

    assert "KeyError: 'gone'" in line["exception"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_traceback_has_no_local_variables(form: str) -> None:
    """They hold the text of notes and queries."""
    stream = configured(form=form)

    def fail(text_of_a_note: str) -> None:
        raise ValueError("bad")

    note = "dear diary"
    try:
        fail(note)
    except ValueError:
        structlog.get_logger().exception("ingest.failed")

    assert isinstance(stream, io.StringIO)
    assert "ValueError: bad" in stream.getvalue()
    assert "dear diary" not in stream.getvalue()


def test_libraries_are_heard_through_the_same_chain() -> None:
    stream = configured()
    logging.getLogger("apscheduler.executors").info("Running job")
    logging.getLogger("apscheduler.executors").warning("Run time was missed by %s", "5 s")
    (line,) = lines(stream)

    assert (line["event"], line["logger"], line["level"]) == ("library.message", "apscheduler.executors", "warning")
    assert line["message"] == "Run time was missed by 5 s"


def test_libraries_say_more_at_debug_but_not_all() -> None:
    stream = configured(level="debug")
    logging.getLogger("watchdog").debug("each event")
    logging.getLogger("asyncio").info("slow")

    assert [line["logger"] for line in lines(stream)] == ["asyncio"]


def test_configuring_again_does_not_double_the_lines() -> None:
    configured()
    stream = configured()
    logging.getLogger("x").error("once")

    assert len(lines(stream)) == 1


def test_reader_that_went_away_does_not_stop_the_work() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        configured(stream)
        structlog.get_logger().info("request.done")
        # What could not be written is still in the buffer, and closing would try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)


def test_journal_gets_the_level_in_front(tmp_path: Path) -> None:
    with (tmp_path / "journal").open("w") as stream:
        status = os.fstat(stream.fileno())
        configured(stream, environment={"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        structlog.get_logger().info("a")
        structlog.get_logger().error("b")

    assert [line[:4] for line in (tmp_path / "journal").read_text().splitlines()] == ["<6>{", "<3>{"]


def _write(path: Path, records: int, **options: int) -> None:
    with path.open("a") as stream:
        configured(stream, **options)
        for number in range(records):
            structlog.get_logger().info("x", number=number)


def test_file_never_grows_past_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "groove.log"
    _write(path, 2000, max_file_bytes=10_000, files_kept=2)
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    last = json.loads(path.read_text().splitlines()[-1])

    assert set(sizes) == {"groove.log", "groove.log.1", "groove.log.2"}
    assert max(sizes.values()) <= 10_000
    assert last["number"] == 1999


def test_files_set_aside_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "groove.log"
    _write(path, 200, max_file_bytes=5000, files_kept=9)
    files = [path, *(Path(f"{path}.{number}") for number in range(1, 10))]
    text = "".join(file.read_text() for file in reversed(files) if file.exists())

    assert [json.loads(line)["number"] for line in text.splitlines()] == list(range(200))


def test_file_is_begun_anew_when_none_is_kept(tmp_path: Path) -> None:
    _write(tmp_path / "groove.log", 2000, max_file_bytes=10_000, files_kept=0)

    assert [file.name for file in tmp_path.iterdir()] == ["groove.log"]
    assert (tmp_path / "groove.log").stat().st_size <= 10_000


def test_file_without_a_name_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "groove.log"
    with path.open("a") as stream:
        path.unlink()
        configured(stream, max_file_bytes=5000, files_kept=2)
        for number in range(500):
            structlog.get_logger().info("x", number=number)
        size = os.fstat(stream.fileno()).st_size

    assert size <= 5000
    assert list(tmp_path.iterdir()) == []


PROGRAM = """
import os, sys, structlog
from groove_daemon import logs
logs.configure(max_file_bytes=5000, files_kept=1)
for number in range(200):
    structlog.get_logger().info("x", number=number)
sys.stdout.write("result\\n"); sys.stdout.flush()
os.write(2, b"crash report\\n")
"""


def test_text_from_elsewhere_follows_into_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "groove.log"
    with path.open("w") as stream:
        subprocess.run([sys.executable, "-c", PROGRAM], stdout=stream, stderr=stream, check=True, timeout=60)

    assert path.read_text().splitlines()[-2:] == ["result", "crash report"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(f"{path}.1").exists()
