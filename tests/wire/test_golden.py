"""The daemon answers the golden exchanges to the last byte; a change of the wire shows here first."""

import json

import msgpack
import pytest

from groove_wire.framing import Decoder, FrameError
from groove_wire.methods import METHODS
from wire.exchanges import EXCHANGES, GOLDEN, files_of, play

HINT = "if the wire was changed on purpose: cd tests && python -m wire.exchanges, and raise the protocol version"


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.name)
def test_daemon_answers_the_golden_exchange(exchange):
    for name, expected in files_of(exchange, play(exchange)).items():
        assert (GOLDEN / name).read_bytes() == expected, f"{name}: {HINT}"


def test_golden_folder_has_nothing_else():
    names = {
        f"{exchange.name}.{kind}" for exchange in EXCHANGES for kind in ("request.msgpack", "reply.msgpack", "json")
    }

    assert {path.name for path in GOLDEN.iterdir()} == names


def test_every_method_has_a_golden_exchange():
    called = set()
    for path in GOLDEN.glob("*.request.msgpack"):
        try:
            messages = Decoder().feed(path.read_bytes())
        except FrameError:
            continue
        called |= {message[2] for message in messages if message[0] == 0}

    assert set(METHODS) <= called


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.name)
def test_readable_twin_says_what_the_bytes_say(exchange):
    twin = json.loads((GOLDEN / f"{exchange.name}.json").read_text())
    reply = msgpack.Unpacker(raw=False)
    reply.feed((GOLDEN / f"{exchange.name}.reply.msgpack").read_bytes())
    decoded = json.loads(json.dumps(list(reply), default=lambda item: item.hex()))

    assert twin["received"] == decoded
    assert bytes.fromhex(twin["sent_hex"]) == (GOLDEN / f"{exchange.name}.request.msgpack").read_bytes()
