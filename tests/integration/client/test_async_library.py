"""The asynchronous client on a real socket."""

import asyncio

import pytest

from groove_client import AsyncClient, DaemonIncompatible, DaemonNotResponding, DaemonNotRunning, RequestFailed
from groove_wire import messages
from support.answers import make_answer, make_hit
from support.fake_daemon import HELLO, NO_ANSWER, Exchange, Failure, FakeDaemon


def _slow(exchange: Exchange) -> object:
    exchange.cancelled.wait(30)
    return Failure(504, "request.cancelled: the request was cancelled")


def test_requests_run_side_by_side(socket_path):
    def search(exchange: Exchange) -> object:
        if exchange.params["query"] == "first":
            exchange.cancelled.wait(30)
        return make_answer(make_hit(1, title=exchange.params["query"]))

    async def run() -> str:
        async with await AsyncClient.connect(socket=socket_path) as groove:
            first = asyncio.create_task(groove.search("first"))
            second = await groove.search("second", limit=1)
            first.cancel()
            return second.results[0].title

    with FakeDaemon(socket_path, {"search": search}):
        assert asyncio.run(run()) == "second"


def test_cancelled_task_cancels_in_the_daemon(socket_path):
    async def run() -> None:
        async with await AsyncClient.connect(socket=socket_path) as groove:
            task = asyncio.create_task(groove.search("x"))
            while ("search", {"query": "x"}) not in daemon.requests:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await groove.ping()

    with FakeDaemon(socket_path, {"search": _slow, "ping": {}}) as daemon:
        asyncio.run(run())

    assert daemon.notifications == [("$/cancel", {"msgid": 2})]


def test_deadline_raises_and_the_connection_goes_on(socket_path):
    async def run() -> object:
        async with await AsyncClient.connect(socket=socket_path) as groove:
            with pytest.raises(DaemonNotResponding):
                await groove.search("x", timeout_s=0.05)
            return await groove.ping(7)

    with FakeDaemon(socket_path, {"search": _slow, "ping": {"payload": 7}}):
        assert asyncio.run(run()) == 7


def test_error_of_the_daemon_is_raised_with_its_code(socket_path):
    async def run() -> int:
        async with await AsyncClient.connect(socket=socket_path) as groove:
            with pytest.raises(RequestFailed) as caught:
                await groove.search("x")
            return caught.value.code

    with FakeDaemon(socket_path, {"search": Failure(502, "request.bad_query: nothing")}):
        assert asyncio.run(run()) == 502


def test_broken_connection_fails_every_request_in_flight_and_later_ones(socket_path):
    def search(exchange: Exchange) -> object:
        exchange.hang_up()
        return NO_ANSWER

    async def run() -> None:
        async with await AsyncClient.connect(socket=socket_path) as groove:
            answers = await asyncio.gather(groove.search("a"), groove.status(), return_exceptions=True)
            assert [type(answer) for answer in answers] == [DaemonNotResponding, DaemonNotResponding]
            with pytest.raises(DaemonNotResponding):
                await groove.ping()

    with FakeDaemon(socket_path, {"search": search, "status": _slow}):
        asyncio.run(run())


def test_no_daemon_and_another_protocol_are_told_apart(socket_path):
    async def run() -> None:
        await AsyncClient.connect(socket=socket_path)

    with pytest.raises(DaemonNotRunning):
        asyncio.run(run())
    with FakeDaemon(socket_path, {"hello": HELLO | {"protocol": [2, 0]}}), pytest.raises(DaemonIncompatible):
        asyncio.run(run())


def test_parts_go_to_their_own_search(socket_path):
    def search(exchange: Exchange) -> object:
        if exchange.params.get("stream"):
            exchange.notify("partial", msgid=exchange.msgid, stage=exchange.params["query"], results=[make_hit()])
        return make_answer()

    async def run() -> list[list[str]]:
        seen: list[list[str]] = [[], []]
        async with await AsyncClient.connect(socket=socket_path) as groove:
            await asyncio.gather(
                groove.search("a", on_partial=lambda partial: seen[0].append(partial.stage)),
                groove.search("b", on_partial=lambda partial: seen[1].append(partial.stage)),
                groove.search("c"),
            )
        return seen

    with FakeDaemon(socket_path, {"search": search}):
        assert asyncio.run(run()) == [["a"], ["b"]]


def test_progress_goes_to_its_request_and_to_subscribers(socket_path):
    def reindex(exchange: Exchange) -> object:
        exchange.notify("progress", phase="indexing", done=1, total=2, msgid=exchange.msgid)
        counts = dict.fromkeys(("indexed", "unchanged", "removed", "skipped", "failed", "pending_vectors"), 0)
        return {"is_done": True, "took_ms": 1.0, **counts}

    async def run() -> tuple[list[object], object]:
        seen: list[object] = []
        async with await AsyncClient.connect(socket=socket_path) as groove:
            notices = groove.notifications(["progress"])
            first = asyncio.ensure_future(anext(notices))
            while not any(method == "subscribe" for method, _ in daemon.requests):
                await asyncio.sleep(0)
            await groove.reindex(on_progress=seen.append)
            notice = await first
            await notices.aclose()
        return seen, notice

    answers = {"reindex": reindex, "subscribe": {"events": ["progress"]}, "unsubscribe": {"events": []}}
    with FakeDaemon(socket_path, answers) as daemon:
        seen, notice = asyncio.run(run())

    assert seen == [notice]
    assert isinstance(notice, messages.ProgressNotification)
    assert daemon.requests[-1][0] == "unsubscribe"
