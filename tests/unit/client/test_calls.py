"""Keyword arguments of the client's methods are the parameters of the wire."""

import dataclasses
import inspect

import pytest

from groove_client import calls
from groove_client.aio import AsyncClient
from groove_client.client import Client
from groove_wire import messages
from groove_wire.methods import METHODS


@pytest.mark.parametrize(
    ("options", "request_type", "positional"),
    [
        (calls.SearchOptions, messages.SearchRequest, {"query", "stream"}),
        (calls.GetDocumentOptions, messages.GetDocumentRequest, set()),
        (calls.GetBestPracticeOptions, messages.GetBestPracticeRequest, {"target"}),
        (calls.GetChunkOptions, messages.GetChunkRequest, set()),
        (calls.ListDocumentsOptions, messages.ListDocumentsRequest, set()),
        (calls.ListTopicsOptions, messages.ListTopicsRequest, set()),
        (calls.SimilarOptions, messages.SimilarRequest, set()),
        (calls.FailuresOptions, messages.FailuresRequest, set()),
        (calls.ReindexOptions, messages.ReindexRequest, set()),
        (calls.CalibrateOptions, messages.CalibrateRequest, set()),
        (calls.WaitFreshOptions, messages.WaitFreshRequest, set()),
        (calls.AddCollectionOptions, messages.AddCollectionRequest, {"path"}),
    ],
)
def test_options_are_the_fields_of_the_request(options, request_type, positional):
    fields = {field.name for field in dataclasses.fields(request_type)}

    assert set(options.__annotations__) | positional == fields


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_client_has_a_method_for_each_of_the_wire(client):
    elsewhere = {"hello": "connect", "subscribe": "notifications", "unsubscribe": "notifications"}

    assert all(hasattr(client, elsewhere.get(method, method)) for method in METHODS)


def test_both_clients_take_the_same_arguments():
    def signatures(client):
        functions = inspect.getmembers(client, inspect.isfunction)
        return {name: str(inspect.signature(function).replace(return_annotation=None)) for name, function in functions}

    ours, theirs = signatures(Client), signatures(AsyncClient)
    shared = {name for name in ours.keys() & theirs.keys() if not name.startswith("_")} - {"notifications"}

    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
    assert len(shared) > 15
