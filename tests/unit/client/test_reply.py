"""Answers become dataclasses: newer daemons are read, broken answers are named."""

import dataclasses

import pytest

from groove_client.errors import DaemonIncompatible
from groove_client.reply import read
from groove_wire import messages
from groove_wire.params import to_plain
from support.answers import make_answer, make_hit, make_status


def test_search_answer_becomes_hits_with_spans():
    answer = read(messages.SearchResponse, make_answer(make_hit(4)))

    assert answer.results[0].id == 4
    assert answer.results[0].match_spans == (messages.Span(20, 25),)
    assert answer.results[0].expanded_from is None


def test_reading_is_the_inverse_of_writing():
    answer = read(messages.StatusResponse, make_status())

    assert read(messages.StatusResponse, to_plain(answer)) == answer


def test_fields_of_a_newer_daemon_are_passed_over():
    answer = read(messages.SearchResponse, make_answer(make_hit(new_field=[1]), other={"a": 1}))

    assert "new_field" not in {field.name for field in dataclasses.fields(answer.results[0])}


def test_whole_number_is_read_where_a_fraction_is_expected():
    assert read(messages.SearchResponse, make_answer(took_ms=4)).took_ms == 4.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"results": {}}, "dict at SearchResponse.results, not a list"),
        ({"results": [1]}, r"int at SearchResponse.results\[0\], not a map"),
        ({"results": [{"id": 1}]}, r"lacks SearchResponse.results\[0\].score"),
        ({"fresh": 1}, "int at SearchResponse.fresh, not bool"),
        ({"generation": True}, "bool at SearchResponse.generation, not int"),
        ({"mode": None}, "NoneType at SearchResponse.mode, not str"),
    ],
)
def test_answer_of_another_form_is_named(fields, message):
    with pytest.raises(DaemonIncompatible, match=message):
        read(messages.SearchResponse, make_answer(make_hit()) | fields)
