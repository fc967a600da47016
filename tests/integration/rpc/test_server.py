"""Real sockets: what clients do to a server, on purpose or not."""

import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from groove_daemon.rpc.methods import HANDLERS
from groove_daemon.rpc.methods.base import Handler, Lane
from groove_daemon.rpc.server import ServerLimits
from groove_wire.codes import ErrorCode
from groove_wire.framing import encode_request
from groove_wire.messages import PingResponse
from support.rpc import (
    DEADLINE_S,
    RawClient,
    StandInDaemon,
    make_hit,
    make_result,
    running_server,
    wait_until,
)


class Gate:
    """A search that waits for the test."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.cancelled = threading.Semaphore(0)

    def __call__(self, _call, is_cancelled):
        self.begun.release()
        while not self.open.wait(0.002):
            if is_cancelled():
                self.cancelled.release()
                break
        return make_result(make_hit())


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_request_is_answered_when_it_comes_byte_by_byte(folder):
    with running_server(folder / "a.sock") as running, running.connect() as client:
        for byte in encode_request(1, "search", {"query": "ouzel"}):
            client.send(bytes([byte]))

        assert client.receive()[:3] == (1, 1, None)


def test_two_requests_in_one_write_get_two_answers(folder):
    with running_server(folder / "a.sock") as running, running.connect() as client:
        client.send(encode_request(1, "ping", {"payload": "a"}) + encode_request(2, "ping", {"payload": "b"}))

        assert client.receive() == (1, 1, None, {"payload": "a"})
        assert client.receive() == (1, 2, None, {"payload": "b"})


def test_answer_of_several_megabytes_arrives_whole(folder):
    text = "ouzel " * 700_000
    daemon = StandInDaemon(answer=lambda call, cancelled: make_result(make_hit(content=text)))
    with running_server(folder / "a.sock", daemon) as running, running.connect() as client:
        error, result = client.call("search", {"query": "a"})

        assert error is None
        assert result["results"][0]["content"] == text


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"\xff\xff\xff\xff", id="length prefix"),
        pytest.param(b"\xdb\xff\xff\xff\xff", id="text as frame"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="array as frame"),
        pytest.param(b"\x94\x00\x01\xa6search\x91\x81\xa5query\xdb\xff\xff\xff\xff", id="text in a request"),
        pytest.param(b"\x94\x00\x01\xa6search\x91\xdf\xff\xff\xff\xff", id="map in a request"),
    ],
)
def test_announcement_of_four_gigabytes_is_refused_at_the_header(folder, start):
    with running_server(folder / "a.sock") as running, running.connect() as other, running.connect() as client:
        client.send(start)
        kind, method, params = client.receive()

        assert (kind, method) == (2, "error")
        assert params[0]["code"] in (ErrorCode.REQUEST_TOO_LARGE, ErrorCode.REQUEST_BAD_FRAME)
        assert client.is_closed()
        assert other.call("search", {"query": "a"})[0] is None


def test_hundred_megabytes_of_zeros_cost_no_memory(folder):
    with running_server(folder / "a.sock") as running, running.connect() as other, running.connect() as client:
        zeros = bytes(100 * 1024 * 1024)
        before = resident_bytes()
        with pytest.raises(ConnectionError):
            client.send(zeros)

        assert resident_bytes() - before < 20 * 1024 * 1024
        assert client.receive()[:2] == (2, "error")
        assert other.call("search", {"query": "a"})[0] is None


def test_request_under_the_frame_limit_is_held_and_one_over_it_is_not(folder):
    limits = ServerLimits(frame_bytes=1000)
    with running_server(folder / "a.sock", limits=limits) as running:
        with running.connect() as client:
            assert client.call("ping", {"payload": "x" * 900})[0] is None
        with running.connect() as client:
            client.request(1, "ping", {"payload": "x" * 1000})

            kind, _, params = client.receive()
            assert (kind, params[0]["code"]) == (2, ErrorCode.REQUEST_TOO_LARGE)
            assert client.is_closed()


def test_answers_before_a_broken_frame_still_arrive(folder):
    with running_server(folder / "a.sock") as running, running.connect() as client:
        client.send(encode_request(1, "ping", {"payload": 1}) + b"\xc1")

        assert client.receive() == (1, 1, None, {"payload": 1})
        assert client.receive()[:2] == (2, "error")
        assert client.is_closed()


def test_half_sent_frame_holds_nothing_but_its_connection(folder):
    with running_server(folder / "a.sock") as running, running.connect() as half, running.connect() as whole:
        half.send(encode_request(1, "search", {"query": "a"})[:-1])

        assert whole.call("search", {"query": "a"})[0] is None
        half.send(encode_request(1, "search", {"query": "a"})[-1:])
        assert half.receive()[:3] == (1, 1, None)


def test_hundred_clients_that_leave_early_leave_nothing_behind(folder):
    gate = Gate()
    gate.open.set()
    serving = running_server(folder / "a.sock", StandInDaemon(answer=gate), readers=1)
    with serving as running, capture_logs() as logs:
        descriptors = open_descriptors()
        with running.connect() as client:
            client.call("search", {"query": "warm"})
        wait_until(lambda: running.server.connections == 0)
        threads = threading.active_count()
        for number in range(100):
            with running.connect() as client:
                client.request(number, "search", {"query": "a"})
        # The loop closes a socket a moment after it has told of the end of its connection.
        wait_until(lambda: running.server.connections == 0 and open_descriptors() <= descriptors)

        assert threading.active_count() == threads
        assert len([line for line in logs if line["log_level"] != "debug"]) <= 102
        assert not [line for line in logs if line["log_level"] in ("warning", "error")]
        with running.connect() as client:
            assert client.call("search", {"query": "a"})[0] is None


def test_status_answers_while_searches_hang(folder):
    gate = Gate()
    serving = running_server(folder / "a.sock", StandInDaemon(answer=gate), readers=2)
    with serving as running, running.connect() as slow, running.connect() as quick:
        for msgid in range(20):
            slow.request(msgid, "search", {"query": "a"})
        assert gate.begun.acquire(timeout=DEADLINE_S)

        assert quick.call("status")[0] is None
        gate.open.set()
        assert {slow.receive()[1] for _ in range(20)} == set(range(20))


def test_cancel_answers_at_once_and_stops_the_work(folder):
    gate = Gate()
    with running_server(folder / "a.sock", StandInDaemon(answer=gate)) as running, running.connect() as client:
        client.request(8, "search", {"query": "a"})
        assert gate.begun.acquire(timeout=DEADLINE_S)
        client.cancel(8)

        assert client.receive() == (1, 8, (504, "request.cancelled: the request was cancelled"), None)
        assert gate.cancelled.acquire(timeout=DEADLINE_S)


def test_closing_a_connection_cancels_all_that_it_had_in_flight(folder):
    gate = Gate()
    with running_server(folder / "a.sock", StandInDaemon(answer=gate)) as running:
        with running.connect() as client:
            for msgid in range(4):
                client.request(msgid, "search", {"query": "a"})
            for _ in range(4):
                assert gate.begun.acquire(timeout=DEADLINE_S)

        for _ in range(4):
            assert gate.cancelled.acquire(timeout=DEADLINE_S)


def test_request_over_the_limit_in_flight_is_told_so(folder):
    gate, limits = Gate(), ServerLimits(in_flight=3)
    serving = running_server(folder / "a.sock", StandInDaemon(answer=gate), limits=limits)
    with serving as running, running.connect() as client:
        for msgid in range(4):
            client.request(msgid, "search", {"query": "a"})
        _, msgid, error, _ = client.receive()

        assert (msgid, error[0]) == (3, ErrorCode.DAEMON_BUSY)
        gate.open.set()
        assert {client.receive()[1] for _ in range(3)} == {0, 1, 2}


def test_connection_over_the_limit_is_told_so_and_closed(folder):
    with running_server(folder / "a.sock", limits=ServerLimits(connections=2)) as running:
        with running.connect() as first, running.connect() as second:
            assert first.call("ping")[0] is None
            assert second.call("ping")[0] is None
            with running.connect() as third:
                kind, method, params = third.receive()
                assert (kind, method, params[0]["code"]) == (2, "error", ErrorCode.DAEMON_BUSY)
                assert third.is_closed()
        wait_until(lambda: running.server.connections == 0)
        with running.connect() as client:
            assert client.call("ping")[0] is None


def test_client_that_stops_reading_is_dropped(folder):
    daemon = StandInDaemon(answer=lambda call, cancelled: make_result(make_hit(content="x" * 1_000_000)))
    limits = ServerLimits(outgoing_bytes=4_000_000)
    serving = running_server(folder / "a.sock", daemon, limits=limits)
    with serving as running, running.connect() as deaf, running.connect() as other, capture_logs() as logs:
        assert deaf.call("ping")[0] is None
        assert other.call("ping")[0] is None
        for msgid in range(20):
            deaf.request(msgid, "search", {"query": "a"})
        wait_until(lambda: running.server.connections == 1)

        assert "rpc.slow_client_dropped" in [line["event"] for line in logs]
        assert other.call("ping")[0] is None


def test_idle_connections_do_not_keep_others_waiting(folder):
    with running_server(folder / "a.sock") as running:
        clients = [running.connect() for _ in range(100)]

        assert clients[-1].call("search", {"query": "a"})[0] is None
        for client in clients:
            client.sock.close()


def test_many_clients_at_once_are_all_answered(folder):
    def work(_number):
        with RawClient(str(folder / "a.sock")) as client:
            return all(client.call("search", {"query": "a"}, msgid=msgid)[0] is None for msgid in range(20))

    with running_server(folder / "a.sock"), ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))


def test_other_user_gets_one_error_and_a_close(folder):
    serving = running_server(folder / "a.sock", uid_of=lambda sock: os.getuid() + 1)
    with serving as running, running.connect() as client:
        kind, method, params = client.receive()

        assert (kind, method, params[0]["code"]) == (2, "error", ErrorCode.REQUEST_FORBIDDEN)
        assert client.is_closed()


def test_user_that_cannot_be_told_is_refused(folder):
    def fail(_sock):
        raise OSError("no credentials")

    with running_server(folder / "a.sock", uid_of=fail) as running, running.connect() as client:
        assert client.receive()[2][0]["code"] == ErrorCode.REQUEST_FORBIDDEN


_CONNECT_AND_READ = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(20)
sock.connect(sys.argv[1])
sys.stdout.buffer.write(sock.recv(1000))
"""


