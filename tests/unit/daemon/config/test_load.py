"""Defaults, file, environment and flags become settings; all that is wrong comes out at once, with place and advice."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.config.load import Loaded, describe, flags_from, load
from groove_daemon.config.schema import KEYS, format_value, read_text
from groove_daemon.config.settings import CollectionSettings, Settings
from groove_daemon.errors import ConfigError


def load_text(folder: Path, text: str, env: Mapping[str, str] | None = None, **flags: str) -> Loaded:
    file = folder / "config.toml"
    file.write_text(text)
    return load(file, env or {}, flags={key.replace("__", "."): value for key, value in flags.items()})


def problems(folder: Path, text: str, env: Mapping[str, str] | None = None, **flags: str) -> list[str]:
    """The problems of a text, without the file's name in front."""
    with pytest.raises(ConfigError) as caught:
        load_text(folder, text, env, **flags)
    return [problem.replace(f"{folder}/config.toml", "FILE") for problem in caught.value.problems]


def test_nothing_gives_the_defaults() -> None:
    loaded = load(None, {}, flags={})

    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.file is None


def test_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load_text(tmp_path, "").settings == Settings()


def test_file_sets_values_of_every_type(tmp_path: Path) -> None:
    loaded = load_text(
        tmp_path,
        """
        [index]
        formats = ["md"]
        max_file_size = "2MiB"
        [watch]
        enabled = false
        debounce = "50ms"
        longest_wait = 3
        barrier = "sweep"
        [search]
        limit = 7
        [search.mmr]
        lambda = 1
        """,
    )
    settings = loaded.settings

    assert (settings.index.formats, settings.index.max_file_size) == (("md",), 2_097_152)
    assert (settings.watch.enabled, settings.watch.debounce, settings.watch.longest_wait) == (False, 0.05, 3.0)
    assert (settings.watch.barrier, settings.search.limit, settings.search.mmr.lambda_) == ("sweep", 7, 1.0)
    assert isinstance(settings.search.mmr.lambda_, float)


def test_flag_wins_over_environment_over_file_over_default(tmp_path: Path) -> None:
    text = "[search]\nlimit = 6\nprofile = 'memory'\nmin_quality = 0.5\n"
    environment = {"GROOVE_SEARCH_LIMIT": "7", "GROOVE_SEARCH_MIN_QUALITY": "0.6"}
    loaded = load_text(tmp_path, text, environment, search__limit="8")
    search = loaded.settings.search
    keys = ("limit", "min_quality", "profile", "legs")

    assert [getattr(search, key) for key in keys] == [8, 0.6, "memory", "documents"]
    assert [loaded.origins[f"search.{key}"] for key in keys] == [
        "flag --set",
        "environment GROOVE_SEARCH_MIN_QUALITY",
        f"file {tmp_path}/config.toml",
        "default",
    ]


def test_environment_reads_every_kind_of_value() -> None:
    loaded = load(
        None,
        {
            "GROOVE_INDEX_FORMATS": "md, txt",
            "GROOVE_WATCH_ENABLED": "off",
            "GROOVE_WATCH_RESCAN": "1h",
            "GROOVE_INDEX_MAX_FILE_SIZE": "1MiB",
            "GROOVE_SEARCH_MMR_LAMBDA": "0.25",
            "GROOVE_LOG_LEVEL": "debug",
        },
        flags={},
    )
    settings = loaded.settings

    assert (settings.index.formats, settings.watch.enabled, settings.watch.rescan) == (("md", "txt"), False, 3600.0)
    assert (settings.index.max_file_size, settings.search.mmr.lambda_) == (1_048_576, 0.25)
    assert settings.log.level == "debug"


