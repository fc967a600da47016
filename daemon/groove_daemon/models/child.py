"""The parent's side of a child process that answers one request at a time over its pipes.

The child ends with the parent, however that ends: it reads its standard input and leaves at the end of it.  Its
standard error goes to the log.  Knows the frames, not what is in them.
"""

import collections
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import structlog

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.frames import read_frame, write_frame

log = structlog.get_logger()

_KEPT_LINES = 20
_PATIENCE_S = 2.0
# No request ever leaves the machine, and nothing draws progress bars into the log.
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TQDM_DISABLE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONWARNINGS": "ignore",
}


class ChildGone(ModelUnavailable):
    """The child ended instead of answering.

    Args:
        returncode: exit status, negative for a signal.
        last_words: the last line of its standard error.
    """

    def __init__(self, message: str, *, returncode: int, last_words: str) -> None:
        super().__init__(message, returncode=returncode, last_words=last_words)
        self.returncode = returncode
        self.last_words = last_words

    @property
    def raised(self) -> bool:
        """Whether an exception of its own ended it, rather than a signal from outside."""
        return self.returncode == 1


def torch_child_argv() -> Sequence[str]:
    """The command of the child that may import torch.  `-P` keeps the working directory out of its imports."""
    return (sys.executable, "-P", "-m", "groove_daemon.models.torch_child")


class _Deadline:
    """Kills the process when the time is over."""

    def __init__(self, process: "subprocess.Popen[bytes]", timeout_s: float) -> None:
        self._process = process
        self._timer = threading.Timer(timeout_s, self._expire)
        self._timer.daemon = True
        self.passed = False
        self._timer.start()

    def cancel(self) -> None:
        """The answer came."""
        self._timer.cancel()

    def _expire(self) -> None:
        self.passed = True
        self._process.kill()


@dataclass(slots=True)
class _Running:
    process: "subprocess.Popen[bytes]"
    stdin: IO[bytes]
    stdout: IO[bytes]
    words: "collections.deque[str]" = field(default_factory=lambda: collections.deque(maxlen=_KEPT_LINES))
    listener: threading.Thread | None = None


class ChildProcess:
    """Starts the child with the first request, and again when it was gone.

    Args:
        argv: the command; it answers frames on standard output with the frames on standard input.
        name: what the child is for, in the log.
        threads: CPU threads that its libraries may take.
    """

    def __init__(self, argv: Sequence[str], *, name: str, threads: int) -> None:
        self._argv = argv
        self._name = name
        self._threads = threads
        self._running: _Running | None = None
        self._turn = threading.Lock()  # whoever holds it may talk to the child, start it and bury it

    @property
    def process_id(self) -> int | None:
        """The child's process id while it runs."""
        running = self._running
        return running.process.pid if running and running.process.poll() is None else None

    def request(self, header: Mapping[str, object], *, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send one request and wait for its answer, while other threads wait for their turn.

        Raises:
            ChildGone: the child ended, was stopped, or did not answer within `timeout_s` and was ended for it.
        """
        with self._turn:
            running = self._started()
            overdue = _Deadline(running.process, timeout_s)
            try:
                write_frame(running.stdin, header)
                return read_frame(running.stdout)
            except (OSError, EOFError, ValueError) as error:
                raise self._gone(running, timed_out=overdue.passed) from error
            finally:
                overdue.cancel()

    def stop(self) -> None:
        """End the child, also in the middle of a request; the next request starts another one."""
        running = self._running
        if running is None:
            return
        if self._turn.locked():
            running.process.kill()
        with self._turn:
            if self._running is running:
                self._running = None
                _end(running)

    def _started(self) -> _Running:
        if self._running is not None and self._running.process.poll() is not None:
            _end(self._running)
            self._running = None
        if self._running is None:
            self._running = self._start()
        return self._running

    def _start(self) -> _Running:
        environment = os.environ | _ENVIRONMENT | {"OMP_NUM_THREADS": str(self._threads)}
        try:
            process = subprocess.Popen(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                bufsize=0,
                cwd="/",
                start_new_session=True,  # Ctrl-C in a terminal reaches the daemon, and the daemon ends the child
            )
        except OSError as error:
            raise ModelUnavailable(f"the process for {self._name} cannot be started ({error.strerror})") from error
        running = _Running(process, _piped(process.stdin), _piped(process.stdout))
        listen = (_piped(process.stderr), self._name, running.words)
        running.listener = threading.Thread(target=_listen, args=listen, name=f"{self._name}-stderr", daemon=True)
        running.listener.start()
        log.debug("models.child_started", child=self._name, pid=process.pid)
        return running

    def _gone(self, running: _Running, *, timed_out: bool) -> ChildGone:
        self._running = None
        # A child that raised needs a moment to say why; closing its input now would end it before that.
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(_PATIENCE_S)
        returncode = _end(running)
        last_words = _reason(list(running.words))
        how = "took too long and was ended" if timed_out else f"ended with status {returncode}"
        detail = f" ({last_words})" if last_words else ""
        log.warning("models.child_gone", child=self._name, status=returncode, timed_out=timed_out, reason=last_words)
        return ChildGone(f"the process for {self._name} {how}{detail}", returncode=returncode, last_words=last_words)


def _piped(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("a pipe was asked for")
    return stream


def _reason(lines: list[str]) -> str:
    """The line that names an exception, after the indented lines of a traceback; else the last line; else nothing."""
    start = len(lines)
    while start and not lines[start - 1].startswith(" "):
        start -= 1
    if 0 < start < len(lines):
        return lines[start]
    return lines[-1] if lines else ""


def _end(running: _Running) -> int:
    try:
        running.stdin.close()
    except OSError:
        log.debug("models.child_pipe_broken", pid=running.process.pid)
    try:
        running.process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        running.process.kill()
    returncode = running.process.wait()
    _close(running)
    return returncode


def _close(running: _Running) -> None:
    if running.listener is not None:
        running.listener.join(_PATIENCE_S)
    running.stdout.close()


def _listen(stream: IO[bytes], name: str, words: "collections.deque[str]") -> None:
    with stream:
        for line in stream:
            text = line.decode(errors="replace").rstrip()
            if text:
                words.append(text)
                log.info("models.child_said", child=name, line=text)
