"""Profiles of the user's own: `[profiles.NAME]` tables, each a built-in recipe with settings of its own.

What always holds: a profile is read only against the keys, stages and legs that its base knows; whatever its base
cannot do is refused with the reason, all of it at once; what a profile leaves out it inherits from `[search]`.
Knows the names of stages and legs, not the stages: a test compares the names with those of the pipeline.
"""

import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groove_daemon.config.fields import FieldError, show
from groove_daemon.config.schema import KEYS, Key, read_value

PROFILES = "profiles"
LEGS = (
    "trigram",
    "chunk_words",
    "all_words",
    "exact_terms",
    "short_terms",
    "document_words",
    "dense",
    "mean",
    "title",
)
"""The legs that `weights` may name."""
VECTOR_LEGS = frozenset({"dense", "mean", "title"})
"""Those of them that find nothing without a model."""
_HEAVIEST = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Switch:
    """How a stage is turned on and off: the profile's key, the value that means off, the one for on, None for any."""

    key: str
    off: object
    on: object = None


@dataclass(frozen=True, slots=True)
class Base:
    """What a built-in recipe lets a profile set.

    Args:
        keys: the profile's key -> the option of `[search]` whose place it takes.
        stages: the stages that can be on or off, in the only order that the recipe has.
        order_reason: why that is the order.
        has_legs: whether `weights` means something.
    """

    keys: Mapping[str, str]
    stages: Mapping[str, Switch]
    order_reason: str
    has_legs: bool = False


def _below(section: str, prefix: str = "") -> dict[str, str]:
    """The options right below a section under the profile's names for them."""
    return {
        f"{prefix}{name.rpartition('.')[2]}": name for name in KEYS if name.rpartition(".")[0] == f"search.{section}"
    }


_SHARED = {
    "min_quality": "search.min_quality",
    "min_confidence_ratio": "search.min_confidence_ratio",
    **_below("parent_retriever", "parent_retriever."),
}
_PARENT = Switch("parent_retriever.enabled", off=False, on=True)

BASES: Mapping[str, Base] = {
    "notes": Base(
        keys={
            "limit": "search.limit",
            "legs": "search.legs",
            "drop_common_phrases": "search.drop_common_phrases",
            "merge_duplicates": "search.merge_duplicates",
            "max_per_document": "search.max_per_document",
            "rerank": "search.rerank_by_default",
            **_below("fusion", "fusion."),
            **_below("mmr", "mmr."),
            **_SHARED,
        },
        stages={
            "rerank": Switch("rerank", off=False, on=True),
            "mmr": Switch("mmr.enabled", off=False, on=True),
            "parent_retriever": _PARENT,
        },
        order_reason="reranking would undo what mmr picked, and neither may see text that was put around a hit",
        has_legs=True,
    ),
    "memory": Base(
        keys={**_below("memory"), **_SHARED},
        stages={
            "decay": Switch("decay", off=False, on=True),
            "access_boost": Switch("access_weight", off=0.0),
            "mmr": Switch("mmr", off=False, on=True),
            "parent_retriever": _PARENT,
        },
        order_reason="mmr picks by the weighed scores, and no stage may see text that was put around a hit",
    ),
}
"""The built-in recipes by name."""

_WHY_NOT: Mapping[tuple[str, str], str] = {
    ("notes", "min_score"): "scores of ranks have no scale on which a least one would mean the same for two queries",
    ("notes", "decay"): "it does not weigh by age",
    ("notes", "access_boost"): "it does not count what was shown",
    ("memory", "rerank"): "its scores are weighed by age and use, and those of a reranker would take their place",
    ("memory", "weights"): "it joins words and vectors by value; text_weight and vector_weight are their weights",
    ("memory", "legs"): "it has one leg for words and one for vectors",
    ("memory", "fusion"): "it joins by value, not by ranks",
    ("memory", "drop_common_phrases"): "it leaves stop words out in any case",
}


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """A profile as read: what it sets itself.

    Args:
        values: options of `[search]` by their dotted names -> the value that takes their place.
        weights: legs and their weights; empty when the profile leaves them to `legs`.
        given: the keys that stand in the file, as the profile spells them.
    """

    name: str
    base: str
    values: Mapping[str, Any]
    weights: Mapping[str, float]
    given: frozenset[str]


