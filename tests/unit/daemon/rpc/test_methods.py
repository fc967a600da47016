"""Handlers: requests to calls of the daemon, and its values to responses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.config.settings import LimitSettings
from groove_daemon.domain.hit import Expansion
from groove_daemon.domain.query import Filters
from groove_daemon.errors import InvalidParams, NotIndexed
from groove_daemon.retrieval.similar import SimilarCall
from groove_daemon.rpc.cancel import CancelToken
from groove_daemon.rpc.context import CollectionState, NewCollection
from groove_daemon.rpc.meter import Meter
from groove_daemon.rpc.methods import HANDLERS
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.documents import file_uri
from groove_daemon.rpc.methods.search import lines_of
from groove_daemon.rpc.server import ServerLimits
from groove_daemon.rpc.session import Session
from groove_daemon.search import SearchCall
from groove_wire.methods import METHODS
from groove_wire.params import from_params, to_plain
from support.rpc import (
    NOTE,
    StandInDaemon,
    StandInReader,
    explained_result,
    make_chunk,
    make_document,
    make_hit,
    make_result,
)


def answer(method, daemon=None, **params):
    call = Call(
        daemon=daemon or StandInDaemon(),
        session=Session(lambda frame: None),
        msgid=1,
        token=CancelToken(),
        notify=lambda name, content: None,
        limits=ServerLimits().to_wire(),
        meter=Meter(),
        connections=1,
    )
    return to_plain(HANDLERS[method].run(call, from_params(METHODS[method].request, params)))


def test_search_passes_every_parameter_on():
    daemon = StandInDaemon()
    answer(
        "search", daemon,
        query="rust -async", limit=7, profile="memory", collections=["notes"], category="birds", topic="ouzel",
        path_globs=["*.md"], tags_any=["a"], tags_all=["b"], date_from="2026", date_to="2027", modified_from=1,
        modified_to="1970-01-01T00:00:02Z", formats=["md"], min_quality=0.2, include_low_quality=True,
        min_confidence_ratio=2, min_score=0.1, rerank=True, mmr=False, mmr_lambda=0.4, mmr_same_doc_penalty=0.3,
        parent_retriever=True, max_per_document=2, freshness="none", within_ms=50, explain=True,
    )  # fmt: skip

    assert daemon.calls == [
        SearchCall(
            text="rust -async",
            limit=7,
            profile="memory",
            filters=Filters(
                collections=("notes",),
                category="birds",
                topic="ouzel",
                path_globs=("*.md",),
                tags_any=("a",),
                tags_all=("b",),
                date_from="2026",
                date_to="2027",
                modified_from=1.0,
                modified_to=2.0,
                formats=("md",),
            ),
            min_quality=0.2,
            include_low_quality=True,
            min_confidence_ratio=2.0,
            min_score=0.1,
            rerank=True,
            mmr=False,
            mmr_lambda=0.4,
            mmr_same_doc_penalty=0.3,
            parent_retriever=True,
            max_per_document=2,
            freshness="none",
            within_ms=50,
            explain=True,
        )
    ]


def test_search_leaves_to_the_configuration_what_was_not_given():
    daemon = StandInDaemon()
    answer("search", daemon, query="a")

    assert daemon.calls == [SearchCall(text="a")]


def test_hit_has_the_public_fields():
    hit = answer("search", query="a")["results"][0]

    assert hit == {
        "id": 7,
        "score": 0.5,
        "collection": "notes",
        "path": "birds/ouzel.md",
        "absolute_path": "/home/me/notes/birds/ouzel.md",
        "title": "Birds",
        "tags": ["bird", "song"],
        "format": "md",
        "line_start": 3,
        "line_end": 3,
        "content": "The ouzel sings.",
        "uri": "file:///home/me/notes/birds/ouzel.md",
        "heading_path": ["Birds"],
        "heading": "Birds",
        "topic": "ouzel",
        "category": "birds",
        "date": "2026-05-18",
        "match_spans": [{"start": 4, "end": 9}],
        "match_lines": [3],
    }


def test_hit_without_optional_values_has_no_keys_for_them():
    document = make_document(topic=None, category=None, date=None, tags=())
    chunk = make_chunk(document=document, heading=None, heading_path=())
    daemon = StandInDaemon(answer=lambda call, cancelled: make_result(make_hit(chunk=chunk, match_spans=None)))
    hit = answer("search", daemon, query="a")["results"][0]

    absent = {
        "topic",
        "category",
        "date",
        "heading",
        "match_spans",
        "match_lines",
        "expanded_from",
        "stale",
        "evidence",
    }
    assert not absent & hit.keys()
    assert hit["tags"] == []


def test_hit_says_where_it_was_widened_and_that_it_is_stale():
    hit = make_hit(expanded_from=Expansion("siblings", 1, 3, 9), stale=True)
    daemon = StandInDaemon(answer=lambda call, cancelled: make_result(hit))
    plain = answer("search", daemon, query="a")["results"][0]

    assert plain["expanded_from"] == {"kind": "siblings", "from_position": 1, "to_position": 3, "total_chunks": 9}
    assert plain["stale"] is True


def test_explained_answer_has_steps_and_evidence():
    daemon = StandInDaemon(answer=lambda call, cancelled: explained_result())
    result = answer("search", daemon, query="a", explain=True)

    assert [step["stage"] for step in result["steps"]] == ["trigram", "dense"]
    assert result["steps"][1]["reason"] == "the model is loading"
    assert "reason" not in result["steps"][0]
    assert result["results"][0]["evidence"][0] == {"stage": "trigram", "rank": 1, "score": 2.5}
    assert result["degraded"] == [{"stage": "dense", "reason": "the model is loading"}]
    assert (result["fresh"], result["stale_reason"]) == (False, "the watcher of notes is not running")


def test_answer_has_no_steps_unless_asked_to_explain():
    daemon = StandInDaemon(answer=lambda call, cancelled: explained_result())
    result = answer("search", daemon, query="a")

    assert "steps" not in result
    assert "evidence" not in result["results"][0]


@pytest.mark.parametrize(
    "named",
    [
        {"id": 7},
        {"path": "birds/ouzel.md"},
        {"path": "birds/ouzel.md", "collection": "notes"},
        {"path": "/home/me/notes/birds/ouzel.md"},
        {"path": "/home/me/notes/../notes/birds/ouzel.md"},
    ],
)
def test_document_is_found_by_every_way_to_name_it(named):
    result = answer("get_document", **named)

    assert result["content"] == NOTE
    assert result["document"]["path"] == "birds/ouzel.md"
    assert (result["line_start"], result["line_end"]) == (1, 3)


def test_document_gives_the_lines_that_were_asked_for():
    result = answer("get_document", path="birds/ouzel.md", line_start=3, line_end=3)

    assert (result["content"], result["line_start"], result["line_end"]) == ("The ouzel sings.\n", 3, 3)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "give either id or path"),
        ({"id": 7, "path": "a"}, "give either id or path"),
        ({"path": "a", "line_start": 3, "line_end": 2}, "line_end: must not be before line_start"),
        ({"path": "birds/ouzel.md", "collection": "other"}, "no collection 'other'"),
    ],
)
def test_document_request_is_refused(params, text):
    with pytest.raises(InvalidParams, match=text):
        answer("get_document", **params)


def test_path_in_several_collections_must_be_told_apart():
    store = StandInReader()
    store.chunks.append(make_chunk(chunk_id=8, document=make_document(document_id=4, collection="work")))
    roots = (CollectionState("notes", "/home/me/notes"), CollectionState("work", "/home/me/work"))
    daemon = StandInDaemon(store=store, roots=roots)

    with pytest.raises(InvalidParams, match="name one of notes, work"):
        answer("get_document", daemon, path="birds/ouzel.md")
    assert answer("get_document", daemon, path="birds/ouzel.md", collection="work")["document"]["collection"] == "work"
    assert answer("get_document", daemon, path="/home/me/work/birds/ouzel.md")["document"]["collection"] == "work"


def test_path_that_is_not_indexed_is_named():
    with pytest.raises(NotIndexed, match=r"'absent\.md' is not in the index"):
        answer("get_document", path="absent.md")


def test_chunk_is_found_by_id_and_by_line():
    store = StandInReader()
    store.chunks = [make_chunk(line_start=3, line_end=5), make_chunk(chunk_id=8, position=1, line_start=7, line_end=9)]
    daemon = StandInDaemon(store=store)

    assert answer("get_chunk", daemon, id=8)["chunk"]["position"] == 1
    assert answer("get_chunk", daemon, path="birds/ouzel.md")["chunk"]["id"] == 7
    assert answer("get_chunk", daemon, path="birds/ouzel.md", line=5)["chunk"]["id"] == 7
    assert answer("get_chunk", daemon, path="birds/ouzel.md", line=6)["chunk"]["id"] == 8
    assert answer("get_chunk", daemon, path="birds/ouzel.md", line=99)["chunk"]["id"] == 8


def test_documents_are_listed_by_pages():
    store = StandInReader()
    store.chunks = [
        make_chunk(chunk_id=number, document=make_document(document_id=number, path=f"{number}.md"))
        for number in range(5)
    ]
    result = answer("list_documents", StandInDaemon(store=store), offset=1, limit=2)

    assert result["total"] == 5
    assert [document["path"] for document in result["documents"]] == ["1.md", "2.md"]
    assert result["documents"][0]["modified_at"] == "2026-05-18T10:26:40Z"


def test_similar_takes_a_path_an_id_or_a_text_with_filters():
    daemon = StandInDaemon()
    by_path = answer("similar", daemon, path="birds/ouzel.md", limit=3, formats=["md"], min_quality=0.5)
    by_id = answer("similar", daemon, id=7)
    by_text = answer("similar", daemon, text="a small bird", kind="documents")

    assert daemon.similar_calls == [
        SimilarCall(make_document(), "documents", 3, Filters(formats=("md",), min_quality=0.5)),
        SimilarCall(make_chunk(), "chunks", 10),
        SimilarCall("a small bird", "documents", 10),
    ]
    assert [(near["score"], near["document"]["path"]) for near in by_path["documents"]] == [(0.75, "birds/dipper.md")]
    assert [(hit["id"], hit["score"]) for hit in by_id["chunks"]] == [(7, 0.5)]
    assert (by_path["chunks"], by_id["documents"], by_text["chunks"]) == ([], [], [])
    assert (by_path["without_vector"], by_id["without_vector"]) == (0, 2)


@pytest.mark.parametrize("params", [{}, {"id": 7, "text": "a"}, {"path": "birds/ouzel.md", "id": 7}])
def test_similar_needs_exactly_one_source(params):
    with pytest.raises(InvalidParams, match="exactly one of path, id and text"):
        answer("similar", **params)


def test_similar_names_what_is_not_there():
    with pytest.raises(NotIndexed, match=r"absent\.md"):
        answer("similar", path="absent.md")
    with pytest.raises(NotIndexed, match="no chunk has id 99"):
        answer("similar", id=99)
    with pytest.raises(InvalidParams, match="no collection 'nowhere'"):
        answer("similar", text="a", collections=["nowhere"])


def test_topics_are_listed_with_their_filter():
    assert answer("list_topics")["topics"] == [
        {
            "file_count": 1,
            "titles": ["Birds"],
            "category": "birds",
            "topic": "ouzel",
            "last_modified": "2026-05-18T10:26:40Z",
        }
    ]
    assert answer("list_topics", category="fish")["topics"] == []
    assert answer("list_topics", offset=1) == {"topics": [], "total": 1, "generation": 12}


def test_failures_carry_attempts_and_the_next_try():
    result = answer("failures")

    assert result["total"] == 1
    assert result["failures"][0]["attempts"] == 2
    assert result["failures"][0]["next_try_at"] == "2026-05-18T10:28:40Z"


def test_status_tells_what_there_is():
    result = answer("status")

    assert result["state"] == "ready"
    assert result["models"] == [
        {"role": "embedder", "name": "hashing", "state": "ready", "fingerprint": "hashing-64", "dimension": 64}
    ]
    assert result["collections"][0]["last_reconcile_at"] == "2026-05-18T10:26:42Z"
    assert result["counters"] == {"documents_indexed": 1}
    assert result["latency"]["stage.trigram"] == {"count": 1, "p50_ms": 2.0, "p95_ms": 2.0, "p99_ms": 2.0}
    assert result["connections"] == 1


def test_wait_fresh_passes_its_deadline_on():
    daemon = StandInDaemon()
    result = answer("wait_fresh", daemon, deadline_ms=2500, vectors=True)

    assert daemon.waited == [((), 2.5, True)]
    assert result["fresh"] is True
    assert "reason" not in result


def test_config_is_shown_and_reloaded():
    daemon = StandInDaemon()

    assert answer("config", daemon)["values"] == [{"key": "search.limit", "value": 5, "origin": "default"}]
    assert "changed" not in answer("config", daemon)
    assert answer("config", daemon, reload=True)["changed"] == ["search.limit"]
    assert daemon.reloads == 1


def test_collections_are_added_listed_and_removed():
    daemon = StandInDaemon()

    assert answer("collections", daemon)["collections"][0]["name"] == "notes"
    assert answer("add_collection", daemon, path="/home/me/work", source="session") == {
        "name": "work",
        "root": "/home/me/work",
    }
    assert daemon.added == [NewCollection("/home/me/work", None, "session")]
    assert answer("remove_collection", daemon, name="work") == {"name": "work", "documents_removed": 1}


def test_uri_is_percent_encoded():
    assert file_uri("/home/me/My Notes/ü #1.md") == "file:///home/me/My%20Notes/%C3%BC%20%231.md"


def test_uri_of_a_name_that_is_not_utf8_has_its_bytes():
    assert file_uri("bytes:/n/caf%E9.md") == "file:///n/caf%E9.md"


@pytest.mark.parametrize(
    ("text", "first", "last", "expected"),
    [
        ("a\nb\nc\n", 1, None, ("a\nb\nc\n", 1, 3)),
        ("a\nb\nc", 1, None, ("a\nb\nc", 1, 3)),
        ("a\nb\nc", 2, 2, ("b\n", 2, 2)),
        ("a\nb\nc", 3, 9, ("c", 3, 3)),
        ("a\nb\nc", 4, None, ("", 0, 0)),
        ("", 1, None, ("", 0, 0)),
        ("a\u2028b\n", 1, 1, ("a\u2028b\n", 1, 1)),
    ],
)
def test_lines_are_cut_at_line_feeds(text, first, last, expected):
    assert lines_of(text, first, last) == expected


@given(st.text("ab\n\x0b\u2028", max_size=30), st.integers(1, 10))
def test_lines_in_two_pieces_are_the_text(text, cut):
    assert lines_of(text, 1, cut)[0] + lines_of(text, cut + 1, None)[0] == text


def test_document_is_found_by_an_absolute_path_that_is_not_utf8():
    store = StandInReader()
    store.chunks = [make_chunk(document=make_document(path="bytes:caf%E9.md"))]
    call = StandInDaemon(store=store)
    result = answer("get_chunk", call, path="bytes:/home/me/notes/caf%E9.md")

    assert result["document"]["path"] == "bytes:caf%E9.md"
    assert result["document"]["absolute_path"] == "bytes:/home/me/notes/caf%E9.md"
    assert result["document"]["uri"] == "file:///home/me/notes/caf%E9.md"


def test_limits_of_the_configuration_are_those_of_the_wire_by_default():
    configured, served = LimitSettings(), ServerLimits()

    assert (configured.connections, configured.in_flight) == (served.connections, served.in_flight)
