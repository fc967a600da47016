"""Whatever bytes arrive, the sender gets answers or a close, and everybody else is served."""

import os
import shutil
import tempfile

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from groove_wire.framing import encode_request
from groove_wire.methods import METHODS
from support.rpc import RawClient, running_server

INTEGERS = st.integers(-(2**63), 2**64 - 1)
ATOMS = st.none() | st.booleans() | INTEGERS | st.floats() | st.text(max_size=20) | st.binary(max_size=20)
KEYS = st.text(max_size=12) | INTEGERS
ANYTHING = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
NAMES = st.sampled_from([*METHODS, "$/cancel", "error"]) | st.text(max_size=10)
PARAMS = st.dictionaries(st.text(max_size=12), ANYTHING, max_size=4)
FRAMES = st.one_of(
    st.builds(lambda i, m, p: [0, i, m, p], st.integers(0, 2**31), NAMES, st.lists(ANYTHING, max_size=2)),
    st.builds(lambda i, m, p: [0, i, m, [p]], st.integers(0, 9), NAMES, PARAMS),
    st.builds(lambda m, p: [2, m, [p]], NAMES, ANYTHING),
    ANYTHING,
)
LAST = 4_000_000_000


@pytest.fixture(scope="module")
def server():
    folder = tempfile.mkdtemp(prefix="groove-fuzz-", dir="/tmp")
    with running_server(os.path.join(folder, "a.sock")) as running:
        yield running
    shutil.rmtree(folder)


def answers_until_last(client):
    """Read up to the answer of the request that was sent last; whether it came rather than a close."""
    try:
        while client.receive()[:2] != (1, LAST):
            pass
    except (EOFError, ConnectionError):
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAMES, max_size=5))
def test_valid_msgpack_is_answered_or_refused_and_never_a_fault_of_the_daemon(server, frames):
    with capture_logs() as logs, RawClient(server.path) as client:
        # One write: the server cannot have closed before all of it was taken.
        client.send(b"".join(msgpack.packb(frame) for frame in frames) + encode_request(LAST, "ping"))
        came = answers_until_last(client)

    events = [line["event"] for line in logs]
    assert came or "rpc.bad_client" in events
    assert "request.failed" not in events
    assert "request.unencodable" not in events


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_noise_does_not_disturb_others(server, noise):
    with RawClient(server.path) as client, RawClient(server.path) as other:
        client.send(noise)

        assert other.call("ping", {"payload": 1}) == (None, {"payload": 1})
