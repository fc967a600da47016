from pathlib import Path
from typing import Any

import pytest

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.catalog import EMBEDDERS, locate
from groove_daemon.models.recipe import Recipe, pair_length, read_recipe
from support.models import write_json, write_model_folder


def test_recipe_of_the_default_model() -> None:
    recipe = read_recipe(locate("all-MiniLM-L6-v2", EMBEDDERS).folder)

    assert recipe == Recipe(max_length=256, pooling="mean", dimension=384)


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({"pooling_mode": ["mean"]}, "mean"),
    ],
)
def test_pooling_is_read_in_the_old_and_the_new_spelling(tmp_path: Path, config: dict[str, Any], pooling: str) -> None:
    recipe = read_recipe(write_model_folder(tmp_path, pooling=config))

    assert (recipe.pooling, recipe.obstacle) == (pooling, "")


@pytest.mark.parametrize(
    ("config", "query", "passage"),
    [
        ({"prompts": {"query": "query: ", "passage": "passage: "}}, "query: ", "passage: "),
        ({"prompts": {"query": "q: ", "document": "d: ", "passage": "p: "}}, "q: ", "d: "),
        ({"prompts": {"query": "q: "}, "default_prompt_name": "query"}, "q: ", "q: "),
        ({"prompts": {"sts": "same: "}, "default_prompt_name": "sts"}, "same: ", "same: "),
        ({"prompts": {}, "default_prompt_name": None}, "", ""),
        ({}, "", ""),
    ],
)
def test_prompts_follow_names_then_the_default(
    tmp_path: Path, config: dict[str, Any], query: str, passage: str
) -> None:
    recipe = read_recipe(write_model_folder(tmp_path, prompts=config))

    assert (recipe.query_prompt, recipe.passage_prompt) == (query, passage)


def test_max_length_is_the_smallest_that_the_folder_says(tmp_path: Path) -> None:
    folder = write_model_folder(tmp_path, max_length=512)
    write_json(folder / "tokenizer_config.json", {"model_max_length": 1e30})
    write_json(folder / "config.json", {"max_position_embeddings": 128})

    assert read_recipe(folder).max_length == 128


def test_max_length_is_512_when_nothing_says_it(tmp_path: Path) -> None:
    assert pair_length(tmp_path) == 512


@pytest.mark.parametrize(
    ("changes", "obstacle"),
    [
        ({"modules": ("Transformer", "Pooling", "Dense", "Normalize")}, "module Dense"),
        ({"modules": ("Transformer",)}, "no pooling module"),
        ({"pooling": {"pooling_mode": ["mean", "max"]}}, "mean and max"),
        ({"pooling": {"pooling_mode": "weightedmean"}}, "weightedmean"),
        ({"dimension": 0}, "how long the vectors are"),
        (
            {"pooling": {"pooling_mode": "mean", "include_prompt": False}, "prompts": {"prompts": {"query": "q: "}}},
            "prompt",
        ),
    ],
)
def test_what_onnx_cannot_do_is_named(tmp_path: Path, changes: dict[str, Any], obstacle: str) -> None:
    assert obstacle in read_recipe(write_model_folder(tmp_path, **changes)).obstacle


@pytest.mark.parametrize("file", ["modules.json", "1_Pooling/config.json"])
def test_missing_file_is_named(tmp_path: Path, file: str) -> None:
    folder = write_model_folder(tmp_path)
    (folder / file).unlink()

    with pytest.raises(ModelUnavailable) as caught:
        read_recipe(folder)

    assert str(folder / file) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("modules.json", "{"),
        ("modules.json", "{}"),
        ("modules.json", "[1]"),
        ("sentence_bert_config.json", "[]"),
        ("1_Pooling/config.json", ""),
    ],
)
def test_damaged_file_is_named(tmp_path: Path, file: str, content: str) -> None:
    folder = write_model_folder(tmp_path)
    (folder / file).write_text(content)

    with pytest.raises(ModelUnavailable, match="damaged") as caught:
        read_recipe(folder)

    assert str(folder / file) in caught.value.message
