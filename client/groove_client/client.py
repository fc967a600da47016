"""The synchronous client: one connection, one request at a time, one typed method for each method of the daemon.

What always holds: requests of several threads wait for each other; every request ends, at the latest at its deadline;
after a deadline the connection can still be used.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TypeVar

from groove_client.errors import DaemonNotResponding
from groove_client.reply import read
from groove_client.transport import Channel, check_protocol, connect, deadline_after, hello_params
from groove_wire import messages
from groove_wire.methods import NOTIFICATIONS
from groove_wire.paths import DEFAULT_INSTANCE, fit_socket_path, socket_candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Self, Unpack

    from groove_client.calls import (
        AddCollectionOptions,
        CalibrateOptions,
        FailuresOptions,
        GetBestPracticeOptions,
        GetChunkOptions,
        GetDocumentOptions,
        ListDocumentsOptions,
        ListTopicsOptions,
        ReindexOptions,
        SearchOptions,
        SimilarOptions,
        WaitFreshOptions,
    )

    OnPartial = Callable[[messages.PartialNotification], None]
    OnProgress = Callable[[messages.ProgressNotification], None]

Response = TypeVar("Response")
Notice = messages.IndexChangedNotification | messages.ProgressNotification

DEFAULT_TIMEOUT_S = 30.0
CLIENT_NAME = "groove_client"


class Client:
    """A connection to the daemon; use it in a `with`, or call `close`.

    Every method takes `timeout_s`, the longest time to wait for its answer; the one of the client when it is left out.

    Every method raises:
        RequestFailed: the daemon answered with an error; `code` tells which.
        DaemonNotResponding: no answer in time, or the connection broke.
        DaemonIncompatible: the answer has a form that this version does not know.

    Attributes:
        server: what the daemon said about itself.
    """

    def __init__(
        self, channel: Channel, server: messages.HelloResponse, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        self.server = server
        self._channel = channel
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._in_flight: int | None = None

    @classmethod
    def connect(
        cls,
        *,
        socket: str | None = None,
        instance: str = DEFAULT_INSTANCE,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        client: str = CLIENT_NAME,
    ) -> Self:
        """Connect and tell each other versions.

        Args:
            socket: path of the socket; found by the instance when it is left out.
            instance: name of the daemon, when several run.
            timeout_s: longest time to wait for each answer, and for this connection.
            client: name of the calling program, for the daemon's log.

        Raises:
            DaemonNotRunning: nobody listens.
            DaemonNotResponding: no answer in time.
            DaemonIncompatible: the daemon speaks another major version of the protocol.
            ValueError: bad name of the instance.
        """
        deadline = deadline_after(timeout_s)
        channel = connect(socket_paths(socket, instance), deadline=deadline)
        try:
            hello = check_protocol(channel.call("hello", hello_params(client), deadline=deadline))
            return cls(channel, read(messages.HelloResponse, hello), timeout_s=timeout_s)
        except BaseException:
            channel.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the daemon cancels what is in flight."""
        self._channel.close()

    def cancel(self) -> None:
        """Stop the request that another thread is waiting for, if any; it then raises `RequestFailed`."""
        msgid = self._in_flight
        if msgid is not None:
            self._channel.cancel(msgid)

    def ping(self, payload: object = None, *, timeout_s: float | None = None) -> object:
        """Return the payload, by way of the daemon."""
        params = {} if payload is None else {"payload": payload}
        return self._ask(messages.PingResponse, "ping", params, timeout_s).payload

    def search(
        self,
        query: str,
        *,
        on_partial: OnPartial | None = None,
        timeout_s: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> messages.SearchResponse:
        """Search the notes; see `groove_wire.messages.SearchRequest` for the options.

        `on_partial` is called with the hits so far on the way; what is returned replaces them.
        """
        params: dict[str, object] = {"query": query, **options}
        if on_partial is None:
            return self._ask(messages.SearchResponse, "search", params, timeout_s)

        def receive(method: str, fields: dict[str, object]) -> None:
            if method == "partial":
                on_partial(read(messages.PartialNotification, fields))

        deadline = deadline_after(self._timeout_s if timeout_s is None else timeout_s)
        with self._lock:
            result = self._exchange("search", {**params, "stream": True}, deadline, receive)
        return read(messages.SearchResponse, result)

    def get_document(
        self, *, timeout_s: float | None = None, **options: Unpack[GetDocumentOptions]
    ) -> messages.GetDocumentResponse:
        """Return a document's text as it is indexed, or some lines of it."""
        return self._ask(messages.GetDocumentResponse, "get_document", {**options}, timeout_s)

    def get_chunk(
        self, *, timeout_s: float | None = None, **options: Unpack[GetChunkOptions]
    ) -> messages.GetChunkResponse:
        """Return one chunk, by the id of a hit or by path and line."""
        return self._ask(messages.GetChunkResponse, "get_chunk", {**options}, timeout_s)

    def similar(self, *, timeout_s: float | None = None, **options: Unpack[SimilarOptions]) -> messages.SimilarResponse:
        """Find documents or chunks near a document, a chunk or a text."""
        return self._ask(messages.SimilarResponse, "similar", {**options}, timeout_s)

    def get_best_practice(
        self, target: str, *, timeout_s: float | None = None, **options: Unpack[GetBestPracticeOptions]
    ) -> messages.GetBestPracticeResponse:
        """Return the note that says how something is to be done, or a section of it."""
        params: dict[str, object] = {"target": target, **options}
        return self._ask(messages.GetBestPracticeResponse, "get_best_practice", params, timeout_s)

    def list_documents(
        self, *, timeout_s: float | None = None, **options: Unpack[ListDocumentsOptions]
    ) -> messages.ListDocumentsResponse:
        """List the documents in the index."""
        return self._ask(messages.ListDocumentsResponse, "list_documents", {**options}, timeout_s)

    def list_topics(
        self, *, timeout_s: float | None = None, **options: Unpack[ListTopicsOptions]
    ) -> messages.ListTopicsResponse:
        """List categories and topics."""
        return self._ask(messages.ListTopicsResponse, "list_topics", {**options}, timeout_s)

    def status(self, *, timeout_s: float | None = None) -> messages.StatusResponse:
        """Return what the daemon has, does, and suffers from."""
        return self._ask(messages.StatusResponse, "status", None, timeout_s)

    def failures(
        self, *, timeout_s: float | None = None, **options: Unpack[FailuresOptions]
    ) -> messages.FailuresResponse:
        """List the files that could not be indexed."""
        return self._ask(messages.FailuresResponse, "failures", {**options}, timeout_s)

    def wait_fresh(
        self, *, timeout_s: float | None = None, **options: Unpack[WaitFreshOptions]
    ) -> messages.WaitFreshResponse:
        """Wait until everything saved before this call can be found; `deadline_ms` must be shorter than `timeout_s`."""
        return self._ask(messages.WaitFreshResponse, "wait_fresh", {**options}, timeout_s)

    def collections(self, *, timeout_s: float | None = None) -> messages.CollectionsResponse:
        """List the collections."""
        return self._ask(messages.CollectionsResponse, "collections", None, timeout_s)

    def add_collection(
        self, path: str, *, timeout_s: float | None = None, **options: Unpack[AddCollectionOptions]
    ) -> messages.AddCollectionResponse:
        """Watch one more folder, given by its absolute path."""
        return self._ask(messages.AddCollectionResponse, "add_collection", {"path": path, **options}, timeout_s)

    def remove_collection(self, name: str, *, timeout_s: float | None = None) -> messages.RemoveCollectionResponse:
        """Forget a folder; its files stay."""
        return self._ask(messages.RemoveCollectionResponse, "remove_collection", {"name": name}, timeout_s)

    def config(self, *, timeout_s: float | None = None) -> messages.ConfigResponse:
        """Return every setting and where it comes from."""
        return self._ask(messages.ConfigResponse, "config", None, timeout_s)

    def reload(self, *, timeout_s: float | None = None) -> messages.ConfigResponse:
        """Have the daemon read its configuration again; return what changed."""
        return self._ask(messages.ConfigResponse, "config", {"reload": True}, timeout_s)

    def shutdown(self, *, timeout_s: float | None = None) -> messages.ShutdownResponse:
        """Stop the daemon in good order."""
        return self._ask(messages.ShutdownResponse, "shutdown", None, timeout_s)

    def reindex(
        self,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        **options: Unpack[ReindexOptions],
    ) -> messages.ReindexResponse:
        """Compare folders and index now.

        It waits without end unless `timeout_s` is given; `on_progress` is called on the way.
        """
        result = self._follow("reindex", {**options}, timeout_s, on_progress)
        return read(messages.ReindexResponse, result)

    def calibrate(
        self,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        **options: Unpack[CalibrateOptions],
    ) -> messages.CalibrateResponse:
        """Learn from the index how confident answers may be.

        It waits without end unless `timeout_s` is given; `on_progress` is called on the way.
        """
        result = self._follow("calibrate", {**options}, timeout_s, on_progress)
        return read(messages.CalibrateResponse, result)

    def notifications(
        self, events: Sequence[str] = messages.EVENTS, *, timeout_s: float | None = None
    ) -> Iterator[Notice]:
        """Subscribe, and yield what comes, until the caller stops or nothing came for `timeout_s`.

        The connection is busy as long as the iterator is used; a second `Client` can ask in the meantime.

        Raises:
            DaemonNotResponding: the connection broke.
        """
        with self._lock:
            waiting: list[Notice] = []

            def receive(method: str, fields: dict[str, object]) -> None:
                if method in NOTIFICATIONS and method in events:
                    waiting.append(read(NOTIFICATIONS[method].content, fields))

            self._exchange("subscribe", {"events": list(events)}, deadline_after(self._timeout_s), receive)
            try:
                while True:
                    yield from waiting
                    waiting.clear()
                    if not self._channel.wait_for_notification(receive, timeout_s=timeout_s):
                        return
            finally:
                self._unsubscribe(events)

    def _unsubscribe(self, events: Sequence[str]) -> None:
        # The subscription ends with the connection anyway, so a connection that is gone is no fault here.
        with contextlib.suppress(DaemonNotResponding):
            self._exchange("unsubscribe", {"events": list(events)}, deadline_after(self._timeout_s), None)

    def _ask(
        self, response: type[Response], method: str, params: dict[str, object] | None, timeout_s: float | None
    ) -> Response:
        deadline = deadline_after(self._timeout_s if timeout_s is None else timeout_s)
        with self._lock:
            result = self._exchange(method, params, deadline, None)
        return read(response, result)

    def _follow(
        self, method: str, params: dict[str, object], timeout_s: float | None, on_progress: OnProgress | None
    ) -> object:
        """Ask for something that tells how far it is; without `timeout_s` there is no limit."""

        def receive(name: str, fields: dict[str, object]) -> None:
            if on_progress is not None and name == "progress":
                on_progress(read(messages.ProgressNotification, fields))

        with self._lock:
            return self._exchange(method, params, deadline_after(timeout_s), receive)

    def _exchange(
        self,
        method: str,
        params: dict[str, object] | None,
        deadline: float | None,
        receive: Callable[[str, dict[str, object]], None] | None,
    ) -> object:
        msgid = self._channel.request(method, params, deadline=deadline)
        self._in_flight = msgid
        try:
            return self._channel.result(msgid, deadline=deadline, on_notification=receive)
        except DaemonNotResponding:
            self._give_up(msgid)
            raise
        finally:
            self._in_flight = None

    def _give_up(self, msgid: int) -> None:
        """Leave the connection usable after a deadline: the request is stopped and its late answer dropped."""
        self._channel.abandon(msgid)
        with contextlib.suppress(DaemonNotResponding):
            self._channel.cancel(msgid, deadline=deadline_after(self._timeout_s))


def socket_paths(socket: str | None, instance: str) -> tuple[str, ...]:
    """Return where to look for the daemon.  Raises ValueError for a bad name of the instance."""
    return (fit_socket_path(socket),) if socket else socket_candidates(instance)
