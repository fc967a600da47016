"""The listening socket and the right to have it.

What always holds: the kernel's lock on `<socket>.lock` decides who the one daemon is, and dies with its holder; only
the holder removes a socket, and at the end only its own; folder and socket are closed to other users whatever the
umask.  Knows nothing about what is spoken.
"""

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass

import structlog

from groove_daemon.errors import Busy, ConfigError
from groove_daemon.rpc.peer import peer_pid
from groove_wire.paths import why_not_private

log = structlog.get_logger()

BACKLOG = 128
_FIRST_PASSED_FD = 3


class AlreadyRunning(Busy):
    """Another daemon serves this socket; `pid` is its process, None when it cannot be told."""

    exit_code = 5

    def __init__(self, path: str, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"a daemon is already running at {path} ({who})", hint="`groovectl status` shows it", pid=pid)
        self.pid = pid


@dataclass(slots=True)
class Listener:
    """A socket that listens, and the lock that goes with it.

    `identity` is device and inode of the socket's file, None for a socket that was passed in, which is not ours to
    remove.
    """

    sock: socket.socket
    path: str
    lock_fd: int
    identity: tuple[int, int] | None

    @property
    def is_inherited(self) -> bool:
        """Whether the service manager made the socket."""
        return self.identity is None

    def stop_listening(self) -> None:
        """Close the socket and remove its file if it is still ours; the lock stays, so no successor comes too early."""
        self.sock.close()
        if self.lock_fd >= 0 and self.identity is not None and _identity(self.path) == self.identity:
            os.unlink(self.path)

    def release(self) -> None:
        """Stop listening and let go of the lock; doing so twice is fine."""
        self.stop_listening()
        if self.lock_fd >= 0:
            os.close(self.lock_fd)
            # Without the lock nothing at the path is ours, not even a file that got the same inode.
            self.lock_fd = -1


def listen(path: str, *, environ: MutableMapping[str, str] | None = None) -> Listener:
    """Become the daemon of `path`: take the lock, then bind, or take the socket that the service manager passed.

    `environ` is where LISTEN_FDS is read, and removed so that no child takes it for its own.

    Raises:
        AlreadyRunning: another daemon has it.
        ConfigError: the folder is not private, or something that is no socket is in the way.
    """
    passed = passed_socket(os.environ if environ is None else environ)
    if passed is not None:
        return _listen_inherited(passed, path)
    make_private_folder(os.path.dirname(path))
    lock_fd = _lock(path)
    try:
        _clear_away(path)
        sock, identity = _bind(path)
    except BaseException:
        os.close(lock_fd)
        raise
    return Listener(sock, path, lock_fd, identity)


def _listen_inherited(sock: socket.socket, path: str) -> Listener:
    name = sock.getsockname()
    place = name if isinstance(name, str) and name.startswith("/") else path
    if place != path:
        log.warning("rpc.passed_socket_elsewhere", passed=place, expected=path)
    try:
        make_private_folder(os.path.dirname(place))
        lock_fd = _lock(place)
    except BaseException:
        sock.close()
        raise
    return Listener(sock, place, lock_fd, None)


def passed_socket(environ: MutableMapping[str, str]) -> socket.socket | None:
    """The listening socket that the service manager passed to this very process, or None.

    Raises:
        ConfigError: what was passed is no listening Unix stream socket, or is more than one.
    """
    pid, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or not count.isdigit() or int(count) == 0:
        return None
    if int(count) > 1:
        raise ConfigError(f"{count} sockets were passed, one is expected", hint="leave one ListenStream= in the unit")
    try:
        sock = socket.socket(fileno=_FIRST_PASSED_FD)
        listens = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise ConfigError(f"the passed descriptor {_FIRST_PASSED_FD} is no socket: {error.strerror}") from error
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_STREAM or not listens:
        raise ConfigError("the passed socket is no listening Unix stream socket", hint="use ListenStream= with a path")
    sock.set_inheritable(False)
    return sock


def make_private_folder(folder: str) -> None:
    """Make the socket's folder, or check that the one there is the user's own and closed to others.

    Raises:
        ConfigError: it is a link, somebody else's, or open to other users.
    """
    with _umask(0o077):
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if os.path.basename(folder) in ("groove", f"groove-{os.getuid()}") and not os.path.islink(folder):
                # The folder is ours by name; an older umask may have left it open.
                _tighten(folder)
            problem = why_not_private(folder)
        except OSError as error:
            raise ConfigError(f"the socket's folder {folder!a} cannot be made: {error.strerror}") from error
    if problem is not None:
        hint = "remove it, make it private with chmod 700, or set GROOVE_SOCKET to a path in a private folder"
        raise ConfigError(f"the socket's folder {folder!a} {problem}", hint=hint)


def _tighten(folder: str) -> None:
    status = os.lstat(folder)
    if status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077:
        os.chmod(folder, 0o700)


def _lock(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(f"{path}.lock", flags, 0o600)
    except OSError as error:
        raise ConfigError(f"the lock {path + '.lock'!a} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        text = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise AlreadyRunning(path, int(text) if text.isdigit() else None) from error
    # For messages only: the lock is what counts, and it outlives no process.
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def _clear_away(path: str) -> None:
    """Remove a socket that nobody listens to; the caller holds the lock."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigError(f"{path!a} is in the way and is no socket", hint="move it, or set GROOVE_SOCKET")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # Somebody may have removed the lock file of a daemon that still runs.
        probe.setblocking(False)
        refusal = probe.connect_ex(path)
        if refusal in (0, errno.EAGAIN, errno.EINPROGRESS):
            raise AlreadyRunning(path, peer_pid(probe) if refusal == 0 else None)
        if refusal not in (errno.ECONNREFUSED, errno.ENOENT):
            raise ConfigError(f"{path!a} is in the way: {os.strerror(refusal)}", hint="move it, or set GROOVE_SOCKET")
    log.info("rpc.stale_socket_removed", path=path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _bind(path: str) -> tuple[socket.socket, tuple[int, int]]:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _umask(0o177):
            sock.bind(path)
        identity = _identity(path)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(f"cannot listen at {path!a}: {error.strerror or error}") from error
    assert identity is not None
    return sock, identity


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
