"""The one place that configures logging: structlog, and the standard library's logging routed into it.

What always holds: records go to stderr, one line each, in ASCII with control characters escaped; records written
before `configure` are kept and come out by it; libraries are heard from `warning` on.  Where stderr is a regular file,
it is set aside at a stated size and begun anew, so it never grows without bound.
"""

import contextlib
import json
import logging
import os
import stat
import sys
import threading
import traceback
from collections import deque
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, TextIO

# Where rich is installed, structlog takes it along for tracebacks, which are written here without it; it would take a
# tenth of the time to the daemon's first answer.  None in its place makes its import fail.
_modules: dict[str, Any] = sys.modules
_rich = _modules.setdefault("rich", None)
import structlog  # noqa: E402
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger  # noqa: E402

if _rich is None:
    del _modules["rich"]

LEVELS: Mapping[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
HELD_RECORDS = 1000
# The journal's own numbers of importance, which it reads from the start of a line.
_JOURNAL_PRIORITY: Mapping[str, int] = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_CONTROL_CHARACTERS = {code: f"\\x{code:02x}" for code in (*range(32), 127) if code != ord("\n")}


def hold() -> None:
    """Keep all records from now on until `configure` says how to write them.

    At most `HELD_RECORDS` are kept; older ones are dropped, and their number is told.
    """
    _held.clear()
    structlog.configure(
        processors=[*_COMMON, _keep],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=_discard,
        cache_logger_on_first_use=False,
    )
    _route_standard_library(logging.DEBUG)


def configure(
    *,
    level: str = "info",
    form: str = "auto",
    max_file_bytes: int = 10 * 1024 * 1024,
    files_kept: int = 3,
    stream: TextIO | None = None,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Write records from now on, those that were held first.

    Args:
        level: least level that is written, a key of `LEVELS`.
        form: `console` for people, `json`, or `auto`: console on a terminal, JSON elsewhere.
        max_file_bytes: size at which the file behind the stream, if it is one, is set aside.
        files_kept: how many files that were set aside stay.
        stream: where to; stderr when None.
        environment: read for `JOURNAL_STREAM` and `NO_COLOR`.
    """
    least = LEVELS[level]
    target = sys.stderr if stream is None else stream
    sink = Sink(target, max_bytes=max_file_bytes, kept=files_kept)
    renderers = [*_renderers(form, target, environment), sink.write]
    structlog.configure(
        processors=[*_COMMON, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=_discard,
        cache_logger_on_first_use=False,
    )
    # Libraries describe each event and each job at `info`; at our `debug` their `info` is wanted.
    _route_standard_library(logging.INFO if least == logging.DEBUG else max(least, logging.WARNING))
    _replay(renderers, least)


class Sink:
    """The last processor of the chain: one line of text to a stream, under a lock.

    Args:
        stream: a text stream; a file behind it is bounded.
        max_bytes: size at which a regular file is set aside.
        kept: how many files that were set aside stay: `NAME.1` is the newest.
    """

    def __init__(self, stream: TextIO, *, max_bytes: int, kept: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._kept = kept
        self._lock = threading.Lock()
        self._descriptor = _regular_file(stream)

    def write(self, _logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
        """Write the line that the renderer made and end the chain."""
        text = f"{line}\n"
        # A full disk or a reader that went away must not stop the work that is told about.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._append(text)
        raise structlog.DropEvent

    def _append(self, text: str) -> None:
        if self._descriptor is not None and self._is_full(self._descriptor, len(text)):
            set_aside(self._descriptor, kept=self._kept)
        self._stream.write(text)
        self._stream.flush()

    def _is_full(self, descriptor: int, more: int) -> bool:
        size = os.fstat(descriptor).st_size
        return size > 0 and size + more > self._max_bytes


def set_aside(descriptor: int, *, kept: int) -> None:
    """Rename the file behind a descriptor to `NAME.1`, older ones to `.2` and on, and begin it anew.

    The descriptor stays, and so do stdout and stderr if they are the same file, so that text which does not come from
    here (a crash report of the interpreter) lands in the new file too.  A file that has no name any more, or whose
    folder cannot be written, is emptied instead.
    """
    path = _path_of(descriptor)
    try:
        if path is None:
            raise FileNotFoundError
        _shift(path, kept)
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return
    old = os.fstat(descriptor)
    for number in {descriptor, 1, 2}:
        if _is_file(number, old):
            os.dup2(fresh, number)
    os.close(fresh)


def _shift(path: Path, kept: int) -> None:
    if kept == 0:
        path.unlink()
        return
    for number in range(kept - 1, 0, -1):
        older = Path(f"{path}.{number}")
        if older.exists():
            os.replace(older, f"{path}.{number + 1}")
    os.replace(path, f"{path}.1")


def _regular_file(stream: TextIO) -> int | None:
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None
    return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _path_of(descriptor: int) -> Path | None:
    """The name of an open file; None when it has none, or another file has it now."""
    if sys.platform == "darwin":
        import fcntl

        named = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")
    else:
        named = os.readlink(os.fsencode(f"/proc/self/fd/{descriptor}"))
    path = Path(os.fsdecode(named))
    return path if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)) else None


def _is_file(descriptor: int, status: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), status)
    return False


def _renderers(form: str, stream: TextIO, environment: Mapping[str, str]) -> list[Processor]:
    is_terminal = stream.isatty()
    if form == "console" or (form == "auto" and is_terminal):
        colors = is_terminal and not environment.get("NO_COLOR")
        console = structlog.dev.ConsoleRenderer(
            colors=colors,
            # Every text in quotes: a file's name cannot break the line or steer the terminal.
            repr_native_str=True,
            exception_formatter=_format_exception,
        )
        return [console, _ascii]
    renderers: list[Processor] = [structlog.processors.format_exc_info, _json]
    return [*renderers, _journal_priority] if _is_journal(stream, environment) else renderers


def _is_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether systemd connected this stream to the journal: it names the device and inode in the environment."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _format_exception(stream: TextIO, exc_info: ExcInfo) -> None:
    # Not structlog's own choice, which prints local variables: those hold the text of notes.
    text = "".join(traceback.format_exception(*exc_info)).rstrip("\n")
    stream.write("\n" + text.translate(_CONTROL_CHARACTERS))


def _ascii(_logger: WrappedLogger, _method: str, line: Any) -> Any:
    return str(line).encode("ascii", "backslashreplace").decode("ascii")


def _json(_logger: WrappedLogger, _method: str, record: EventDict) -> Any:
    first = {key: record.pop(key) for key in ("timestamp", "level", "event") if key in record}
    return json.dumps({**first, **record}, default=repr)


def _journal_priority(_logger: WrappedLogger, method: str, line: Any) -> Any:
    return f"<{_JOURNAL_PRIORITY.get(method, 6)}>{line}"


_COMMON: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
)
_held: deque[EventDict] = deque(maxlen=HELD_RECORDS)
_dropped = 0


def _keep(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    global _dropped
    if record.get("exc_info") is True:
        # The exception is only at hand now, not when the record is written.
        record["exc_info"] = sys.exc_info()
    _dropped += len(_held) == HELD_RECORDS
    _held.append(record)
    raise structlog.DropEvent


def _replay(renderers: list[Processor], level: int) -> None:
    global _dropped
    if _dropped:
        structlog.get_logger().warning("log.dropped", records=_dropped)
        _dropped = 0
    while _held:
        record = _held.popleft()
        if LEVELS[record["level"]] >= level:
            _run(renderers, record)


def _run(processors: list[Processor], record: MutableMapping[str, Any]) -> None:
    line: Any = record
    level = record["level"]
    with contextlib.suppress(structlog.DropEvent):
        for processor in processors:
            line = processor(None, level, line)


def _discard(*_arguments: object) -> object:
    # The chain ends in the sink, so there is no logger behind it that could print.
    return None


class _ToStructlog(logging.Handler):
    """Hands the records of libraries to our chain, under one event name."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; the level was checked by the root logger."""
        log = structlog.get_logger()
        number = min(max(record.levelno // 10 * 10, 10), 50)
        log.log(number, "library.message", logger=record.name, message=record.getMessage(), exc_info=record.exc_info)


def _route_standard_library(level: int) -> None:
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, _ToStructlog):
            root.removeHandler(handler)
    root.addHandler(_ToStructlog())
    root.setLevel(level)
    logging.captureWarnings(True)