def test_other_variables_and_empty_ones_are_left_alone() -> None:
    environment = {"GROOVE_SOCKET": "/x", "GROOVE_SEARCH_LIMIT": "", "GROOVE_LOGS": "1", "HOME": "/home/ann"}

    assert load(None, environment, flags={}).settings == Settings()


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = "[search]\nlimti = 5\nlimit = 'five'\n\n[watch]\nrescan = '1s'\nbarrier = 'cokie'\n[serach]\n"
    found = problems(tmp_path, text, {"GROOVE_SEARCH_LIMTI": "5"}, index__max_size="5")

    assert found == [
        "FILE:2: search.limti: there is no such key; did you mean search.limit?",
        'FILE:3: search.limit: must be a whole number, is "five"',
        "FILE:6: watch.rescan: must be 10s to 7d, is 1s",
        'FILE:7: watch.barrier: must be one of "cookie", "sweep", "none", is "cokie"',
        "FILE:8: serach: there is no such key; did you mean search?",
        "environment GROOVE_SEARCH_LIMTI: there is no such key; did you mean GROOVE_SEARCH_LIMIT?",
        "--set index.max_size: there is no such key; did you mean index.max_file_size?",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("limit = 5", "FILE:1: limit: there is no such key; did you mean search.limit?"),
        ("search = 5", "FILE:1: search: must be a table, [search], is 5"),
        ("[search]\nlimit = true", "FILE:2: search.limit: must be a whole number, is true"),
        ("[search]\nlimit = 5.0", "FILE:2: search.limit: must be a whole number, is 5.0"),
        ("[search]\nlimit = 1001", "FILE:2: search.limit: must be 0 to 1000, is 1001"),
        ("[search.fusion]\nrrf_k = nan", "FILE:2: search.fusion.rrf_k: must be 1 to 1000000, is nan"),
        ("[index]\nformats = 'md'", 'FILE:2: index.formats: must be a list of texts such as ["a", "b"], is "md"'),
        ("[index]\nformats = [1]", 'FILE:2: index.formats: must be a list of texts such as ["a", "b"], is [1]'),
        ("[watch]\nenabled = 'yes'", 'FILE:2: watch.enabled: must be true or false, is "yes"'),
        ("[models]\nembedder = ''", "FILE:2: models.embedder: must be a name or a path, is empty"),
        ('"search.limit" = 5', "FILE:1: search.limit: there is no such key; a key with dots is written without quotes"),
        ("collections = 5", "FILE:1: collections: must be tables, one [[collections]] for each folder"),
        ("[[collections]]\n", 'FILE:1: collections[0].path: is missing; write path = "the folder"'),
        ("[[collections]]\npath = ''\n", "FILE:2: collections[0].path: must be a path, is empty"),
        (
            "[[collections]]\npath='/x'\nwieght=2",
            "FILE:3: collections[0].wieght: there is no such key; did you mean weight?",
        ),
        (
            "[[collections]]\npath='/x'\nignore=['[a']",
            "FILE:3: collections[0].ignore: has a '[' without its ']': \"[a\"",
        ),
        (
            "[watch]\ndebounce = 3",
            "FILE:2: watch.debounce: watch.debounce (3s) must not be longer than watch.longest_wait (2s)",
        ),
        (
            "[index]\nchunk_tokens = 16",
            "FILE:2: index.chunk_tokens: index.chunk_overlap (32) must be smaller than index.chunk_tokens (16)",
        ),
        (
            "[search.parent_retriever]\nmax_expanded_tokens = 100",
            "FILE:2: search.parent_retriever.max_expanded_tokens: search.parent_retriever.whole_doc_threshold_tokens "
            "(100) must be smaller than search.parent_retriever.max_expanded_tokens (100)",
        ),
    ],
)
def test_problem_names_place_and_remedy(tmp_path: Path, text: str, problem: str) -> None:
    assert problems(tmp_path, text) == [problem]


def test_broken_toml_gives_line_and_column(tmp_path: Path) -> None:
    assert problems(tmp_path, "[search]\nlimit = \n") == ["FILE:2:9: is not TOML: invalid value"]


def test_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"# a\n# \xff\n")

    with pytest.raises(ConfigError, match=r"config\.toml:2: is not UTF-8 \(byte 0xff\)"):
        load(file, {}, flags={})


def test_byte_order_mark_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xef\xbb\xbf[search]\r\nlimit = 9\r\n")

    assert load(file, {}, flags={}).settings.search.limit == 9


