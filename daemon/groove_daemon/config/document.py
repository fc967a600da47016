"""The reference of all options and the example file, both made from the settings.

`python -m groove_daemon.config.document FOLDER` writes `configuration.md` and `config.example.toml` there; a test
compares them with what this module makes now.  In the example every key is commented out and shows its default, so a
copy changes nothing.
"""

import sys
import textwrap
from pathlib import Path

from groove_daemon.config.profiles import BASES, LEGS, Base
from groove_daemon.config.schema import COLLECTION, SECTIONS, Key, Section, format_value, range_text

REFERENCE = "configuration.md"
EXAMPLE = "config.example.toml"
_WIDTH = 100
_INTRODUCTION = """\
# Configuration

This page is generated from `daemon/groove_daemon/config/settings.py` by `python -m groove_daemon.config.document docs`.

The file is `config.toml` in the folder `groove` of your configuration folder: `~/.config/groove/config.toml` on Linux,
`~/Library/Application Support/groove/config.toml` on macOS.
It is TOML in UTF-8; [config.example.toml](config.example.toml) holds every key with its default, commented out.

A value comes from the first of these that has it:

1. `--set KEY=VALUE` on the command line of `grooved`, for example `--set search.limit=10`.
   A list is separated by commas.
2. An environment variable, `GROOVE_` and the key in capitals with `_` for `.`, for example `GROOVE_SEARCH_LIMIT=10`.
   An empty variable counts as not set.
3. The file.
4. The default.

`grooved check-config` prints every value in force and where it came from.
An unknown key, a wrong type and a value out of range are errors; all of them are reported at once, with the line.

A duration is a number of seconds or a text such as `"500ms"`, `"30s"`, `"5m"`, `"1h30m"`, `"1d"`.
A size is a number of bytes or a text such as `"64KiB"`, `"50MiB"` (units of 1024) or `"1GB"` (units of 1000).
In a path, `~` is your home.
"""
_COLLECTIONS = """\
Each folder is a table of its own.
Two collections may have neither the same name, whatever the case, nor the same folder, and no folder may lie within
another: its notes would be indexed twice.
A folder that is not there is no error, because it may be on a disk that is not mounted; `groovectl status` shows it.
Collections can be set in the file alone.
"""
_PROFILES = """\
## `[profiles.NAME]`

A profile of your own: a built-in recipe with settings of its own.
It is chosen by `groovectl search --profile NAME`, by the `profile` of a request, or for every search by
`search.profile`.
Whatever it does not set it inherits from `[search]`.
Profiles can be set in the file alone; `groovectl reload` takes them into force.
`grooved check-config` and `groovectl config` show each with all its values; where it inherits one, its origin is the
option it comes from.

```toml
[profiles.lookup]
base = "notes"
limit = 10
stages = ["mmr", "parent_retriever"]

[profiles.lookup.weights]
trigram = 1
all_words = 2
dense = 0.5

[profiles.diary]
base = "memory"
half_life_days = 7
min_score = 0.4
```

### `base`

`"notes"` or `"memory"`; default `"notes"`.

### `stages`

List of the stages that run after the candidates are found; those that are not named are off.
They run in one order, and a list in another order is refused.
When not set, each stage is on or off as `[search]` and the profile's other keys say.

{stages}

### `weights`

A table of legs and their weights, 0 to 1000000, in place of `legs`, for queries in any script.
It is for the base `notes` alone.
A leg that is not named, or weighs 0, does not run; one at least must run.
Legs: {legs}.

### Other keys

A key that the base does not know is refused, with the reason where there is one.

{keys}
"""
_PROFILES_EXAMPLE = """\
## A profile of your own is a table [profiles.NAME]; docs/configuration.md shows two.
"""
_EXAMPLE_HEAD = """\
# The configuration of Groove, with every key at its default.
# A line without the "# " in front of it takes effect; what it means is in docs/configuration.md.

# One table for each folder of notes:
# [[collections]]
# path = "~/Notes"
"""


def reference() -> str:
    """Return the reference of all options in Markdown."""
    parts = [_INTRODUCTION, f"## `[[collections]]`\n\n{COLLECTION.doc}\n\n{_COLLECTIONS}\n{_rows(COLLECTION)}"]
    parts += [f"## `[{section.name}]`\n\n{section.doc}\n\n{_rows(section)}" for section in SECTIONS if section.keys]
    return "\n".join([*parts, _profiles()])


def example() -> str:
    """Return the example file: TOML with every key commented out."""
    parts = [_EXAMPLE_HEAD + "".join(_example_key(key) for key in COLLECTION.keys if key.name != "path")]
    for section in SECTIONS:
        parts.append(f"[{section.name}]\n" + "".join(_example_key(key) for key in section.keys))
    return "\n".join([*parts, _PROFILES_EXAMPLE])


def _profiles() -> str:
    stages = "\n".join(
        f"- `{name}`: " + ", ".join(f"`{stage}`" for stage in base.stages) for name, base in BASES.items()
    )
    return _PROFILES.format(
        stages=stages,
        legs=", ".join(f"`{leg}`" for leg in LEGS),
        keys="\n\n".join(_profile_keys(name, base) for name, base in BASES.items()),
    )


def _profile_keys(name: str, base: Base) -> str:
    rows = "\n".join(f"| `{key}` | `{option}` |" for key, option in base.keys.items())
    return f'With `base = "{name}"`:\n\n| key | in place of |\n|---|---|\n{rows}'


def _rows(section: Section) -> str:
    return "\n".join(_entry(key) for key in section.keys)


def _entry(key: Key) -> str:
    facts = [f"default `{format_value(key, key.default)}`" if _has_default(key) else "required"]
    if key.optional and key.default is None:
        facts = ["not set by default"]
    if key.choices:
        facts.append("one of " + ", ".join(f"`{choice}`" for choice in key.choices))
    if range_text(key):
        facts.append(range_text(key))
    name = key.name.rpartition(".")[2]
    return f"### `{name}`\n\n{_kind(key)}; {'; '.join(facts)}.\n\n{key.doc}\n"


def _has_default(key: Key) -> bool:
    return not (key.kind == "path" and key.default == "")


def _kind(key: Key) -> str:
    return _KINDS.get(key.kind) or _TYPES[key.value_type]


_KINDS = {
    "duration": "Duration",
    "size": "Size",
    "path": "Path",
    "name_or_path": "Name, or path that starts with `/`, `~`, `./` or `../`",
    "glob": "List of patterns",
}
_TYPES = {bool: "`true` or `false`", int: "Whole number", float: "Number", str: "Text", tuple: "List of texts"}


def _example_key(key: Key) -> str:
    name = key.name.rpartition(".")[2]
    lines = textwrap.wrap(key.doc, _WIDTH, initial_indent="## ", subsequent_indent="## ", break_on_hyphens=False)
    value = "true" if key.default is None else format_value(key, key.default)
    return "\n".join([*lines, f"# {name} = {value}", ""])


def main(arguments: list[str]) -> None:
    """Write both documents to the folder that is the only argument."""
    folder = Path(arguments[0])
    (folder / REFERENCE).write_text(reference(), encoding="utf-8")
    (folder / EXAMPLE).write_text(example(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
