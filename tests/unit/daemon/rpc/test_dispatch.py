"""Every request gets exactly one answer, whatever happens to it."""

import asyncio
import threading
from contextlib import contextmanager

import msgpack
import numpy as np
import pytest
import structlog
from structlog.testing import capture_logs

from groove_daemon.errors import BadFrame, GrooveError, ModelLoading, NotIndexed
from groove_daemon.rpc.dispatch import Dispatcher
from groove_daemon.rpc.methods import HANDLERS
from groove_daemon.rpc.methods.base import Handler, Lane
from groove_daemon.rpc.server import ServerLimits
from groove_wire.codes import ErrorCode
from groove_wire.methods import METHODS
from support.rpc import DEADLINE_S, StandInDaemon, make_hit, make_result, open_pools


class Client:
    """A session whose frames are read by the test."""

    def __init__(self, dispatcher):
        self._dispatcher = dispatcher
        self._frames = asyncio.Queue()
        self.session = dispatcher.open(self._frames.put_nowait)

    def send(self, method, params=None, *, msgid=1):
        self._dispatcher.receive(self.session, (0, msgid, method, [] if params is None else [params]))

    def notify(self, method, params=None):
        self._dispatcher.receive(self.session, (2, method, [] if params is None else [params]))

    async def receive(self):
        return msgpack.unpackb(await asyncio.wait_for(self._frames.get(), DEADLINE_S))

    async def call(self, method, params=None, *, msgid=1):
        self.send(method, params, msgid=msgid)
        kind, answered, error, result = await self.receive()
        assert (kind, answered) == (1, msgid)
        return error, result

    @property
    def has_more(self):
        return not self._frames.empty()


@contextmanager
def dispatching(daemon=None, **options):
    limits = ServerLimits(in_flight=options.pop("in_flight", 64))
    with open_pools(readers=options.pop("readers", 4)) as pools:
        yield lambda: Dispatcher(daemon or StandInDaemon(), pools=pools, limits=limits.to_wire(), **options)


def run(scenario, daemon=None, **options):
    """Run `scenario(dispatcher, client)` on a loop."""

    async def main():
        dispatcher = make()
        await scenario(dispatcher, Client(dispatcher))

    with dispatching(daemon, **options) as make:
        asyncio.run(main())


def answer_of(method, params=None, daemon=None, **options):
    found = []

    async def scenario(_dispatcher, client):
        found.append(await client.call(method, params))

    run(scenario, daemon, **options)
    return found[0]