@dataclass(slots=True)
class ProfileReading:
    """Reads one table.

    Args:
        name: the profile's name.
        problem: told the key, dotted within the table and empty for the table itself, and what is wrong with it.
        folder: where relative paths start.
    """

    name: str
    problem: Callable[[str, str], None]
    folder: Path
    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    weights: dict[str, float] = field(default_factory=dict)

    def read(self, table: Mapping[str, object]) -> ProfileTable:
        """Take the table; what is wrong has been told, and the result is of use only when nothing was."""
        base = self._base(table.get("base", "notes"))
        rest = {key: raw for key, raw in table.items() if key not in ("base", "stages", "weights")}
        if "base" in table:
            self.given.add("base")
        for key, raw in _flat(rest):
            self._take(base, key, raw)
        if "stages" in table:
            self._take_stages(base, table["stages"])
        if "weights" in table:
            self._take_weights(base, table["weights"])
        return ProfileTable(self.name, base, self.values, self.weights, frozenset(self.given))

    def _base(self, raw: object) -> str:
        if isinstance(raw, str) and raw in BASES:
            return raw
        wanted = " or ".join(f'"{name}"' for name in BASES)
        self.problem("base", f"must be {wanted}, is {show(raw)}{_nearest(str(raw), BASES)}")
        return "notes"

    def _take(self, base: str, key: str, raw: object) -> None:
        option = BASES[base].keys.get(key)
        if option is None:
            self.problem(key, _unknown(base, key))
            return
        self.given.add(key)
        try:
            self.values[option] = read_value(KEYS[option], raw, base=self.folder)
        except FieldError as error:
            self.problem(key, str(error))

    def _take_stages(self, base: str, raw: object) -> None:
        if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
            self.problem("stages", f'must be a list of texts such as ["rerank", "mmr"], is {show(raw)}')
            return
        self.given.add("stages")
        known = BASES[base].stages
        for stage in raw:
            if stage not in known:
                self.problem("stages", _unknown_stage(base, stage))
        wanted = [stage for stage in raw if stage in known]
        if len(set(wanted)) < len(wanted):
            self.problem("stages", "names a stage twice")
        elif wanted != sorted(wanted, key=list(known).index):
            order = ", ".join(stage for stage in known if stage in wanted)
            self.problem("stages", f"must be in the order {order}: {BASES[base].order_reason}")
        for stage, switch in known.items():
            self._switch(base, stage, switch, is_on=stage in wanted)

    def _switch(self, base: str, stage: str, switch: Switch, *, is_on: bool) -> None:
        """Turn a stage on or off, unless the table itself says the opposite."""
        option = BASES[base].keys[switch.key]
        if switch.key in self.given:
            if option in self.values and (self.values[option] != switch.off) != is_on:
                text = "is in the list, but {} turns it off" if is_on else "is not in the list, but {} turns it on"
                self.problem("stages", f"{stage} {text.format(switch.key)}")
        elif not is_on:
            self.values[option] = switch.off
        elif switch.on is not None:
            self.values[option] = switch.on

    def _take_weights(self, base: str, raw: object) -> None:
        if not BASES[base].has_legs:
            self.problem("weights", _unknown(base, "weights"))
            return
        if not isinstance(raw, dict) or not raw:
            self.problem("weights", f"must be a table of legs and numbers, is {show(raw)}")
            return
        self.given.add("weights")
        if "legs" in self.given:
            self.problem("weights", "and legs exclude each other: the table names the legs itself")
        before = len(self.weights)
        for leg, weight in raw.items():
            self._take_weight(leg, weight)
        if len(self.weights) - before == len(raw) and not any(self.weights.values()):
            self.problem("weights", "at least one leg must weigh more than 0, or nothing is found")

    def _take_weight(self, leg: str, weight: object) -> None:
        if leg not in LEGS:
            self.problem(f"weights.{leg}", f"there is no such leg{_nearest(leg, LEGS)}")
        elif isinstance(weight, bool) or not isinstance(weight, int | float):
            self.problem(f"weights.{leg}", f"must be a number, is {show(weight)}")
        elif not 0 <= weight <= _HEAVIEST or not math.isfinite(weight):
            self.problem(f"weights.{leg}", f"must be 0 to {_HEAVIEST:.0f}, is {show(weight)}")
        else:
            self.weights[leg] = float(weight)


def keys_of(base: str) -> Iterator[tuple[str, Key]]:
    """The keys that a profile on this base may set, each with the option whose place it takes."""
    for key, option in BASES[base].keys.items():
        yield key, KEYS[option]


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, raw in table.items():
        if isinstance(raw, dict) and raw:
            yield from _flat(raw, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", raw


def _unknown(base: str, key: str) -> str:
    """Why the base has no such key: a reason of its own, the other base that has it, or the nearest key."""
    reason = _WHY_NOT.get((base, key)) or _WHY_NOT.get((base, key.partition(".")[0]))
    if reason:
        return f'cannot be set with base = "{base}": {reason}'
    others = [name for name, other in BASES.items() if key in other.keys]
    known = [*BASES[base].keys, "base", "stages", *(["weights"] if BASES[base].has_legs else [])]
    if others:
        return f'there is no such key with base = "{base}"; it belongs to base = "{others[0]}"'
    return f"there is no such key{_nearest(key, known)}"


def _unknown_stage(base: str, stage: str) -> str:
    reason = _WHY_NOT.get((base, stage))
    if reason:
        return f'{stage} is no stage of base = "{base}": {reason}'
    known = BASES[base].stages
    return f"there is no stage {show(stage)}{_nearest(stage, known) or '; known: ' + ', '.join(known)}"


def _nearest(name: str, known: "Mapping[str, object] | tuple[str, ...] | list[str]") -> str:
    close = difflib.get_close_matches(name, list(known), n=1) or [
        each for each in known if each.rpartition(".")[2] == name
    ]
    return f"; did you mean {close[0]}?" if close else ""
