"""A real `systemd --user` of its own for a test, in private namespaces, on a machine whose first process is another.

Needs root, a cgroup v2 mount, and systemd on the disk; `why_no_manager()` says what is missing.  Run as a program it is
the first process inside the namespaces: it mounts a private /run and cgroup tree, starts the manager, says `ready`, and
ends with it.
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groove_daemon.service.base import Completed

MANAGER = "/lib/systemd/systemd"
JOURNAL = "/lib/systemd/systemd-journald"
_TOOLS = ("unshare", "nsenter", "setpriv", "mount", "systemctl", "systemd-analyze")
_START_WITHIN_S = 20.0


def why_no_manager() -> str:
    """Return what is missing to start a private manager; empty when nothing is."""
    if sys.platform != "linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, to make namespaces and a cgroup"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    missing += [path for path in (MANAGER, JOURNAL) if not Path(path).exists()]
    if missing:
        return f"needs {', '.join(missing)}"
    return "" if _cgroup_root() else "needs a cgroup v2 mount"


@dataclass(frozen=True)
class UserManager:
    """A running manager: `run` runs a command beside it, as its user."""

    process: "subprocess.Popen[str]"
    inside: int
    user: str
    home: Path

    @property
    def runtime(self) -> Path:
        return Path(f"/run/user/{pwd.getpwnam(self.user).pw_uid}")

    def run(self, arguments: Sequence[str]) -> Completed:
        """Run a command inside the namespaces and return how it ended."""
        enter = ["nsenter", f"--target={self.inside}", "--mount", "--pid", "--cgroup", "--wd=/"]
        environment = _environment(self.user, self.home)
        done = subprocess.run(
            [*enter, *_as_user(self.user), *arguments], env=environment, capture_output=True, text=True, timeout=120
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def journal(self, identifier: str) -> str:
        """Return all that was written under a name."""
        return self.run(["journalctl", "--no-pager", "-q", "-o", "cat", "-t", identifier]).output


@contextlib.contextmanager
def user_manager(home: Path, *, user: str = "root") -> Iterator[UserManager]:
    """Start a manager for a user with a home of its own; ended, with all its services, on leaving."""
    group = _cgroup_root() / f"groove-test-{os.getpid()}-{time.monotonic_ns()}"
    group.mkdir()
    entry = pwd.getpwnam(user)
    for path in (group, *(group / name for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"))):
        os.chown(path, entry.pw_uid, entry.pw_gid)
    # The shell enters the cgroup, and all that comes after it is born there.
    script = f'echo $$ > {group}/cgroup.procs; exec "$@"'
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--mount-proc"]
    command = ["sh", "-c", script, "sh", *namespaces, sys.executable, __file__, user, str(home)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "ready\n", f"the manager did not start: {line!r}"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield UserManager(process, int(children[0]), user, home)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)
        assert process.stdout is not None
        process.stdout.close()
        _remove_group(group)


def _cgroup_root() -> Path | None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _device, place, kind, *_options = line.split()
        if kind == "cgroup2" and os.access(place, os.W_OK):
            return Path(place)
    return None


def _remove_group(group: Path) -> None:
    deadline = time.monotonic() + 5
    while group.exists():
        for folder, _folders, _files in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        assert time.monotonic() < deadline, f"{group} is still in use"
        time.sleep(0.02)


def _environment(user: str, home: Path) -> dict[str, str]:
    runtime = f"/run/user/{pwd.getpwnam(user).pw_uid}"
    return {
        "HOME": str(home),
        "USER": user,
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "XDG_RUNTIME_DIR": runtime,
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
        "LC_ALL": "C.UTF-8",
    }


def _as_user(user: str) -> list[str]:
    if user == "root":
        return []
    entry = pwd.getpwnam(user)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--inh-caps=-all"]


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _prepare(user: str) -> Path:
    """Give the namespaces a /run, a log folder and a cgroup tree of their own."""
    entry = pwd.getpwnam(user)
    _mount("-t", "tmpfs", "tmpfs", "/run")
    runtime = Path(f"/run/user/{entry.pw_uid}")
    # The manager looks for the first folder to believe that the machine runs systemd; the second is where it builds the
    # file system of a sandboxed service.
    for folder in ("/run/systemd/system", "/run/systemd/unit-root", "/run/systemd/propagate", "/run/systemd/journal"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    runtime.mkdir(parents=True)
    runtime.chmod(0o700)
    os.chown(runtime, entry.pw_uid, entry.pw_gid)
    _mount("-t", "tmpfs", "tmpfs", "/var/log")
    Path("/run/systemd/journal/flushed").touch()
    Path("/var/log/journal").mkdir()
    subprocess.run(["umount", "-R", "/sys/fs/cgroup"], check=True)
    _mount("-t", "cgroup2", "none", "/sys/fs/cgroup")
    return runtime


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while not path.is_socket():
        if time.monotonic() > deadline:
            raise SystemExit(f"{path} did not appear")
        time.sleep(0.01)


def _inside(user: str, home: str) -> None:
    runtime = _prepare(user)
    journal = subprocess.Popen([JOURNAL], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _wait_for(Path("/run/systemd/journal/stdout"))
    environment = _environment(user, Path(home))
    command = [*_as_user(user), MANAGER, "--user", "--log-target=journal"]
    manager = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _wait_for(runtime / "systemd" / "private")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    subprocess.run([*_as_user(user), "systemctl", "--user", "exit"], env=environment, check=False)
    try:
        manager.wait(timeout=20)
    except subprocess.TimeoutExpired:
        manager.kill()
    journal.terminate()
    journal.wait()


if __name__ == "__main__":
    _inside(sys.argv[1], sys.argv[2])