@pytest.mark.skipif(os.name != "posix" or sys.platform != "linux", reason="setpriv is a tool of Linux")
def test_real_other_user_is_refused_even_where_the_modes_let_it_in(folder):
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with running_server(folder / "a.sock") as running:
        folder.chmod(0o755)
        os.chmod(running.path, 0o666)
        command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        found = subprocess.run(
            [*command, "/usr/bin/python3", "-I", "-c", _CONNECT_AND_READ, running.path],
            capture_output=True, timeout=DEADLINE_S, check=True,
        )  # fmt: skip

        assert b"request.forbidden: this daemon serves another user" in found.stdout


def test_stop_answers_what_runs_and_takes_nothing_new(folder):
    gate = Gate()
    with running_server(folder / "a.sock", StandInDaemon(answer=gate)) as running:
        client = running.connect()
        client.request(1, "search", {"query": "a"})
        assert gate.begun.acquire(timeout=DEADLINE_S)
        stopping = threading.Thread(target=running.thread.stop, args=(DEADLINE_S,))
        stopping.start()
        wait_until(lambda: _refuses(running.path))
        gate.open.set()

        assert client.receive()[:3] == (1, 1, None)
        assert client.is_closed()
        stopping.join(DEADLINE_S)
        assert not os.path.exists(running.path)


