"""The public API of the client as code that must pass the type checker; it is never run."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from groove_client import (
    AsyncClient,
    Client,
    ClientError,
    DaemonIncompatible,
    DaemonNotResponding,
    DaemonNotRunning,
    RequestFailed,
)
from groove_wire import messages


def use_client() -> None:
    with Client.connect(instance="default", timeout_s=5.0) as groove:
        assert_type(groove, Client)
        assert_type(groove.server, messages.HelloResponse)
        answer = groove.search("gulls", limit=3, tags_any=["birds"], rerank=False, freshness="none", timeout_s=1.0)
        assert_type(answer, messages.SearchResponse)
        assert_type(answer.results[0].line_start, int)
        assert_type(answer.results[0].match_spans, tuple[messages.Span, ...] | None)
        assert_type(groove.get_document(path="a.md", line_start=3), messages.GetDocumentResponse)
        assert_type(groove.get_chunk(id=3), messages.GetChunkResponse)
        assert_type(groove.list_documents(formats=["md"], offset=100), messages.ListDocumentsResponse)
        assert_type(groove.similar(path="a.md", kind="chunks", limit=3), messages.SimilarResponse)
        assert_type(groove.list_topics(category="birds"), messages.ListTopicsResponse)
        assert_type(groove.status(), messages.StatusResponse)
        assert_type(groove.failures(limit=10), messages.FailuresResponse)
        assert_type(groove.reindex(force=True, on_progress=show_progress), messages.ReindexResponse)
        assert_type(groove.calibrate(questions=50, on_progress=show_progress), messages.CalibrateResponse)
        assert_type(groove.get_best_practice("rust", category="tests"), messages.GetBestPracticeResponse)
        assert_type(groove.search("gulls", on_partial=show_partial).confidence, float | None)
        assert_type(groove.wait_fresh(deadline_ms=500, vectors=True), messages.WaitFreshResponse)
        assert_type(groove.collections(), messages.CollectionsResponse)
        assert_type(groove.add_collection("/notes", name="notes"), messages.AddCollectionResponse)
        assert_type(groove.remove_collection("notes"), messages.RemoveCollectionResponse)
        assert_type(groove.config(), messages.ConfigResponse)
        assert_type(groove.reload(), messages.ConfigResponse)
        assert_type(groove.ping([1]), object)
        notices = groove.notifications(["index_changed"], timeout_s=1.0)
        assert_type(notices, Iterator[messages.IndexChangedNotification | messages.ProgressNotification])
        groove.cancel()
        groove.shutdown()


def show_partial(partial: messages.PartialNotification) -> None:
    assert_type(partial.results[0].id, int)


def show_progress(progress: messages.ProgressNotification) -> None:
    assert_type(progress.done, int)


async def use_async_client() -> None:
    async with await AsyncClient.connect(socket="/tmp/d.sock") as groove:
        assert_type(groove, AsyncClient)
        assert_type(await groove.search("gulls", collections=["notes"]), messages.SearchResponse)
        assert_type(await groove.search("gulls", on_partial=show_partial), messages.SearchResponse)
        assert_type(await groove.calibrate(), messages.CalibrateResponse)
        assert_type(await groove.reindex(paths=["/notes/a.md"], on_progress=show_progress), messages.ReindexResponse)
        notices = groove.notifications()
        assert_type(notices, AsyncIterator[messages.IndexChangedNotification | messages.ProgressNotification])


def tell_errors_apart() -> str:
    try:
        Client.connect().search("gulls")
    except (DaemonNotRunning, DaemonNotResponding):
        return "no daemon"
    except DaemonIncompatible:
        return "another version"
    except RequestFailed as error:
        assert_type(error.code, int)
        return f"{error.name}: {error.message}"
    except ClientError as error:
        return str(error)
    return ""


def wrong_calls(groove: Client) -> None:
    groove.search("gulls", limt=3)  # type: ignore[call-arg]
    groove.search("gulls", limit="3")  # type: ignore[arg-type]
    groove.search("gulls", freshness="maybe")  # type: ignore[arg-type]
