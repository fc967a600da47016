"""The table of methods and notifications: what each takes, what it gives, and since which protocol version.

What always holds: a method is in this table exactly when the daemon has a handler for it.
"""

from dataclasses import dataclass

from groove_wire import messages as m


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its request, its response, and the `(major, minor)` of the protocol that brought it."""

    name: str
    request: type
    response: type
    doc: str
    since: tuple[int, int] = (1, 0)


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification: what it carries, and whether the client sends it."""

    name: str
    content: type
    doc: str
    from_client: bool = False
    since: tuple[int, int] = (1, 0)


_METHODS = (
    Method("hello", m.HelloRequest, m.HelloResponse, "Tell each other names, versions, limits. Optional."),
    Method("ping", m.PingRequest, m.PingResponse, "Answer at once."),
    Method("search", m.SearchRequest, m.SearchResponse, "Search the notes."),
    Method("get_document", m.GetDocumentRequest, m.GetDocumentResponse, "Return a document's text as it is indexed."),
    Method("get_chunk", m.GetChunkRequest, m.GetChunkResponse, "Return one chunk."),
    Method("similar", m.SimilarRequest, m.SimilarResponse, "Find what is near a document, a chunk or a text."),
    Method(
        "get_best_practice", m.GetBestPracticeRequest, m.GetBestPracticeResponse,
        "Return the note that says how something is to be done, or a section of it.",
    ),
    Method("list_documents", m.ListDocumentsRequest, m.ListDocumentsResponse, "List documents, with filters."),
    Method("list_topics", m.ListTopicsRequest, m.ListTopicsResponse, "List topics, with filters."),
    Method("status", m.StatusRequest, m.StatusResponse, "Say what the daemon has, does, and suffers from."),
    Method("failures", m.FailuresRequest, m.FailuresResponse, "List the files that could not be indexed."),
    Method(
        "reindex", m.ReindexRequest, m.ReindexResponse,
        "Compare folders and index now. One at a time: a second caller is told who is first.",
    ),
    Method(
        "calibrate", m.CalibrateRequest, m.CalibrateResponse,
        "Learn from the index how confident answers may be; sends `progress` on the way.",
    ),
    Method("wait_fresh", m.WaitFreshRequest, m.WaitFreshResponse, "Wait until what was saved is searchable."),
    Method("subscribe", m.SubscribeRequest, m.SubscriptionResponse, "Receive notifications on this connection."),
    Method("unsubscribe", m.UnsubscribeRequest, m.SubscriptionResponse, "Receive them no longer."),
    Method("config", m.ConfigRequest, m.ConfigResponse, "Return the effective configuration and each value's origin."),
    Method("collections", m.CollectionsRequest, m.CollectionsResponse, "List the collections."),
    Method("add_collection", m.AddCollectionRequest, m.AddCollectionResponse, "Watch one more folder."),
    Method("remove_collection", m.RemoveCollectionRequest, m.RemoveCollectionResponse, "Forget a folder."),
    Method("shutdown", m.ShutdownRequest, m.ShutdownResponse, "Stop the daemon in good order."),
)  # fmt: skip

_NOTIFICATIONS = (
    Notification("$/cancel", m.CancelNotification, "Stop a request that is in flight.", from_client=True),
    Notification("error", m.ErrorNotification, "A fault that no response can carry; the connection is closed."),
    Notification("index_changed", m.IndexChangedNotification, "Sent to subscribers after each commit."),
    Notification(
        "partial", m.PartialNotification, "Sent to the caller of a `search` with `stream`, before its response."
    ),
    Notification(
        "progress", m.ProgressNotification, "Sent to subscribers, and to callers of `reindex` and `calibrate`."
    ),
)

METHODS = {method.name: method for method in _METHODS}
NOTIFICATIONS = {notification.name: notification for notification in _NOTIFICATIONS}