def test_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: cannot be read: no such file or directory"):
        load(tmp_path / "absent.toml", {}, flags={})
    with pytest.raises(ConfigError, match="cannot be read: is a directory"):
        load(tmp_path, {}, flags={})


def test_deep_nesting_is_no_crash(tmp_path: Path) -> None:
    assert problems(tmp_path, f"a = {'[' * 100_000}") == ["FILE: is nested too deeply"]


def test_collection_takes_its_name_from_the_folder(tmp_path: Path) -> None:
    text = "[[collections]]\npath = 'My Notes (2)'\n[[collections]]\npath = '/x/Zettelkasten'\n"
    loaded = load_text(tmp_path, text)

    assert loaded.settings.collections == (
        CollectionSettings(path=f"{tmp_path}/My Notes (2)", name="My-Notes-2"),
        CollectionSettings(path="/x/Zettelkasten", name="Zettelkasten"),
    )
    assert loaded.origins["collections.My-Notes-2.path"] == f"file {tmp_path}/config.toml"
    assert "collections.My-Notes-2.name" not in loaded.origins


def test_collection_keeps_its_own_values(tmp_path: Path) -> None:
    text = "[[collections]]\npath='/x'\nname='n'\nsource='global'\nweight=2\nevergreen=false\nignore=['*.log']\n"
    (collection,) = load_text(tmp_path, text).settings.collections

    assert collection == CollectionSettings(
        path="/x", name="n", source="global", weight=2.0, evergreen=False, ignore=("*.log",)
    )


def test_two_collections_may_not_have_one_name(tmp_path: Path) -> None:
    text = "[[collections]]\npath = '/a/notes'\n[[collections]]\npath = '/b/Notes'\n"

    assert problems(tmp_path, text) == [
        'FILE:3: collections[1].name: "Notes" is also the name of "/a/notes"; set another name for "/b/Notes"'
    ]