class Gate:
    """A search that begins, waits for the test, and tells whether it was cancelled."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.saw_cancel = threading.Event()

    def __call__(self, _call, is_cancelled):
        self.begun.release()
        while not self.open.wait(0.005):
            if is_cancelled():
                self.saw_cancel.set()
                break
        return make_result(make_hit())

    async def wait_begun(self, count=1):
        for _ in range(count):
            assert await asyncio.to_thread(self.begun.acquire, timeout=DEADLINE_S)


def test_handlers_are_exactly_the_methods_of_the_wire():
    assert set(HANDLERS) == set(METHODS)


def test_search_answers_with_hits():
    error, result = answer_of("search", {"query": "ouzel"})

    assert error is None
    assert [hit["path"] for hit in result["results"]] == ["birds/ouzel.md"]
    assert result["fresh"] is True
    assert "stale_reason" not in result


def test_params_are_optional():
    error, result = answer_of("ping")

    assert (error, result) == (None, {})


@pytest.mark.parametrize(
    ("method", "params", "code", "text"),
    [
        ("serch", {}, ErrorCode.REQUEST_UNKNOWN_METHOD, "no method 'serch'; did you mean search?"),
        ("search", {"query": 5}, ErrorCode.REQUEST_INVALID_PARAMS, "query: must be text"),
        ("search", {"qery": "a"}, ErrorCode.REQUEST_INVALID_PARAMS, "qery: unknown parameter; did you mean query?"),
        ("search", {}, ErrorCode.REQUEST_INVALID_PARAMS, "query: is required"),
        ("search", 5, ErrorCode.REQUEST_INVALID_PARAMS, "params must be an array with one map"),
        ("search", {"query": "a", "overlay": True}, ErrorCode.REQUEST_INVALID_PARAMS, "not offered"),
        ("search", {"query": "a", "modified_from": "soon"}, ErrorCode.REQUEST_INVALID_PARAMS, "modified_from"),
        ("search", {"query": "a", "collections": ["x"]}, ErrorCode.REQUEST_INVALID_PARAMS, "there are notes"),
        ("get_chunk", {"id": 99}, ErrorCode.DOCUMENT_NOT_INDEXED, "no chunk has id 99"),
        ("get_document", {"path": "/etc/passwd"}, ErrorCode.DOCUMENT_OUTSIDE_ROOTS, "lies in no collection"),
    ],
)
def test_wrong_request_is_answered_with_code_and_text(method, params, code, text):
    error, result = answer_of(method, params)

    assert error[0] == code
    assert error[1].startswith(f"{code.name_on_wire}: ")
    assert text in error[1]
    assert result is None


def test_error_of_a_handler_keeps_its_code_and_hint():
    def fail(_call, _is_cancelled):
        raise ModelLoading("the embedder is loading", hint="ask again")

    error, _ = answer_of("search", {"query": "a"}, StandInDaemon(answer=fail))

    assert error == [400, "model.loading: the embedder is loading; ask again"]


def test_error_text_is_one_printable_line():
    def fail(_call, _is_cancelled):
        raise NotIndexed("a\nb\x1b[31m\udce9" + "x" * 5000)

    error, _ = answer_of("search", {"query": "a"}, StandInDaemon(answer=fail))

    assert error[1].startswith("document.not_indexed: a b\\x1b[31m\\udce9xxx")
    assert error[1].isprintable()
    assert len(error[1]) < 2100


def test_unknown_exception_is_internal_with_an_id_that_the_log_has():
    def fail(_call, _is_cancelled):
        raise ZeroDivisionError("secret detail")

    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        error, _ = answer_of("search", {"query": "a"}, StandInDaemon(answer=fail))

    failed = next(line for line in logs if line["event"] == "request.failed")
    assert error[0] == ErrorCode.INTERNAL
    assert failed["request_id"] in error[1]
    assert "secret detail" not in error[1]
    assert failed["exc_info"]


def test_value_that_cannot_be_encoded_is_an_error_of_that_request():
    daemon = StandInDaemon(answer=lambda call, is_cancelled: make_result(filter_applied={"n": np.int64(3)}))

    async def scenario(_dispatcher, client):
        error, _ = await client.call("search", {"query": "a"})
        assert error[0] == ErrorCode.INTERNAL
        assert "filter_applied.n" in error[1]
        assert await client.call("ping", {"payload": 1}) == (None, {"payload": 1})

    run(scenario, daemon)


def test_answer_over_the_limit_is_an_error_with_a_hint():
    daemon = StandInDaemon(answer=lambda call, is_cancelled: make_result(make_hit(content="x" * 9_000_000)))
    error, _ = answer_of("search", {"query": "a"}, daemon)

    assert error[0] == ErrorCode.REQUEST_TOO_LARGE
    assert "ask for fewer hits" in error[1]


def test_cancelled_request_is_answered_at_once_and_its_work_is_told():
    gate = Gate()

    async def scenario(_dispatcher, client):
        client.send("search", {"query": "a"}, msgid=5)
        await gate.wait_begun()
        client.notify("$/cancel", {"msgid": 5})
        assert await client.receive() == [1, 5, [504, "request.cancelled: the request was cancelled"], None]
        assert await asyncio.to_thread(gate.saw_cancel.wait, DEADLINE_S)
        assert await client.call("ping", msgid=6) == (None, {})
        assert not client.has_more

    run(scenario, StandInDaemon(answer=gate))


def test_cancelled_request_stops_the_running_statement():
    gate, daemon = Gate(), StandInDaemon()
    daemon.answer = gate

    async def scenario(_dispatcher, client):
        client.send("search", {"query": "a"}, msgid=5)
        await gate.wait_begun()
        client.notify("$/cancel", {"msgid": 5})
        await client.receive()
        assert daemon.store.interrupted.is_set()

    run(scenario, daemon)


def test_cancelling_what_is_not_in_flight_changes_nothing():
    async def scenario(_dispatcher, client):
        client.notify("$/cancel", {"msgid": 5})
        assert await client.call("ping") == (None, {})

    run(scenario)


@pytest.mark.parametrize(
    ("name", "params", "text"),
    [
        ("$/cancel", {}, "msgid: is required"),
        ("$/cancel", {"msgid": -1}, "msgid: must be a whole number"),
        ("hello", {}, "no notification 'hello'"),
    ],
)
def test_wrong_notification_is_answered_with_an_error_notification(name, params, text):
    async def scenario(_dispatcher, client):
        client.notify(name, params)
        kind, method, content = await client.receive()
        assert (kind, method) == (2, "error")
        assert text in content[0]["text"]

    run(scenario)


def test_response_from_a_client_is_a_bad_frame():
    async def scenario(dispatcher, client):
        with pytest.raises(BadFrame):
            dispatcher.receive(client.session, (1, 1, None, None))

    run(scenario)


def test_msgid_in_flight_is_refused_a_second_time():
    gate = Gate()

    async def scenario(_dispatcher, client):
        client.send("search", {"query": "a"}, msgid=5)
        client.send("ping", msgid=5)
        assert (await client.receive())[2][0] == ErrorCode.REQUEST_BAD_FRAME
        gate.open.set()
        kind, msgid, error, _ = await client.receive()
        assert (kind, msgid, error) == (1, 5, None)

    run(scenario, StandInDaemon(answer=gate))


def test_request_beyond_the_limit_in_flight_is_told_that_the_daemon_is_busy():
    gate = Gate()

    async def scenario(_dispatcher, client):
        for msgid in range(3):
            client.send("search", {"query": "a"}, msgid=msgid)
        client.send("search", {"query": "a"}, msgid=3)
        _, msgid, error, _ = await client.receive()
        assert (msgid, error[0]) == (3, ErrorCode.DAEMON_BUSY)
        gate.open.set()
        assert {(await client.receive())[1] for _ in range(3)} == {0, 1, 2}
        assert (await client.call("search", {"query": "a"}, msgid=4))[0] is None

    run(scenario, StandInDaemon(answer=gate), in_flight=3)


def test_request_that_takes_too_long_is_answered_with_the_deadline_and_stopped():
    gate = Gate()

    async def scenario(_dispatcher, client):
        error, _ = await client.call("search", {"query": "a"})
        assert error[0] == ErrorCode.DAEMON_DEADLINE
        assert await asyncio.to_thread(gate.saw_cancel.wait, DEADLINE_S)

    run(scenario, StandInDaemon(answer=gate), request_timeout_s=0.02)


def test_status_answers_while_all_readers_are_busy():
    gate = Gate()

    async def scenario(_dispatcher, client):
        for msgid in range(8):
            client.send("search", {"query": "a"}, msgid=msgid)
        await gate.wait_begun(2)
        error, result = await client.call("status", msgid=100)
        assert error is None
        assert result["state"] == "ready"
        gate.open.set()
        for _ in range(8):
            await client.receive()

    run(scenario, StandInDaemon(answer=gate), readers=2)


def test_closed_session_cancels_what_it_had_in_flight_and_hears_nothing_more():
    gate = Gate()

    async def scenario(dispatcher, client):
        client.send("search", {"query": "a"})
        await gate.wait_begun()
        dispatcher.close(client.session)
        assert await asyncio.to_thread(gate.saw_cancel.wait, DEADLINE_S)
        other = Client(dispatcher)
        assert await other.call("ping") == (None, {})
        assert not client.has_more

    run(scenario, StandInDaemon(answer=gate))


def test_hello_tells_both_sides_who_they_are():
    error, result = answer_of("hello", {"client": "test", "version": "9", "protocol": [1, 99]})

    assert error is None
    assert result["server"] == "grooved"
    assert result["protocol"] == [1, 0]
    assert result["instance"] == "default"
    assert result["started_at"] == "2026-05-18T10:26:40Z"
    assert result["limits"]["frame_bytes"] == 8 * 1024 * 1024
    assert result["limits"]["in_flight"] == 64
    assert "search" in result["capabilities"]["methods"]
    assert "stream" in result["capabilities"]["features"]


def test_client_of_another_major_version_can_ask_for_status_and_stop_but_not_search():
    daemon = StandInDaemon()

    async def scenario(_dispatcher, client):
        error, _ = await client.call("hello", {"protocol": [2, 0]})
        assert error[0] == ErrorCode.REQUEST_INCOMPATIBLE
        assert "protocol 2.0" in error[1]
        assert "speaks 1.0" in error[1]
        assert (await client.call("search", {"query": "a"}))[0][0] == ErrorCode.REQUEST_INCOMPATIBLE
        assert (await client.call("status"))[0] is None
        assert (await client.call("shutdown"))[0] is None
        assert daemon.shutdowns == 1

    run(scenario, daemon)


def test_subscribers_hear_of_events_and_others_do_not():
    async def scenario(dispatcher, client):
        other = Client(dispatcher)
        assert await client.call("subscribe", {"events": ["index_changed"]}) == (None, {"events": ["index_changed"]})
        await asyncio.to_thread(dispatcher.publish, "index_changed", {"generation": 13})
        assert await client.receive() == [2, "index_changed", [{"generation": 13}]]
        assert await client.call("unsubscribe") == (None, {"events": []})
        dispatcher.publish("index_changed", {"generation": 14})
        assert await client.call("ping") == (None, {})
        assert not other.has_more

    run(scenario)


def test_subscribe_refuses_an_unknown_event():
    error, _ = answer_of("subscribe", {"events": ["sunrise"]})

    assert error[0] == ErrorCode.REQUEST_INVALID_PARAMS
    assert "events[0]: must be one of index_changed, progress" in error[1]


def test_publish_before_any_client_is_silent():
    async def main():
        make().publish("index_changed", {"generation": 1})

    with dispatching() as make:
        asyncio.run(main())


def test_reindex_tells_its_caller_the_progress_before_the_result():
    async def scenario(_dispatcher, client):
        client.send("reindex", {"force": True}, msgid=9)
        assert await client.receive() == [2, "progress", [{"phase": "scanning", "done": 0, "total": 7, "msgid": 9}]]
        assert await client.receive() == [2, "progress", [{"phase": "indexing", "done": 7, "total": 7, "msgid": 9}]]
        kind, msgid, error, result = await client.receive()
        assert (kind, msgid, error) == (1, 9, None)
        assert (result["is_done"], result["indexed"], result["unchanged"]) == (True, 2, 5)

    run(scenario)


def test_second_reindex_is_told_that_one_runs():
    daemon = StandInDaemon(rescan_ends=False)

    async def scenario(_dispatcher, client):
        client.send("reindex", msgid=1)
        await client.receive()
        await client.receive()
        error, _ = await client.call("reindex", msgid=2)
        assert error == [600, "daemon.busy: a rescan runs already; wait for it or cancel it"]
        client.notify("$/cancel", {"msgid": 1})
        assert (await client.receive())[2][0] == ErrorCode.REQUEST_CANCELLED
        assert daemon.rescans[0].is_cancelled

    run(scenario, daemon)


def test_reindex_without_waiting_answers_when_it_has_begun():
    daemon = StandInDaemon(rescan_ends=False)

    async def scenario(_dispatcher, client):
        error, result = await client.call("reindex", {"wait": False, "paths": ["birds"]})
        assert error is None
        assert result["is_done"] is False
        assert daemon.rescan_arguments == [((), ("birds",), False)]
        assert not client.has_more

    run(scenario, daemon)


def test_drain_lets_running_requests_end_and_refuses_new_ones():
    gate = Gate()

    async def scenario(dispatcher, client):
        client.send("search", {"query": "a"}, msgid=1)
        await gate.wait_begun()
        draining = asyncio.create_task(dispatcher.drain(DEADLINE_S))
        await asyncio.sleep(0)
        assert (await client.call("search", {"query": "b"}, msgid=2))[0][0] == ErrorCode.DAEMON_SHUTTING_DOWN
        gate.open.set()
        assert (await client.receive())[:3] == [1, 1, None]
        await draining

    run(scenario, StandInDaemon(answer=gate))


def test_drain_answers_what_does_not_end_in_time():
    gate = Gate()

    async def scenario(dispatcher, client):
        client.send("search", {"query": "a"}, msgid=1)
        await gate.wait_begun()
        await dispatcher.drain(0.01)
        assert (await client.receive())[2][0] == ErrorCode.DAEMON_SHUTTING_DOWN
        assert await asyncio.to_thread(gate.saw_cancel.wait, DEADLINE_S)

    run(scenario, StandInDaemon(answer=gate))


def test_drain_does_not_wait_for_those_who_wait():
    daemon = StandInDaemon(rescan_ends=False)

    async def scenario(dispatcher, client):
        client.send("reindex", msgid=1)
        await client.receive()
        await client.receive()
        await asyncio.wait_for(dispatcher.drain(600), DEADLINE_S)
        assert (await client.receive())[2][0] == ErrorCode.DAEMON_SHUTTING_DOWN

    run(scenario, daemon)


def test_each_request_leaves_one_line_in_the_log():
    with capture_logs() as logs:
        answer_of("search", {"query": "secret words"})

    lines = [line for line in logs if line["event"] == "request.done"]
    assert len(lines) == 1
    assert lines[0]["method"] == "search"
    assert lines[0]["outcome"] == "ok"
    assert lines[0]["hits"] == 1
    assert lines[0]["log_level"] == "info"
    assert "secret" not in repr(logs)


@pytest.mark.parametrize("method", ["ping", "status", "hello"])
def test_frequent_requests_are_logged_at_debug(method):
    with capture_logs() as logs:
        answer_of(method)

    assert [line["log_level"] for line in logs if line["event"] == "request.done"] == ["debug"]


def test_method_names_of_clients_do_not_grow_the_counters():
    async def scenario(dispatcher, client):
        for number in range(20):
            await client.call(f"nonsense{number}")
        assert dispatcher.meter.counters() == {"request.unknown": 20, "error.request.unknown_method": 20}

    run(scenario)


def test_error_outside_the_family_of_codes_does_not_exist():
    class Strange(GrooveError):
        code = "internal"

    def fail(_call, _request):
        raise Strange("odd")

    error, _ = answer_of("ping", handlers={"ping": Handler(fail, Lane.LOOP)})

    assert error == [1, "internal: odd"]
