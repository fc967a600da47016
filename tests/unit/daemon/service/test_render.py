"""Values come out of the supervisor's parser as they went in, or are refused by the name of their field."""

import plistlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.errors import ConfigError
from groove_daemon.service import render
from support.units import arguments, words

# What a unit and a property list can hold: all of Unicode but control characters and lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"))
PROGRAMS = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\"'\\")).map(lambda x: f"/{x}")


@given(PROGRAMS, st.lists(TEXTS))
def test_command_survives_the_unit(program: str, rest: list[str]) -> None:
    assert arguments(render.unit_command([program, *rest], field="command")) == [program, *rest]


@given(st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]*", fullmatch=True), TEXTS, max_size=4))
def test_environment_survives_the_unit(environment: dict[str, str]) -> None:
    lines = render.unit_environment(environment).split("\n") if environment else []
    pairs = [words(line.removeprefix("Environment=")) for line in lines]

    assert dict(pair.split("=", 1) for (pair,) in pairs) == environment


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("--instance=default", "--instance=default"),
        ("My Notes", '"My Notes"'),
        ("100%", "100%%"),
        ("$HOME", '"$$HOME"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("it's", '"it\'s"'),
        ("a\\b", '"a\\\\b"'),
        ("", '""'),
        (";", '";"'),
        ("größe", '"größe"'),
    ],
)
def test_argument_is_quoted_where_it_must_be(argument: str, written: str) -> None:
    assert render.unit_command(["/bin/x", argument], field="command") == f"/bin/x {written}"


def test_program_keeps_its_dollar() -> None:
    assert render.unit_command(["/a$b/x", "$c"], field="command") == '"/a$b/x" "$$c"'


@pytest.mark.parametrize("program", ["/o'brien/x", '/a"b/x', "/a\\b/x"])
def test_program_that_systemd_refuses_is_started_by_the_shell(program: str) -> None:
    written = arguments(render.unit_command([program, "$a"], field="command"))

    assert written == ["/bin/sh", "-c", 'exec "$0" "$@"', program, "$a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb", "service: command: 'a\\\\nb' contains a line break"),
        ("a\rb", "contains a line break"),
        ("a\0b", r"contains the control character '\\x00'"),
        ("\x1b[1m", r"contains the control character '\\x1b'"),
        ("\udc80", r"'\\udc80' is not valid UTF-8"),
    ],
)
def test_what_cannot_be_held_is_refused_by_its_field(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        render.unit_command(["/bin/x", text], field="command")
    with pytest.raises(ConfigError, match="service: environment XDG_DATA_HOME: "):
        render.unit_environment({"XDG_DATA_HOME": text})
    with pytest.raises(ConfigError, match="service: log: "):
        render.plist_text(text, field="log")


@pytest.mark.parametrize("command", [[], ["grooved"], ["./grooved"]])
def test_program_must_be_absolute(command: list[str]) -> None:
    with pytest.raises(ConfigError, match="command: the program must be an absolute path"):
        render.unit_command(command, field="command")


def test_variable_must_have_a_name() -> None:
    with pytest.raises(ConfigError, match="'A B' is no name of a variable"):
        render.unit_environment({"A B": "x"})


def test_path_is_written_without_quotes() -> None:
    assert render.unit_path("/run/My $x 50%/s.sock", field="socket") == "/run/My $x 50%%/s.sock"


@pytest.mark.parametrize("path", ["s.sock", "/a ", "/a\\", "/a\n"])
def test_path_that_would_be_read_otherwise_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="service: socket: "):
        render.unit_path(path, field="socket")


@given(st.lists(TEXTS), st.dictionaries(TEXTS, TEXTS))
def test_texts_survive_the_property_list(strings: list[str], entries: dict[str, str]) -> None:
    body = (
        f"<array>\n{render.plist_strings(strings, field='a')}\n</array>"
        f"<dict>\n{render.plist_entries(entries, field='b')}\n</dict>"
    )
    text = f'<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><array>{body}</array></plist>'

    assert plistlib.loads(text.encode(), fmt=plistlib.FMT_XML) == [strings, entries]


def test_character_that_xml_cannot_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"service: log: .* has a character that XML cannot hold"):
        render.plist_text("a\uffff", field="log")


def test_value_with_a_placeholder_is_not_looked_into() -> None:
    assert render.fill("@A@ @B@ @system-service", {"A": "@B@", "B": "b"}) == "@B@ b @system-service"


def test_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        render.fill("@A@", {})


@pytest.mark.parametrize(("version", "kept"), [(0, "a\nold\nb"), (253, "a\nold\nb"), (254, "a\nnew\nb")])
def test_lines_are_chosen_by_version(version: int, kept: str) -> None:
    assert render.for_version("a\n@before 254@ old\n@from 254@ new\nb", version) == kept
