"""Each variant is another setting than the default, and only where it says so."""

from dataclasses import fields

import pytest
from benchmarks.asking import DEFAULT
from benchmarks.choices import INDEX_TIME, QUERY_TIME, RERANKING, same

from groove_daemon.config.settings import IndexSettings
from groove_daemon.retrieval.pipeline import LEG_SETS

AT_QUERY_TIME = {
    variant: change for choices in (QUERY_TIME, RERANKING) for variants in choices.values()
    for variant, change in variants.items()
}  # fmt: skip
AT_INDEX_TIME = {variant: change for variants in INDEX_TIME.values() for variant, change in variants.items()}


def changed_fields(one, other):
    return [field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)]


@pytest.mark.parametrize("variant", AT_QUERY_TIME)
def test_a_variant_changes_one_section_of_the_search_for_some_script(variant):
    changed = [changed_fields(AT_QUERY_TIME[variant](DEFAULT, script), DEFAULT) for script in ("spaced", "cjk")]

    assert any(changed)
    assert all(len(names) <= 1 for names in changed)


@pytest.mark.parametrize("variant", AT_INDEX_TIME)
def test_a_variant_changes_one_setting_of_the_index(variant):
    assert len(changed_fields(AT_INDEX_TIME[variant](IndexSettings()), IndexSettings())) == 1


def test_a_weight_changes_nothing_else_and_nothing_where_it_is_the_default():
    default = LEG_SETS["documents"].weights
    lighter = AT_QUERY_TIME["trigram 0.25"]

    assert lighter(DEFAULT, "spaced") == same(DEFAULT, "spaced") == DEFAULT
    assert dict(lighter(DEFAULT, "cjk").weights) == {**default["cjk"], "trigram": 0.25}


def test_a_leg_left_out_and_a_leg_alone():
    default = LEG_SETS["documents"].weights["spaced"]
    without = dict(AT_QUERY_TIME["without `dense`"](DEFAULT, "spaced").weights)

    assert without == {name: weight for name, weight in default.items() if name != "dense"}
    assert AT_QUERY_TIME["`dense`"](DEFAULT, "spaced").weights == (("dense", 1.0),)
