"""The golden exchanges: what a client sends, and what the daemon answers to the last byte.

Each is two files of bytes and a readable twin in `golden/`: `<name>.request.msgpack` is all that the client sends,
`<name>.reply.msgpack` all that the daemon sends back, `<name>.json` both as JSON.  The daemon behind them is the
stand-in of `support.rpc`.  Values that differ in every run (`VOLATILE`) are fixed in the reply.

Write them anew with `python -m wire.exchanges` in the folder `tests`.
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgpack

from groove_wire.framing import encode_notification, encode_request
from groove_wire.version import VERSION
from support.rpc import StandInDaemon, explained_result, make_hit, make_result, running_server

GOLDEN = Path(__file__).parent / "golden"
VOLATILE = {
    "pid": 4242,
    "uptime_s": 60.0,
    "took_ms": 1.5,
    "latency": {},
    "counters": {},
    "version": "0.0.0",
}


@dataclass(frozen=True)
class Exchange:
    """`sent` are frames, `replies` counts the messages that come back."""

    name: str
    doc: str
    sent: tuple[bytes, ...]
    replies: int = 1
    explained: bool = False


EXCHANGES = (
    Exchange("hello", "Names, versions, limits.", (
        encode_request(1, "hello", {"client": "golden", "protocol": [1, 0]}),
    )),
    Exchange("hello_incompatible", "Another major version.", (encode_request(1, "hello", {"protocol": [9, 0]}),)),
    Exchange("ping", "A payload of every type comes back.", (
        encode_request(2**32 - 1, "ping", {"payload": {
            "text": "ü鳥\U0001f426", "bytes": b"\x00\xff",
            "numbers": [0, -1, 127, 128, -33, 65536, 2**63, -(2**63), 0.5],
            "true": True, "false": False, "nil_in_list": [None], "empty": [{}, [], ""],
        }}),
    )),
    Exchange("ping_without_params", "No argument at all.", (encode_request(0, "ping"),)),
    Exchange("ping_with_empty_array", "Lua's empty table.", (msgpack.packb([0, 3, "ping", [[]]]),)),
    Exchange("search", "The smallest search.", (encode_request(1, "search", {"query": "ouzel"}),)),
    Exchange("search_explained", "Every optional field.", (
        encode_request(1, "search", {"query": "ouzel", "limit": 3, "formats": ["md"], "explain": True}),
    ), explained=True),
    Exchange("search_streamed", "A part on the way, then the answer.", (
        encode_request(6, "search", {"query": "ouzel", "stream": True}),
    ), replies=2),
    Exchange("search_unknown_parameter", "The nearest parameter is named.", (
        encode_request(1, "search", {"query": "ouzel", "limt": 3}),
    )),
    Exchange("search_out_of_range", "The limit is named.", (
        encode_request(1, "search", {"query": "a", "limit": 1001}),
    )),
    Exchange("search_nil", "A nil is no way to leave something out.", (
        encode_request(1, "search", {"query": "a", "topic": None}),
    )),
    Exchange("search_not_offered", "A parameter of a later version.", (
        encode_request(1, "search", {"query": "a", "overlay": True}),
    )),
    Exchange("unknown_method", "The nearest method is named.", (encode_request(1, "serch", {"query": "a"}),)),
    Exchange("two_requests", "Two in one write.", (
        encode_request(1, "ping", {"payload": 1}), encode_request(2, "ping", {"payload": 2}),
    ), replies=2),
    Exchange("get_document", "By path.", (encode_request(1, "get_document", {"path": "birds/ouzel.md"}),)),
    Exchange("get_document_lines", "By hit and lines.", (
        encode_request(1, "get_document", {"id": 7, "line_start": 3, "line_end": 3}),
    )),
    Exchange("get_document_absent", "Not in the index.", (encode_request(1, "get_document", {"path": "absent.md"}),)),
    Exchange("get_chunk", "By hit.", (encode_request(1, "get_chunk", {"id": 7}),)),
    Exchange("similar", "Documents near one.", (
        encode_request(1, "similar", {"path": "birds/ouzel.md", "limit": 3}),
    )),
    Exchange("similar_chunks", "Chunks near a text.", (encode_request(1, "similar", {"text": "a small bird"}),)),
    Exchange("similar_to_nothing", "A source is needed.", (encode_request(1, "similar", {"limit": 3}),)),
    Exchange("get_best_practice", "By the second template.", (
        encode_request(1, "get_best_practice", {"target": "ouzel"}),
    )),
    Exchange("get_best_practice_section", "No such section: those that there are.", (
        encode_request(1, "get_best_practice", {"target": "ouzel", "category": "Nests"}),
    )),
    Exchange("list_documents", "One page.", (encode_request(1, "list_documents", {"limit": 1}),)),
    Exchange("list_topics", "All topics.", (encode_request(1, "list_topics"),)),
    Exchange("status", "How the daemon is.", (encode_request(1, "status"),)),
    Exchange("failures", "What is not in the index.", (encode_request(1, "failures"),)),
    Exchange("reindex", "Progress, then the result.", (encode_request(5, "reindex", {"force": True}),), replies=3),
    Exchange("calibrate", "Progress, then what was learned.", (
        encode_request(5, "calibrate", {"questions": 50}),
    ), replies=2),
    Exchange("wait_fresh", "With a deadline.", (encode_request(1, "wait_fresh", {"deadline_ms": 100}),)),
    Exchange("subscribe", "And no longer.", (
        encode_request(1, "subscribe", {"events": ["progress", "index_changed"]}),
        encode_request(2, "unsubscribe", {"events": ["progress"]}),
    ), replies=2),
    Exchange("config", "Values and origins.", (encode_request(1, "config", {"reload": True}),)),
    Exchange("collections", "All collections.", (encode_request(1, "collections"),)),
    Exchange("add_collection", "One more folder.", (encode_request(1, "add_collection", {"path": "/home/me/work"}),)),
    Exchange("remove_collection", "Forget it.", (encode_request(1, "remove_collection", {"name": "work"}),)),
    Exchange("shutdown", "In good order.", (encode_request(1, "shutdown"),)),
    Exchange("cancel_too_late", "Nothing in flight: no answer to it, and the next request works.", (
        encode_notification("$/cancel", {"msgid": 9}), encode_request(1, "ping"),
    )),
    Exchange("unknown_notification", "An error notification; the connection stays.", (
        encode_notification("hello"), encode_request(1, "ping"),
    ), replies=2),
    Exchange("broken_frame", "An error notification and a close.", (b"\x94\x00\x01\xa4ping\x91\xc1",)),
    Exchange("no_array", "A length prefix is not part of the protocol.", (b"\x00\x00\x00\x0a",)),
    Exchange("frame_too_large", "Refused at the header.", (b"\x94\x00\x01\xa4ping\x91\xdb\xff\xff\xff\xff",)),
)  # fmt: skip


def play(exchange: Exchange) -> list[object]:
    """Replay an exchange against a server on a real socket; the messages that come back, volatile values fixed."""
    result = explained_result() if exchange.explained else make_result(make_hit())
    daemon = StandInDaemon(answer=lambda call, is_cancelled: result)
    with (
        tempfile.TemporaryDirectory(prefix="groove-golden-", dir="/tmp") as folder,
        running_server(f"{folder}/a.sock", daemon) as running,
        running.connect() as client,
    ):
        client.send(b"".join(exchange.sent))
        return [_fixed(client.receive()) for _ in range(exchange.replies)]


def _fixed(value: object) -> object:
    if isinstance(value, dict):
        # The version of the program is in texts too, but stands alone as a value here.
        return {key: VOLATILE[key] if key in VOLATILE else _fixed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fixed(item) for item in value]
    if isinstance(value, str):
        return value.replace(f"version {VERSION}", "version 0.0.0")
    return value


def twin(exchange: Exchange, replies: list[object]) -> str:
    """The readable form; bytes appear as hexadecimal text."""
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
    sent: list[object] = []
    for frame in exchange.sent:
        try:
            unpacker.feed(frame)
            sent += list(unpacker)
        except msgpack.FormatError:
            sent = []
            break
    shown = {"doc": exchange.doc, "sent_hex": b"".join(exchange.sent).hex(), "sent": sent, "received": replies}
    return json.dumps(shown, indent=1, ensure_ascii=False, default=lambda item: item.hex()) + "\n"


def files_of(exchange: Exchange, replies: list[object]) -> dict[str, bytes]:
    """File name to content."""
    return {
        f"{exchange.name}.request.msgpack": b"".join(exchange.sent),
        f"{exchange.name}.reply.msgpack": b"".join(msgpack.packb(reply) for reply in replies),
        f"{exchange.name}.json": twin(exchange, replies).encode(),
    }


def main() -> None:
    """Write all files anew, and remove those of exchanges that are gone."""
    GOLDEN.mkdir(exist_ok=True)
    wanted = {name: data for exchange in EXCHANGES for name, data in files_of(exchange, play(exchange)).items()}
    for path in GOLDEN.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        (GOLDEN / name).write_bytes(data)
    sys.stderr.write(f"{len(wanted)} files\n")


if __name__ == "__main__":
    main()