def _refuses(path):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) != 0


def test_stop_is_bounded_by_its_deadline(folder):
    gate = Gate()
    with running_server(folder / "a.sock", StandInDaemon(answer=gate)) as running:
        client = running.connect()
        client.request(1, "search", {"query": "a"})
        assert gate.begun.acquire(timeout=DEADLINE_S)
        running.thread.stop(0.01)

        assert client.receive()[2][0] == ErrorCode.DAEMON_SHUTTING_DOWN
        assert client.is_closed()


def test_events_reach_subscribers_from_any_thread(folder):
    with running_server(folder / "a.sock") as running, running.connect() as client:
        client.call("subscribe", {"events": ["index_changed"]})
        running.dispatcher.publish("index_changed", {"generation": 13})

        assert client.receive() == (2, "index_changed", [{"generation": 13}])


def test_a_loop_that_hangs_is_noticed(folder):
    begun, may_go = threading.Event(), threading.Event()

    def hang(_call, _request):
        begun.set()
        assert may_go.wait(DEADLINE_S)
        return PingResponse()

    with running_server(folder / "s", handlers={**HANDLERS, "ping": Handler(hang, Lane.LOOP)}) as server:
        assert server.thread.is_turning(DEADLINE_S)
        with server.connect() as client:
            client.request(1, "ping")
            assert begun.wait(DEADLINE_S)
            with capture_logs() as logs:
                assert not server.thread.is_turning(0.05)
            may_go.set()
            assert server.thread.is_turning(DEADLINE_S)

    assert [line["event"] for line in logs] == ["rpc.loop_hangs"]
