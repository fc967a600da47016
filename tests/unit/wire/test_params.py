"""Requests: what is read, what is refused, and that the refusal names the key."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_wire import messages
from groove_wire.framing import Decoder, encode_response
from groove_wire.messages import ListDocumentsRequest, SearchRequest
from groove_wire.methods import METHODS, NOTIFICATIONS
from groove_wire.params import Message, ParamsError, from_params, limits_of, to_plain


def search(**params):
    return from_params(SearchRequest, {"query": "ouzel", **params})


def refusal(**params):
    with pytest.raises(ParamsError) as caught:
        search(**params)
    return str(caught.value)


def test_request_has_defaults_for_what_was_left_out():
    request = search()

    assert (request.query, request.limit, request.tags_any, request.freshness) == ("ouzel", None, (), "sync")


def test_request_keeps_what_was_given():
    request = search(limit=3, tags_any=["a", "b"], mmr_lambda=1, rerank=False, modified_from="2026-05-18")

    assert request.limit == 3
    assert request.tags_any == ("a", "b")
    assert isinstance(request.mmr_lambda, float)
    assert request.rerank is False
    assert request.modified_from == "2026-05-18"


def test_unknown_key_is_refused_with_the_nearest_known_one():
    assert refusal(limt=3) == "limt: unknown parameter; did you mean limit?"


def test_unknown_key_is_refused_with_all_known_ones_when_none_is_near():
    with pytest.raises(ParamsError, match="known are collections, deadline_ms, vectors"):
        from_params(messages.WaitFreshRequest, {"zzzz": 1})


def test_unknown_key_is_refused_by_a_method_without_parameters():
    with pytest.raises(ParamsError, match="this method takes none"):
        from_params(messages.StatusRequest, {"a": 1})


def test_missing_key_is_named():
    with pytest.raises(ParamsError, match="query: is required"):
        from_params(SearchRequest, {})


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"limit": None}, "limit: is nil; leave it out instead"),
        ({"limit": True}, "limit: must be a whole number from 0 to 1000"),
        ({"limit": 1.0}, "limit: must be a whole number from 0 to 1000"),
        ({"limit": -1}, "limit: must be a whole number from 0 to 1000"),
        ({"limit": 1001}, "limit: must be a whole number from 0 to 1000"),
        ({"limit": "5"}, "limit: must be a whole number from 0 to 1000"),
        ({"mmr_lambda": 1.01}, "mmr_lambda: must be a number from 0 to 1"),
        ({"mmr_lambda": math.nan}, "mmr_lambda: must be a number from 0 to 1"),
        ({"min_score": math.inf}, "min_score: must be a number from -1000000 to 1000000"),
        ({"within_ms": 0}, "within_ms: must be a whole number from 1 to 600000"),
        ({"rerank": 1}, "rerank: must be true or false"),
        ({"topic": 5}, "topic: must be text"),
        ({"topic": b"bytes"}, "topic: must be text"),
        ({"topic": "x" * 1025}, "topic: has 1025 bytes, at most 1024 are allowed"),
        ({"tags_any": "a"}, "tags_any: must be a list of texts"),
        ({"tags_any": ["a", 5]}, "tags_any[1]: must be text"),
        ({"tags_any": ["a", None]}, "tags_any[1]: must be text"),
        ({"tags_any": ["a"] * 65}, "tags_any: has 65 entries, at most 64 are allowed"),
        ({"tags_any": ["ü" * 513]}, "tags_any[0]: has 1026 bytes, at most 1024 are allowed"),
        ({"freshness": "later"}, "freshness: must be one of sync, none"),
        ({"modified_to": []}, "modified_to: must be a number or text"),
        ({"overlay": True}, "overlay: is not offered by this daemon; hello lists what is"),
        ({"overlay": {"path": "a"}}, "overlay: is not offered by this daemon; hello lists what is"),
    ],
)
def test_value_is_refused_with_its_key(params, expected):
    assert refusal(**params) == expected


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": 1000},
        {"mmr_lambda": 0},
        {"within_ms": 1},
        {"tags_any": ["ü" * 512] * 64},
        {"overlay": False},
    ],
)
def test_value_at_the_limit_is_taken(params):
    assert search(**params).query == "ouzel"


def test_query_counts_characters():
    assert from_params(SearchRequest, {"query": "鳥" * 4096}).query == "鳥" * 4096
    with pytest.raises(ParamsError, match="query: has 4097 characters, at most 4096 are allowed"):
        from_params(SearchRequest, {"query": "鳥" * 4097})


def test_refusal_of_a_strange_key_stays_on_one_short_line():
    with pytest.raises(ParamsError) as caught:
        search(**{"a\nb" + "x" * 5000: 1})

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@given(
    st.dictionaries(
        st.sampled_from(["query", "limit", "tags_any", "rerank", "odd"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.lists(st.text(max_size=3) | st.integers(), max_size=3),
    )
)
def test_any_map_gives_a_request_or_a_refusal(params):
    try:
        request = from_params(SearchRequest, params)
    except ParamsError:
        return

    assert isinstance(request.query, str)
    assert request.limit is None or 0 <= request.limit <= 1000


def test_plain_leaves_out_what_is_none():
    step = messages.StageStep("dense", "ran", 1.0, 0, 3)

    assert to_plain(step) == {"stage": "dense", "status": "ran", "took_ms": 1.0, "size_in": 0, "size_out": 3}


def test_plain_keeps_false_zero_and_empty():
    response = messages.WaitFreshResponse(False, 0, 0, 0.0, "")

    assert to_plain(response) == {"fresh": False, "generation": 0, "pending_vectors": 0, "took_ms": 0.0, "reason": ""}


def test_plain_refuses_a_key_that_is_no_text():
    with pytest.raises(TypeError, match="keys are text"):
        to_plain({1: "a"})


def test_plain_messages_survive_the_wire():
    response = messages.SubscriptionResponse(("index_changed",))
    frame = encode_response(4, None, to_plain(response))

    assert Decoder().feed(frame) == [(1, 4, None, {"events": ["index_changed"]})]


@pytest.mark.parametrize("request_type", [method.request for method in METHODS.values()])
def test_every_request_is_a_message_with_documented_fields(request_type):
    assert issubclass(request_type, Message)
    assert request_type.__doc__
    assert all(limits_of(field).doc for field in dataclasses.fields(request_type))


def test_search_and_list_documents_share_their_conditions():
    shared = {"collections", "category", "topic", "path_globs", "tags_any", "tags_all", "date_from", "date_to"}
    shared |= {"modified_from", "modified_to", "formats"}
    for request in (SearchRequest, ListDocumentsRequest):
        names = {field.name for field in dataclasses.fields(request)}

        assert shared <= names


def test_cancel_is_the_only_notification_of_clients():
    assert [each.name for each in NOTIFICATIONS.values() if each.from_client] == ["$/cancel"]