def test_name_has_only_letters_digits_and_some_marks(tmp_path: Path) -> None:
    found = problems(tmp_path, "[[collections]]\npath = '/a'\nname = 'a b'\n[[collections]]\npath = '/'\n")

    assert found[:2] == [
        "FILE:3: collections[0].name: may have 1 to 64 letters, digits, '.', '_' and '-', is \"a b\"",
        'FILE:4: collections[1].name: the folder "/" gives no name; set name',
    ]


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [("a", "a", "is the folder of"), ("a", "a/b", "lies within the folder of"), ("a/b", "a", "contains the folder of")],
)
def test_folders_may_not_overlap(tmp_path: Path, first: str, second: str, relation: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    text = f"[[collections]]\npath='{first}'\nname='one'\n[[collections]]\npath='{second}'\nname='two'\n"

    assert problems(tmp_path, text) == [
        f'FILE:5: collections[1].path: "{tmp_path}/{second}" {relation} the collection "one", '
        f'"{tmp_path}/{first}"; notes in both would be indexed twice'
    ]


def test_folders_overlap_through_links_too(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    text = "[[collections]]\npath='link'\nname='one'\n[[collections]]\npath='real/sub'\nname='two'\n"

    assert "lies within the folder of" in problems(tmp_path, text)[0]


def test_folders_that_are_not_there_overlap_by_their_paths(tmp_path: Path) -> None:
    text = "[[collections]]\npath='/absent/a'\nname='one'\n[[collections]]\npath='/absent/a/b'\nname='two'\n"

    assert "lies within the folder of" in problems(tmp_path, text)[0]


def test_folders_beside_each_other_do_not_overlap(tmp_path: Path) -> None:
    text = "[[collections]]\npath='/absent/a'\n[[collections]]\npath='/absent/ab'\n"

    assert len(load_text(tmp_path, text).settings.collections) == 2


def test_folder_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("x")

    assert problems(tmp_path, "[[collections]]\npath='note.md'\n") == [
        f'FILE:2: collections[0].path: "{tmp_path}/note.md" is a file, not a folder'
    ]


def test_folder_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "[[collections]]\npath='absent'\n")

    assert loaded.warnings == (
        f'{tmp_path}/config.toml:2: collections[0].path: there is nothing at "{tmp_path}/absent" now',
    )


def test_file_that_others_may_change_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[[collections]]\npath='.'\n")
    file.chmod(0o666)

    assert load(file, {}, flags={}).warnings == (f"{file}: other users may change this file; chmod o-w closes it",)


def test_collections_cannot_be_set_by_flags(tmp_path: Path) -> None:
    assert problems(tmp_path, "", collections="x") == ["--set collections: collections can only be set in the file"]


def test_flags_are_read_from_assignments() -> None:
    assert flags_from(["search.limit=5", "log.level = debug", "search.limit=6", "a=b=c"]) == {
        "search.limit": "6",
        "log.level": "debug",
        "a": "b=c",
    }
    with pytest.raises(ConfigError, match="--set x: must be KEY=VALUE"):
        flags_from(["x"])


def test_description_has_every_key_once(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "[[collections]]\npath='/absent'\nname='n'\n[watch]\nrescan='1h'\n")
    rows = {row.key: row for row in describe(loaded)}

    assert set(KEYS) <= set(rows)
    assert len(rows) == len(describe(loaded)) == len(KEYS) + 9
    assert (rows["watch.rescan"].value, rows["watch.rescan"].text) == (3600.0, '"1h"')
    assert rows["watch.rescan"].origin == f"file {tmp_path}/config.toml"
    assert rows["search.mmr.lambda"].value == 0.7
    assert (rows["collections.n.path"].value, rows["collections.n.weight"].origin) == ("/absent", "default")
    assert rows["collections.n.evergreen"].text == "not set"


def test_every_default_is_within_its_own_limits() -> None:
    for key in KEYS.values():
        assert key.low is None or key.high is None or key.low <= key.default <= key.high, key.name
        assert not key.choices or key.default in key.choices, key.name
        assert key.doc.endswith("."), key.name


def _texts(name: str) -> st.SearchStrategy[str]:
    key = KEYS[name]
    if key.value_type is bool:
        return st.sampled_from(["true", "false"])
    if key.choices:
        return st.sampled_from(key.choices)
    if key.low is None or key.high is None:
        return st.just("name")
    if key.value_type is int:
        return st.integers(int(key.low), int(key.high)).map(str)
    return (
        st.floats(key.low, key.high)
        .map(lambda value: f"{value:.3f}")
        .filter(lambda text: (key.low or 0) <= float(text) <= (key.high or 0))
    )


@given(st.sampled_from(sorted(KEYS)).flatmap(lambda name: st.tuples(st.just(name), _texts(name))))
def test_value_that_a_flag_may_set_can_be_written_and_read_again(case: tuple[str, str]) -> None:
    name, text = case
    key = KEYS[name]
    value = read_text(key, text, base=Path.cwd())
    written = format_value(key, value)

    assert read_text(key, written.strip('"[]').replace('", "', ","), base=Path.cwd()) == value


def test_wrong_configuration_is_found_under_any_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "config.toml").write_text("[[collections]]\npath = 'notes'\n")
    monkeypatch.chdir(tmp_path / "sub")
    loaded = load(Path(os.path.relpath(tmp_path / "config.toml")), {}, flags={})

    assert loaded.settings.collections[0].path == f"{tmp_path}/notes"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a.md", '"a.md" must have {target} once'),
        ("{target}/{target}.md", '"{target}/{target}.md" must have {target} once'),
        ("/a/{target}.md", '"/a/{target}.md" must be relative to the collections, without ..'),
        ("../{target}.md", '"../{target}.md" must be relative to the collections, without ..'),
    ],
)
def test_template_of_best_practices_is_a_relative_path_with_its_target(
    tmp_path: Path, template: str, expected: str
) -> None:
    text = f"[best_practice]\ntemplates = ['{template}', 'ok/{{target}}.md']\n"

    assert problems(tmp_path, text) == [f"FILE:2: best_practice.templates: {expected}"]
