"""The synchronous client as a library, on a real socket."""

import threading

import pytest

from groove_client import (
    Client,
    ClientError,
    DaemonIncompatible,
    DaemonNotResponding,
    DaemonNotRunning,
    RequestFailed,
)
from groove_client.transport import connect
from groove_wire import messages
from support.answers import make_answer, make_hit, make_status
from support.fake_daemon import HELLO, NO_ANSWER, Exchange, Failure, FakeDaemon


def test_search_gives_typed_hits(socket_path):
    with (
        FakeDaemon(socket_path, {"search": make_answer(make_hit(4))}) as daemon,
        Client.connect(socket=socket_path) as groove,
    ):
        answer = groove.search("async", limit=3, tags_any=["rust"])

    assert isinstance(answer, messages.SearchResponse)
    assert answer.results[0].match_spans == (messages.Span(20, 25),)
    assert daemon.params_of("search") == {"query": "async", "limit": 3, "tags_any": ["rust"]}


def test_server_is_known_after_connecting(socket_path):
    with FakeDaemon(socket_path, {}) as daemon, Client.connect(socket=socket_path, client="my-editor") as groove:
        assert groove.server.protocol == (1, 0)

    assert daemon.params_of("hello")["client"] == "my-editor"


def test_every_method_asks_what_it_says(socket_path):
    empty = {"generation": 7, "total": 0}
    answers = {
        "ping": {"payload": [1]},
        "status": make_status(),
        "failures": {"failures": [], "total": 0},
        "list_documents": {"documents": [], **empty},
        "list_topics": {"topics": [], **empty},
        "similar": {"documents": [], "chunks": [], "without_vector": 0, "generation": 7},
        "collections": {"collections": []},
        "add_collection": {"name": "n", "root": "/n"},
        "remove_collection": {"name": "n", "documents_removed": 0},
        "config": {"values": []},
        "wait_fresh": {"fresh": True, "generation": 7, "pending_vectors": 0, "took_ms": 1.0},
        "shutdown": {"pid": 1},
    }
    with FakeDaemon(socket_path, answers) as daemon, Client.connect(socket=socket_path) as groove:
        assert groove.ping([1]) == [1]
        assert groove.status().index.documents == 12
        groove.failures(limit=3)
        groove.list_documents(category="c")
        groove.list_topics()
        groove.similar(text="an owl", kind="documents")
        groove.collections()
        groove.add_collection("/n", source="global")
        groove.remove_collection("n")
        groove.config()
        groove.reload()
        groove.wait_fresh(deadline_ms=10)
        groove.shutdown()

    assert daemon.requests[1:] == [
        ("ping", {"payload": [1]}),
        ("status", {}),
        ("failures", {"limit": 3}),
        ("list_documents", {"category": "c"}),
        ("list_topics", {}),
        ("similar", {"text": "an owl", "kind": "documents"}),
        ("collections", {}),
        ("add_collection", {"path": "/n", "source": "global"}),
        ("remove_collection", {"name": "n"}),
        ("config", {}),
        ("config", {"reload": True}),
        ("wait_fresh", {"deadline_ms": 10}),
        ("shutdown", {}),
    ]


def test_no_daemon_is_told_apart(socket_path):
    with pytest.raises(DaemonNotRunning, match="no socket at"):
        Client.connect(socket=socket_path)


def test_daemon_of_another_protocol_is_refused(socket_path):
    with (
        FakeDaemon(socket_path, {"hello": HELLO | {"protocol": [2, 0]}}),
        pytest.raises(DaemonIncompatible, match=r"2\.0"),
    ):
        Client.connect(socket=socket_path)


def _failure_of(groove: Client, query: str) -> ClientError:
    with pytest.raises(ClientError) as caught:
        groove.search(query)
    return caught.value


def test_error_of_the_daemon_carries_code_name_and_message(socket_path):
    failure = Failure(502, "request.bad_query: nothing to look for")
    with FakeDaemon(socket_path, {"search": failure}), Client.connect(socket=socket_path) as groove:
        error = _failure_of(groove, "-x")

    assert isinstance(error, RequestFailed)
    assert (error.code, error.name, error.message) == (502, "request.bad_query", "nothing to look for")


def test_deadline_cancels_the_request_and_keeps_the_connection(socket_path):
    late = threading.Event()

    def search(exchange: Exchange) -> object:
        exchange.cancelled.wait(30)
        late.set()
        return make_answer(make_hit(1))

    with FakeDaemon(socket_path, {"search": search}) as daemon, Client.connect(socket=socket_path) as groove:
        with pytest.raises(DaemonNotResponding):
            groove.search("slow", timeout_s=0.05)
        assert late.wait(30)
        daemon.answers["search"] = make_answer(make_hit(2))
        answer = groove.search("fast")

    assert answer.results[0].id == 2
    assert ("$/cancel", {"msgid": 2}) in daemon.notifications


