"""Profiles of the user's own: what they set, what they inherit, and why some cannot be."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groove_daemon.config import profiles
from groove_daemon.config.load import Loaded, describe, load
from groove_daemon.config.schema import KEYS
from groove_daemon.config.settings import ProfileSettings
from groove_daemon.errors import ConfigError
from groove_daemon.retrieval.pipeline import LEGS, PROFILES


def read(folder: Path, text: str, env: Mapping[str, str] | None = None, **flags: str) -> Loaded:
    file = folder / "config.toml"
    file.write_text(text)
    return load(file, env or {}, flags={key.replace("__", "."): value for key, value in flags.items()})


def profile(folder: Path, text: str, env: Mapping[str, str] | None = None) -> ProfileSettings:
    (only,) = read(folder, text, env).settings.profiles
    return only


def problems(folder: Path, text: str, **flags: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, **flags)
    return [problem.replace(f"{folder}/config.toml", "FILE") for problem in caught.value.problems]


def test_names_of_bases_and_legs_are_those_of_the_pipeline() -> None:
    assert set(profiles.BASES) == set(PROFILES)
    assert set(profiles.LEGS) == set(LEGS)


def test_every_option_of_a_search_belongs_to_a_base() -> None:
    taken = {option for base in profiles.BASES.values() for option in base.keys.values()}
    options = {name for name in KEYS if name.startswith("search.")}

    assert options - taken == {"search.profile"}


def test_profile_sets_its_keys_and_inherits_the_rest(tmp_path: Path) -> None:
    text = """
        [search]
        limit = 7
        min_quality = 0.5
        [profiles.look]
        limit = 9
        parent_retriever.enabled = true
        [profiles.look.mmr]
        lambda = 0.25
    """
    search = profile(tmp_path, text, {"GROOVE_SEARCH_FUSION_RRF_K": "10"}).search

    assert (search.limit, search.mmr.lambda_, search.parent_retriever.enabled) == (9, 0.25, True)
    assert (search.min_quality, search.fusion.rrf_k, search.mmr.enabled) == (0.5, 10.0, False)


def test_profile_on_memory_names_its_keys_without_the_section(tmp_path: Path) -> None:
    made = profile(tmp_path, "[profiles.diary]\nbase = 'memory'\nlimit = 3\nmin_score = 0.4\nhalf_life_days = 7\n")
    memory = made.search.memory

    assert (made.base, memory.limit, memory.min_score, memory.half_life_days) == ("memory", 3, 0.4, 7.0)
    assert made.search.limit == 5


def test_weights_take_the_place_of_legs(tmp_path: Path) -> None:
    made = profile(tmp_path, "[profiles.two.weights]\ntrigram = 1\ndense = 0\n")

    assert made.search.weights == (("trigram", 1.0), ("dense", 0.0))


def test_stages_turn_on_what_they_name_and_off_what_they_do_not(tmp_path: Path) -> None:
    text = "[search.parent_retriever]\nenabled = true\n[profiles.x]\nstages = ['mmr']\n"
    search = profile(tmp_path, text).search

    assert (search.rerank_by_default, search.mmr.enabled, search.parent_retriever.enabled) == (False, True, False)


def test_stages_of_memory_switch_decay_and_boost(tmp_path: Path) -> None:
    search = profile(tmp_path, "[profiles.x]\nbase = 'memory'\nstages = ['access_boost', 'mmr']\n").search

    assert (search.memory.decay, search.memory.access_weight, search.memory.mmr) == (False, 0.05, True)


def test_described_values_say_what_is_inherited_from_where(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[profiles.x]\nlimit = 9\nstages = ['mmr']\n[profiles.x.weights]\ndense = 2\n")
    rows = {row.key: (row.value, row.origin.replace(str(tmp_path), "")) for row in describe(loaded)}

    assert rows["profiles.x.base"] == ("notes", "default")
    assert rows["profiles.x.limit"] == (9, "file /config.toml")
    assert rows["profiles.x.mmr.enabled"] == (True, "file /config.toml")
    assert rows["profiles.x.min_quality"] == (0.3, "search.min_quality")
    assert rows["profiles.x.weights.dense"] == (2.0, "file /config.toml")


def test_own_profile_may_be_the_default_one(tmp_path: Path) -> None:
    loaded = read(tmp_path, "[search]\nprofile = 'x'\n[profiles.x]\n")

    assert loaded.settings.search.profile == "x"


def test_unknown_default_profile_names_the_nearest(tmp_path: Path) -> None:
    found = problems(tmp_path, "[search]\nprofile = 'diry'\n[profiles.diary]\n")

    assert found == ['FILE:2: search.profile: there is no profile "diry"; did you mean diary?']


def test_every_problem_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """[profiles.a]
min_score = 0.5
limt = 3
stages = ["mmr", "rerank", "decay", "mmmr"]
[profiles.a.weights]
trigrm = 1
dense = -1
[profiles.b]
base = "memory"
rerank = true
legs = "chunks"
weights = { dense = 1 }
[profiles.c]
base = "note"
[profiles.notes]
""",
    )

    assert found == [
        'FILE:2: profiles.a.min_score: cannot be set with base = "notes": scores of ranks have no scale on which a '
        "least one would mean the same for two queries",
        "FILE:3: profiles.a.limt: there is no such key; did you mean limit?",
        'FILE:4: profiles.a.stages: decay is no stage of base = "notes": it does not weigh by age',
        'FILE:4: profiles.a.stages: there is no stage "mmmr"; did you mean mmr?',
        "FILE:4: profiles.a.stages: must be in the order rerank, mmr: reranking would undo what mmr picked, and "
        "neither may see text that was put around a hit",
        "FILE:6: profiles.a.weights.trigrm: there is no such leg; did you mean trigram?",
        "FILE:7: profiles.a.weights.dense: must be 0 to 1000000, is -1",
        'FILE:10: profiles.b.rerank: cannot be set with base = "memory": its scores are weighed by age and use, and '
        "those of a reranker would take their place",
        'FILE:11: profiles.b.legs: cannot be set with base = "memory": it has one leg for words and one for vectors',
        'FILE:12: profiles.b.weights: cannot be set with base = "memory": it joins words and vectors by value; '
        "text_weight and vector_weight are their weights",
        'FILE:14: profiles.c.base: must be "notes" or "memory", is "note"; did you mean notes?',
        "FILE:15: profiles.notes: notes is built in; set [search], or choose another name",
        "FILE:4: profiles.a.stages: there is no reranker; set models.reranker",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "weights = { dense = 0, trigram = 0.0 }",
            "weights: at least one leg must weigh more than 0, or nothing is found",
        ),
        ("weights = {}", "weights: must be a table of legs and numbers, is a table"),
        ("weights = { dense = nan }", "weights.dense: must be 0 to 1000000, is nan"),
        ("weights = { dense = inf }", "weights.dense: must be 0 to 1000000, is inf"),
        ("weights = { dense = true }", "weights.dense: must be a number, is true"),
        (
            "legs = 'chunks'\nweights = { dense = 1 }",
            "weights: and legs exclude each other: the table names the legs itself",
        ),
        ("stages = ['mmr', 'mmr']", "stages: names a stage twice"),
        ("stages = 'mmr'", 'stages: must be a list of texts such as ["rerank", "mmr"], is "mmr"'),
        ("stages = ['mmr']\nmmr.enabled = false", "stages: mmr is in the list, but mmr.enabled turns it off"),
        ("stages = []\nmmr.enabled = true", "stages: mmr is not in the list, but mmr.enabled turns it on"),
        ("mmr.lambda = 2", "mmr.lambda: must be 0 to 1, is 2.0"),
        (
            "half_life_days = 3",
            'half_life_days: there is no such key with base = "notes"; it belongs to base = "memory"',
        ),
        ("rerank = true", "rerank: there is no reranker; set models.reranker"),
        ("stages = ['rerank']", "stages: there is no reranker; set models.reranker"),
        (
            "parent_retriever.max_expanded_tokens = 50",
            "parent_retriever: whole_doc_threshold_tokens (100) must be smaller than max_expanded_tokens (50)",
        ),
    ],
)
def test_impossible_profile_is_refused_with_the_reason(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = problems(tmp_path, f"[profiles.x]\n{text}\n")

    assert found.split(": profiles.x.", 1)[1] == expected


def test_legs_that_all_need_vectors_are_refused_without_a_model(tmp_path: Path) -> None:
    text = "[models]\nembedder = 'none'\n[profiles.x.weights]\ndense = 1\ntitle = 1\ntrigram = 0\n"
    found = problems(tmp_path, text)

    assert found == ["FILE:3: profiles.x.weights: every leg here needs vectors, and models.embedder is none"]


@pytest.mark.parametrize("text", ["profiles = 3", "profiles = [1]", "[profiles]\nx = 3"])
def test_profiles_must_be_tables(tmp_path: Path, text: str) -> None:
    (found,) = problems(tmp_path, text)

    assert found == "FILE:1: profiles: must be tables, one [profiles.NAME] for each profile"


def test_profile_cannot_be_set_by_a_flag(tmp_path: Path) -> None:
    found = problems(tmp_path, "", profiles__x__limit="3")

    assert found == ["--set profiles.x.limit: profiles can only be set in the file"]


def test_bad_name_is_refused(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, "[profiles.'a.b']\n")

    assert "a name may have 1 to 64 letters, digits, '_' and '-', is \"a.b\"" in found
