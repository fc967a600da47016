"""Who owns the socket, and that nobody else gets near it."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from groove_daemon.errors import ConfigError
from groove_daemon.rpc.listener import AlreadyRunning, listen, passed_socket
from groove_wire.paths import fit_socket_path
from support.rpc import DEADLINE_S, RawClient, running_server

DAEMON = Path(__file__).parents[3] / "daemon"
CLIENT = Path(__file__).parents[3] / "client"


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def run_child(source, *arguments, **options):
    """A Python process with our packages; its source waits on standard input when it wants to live."""
    env = {"PYTHONPATH": f"{DAEMON}:{CLIENT}", "PATH": os.environ["PATH"]}
    return subprocess.Popen(
        [sys.executable, "-c", source, *arguments],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


LISTEN = """
import sys
from groove_daemon.rpc.listener import AlreadyRunning, listen
try:
    listener = listen(sys.argv[1])
except AlreadyRunning as error:
    print("refused", error.pid, flush=True)
    sys.exit(error.exit_code)
print("listening", flush=True)
sys.stdin.read()
listener.release()
"""


def test_socket_and_folder_are_closed_to_others_whatever_the_umask(folder):
    before = os.umask(0)
    try:
        listener = listen(str(folder / "groove" / "default.sock"), environ={})
    finally:
        os.umask(before)

    assert mode(folder / "groove") == 0o700
    assert mode(folder / "groove" / "default.sock") == 0o600
    assert mode(folder / "groove" / "default.sock.lock") == 0o600
    listener.release()


def test_umask_is_what_it_was_afterwards(folder):
    before = os.umask(0o022)
    listener = listen(str(folder / "a.sock"), environ={})
    after = os.umask(before)

    assert after == 0o022
    listener.release()


def test_folder_of_ours_that_was_left_open_is_closed(folder):
    (folder / "groove").mkdir()
    (folder / "groove").chmod(0o755)
    listener = listen(str(folder / "groove" / "a.sock"), environ={})

    assert mode(folder / "groove") == 0o700
    listener.release()


def test_foreign_folder_that_is_open_to_others_is_refused(folder):
    (folder / "shared").mkdir()
    (folder / "shared").chmod(0o777)

    with pytest.raises(ConfigError, match="is open to other users"):
        listen(str(folder / "shared" / "a.sock"), environ={})


def test_folder_that_is_a_link_is_refused(folder):
    (folder / "real").mkdir(mode=0o700)
    (folder / "groove").symlink_to(folder / "real")

    with pytest.raises(ConfigError, match="is not a folder"):
        listen(str(folder / "groove" / "a.sock"), environ={})


def test_socket_left_by_a_crash_is_replaced_without_being_asked(folder):
    path = str(folder / "a.sock")
    child = run_child(LISTEN, path)
    assert child.stdout.readline() == "listening\n"
    child.send_signal(signal.SIGKILL)
    child.wait(DEADLINE_S)
    assert os.path.exists(path)

    with running_server(path) as running, running.connect() as client:
        assert client.call("ping")[0] is None
    child.stdin.close()
    child.stdout.close()


def test_second_server_is_told_the_pid_of_the_first(folder):
    path = str(folder / "a.sock")
    with running_server(path) as running:
        with pytest.raises(AlreadyRunning) as caught:
            listen(path, environ={})

        assert caught.value.pid == os.getpid()
        assert caught.value.exit_code == 5
        with running.connect() as client:
            assert client.call("ping")[0] is None


def test_one_of_several_starts_at_the_same_moment_wins(folder):
    path = str(folder / "a.sock")
    children = [run_child(LISTEN, path) for _ in range(4)]
    lines = [child.stdout.readline().split() for child in children]
    for child in children:
        child.stdin.close()
        child.wait(DEADLINE_S)
        child.stdout.close()

    assert sorted(line[0] for line in lines) == ["listening", "refused", "refused", "refused"]
    assert sorted(child.returncode for child in children) == [0, 5, 5, 5]


def test_running_server_is_noticed_even_when_its_lock_file_was_removed(folder):
    path = str(folder / "a.sock")
    with running_server(path) as running:
        os.unlink(f"{path}.lock")
        with pytest.raises(AlreadyRunning) as caught:
            listen(path, environ={})

        assert caught.value.pid == os.getpid()
        with running.connect() as client:
            assert client.call("ping")[0] is None


def test_file_that_is_no_socket_is_left_alone(folder):
    (folder / "a.sock").write_text("mine")
    with pytest.raises(ConfigError, match="is no socket"):
        listen(str(folder / "a.sock"), environ={})

    assert (folder / "a.sock").read_text() == "mine"


def test_close_removes_the_socket_and_frees_the_lock(folder):
    path = str(folder / "a.sock")
    listen(path, environ={}).release()

    assert not os.path.exists(path)
    listen(path, environ={}).release()


def test_close_leaves_a_socket_that_is_no_longer_its_own(folder):
    path = str(folder / "a.sock")
    listener = listen(path, environ={})
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        listener.release()

        assert os.path.exists(path)


def test_long_path_is_served_at_the_short_one(folder):
    long = f"/home/{'x' * 150}/{folder.name}.sock"
    short = fit_socket_path(long)
    try:
        with running_server(short), RawClient(fit_socket_path(long)) as client:
            assert client.call("ping")[0] is None
    finally:
        os.unlink(f"{short}.lock")


def test_path_of_the_longest_length_binds(folder):
    path = f"{folder}/".ljust(107, "x")
    with running_server(path), RawClient(path) as client:
        assert client.call("ping")[0] is None


INHERIT = """
import os, sys
os.environ["LISTEN_PID"] = sys.argv[2] or str(os.getpid())
os.environ["LISTEN_FDS"] = "1"
from groove_daemon.rpc.listener import listen
listener = listen(sys.argv[1])
print(listener.is_inherited, listener.path, "LISTEN_FDS" in os.environ, flush=True)
sys.stdin.read()
listener.release()
print("closed", flush=True)
"""


def inherit(sock, path, *, pid=""):
    """A child that finds `sock` as its descriptor 3, as a service manager would pass it."""

    def place():
        os.dup2(sock.fileno(), 3)
        os.set_inheritable(3, True)

    return run_child(INHERIT, path, pid, preexec_fn=place, pass_fds=(3,))


@pytest.fixture
def descriptor_three():
    """Descriptor 3 must be open here for the child to keep it."""
    try:
        os.fstat(3)
        opened = None
    except OSError:
        opened = os.open(os.devnull, os.O_RDONLY)
    yield
    if opened is not None:
        os.close(opened)


def test_passed_socket_is_used_and_never_removed(folder, descriptor_three):
    path = str(folder / "a.sock")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        sock.listen()
        child = inherit(sock, path)
        assert child.stdout.readline() == f"True {path} False\n"
        with pytest.raises(AlreadyRunning):
            listen(path, environ={})
        output, _ = child.communicate("", timeout=DEADLINE_S)

        assert output == "closed\n"
        assert os.path.exists(path)


def test_socket_passed_to_another_process_is_not_taken(folder, descriptor_three):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(folder / "b.sock"))
        sock.listen()
        child = inherit(sock, str(folder / "a.sock"), pid="1")

        assert child.stdout.readline() == f"False {folder / 'a.sock'} False\n"
        child.communicate("", timeout=DEADLINE_S)


@pytest.mark.parametrize("count", ["", "0", "x"])
def test_no_socket_was_passed(count):
    assert passed_socket({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count}) is None


def test_several_passed_sockets_are_refused():
    with pytest.raises(ConfigError, match="2 sockets were passed"):
        passed_socket({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "2"})