def test_cancel_from_another_thread_ends_the_request(socket_path):
    asked = threading.Event()

    def search(exchange: Exchange) -> object:
        asked.set()
        exchange.cancelled.wait(30)
        return Failure(504, "request.cancelled: the request was cancelled")

    with FakeDaemon(socket_path, {"search": search}), Client.connect(socket=socket_path) as groove:

        def cancel() -> None:
            asked.wait(30)
            groove.cancel()

        other = threading.Thread(target=cancel)
        other.start()
        with pytest.raises(RequestFailed) as caught:
            groove.search("slow")
        other.join(30)

    assert caught.value.code == 504


def test_cancel_without_a_request_does_nothing(socket_path):
    with FakeDaemon(socket_path, {}) as daemon, Client.connect(socket=socket_path) as groove:
        groove.cancel()

    assert daemon.notifications == []


def test_threads_share_a_connection(socket_path):
    def search(exchange: Exchange) -> object:
        return make_answer(make_hit(1, title=exchange.params["query"]))

    titles = {}
    with FakeDaemon(socket_path, {"search": search}), Client.connect(socket=socket_path) as groove:

        def ask(query: str) -> None:
            titles[query] = groove.search(query).results[0].title

        threads = [threading.Thread(target=ask, args=(f"q{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    assert titles == {f"q{number}": f"q{number}" for number in range(8)}


def test_reindex_reports_progress(socket_path):
    def reindex(exchange: Exchange) -> object:
        exchange.notify("progress", phase="indexing", done=1, total=2, msgid=exchange.msgid)
        counts = dict.fromkeys(("indexed", "unchanged", "removed", "skipped", "failed", "pending_vectors"), 0)
        return {"is_done": True, "took_ms": 1.0, **counts}

    seen = []
    with FakeDaemon(socket_path, {"reindex": reindex}), Client.connect(socket=socket_path) as groove:
        groove.reindex(force=True, on_progress=seen.append)

    assert seen == [messages.ProgressNotification("indexing", 1, 2, msgid=2)]


def test_search_tells_of_hits_on_the_way(socket_path):
    def search(exchange: Exchange) -> object:
        exchange.notify("partial", msgid=exchange.msgid, stage="text", results=[make_hit()])
        return make_answer()

    seen = []
    with FakeDaemon(socket_path, {"search": search}) as daemon, Client.connect(socket=socket_path) as groove:
        answer = groove.search("x", limit=3, on_partial=seen.append)
        groove.search("y")

    assert [(partial.stage, partial.results[0].title) for partial in seen] == [("text", "Async 1")]
    assert answer.results == ()
    assert daemon.requests[1:] == [
        ("search", {"query": "x", "limit": 3, "stream": True}),
        ("search", {"query": "y"}),
    ]


def test_notifications_are_yielded_until_nothing_comes(socket_path):
    def subscribe(exchange: Exchange) -> object:
        exchange.notify("index_changed", generation=8)
        exchange.notify("progress", phase="idle", done=0, total=0)
        exchange.notify("something_new", field=1)
        return {"events": exchange.params["events"]}

    answers = {"subscribe": subscribe, "unsubscribe": {"events": []}}
    with FakeDaemon(socket_path, answers) as daemon, Client.connect(socket=socket_path) as groove:
        seen = list(groove.notifications(["index_changed"], timeout_s=0.05))

    assert seen == [messages.IndexChangedNotification(8)]
    assert daemon.requests[-1] == ("unsubscribe", {"events": ["index_changed"]})


def test_fault_that_no_response_can_carry_is_raised(socket_path):
    def search(exchange: Exchange) -> object:
        exchange.notify("error", code=503, text="request.too_large: a frame has at most 8 MiB")
        exchange.hang_up()
        return NO_ANSWER

    with FakeDaemon(socket_path, {"search": search}), Client.connect(socket=socket_path) as groove:
        error = _failure_of(groove, "x")

    assert isinstance(error, RequestFailed)
    assert error.name == "request.too_large"


def test_broken_answer_is_incompatible_and_names_the_field(socket_path):
    with FakeDaemon(socket_path, {"search": {"results": []}}), Client.connect(socket=socket_path) as groove:
        error = _failure_of(groove, "x")

    assert isinstance(error, DaemonIncompatible)
    assert "SearchResponse.low_confidence" in str(error)


def test_large_answer_arrives_whole(socket_path):
    hit = make_hit(1, content="x" * 6_000_000, match_spans=[])
    with FakeDaemon(socket_path, {"search": make_answer(hit)}), Client.connect(socket=socket_path) as groove:
        assert len(groove.search("x").results[0].content) == 6_000_000


def test_first_living_socket_is_taken(socket_path):
    import socket

    dead = socket_path + ".dead"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(dead)
    with FakeDaemon(socket_path, {}):
        channel = connect((socket_path + ".none", dead, socket_path))
        channel.close()

    assert channel.path == socket_path


def test_full_backlog_is_waited_for_and_not_for_ever(socket_path):
    import socket
    import time

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path)
        listener.listen(0)
        waiting = connect((socket_path,))
        with pytest.raises(DaemonNotResponding):
            connect((socket_path,), deadline=time.monotonic() + 0.1)
        waiting.close()
