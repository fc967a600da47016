"""The asynchronous client: one connection, many requests in flight, for programs that run an asyncio loop.

What always holds: a request whose task is cancelled, or whose time is over, is cancelled in the daemon too; when the
connection breaks, every request in flight raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket as sockets
from typing import Any, TypeVar

from groove_client.client import CLIENT_NAME, DEFAULT_TIMEOUT_S, socket_paths
from groove_client.errors import ClientError, DaemonNotResponding
from groove_client.reply import read
from groove_client.transport import check_protocol, connect, deadline_after, hello_params, outcome, raise_notified
from groove_wire import messages
from groove_wire.framing import RESPONSE, Decoder, FrameError, argument, encode_notification, encode_request
from groove_wire.methods import NOTIFICATIONS
from groove_wire.paths import DEFAULT_INSTANCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
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

    from groove_client.client import Notice

Response = TypeVar("Response")

_READ_BYTES = 256 * 1024
_ANSWER_BYTES = 64 * 1024 * 1024


class AsyncClient:
    """A connection to the daemon; use it in an `async with`, or await `close`.

    Methods, errors and `timeout_s` are those of `Client`.

    Attributes:
        server: what the daemon said about itself.
    """

    server: messages.HelloResponse

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._timeout_s = timeout_s
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[object]] = {}
        self._followers: dict[int, Callable[[Any], None]] = {}
        self._notices: list[asyncio.Queue[Notice]] = []
        self._fault: ClientError | None = None
        self._receiver = asyncio.create_task(self._receive())

    @classmethod
    async def connect(
        cls,
        *,
        socket: str | None = None,
        instance: str = DEFAULT_INSTANCE,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        client: str = CLIENT_NAME,
    ) -> Self:
        """Connect and tell each other versions; arguments and errors are those of `Client.connect`."""
        paths = socket_paths(socket, instance)
        channel = await asyncio.to_thread(connect, paths, deadline=deadline_after(timeout_s))
        reader, writer = await asyncio.open_unix_connection(sock=sockets.socket(fileno=channel.detach()))
        self = cls(reader, writer, timeout_s=timeout_s)
        try:
            hello = check_protocol(await self._exchange("hello", hello_params(client), timeout_s))
            self.server = read(messages.HelloResponse, hello)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; the daemon cancels what is in flight."""
        self._receiver.cancel()
        self._writer.close()
        with contextlib.suppress(asyncio.CancelledError):
            await self._receiver
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def ping(self, payload: object = None, *, timeout_s: float | None = None) -> object:
        """Return the payload, by way of the daemon."""
        params = {} if payload is None else {"payload": payload}
        return (await self._ask(messages.PingResponse, "ping", params, timeout_s)).payload

    async def search(
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
        if on_partial is not None:
            params["stream"] = True
        result = await self._exchange("search", params, self._timeout_s if timeout_s is None else timeout_s, on_partial)
        return read(messages.SearchResponse, result)

    async def get_document(
        self, *, timeout_s: float | None = None, **options: Unpack[GetDocumentOptions]
    ) -> messages.GetDocumentResponse:
        """Return a document's text as it is indexed, or some lines of it."""
        return await self._ask(messages.GetDocumentResponse, "get_document", {**options}, timeout_s)

    async def get_chunk(
        self, *, timeout_s: float | None = None, **options: Unpack[GetChunkOptions]
    ) -> messages.GetChunkResponse:
        """Return one chunk, by the id of a hit or by path and line."""
        return await self._ask(messages.GetChunkResponse, "get_chunk", {**options}, timeout_s)

    async def similar(
        self, *, timeout_s: float | None = None, **options: Unpack[SimilarOptions]
    ) -> messages.SimilarResponse:
        """Find documents or chunks near a document, a chunk or a text."""
        return await self._ask(messages.SimilarResponse, "similar", {**options}, timeout_s)

    async def get_best_practice(
        self, target: str, *, timeout_s: float | None = None, **options: Unpack[GetBestPracticeOptions]
    ) -> messages.GetBestPracticeResponse:
        """Return the note that says how something is to be done, or a section of it."""
        params: dict[str, object] = {"target": target, **options}
        return await self._ask(messages.GetBestPracticeResponse, "get_best_practice", params, timeout_s)

    async def list_documents(
        self, *, timeout_s: float | None = None, **options: Unpack[ListDocumentsOptions]
    ) -> messages.ListDocumentsResponse:
        """List the documents in the index."""
        return await self._ask(messages.ListDocumentsResponse, "list_documents", {**options}, timeout_s)

    async def list_topics(
        self, *, timeout_s: float | None = None, **options: Unpack[ListTopicsOptions]
    ) -> messages.ListTopicsResponse:
        """List categories and topics."""
        return await self._ask(messages.ListTopicsResponse, "list_topics", {**options}, timeout_s)

    async def status(self, *, timeout_s: float | None = None) -> messages.StatusResponse:
        """Return what the daemon has, does, and suffers from."""
        return await self._ask(messages.StatusResponse, "status", None, timeout_s)

    async def failures(
        self, *, timeout_s: float | None = None, **options: Unpack[FailuresOptions]
    ) -> messages.FailuresResponse:
        """List the files that could not be indexed."""
        return await self._ask(messages.FailuresResponse, "failures", {**options}, timeout_s)

    async def wait_fresh(
        self, *, timeout_s: float | None = None, **options: Unpack[WaitFreshOptions]
    ) -> messages.WaitFreshResponse:
        """Wait until everything saved before this call can be found; `deadline_ms` must be shorter than `timeout_s`."""
        return await self._ask(messages.WaitFreshResponse, "wait_fresh", {**options}, timeout_s)

    async def collections(self, *, timeout_s: float | None = None) -> messages.CollectionsResponse:
        """List the collections."""
        return await self._ask(messages.CollectionsResponse, "collections", None, timeout_s)

    async def add_collection(
        self, path: str, *, timeout_s: float | None = None, **options: Unpack[AddCollectionOptions]
    ) -> messages.AddCollectionResponse:
        """Watch one more folder, given by its absolute path."""
        return await self._ask(messages.AddCollectionResponse, "add_collection", {"path": path, **options}, timeout_s)

    async def remove_collection(
        self, name: str, *, timeout_s: float | None = None
    ) -> messages.RemoveCollectionResponse:
        """Forget a folder; its files stay."""
        return await self._ask(messages.RemoveCollectionResponse, "remove_collection", {"name": name}, timeout_s)

    async def config(self, *, timeout_s: float | None = None) -> messages.ConfigResponse:
        """Return every setting and where it comes from."""
        return await self._ask(messages.ConfigResponse, "config", None, timeout_s)

    async def reload(self, *, timeout_s: float | None = None) -> messages.ConfigResponse:
        """Have the daemon read its configuration again; return what changed."""
        return await self._ask(messages.ConfigResponse, "config", {"reload": True}, timeout_s)

    async def shutdown(self, *, timeout_s: float | None = None) -> messages.ShutdownResponse:
        """Stop the daemon in good order."""
        return await self._ask(messages.ShutdownResponse, "shutdown", None, timeout_s)

    async def reindex(
        self,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        **options: Unpack[ReindexOptions],
    ) -> messages.ReindexResponse:
        """Compare folders and index now.

        It waits without end unless `timeout_s` is given; `on_progress` is called on the way.
        """
        result = await self._exchange("reindex", {**options}, timeout_s, on_progress)
        return read(messages.ReindexResponse, result)

    async def calibrate(
        self,
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
        **options: Unpack[CalibrateOptions],
    ) -> messages.CalibrateResponse:
        """Learn from the index how confident answers may be.

        It waits without end unless `timeout_s` is given; `on_progress` is called on the way.
        """
        result = await self._exchange("calibrate", {**options}, timeout_s, on_progress)
        return read(messages.CalibrateResponse, result)

    async def notifications(self, events: Sequence[str] = messages.EVENTS) -> AsyncIterator[Notice]:
        """Subscribe, and yield what comes, until the caller stops or the connection ends.

        Raises:
            ClientError: the connection broke.
        """
        names = [NOTIFICATIONS[event].content for event in events]
        queue: asyncio.Queue[Notice] = asyncio.Queue()
        self._notices.append(queue)
        try:
            await self._exchange("subscribe", {"events": list(events)}, self._timeout_s)
            while True:
                notice = await self._next_notice(queue)
                if type(notice) in names:
                    yield notice
        finally:
            self._notices.remove(queue)
            if self._fault is None and not self._receiver.done():
                await self._exchange("unsubscribe", {"events": list(events)}, self._timeout_s)

    async def _next_notice(self, queue: asyncio.Queue[Notice]) -> Notice:
        getter = asyncio.ensure_future(queue.get())
        await asyncio.wait((getter, self._receiver), return_when=asyncio.FIRST_COMPLETED)
        if getter.done():
            return getter.result()
        getter.cancel()
        raise self._end()

    async def _ask(
        self, response: type[Response], method: str, params: dict[str, object] | None, timeout_s: float | None
    ) -> Response:
        return read(response, await self._exchange(method, params, self._timeout_s if timeout_s is None else timeout_s))

    async def _exchange(
        self,
        method: str,
        params: dict[str, object] | None,
        timeout_s: float | None,
        follower: Callable[[Any], None] | None = None,
    ) -> object:
        if self._receiver.done():
            raise self._end()
        self._last_id += 1
        msgid = self._last_id
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[msgid] = answer
        if follower is not None:
            self._followers[msgid] = follower
        try:
            self._writer.write(encode_request(msgid, method, params or {}))
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError as error:
            self._cancel(msgid)
            raise DaemonNotResponding(f"no answer to {method} in {timeout_s:g} s") from error
        except asyncio.CancelledError:
            self._cancel(msgid)
            raise
        finally:
            self._waiting.pop(msgid, None)
            self._followers.pop(msgid, None)

    def _cancel(self, msgid: int) -> None:
        if not self._writer.is_closing():
            self._writer.write(encode_notification("$/cancel", {"msgid": msgid}))

    async def _receive(self) -> None:
        decoder = Decoder(_ANSWER_BYTES)
        try:
            while data := await self._reader.read(_READ_BYTES):
                for message in decoder.feed(data):
                    self._take(message)
            self._fault = _closed()
        except ClientError as error:
            self._fault = error
        except (OSError, FrameError) as error:
            self._fault = DaemonNotResponding(f"the connection broke: {error}")
        finally:
            self._fail_all(self._end())

    def _end(self) -> ClientError:
        """Why the connection takes no more requests."""
        return _closed() if self._fault is None else self._fault

    def _fail_all(self, fault: ClientError) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(fault)

    def _take(self, message: tuple[Any, ...]) -> None:
        if message[0] == RESPONSE:
            _, msgid, error, result = message
            self._settle(self._waiting.get(msgid), error, result)
            return
        method, params = message[-2], argument(message[-1])
        if method == "error":
            raise_notified(params)
        if method not in NOTIFICATIONS:
            return
        notice: Notice = read(NOTIFICATIONS[method].content, params)
        follower = self._followers.get(getattr(notice, "msgid", None) or 0)
        if follower is not None:
            follower(notice)
        for queue in self._notices:
            queue.put_nowait(notice)

    @staticmethod
    def _settle(answer: asyncio.Future[object] | None, error: object, result: object) -> None:
        if answer is None or answer.done():
            return
        try:
            answer.set_result(outcome(error, result))
        except ClientError as failure:
            answer.set_exception(failure)


def _closed() -> DaemonNotResponding:
    return DaemonNotResponding("the connection to the daemon is closed")
