"""The table of commands agrees with itself and with the wire."""

import dataclasses

import pytest

from groove_client.cli import _runners
from groove_client.command_table import COMMANDS, GLOBAL_OPTIONS, find
from groove_client.commands.search import search_params
from groove_client.help_text import command_help, overview
from groove_client.syntax import UsageError, parse
from groove_wire.messages import SearchRequest

_SEARCH = find("search")
assert _SEARCH is not None


def test_every_command_has_a_runner_and_every_runner_a_command():
    modules = {command.module for command in COMMANDS}

    assert {name for module in modules for name in _runners(module)} == {command.name for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_options_of_a_command_do_not_collide(command):
    options = (*command.options, *GLOBAL_OPTIONS)
    names = [option.name for option in options]
    shorts = [option.short for option in options if option.short]

    assert len(names) == len(set(names))
    assert len(shorts) == len(set(shorts))


def test_search_has_an_option_for_every_parameter_of_the_wire():
    outputs = {"json", "jsonl", "paths", "vimgrep", "null"}
    parameters = {field.name for field in dataclasses.fields(SearchRequest)} - {"query"}

    assert {option.key for option in _SEARCH.options} - outputs == parameters


def test_search_sends_what_was_given_and_nothing_else():
    argv = [
        "rust",
        "-async",
        "--no-rerank",
        "--tag-any",
        "a,b",
        "--min-score",
        "0",
        "--paths",
        "--timeout",
        "3",
        "--color",
        "never",
    ]
    arguments = parse(_SEARCH, argv, GLOBAL_OPTIONS)

    assert search_params(arguments) == {
        "query": "rust -async",
        "rerank": False,
        "tags_any": ["a", "b"],
        "min_score": 0.0,
    }


def test_search_replaces_bytes_that_are_no_text():
    arguments = parse(_SEARCH, ["caf\udce9", "rust"])

    assert search_params(arguments)["query"] == "caf\ufffd rust"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_names_every_option_within_a_terminal(command):
    text = command_help(command.name)

    assert all(f"--{option.name}" in text or f"--[no-]{option.name}" in text for option in command.options)
    assert all(len(line) <= 110 for line in text.splitlines())


def test_overview_names_every_command():
    assert all(f"\n  {command.name} " in overview() for command in COMMANDS)


def test_help_of_an_unknown_command_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean status"):
        command_help("staus")
