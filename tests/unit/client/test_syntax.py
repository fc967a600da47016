"""How command lines are read: forms of options, words that look like options, and the errors that name them."""

import pytest

from groove_client.syntax import Command, Option, UsageError, parse, split_global

_OPTIONS = (
    Option("limit", "int", "", short="n", low=0, high=1000),
    Option("ratio", "float", "", low=0.0, high=1.0),
    Option("rerank", "switch", ""),
    Option("json", "flag", "", short="j"),
    Option("null", "flag", "", short="0"),
    Option("color", "choice", "", choices=("auto", "always")),
    Option("glob", "many", "", key="path_globs"),
    Option("tag", "commas", "", key="tags"),
    Option("topic", "text", ""),
)
SEARCH = Command("find", "", "", operands="QUERY...", least=1, most=None, options=_OPTIONS, dashed_words=True)
GET = Command("get", "", "", operands="PATH", least=1, most=1, options=_OPTIONS)


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        (["--limit", "5"], {"limit": 5}),
        (["--limit=5"], {"limit": 5}),
        (["-n", "5"], {"limit": 5}),
        (["-n5"], {"limit": 5}),
        (["-n=5"], {"limit": 5}),
        (["--ratio", ".5"], {"ratio": 0.5}),
        (["--rerank"], {"rerank": True}),
        (["--no-rerank"], {"rerank": False}),
        (["-j"], {"json": True}),
        (["-j0"], {"json": True, "null": True}),
        (["--color", "always"], {"color": "always"}),
        (["--glob", "a,b/*", "--glob", "!c"], {"path_globs": ["a,b/*", "!c"]}),
        (["--tag", "a, b", "--tag=c"], {"tags": ["a", "b", "c"]}),
        (["--topic", "--json"], {"topic": "--json"}),
        (["--topic", ""], {"topic": ""}),
        (["--limit", "5", "--limit", "7"], {"limit": 7}),
    ],
)
def test_option_is_read(argv, values):
    arguments = parse(SEARCH, ["word", *argv])

    assert arguments.values == values
    assert arguments.operands == ["word"]


def test_options_and_operands_may_be_mixed():
    arguments = parse(SEARCH, ["rust", "-n", "3", "async", "--json", "traits"])

    assert arguments.operands == ["rust", "async", "traits"]
    assert arguments.values == {"limit": 3, "json": True}


@pytest.mark.parametrize(
    ("argv", "operands"),
    [
        (["rust", "-async"], ["rust", "-async"]),
        (["rust", "-notes"], ["rust", "-notes"]),
        (["rust", "-jazz"], ["rust", "-jazz"]),
        (["--", "-async", "rust"], ["-async", "rust"]),
        (["rust", "--", "--json", "-n"], ["rust", "--json", "-n"]),
        (["-", "rust"], ["-", "rust"]),
        (["rust", "-two words"], ["rust", "-two words"]),
    ],
)
def test_dashed_word_belongs_to_the_query(argv, operands):
    assert parse(SEARCH, argv).operands == operands


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["x", "--limt", "3"], "unknown option --limt; did you mean --limit?"),
        (["x", "--zzz"], "unknown option --zzz"),
        (["x", "--lim=3"], "unknown option --lim; did you mean --limit?"),
        (["x", "-limit", "3"], "unknown option -limit; did you mean --limit? To exclude the word, write -- -limit"),
        (["-async", "rust"], "unknown option -async; a word to exclude stands after the first word"),
        (["x", "--limit"], "--limit needs a value (INT)"),
        (["x", "--limit", "many"], "--limit: 'many' is no whole number"),
        (["x", "-n", "1001"], "-n: 1001 is above 1000"),
        (["x", "--limit", "-1"], "--limit: -1 is below 0"),
        (["x", "--ratio", "nan"], "--ratio: nan is no number"),
        (["x", "--ratio", "1.5"], "--ratio: 1.5 is above 1.0"),
        (["x", "--color", "alway"], "--color: 'alway' is none of auto, always; did you mean always?"),
        (["x", "--json=yes"], "--json takes no value"),
        (["x", "--no-json"], "unknown option --no-json"),
        (["x", "--no-rerank=1"], "--no-rerank takes no value"),
        (["x", "--tag", "a,,b"], "--tag: empty value in 'a,,b'"),
        ([], "find needs QUERY..."),
    ],
)
def test_wrong_argument_is_named(argv, message):
    with pytest.raises(UsageError) as caught:
        parse(SEARCH, argv)

    assert str(caught.value).startswith(message)


def test_dashed_word_is_an_unknown_option_where_no_query_is_read():
    with pytest.raises(UsageError, match="unknown option -x"):
        parse(GET, ["path", "-x"])


def test_surplus_operand_is_named():
    with pytest.raises(UsageError, match="get takes PATH: unexpected 'b'"):
        parse(GET, ["a", "b"])


def test_help_needs_no_operands():
    help_option = Option("help", "flag", "", short="h")

    assert parse(GET, ["-h"], (help_option,)).flag("help")


def test_global_options_end_at_the_command():
    arguments, rest = split_global(["--color", "always", "find", "--json"], _OPTIONS)

    assert arguments.values == {"color": "always"}
    assert rest == ["find", "--json"]
