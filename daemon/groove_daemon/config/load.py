"""From the configuration file, the environment and the command line to `Settings`, with the origin of each value.

What always holds: defaults < file < environment < flags; every problem is found before any is reported, and a wrong
configuration yields no settings at all.  Knows nothing about where the file is looked for, nor what uses the settings.
"""

import dataclasses
import difflib
import os
import re
import stat
import tomllib
import typing
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groove_daemon.config import roots
from groove_daemon.config.fields import FieldError, show
from groove_daemon.config.lines import key_lines, line_of
from groove_daemon.config.profiles import BASES, PROFILES, VECTOR_LEGS, ProfileReading, ProfileTable, keys_of
from groove_daemon.config.schema import COLLECTION, KEYS, SECTIONS, Key, format_value, read_text, read_value
from groove_daemon.config.settings import CollectionSettings, ProfileSettings, SearchSettings, Settings
from groove_daemon.errors import ConfigError

DEFAULT = "default"
MAX_FILE_BYTES = 4 * 1024 * 1024
_NAME = re.compile(r"[\w.-]{1,64}")
_BY_VARIABLE = {key.environment_name: key for key in KEYS.values()}
_SECTION_NAMES = frozenset(section.name for section in SECTIONS)
_VARIABLE_STARTS = tuple(f"GROOVE_{name.upper().replace('.', '_')}_" for name in _SECTION_NAMES)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that was found to be right.

    Args:
        settings: the values.
        origins: dotted key -> `default`, `file PATH`, `environment NAME` or `flag --set`; a collection's keys are
            `collections.NAME.KEY`, a profile's `profiles.NAME.KEY`, where it sets them itself.
        file: the file that was read; None when there was none.
        warnings: what is allowed and yet worth a look, one line each.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Effective:
    """One value in force: the dotted key, the value, where it came from, its document, the value as TOML spells it."""

    key: str
    value: object
    origin: str
    doc: str
    text: str


def load(file: Path | None, env: Mapping[str, str], *, flags: Mapping[str, str]) -> Loaded:
    """Read the configuration.

    Args:
        file: the configuration file; None for the defaults alone.
        env: the environment; `GROOVE_<SECTION>_<KEY>` counts, an empty variable counts as not set.
        flags: dotted key -> text, from `--set KEY=VALUE`.

    Raises:
        ConfigError: the file cannot be read, or values are wrong; `problems` has them all.
    """
    text = None if file is None else read_file(file)
    return load_text(text, file, env=env, flags=flags)


def load_text(text: str | None, file: Path | None, *, env: Mapping[str, str], flags: Mapping[str, str]) -> Loaded:
    """As `load`, from a text that is or will be the content of `file`."""
    reading = _Reading(file, {} if text is None else key_lines(text))
    data = {} if text is None or file is None else _parse(text, file)
    reading.take_file(data)
    reading.take_environment(env)
    reading.take_flags(flags)
    return reading.finish()


def flags_from(assignments: Iterable[str]) -> dict[str, str]:
    """Return what `load` takes as flags from the texts behind `--set`; the last one of a key wins.

    Raises:
        ConfigError: a text without `=`.
    """
    flags = {}
    for assignment in assignments:
        key, sign, value = assignment.partition("=")
        if not sign:
            raise ConfigError(f"--set {assignment}: must be KEY=VALUE, for example search.limit=10")
        flags[key.strip()] = value.strip()
    return flags


def describe(loaded: Loaded) -> list[Effective]:
    """Return every value in force, collections first, in the order of the file."""
    rows = []
    for collection in loaded.settings.collections:
        prefix = f"collections.{collection.name}."
        rows += [_effective(loaded, key, collection, f"{prefix}{key.attribute}") for key in COLLECTION.keys]
    for section in SECTIONS:
        holder: Any = loaded.settings
        for part in section.name.split("."):
            holder = getattr(holder, part)
        rows += [_effective(loaded, key, holder, key.name) for key in section.keys]
    for profile in loaded.settings.profiles:
        rows += _profile_rows(loaded, profile)
    return rows


def _profile_rows(loaded: Loaded, profile: ProfileSettings) -> list[Effective]:
    """What is in force for a profile; the origin of a value that it inherits is the option it comes from."""
    prefix = f"{PROFILES}.{profile.name}"
    origins = loaded.origins
    base_origin = origins.get(f"{prefix}.base", DEFAULT)
    rows = [Effective(f"{prefix}.base", profile.base, base_origin, "The built-in recipe.", f'"{profile.base}"')]
    for name, key in keys_of(profile.base):
        holder: Any = profile.search
        for part in key.name.split(".")[1:-1]:
            holder = getattr(holder, part)
        value = getattr(holder, key.attribute)
        origin = origins.get(f"{prefix}.{name}", key.name)
        rows.append(Effective(f"{prefix}.{name}", value, origin, key.doc, format_value(key, value)))
    weights_origin = origins.get(f"{prefix}.weights", DEFAULT)
    return rows + [
        Effective(f"{prefix}.weights.{leg}", weight, weights_origin, "Weight of the leg.", f"{weight}")
        for leg, weight in profile.search.weights
    ]


def _effective(loaded: Loaded, key: Key, holder: object, name: str) -> Effective:
    value = getattr(holder, key.attribute)
    return Effective(name, value, loaded.origins.get(name, DEFAULT), key.doc, format_value(key, value))


def read_file(file: Path) -> str:
    """Return the text of a configuration file, without a byte order mark.

    Raises:
        ConfigError: not there, not readable, no regular file, far too large, or not UTF-8.
    """
    try:
        with file.open("rb") as handle:
            if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                raise ConfigError(f"{file}: is not a regular file")
            content = handle.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"{file}: is larger than {MAX_FILE_BYTES} bytes; that is no configuration")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(f"{file}:{line}: is not UTF-8 (byte 0x{content[error.start]:02x})") from error


def _parse(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{file}: is nested too deeply") from error
    except ValueError as error:
        raise ConfigError(_syntax_problem(file, str(error))) from error


def _syntax_problem(file: Path, text: str) -> str:
    where = re.search(r" \(at line (\d+), column (\d+)\)$", text)
    if where:
        return f"{file}:{where[1]}:{where[2]}: is not TOML: {text[: where.start()].lower()}"
    return f"{file}: is not TOML: {text.lower()}"


@dataclass(slots=True)
class _Reading:
    """What has been read so far: values, where each came from, and what was wrong."""

    file: Path | None
    lines: Mapping[str, int]
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    collections: list[CollectionSettings] = field(default_factory=list)
    profiles: list[ProfileTable] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take_file(self, data: Mapping[str, Any]) -> None:
        """Take every key of a parsed file; relative paths start at the file's folder."""
        for name, raw in data.items():
            if name == "collections":
                self._take_collections(raw)
            elif name == PROFILES:
                self._take_profiles(raw)
            else:
                self._take("", name, raw)

    def _take(self, prefix: str, name: str, raw: object) -> None:
        dotted = f"{prefix}.{name}" if prefix else name
        if "." in name:
            self._problem(self._in_file(dotted), "there is no such key; a key with dots is written without quotes")
        elif dotted in _SECTION_NAMES:
            self._take_section(dotted, raw)
        elif dotted in KEYS:
            self._set(KEYS[dotted], raw, origin=f"file {self.file}", place=self._in_file(dotted))
        else:
            self._problem(self._in_file(dotted), f"there is no such key{_nearest(prefix, name)}")

    def _take_section(self, dotted: str, raw: object) -> None:
        if not isinstance(raw, dict):
            self._problem(self._in_file(dotted), f"must be a table, [{dotted}], is {show(raw)}")
            return
        for name, value in raw.items():
            self._take(dotted, name, value)

    def _set(self, key: Key, raw: object, *, origin: str, place: str) -> None:
        try:
            self.values[key.name] = read_value(key, raw, base=self._base())
        except FieldError as error:
            self._problem(place, str(error))
        self.origins[key.name] = origin
        self.places[key.name] = place

    def take_environment(self, env: Mapping[str, str]) -> None:
        """Take the variables that set keys; one that starts like them and sets none is a problem."""
        for name in sorted(env):
            if not env[name]:
                continue
            if name in _BY_VARIABLE:
                self._set_text(_BY_VARIABLE[name], env[name], origin=f"environment {name}")
            elif name.startswith(_VARIABLE_STARTS):
                self._problem(f"environment {name}", f"there is no such key{_did_you_mean(name, _BY_VARIABLE)}")

    def take_flags(self, flags: Mapping[str, str]) -> None:
        """Take the texts of `--set`."""
        for name, text in flags.items():
            if name in KEYS:
                self._set_text(KEYS[name], text, origin="flag --set")
            elif name.partition(".")[0].partition("[")[0] in ("collections", PROFILES):
                self._problem(f"--set {name}", f"{name.partition('.')[0]} can only be set in the file")
            else:
                prefix, _, last = name.rpartition(".")
                self._problem(f"--set {name}", f"there is no such key{_nearest(prefix, last)}")

    def _set_text(self, key: Key, text: str, *, origin: str) -> None:
        place = f"--set {key.name}" if origin.startswith("flag") else f"{origin}: {key.name}"
        try:
            self.values[key.name] = read_text(key, text, base=Path.cwd())
        except FieldError as error:
            self._problem(place, str(error))
        self.origins[key.name] = origin
        self.places[key.name] = place

    def _take_collections(self, raw: object) -> None:
        if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
            self._problem(self._in_file("collections"), "must be tables, one [[collections]] for each folder")
            return
        self.origins["collections"] = f"file {self.file}"
        for position, table in enumerate(raw):
            self._take_collection(position, table)

    def _take_collection(self, position: int, table: Mapping[str, object]) -> None:
        known = {key.name: key for key in COLLECTION.keys}
        values: dict[str, Any] = {}
        for name, raw in table.items():
            place = self._in_file(f"collections[{position}].{name}")
            if name not in known:
                self._problem(place, f"there is no such key{_did_you_mean(name, known)}")
                continue
            try:
                values[known[name].attribute] = read_value(known[name], raw, base=self._base())
            except FieldError as error:
                self._problem(place, str(error))
        self._add_collection(position, values, given=table.keys())

    def _add_collection(self, position: int, values: dict[str, Any], *, given: Iterable[str]) -> None:
        place = self._in_file(f"collections[{position}].path")
        if "path" not in values:
            if "path" not in given:
                self._problem(place, 'is missing; write path = "the folder"')
            return
        wrong = roots.why_no_root(values["path"])
        if wrong:
            self._problem(place, f"{show(values['path'])} {wrong}")
        values["name"] = self._name(position, values)
        self.collections.append(CollectionSettings(**values))
        self.positions.append(position)
        for name in given:
            self.origins[f"collections.{values['name']}.{name}"] = f"file {self.file}"

    def _name(self, position: int, values: Mapping[str, Any]) -> str:
        name: str = values.get("name", "")
        place = self._in_file(f"collections[{position}].name")
        if not name:
            name = default_name(values["path"])
            if not name:
                self._problem(place, f"the folder {show(values['path'])} gives no name; set name")
        elif not _NAME.fullmatch(name):
            self._problem(place, f"may have 1 to 64 letters, digits, '.', '_' and '-', is {show(name)}")
        return name

    def _take_profiles(self, raw: object) -> None:
        if not isinstance(raw, dict) or not all(isinstance(table, dict) for table in raw.values()):
            self._problem(self._in_file(PROFILES), "must be tables, one [profiles.NAME] for each profile")
            return
        for name, table in raw.items():
            self._take_profile(name, table)

    def _take_profile(self, name: str, table: Mapping[str, object]) -> None:
        dotted = f"{PROFILES}.{name}"
        if not _NAME.fullmatch(name) or "." in name:
            self._problem(
                self._in_file(dotted), f"a name may have 1 to 64 letters, digits, '_' and '-', is {show(name)}"
            )
            return
        if name in BASES:
            self._problem(self._in_file(dotted), f"{name} is built in; set [search], or choose another name")
            return
        reading = ProfileReading(
            name,
            lambda key, text: self._problem(self._in_file(f"{dotted}.{key}"), text),
            self._base(),
        )
        profile = reading.read(table)
        self.profiles.append(profile)
        self.origins.update({f"{dotted}.{key}": f"file {self.file}" for key in profile.given})
        if "stages" in profile.given:
            switched = [switch.key for switch in BASES[profile.base].stages.values()]
            self.origins.update({f"{dotted}.{key}": f"file {self.file}" for key in switched})

    def _profile_settings(self, profile: ProfileTable) -> ProfileSettings:
        search: SearchSettings = _build(SearchSettings, "search.", {**self.values, **profile.values})
        return ProfileSettings(
            profile.name, profile.base, dataclasses.replace(search, weights=tuple(profile.weights.items()))
        )

    def _check_profiles(self, settings: Settings) -> None:
        self._check_default_profile(settings.search.profile)
        for table, profile in zip(self.profiles, settings.profiles, strict=True):
            place = f"{PROFILES}.{profile.name}"
            parent = profile.search.parent_retriever
            is_own = any("parent_retriever." in key for key in table.given)
            if is_own and parent.whole_doc_threshold_tokens >= parent.max_expanded_tokens:
                text = f"whole_doc_threshold_tokens ({parent.whole_doc_threshold_tokens}) must be smaller than"
                text = f"{text} max_expanded_tokens ({parent.max_expanded_tokens})"
                self._problem(self._in_file(f"{place}.parent_retriever"), text)
            self._check_models(table, profile, settings)

    def _check_models(self, table: ProfileTable, profile: ProfileSettings, settings: Settings) -> None:
        place = f"{PROFILES}.{profile.name}"
        if table.values.get("search.rerank_by_default") and settings.models.reranker == "none":
            where = "stages" if "rerank" not in table.given else "rerank"
            self._problem(self._in_file(f"{place}.{where}"), "there is no reranker; set models.reranker")
        heard = {leg for leg, weight in profile.search.weights if weight > 0}
        if heard and heard <= VECTOR_LEGS and settings.models.embedder == "none":
            self._problem(
                self._in_file(f"{place}.weights"), "every leg here needs vectors, and models.embedder is none"
            )

    def _check_default_profile(self, name: str) -> None:
        known = [*BASES, *(profile.name for profile in self.profiles)]
        if name not in known:
            hint = _did_you_mean(name, known) or f"; known: {', '.join(known)}"
            self._problem(
                self.places.get("search.profile", "search.profile"), f"there is no profile {show(name)}{hint}"
            )

    def finish(self) -> Loaded:
        """Check what depends on several values, and return the result.

        Raises:
            ConfigError: there were problems.
        """
        self._check_names()
        self._check_roots()
        settings = _build(Settings, "", self.values)
        settings = dataclasses.replace(
            settings, profiles=tuple(self._profile_settings(profile) for profile in self.profiles)
        )
        self._check_orders(settings)
        self._check_profiles(settings)
        self._check_templates(settings.best_practice.templates)
        if self.problems:
            raise ConfigError(_summary(self.problems), problems=tuple(self.problems))
        self._warn()
        complete = dataclasses.replace(settings, collections=tuple(self.collections))
        return Loaded(complete, _with_defaults(self.origins), self.file, tuple(self.warnings))

    def _check_names(self) -> None:
        first: dict[str, str] = {}
        for position, collection in zip(self.positions, self.collections, strict=True):
            folded = collection.name.casefold()
            if collection.name and folded in first:
                place = self._in_file(f"collections[{position}].name")
                text = f"{show(collection.name)} is also the name of {show(first[folded])}; set another name"
                self._problem(place, f"{text} for {show(collection.path)}")
            first.setdefault(folded, collection.path)

    def _check_roots(self) -> None:
        for clash in roots.clashes([collection.path for collection in self.collections]):
            first, second = self.collections[clash.first], self.collections[clash.second]
            place = self._in_file(f"collections[{self.positions[clash.second]}].path")
            text = f"{show(second.path)} {clash.relation} the collection {show(first.name)}, {show(first.path)}"
            self._problem(place, f"{text}; notes in both would be indexed twice")

    def _check_orders(self, settings: Settings) -> None:
        watch, index, parent = settings.watch, settings.index, settings.search.parent_retriever
        if watch.debounce > watch.longest_wait:
            self._order("watch.debounce", "must not be longer than", "watch.longest_wait")
        if 0 < index.chunk_tokens <= index.chunk_overlap:
            self._order("index.chunk_overlap", "must be smaller than", "index.chunk_tokens")
        if parent.whole_doc_threshold_tokens >= parent.max_expanded_tokens:
            names = ("whole_doc_threshold_tokens", "max_expanded_tokens")
            smaller, larger = (f"search.parent_retriever.{name}" for name in names)
            self._order(smaller, "must be smaller than", larger)

    def _check_templates(self, templates: Sequence[str]) -> None:
        for template in templates:
            place = self.places.get("best_practice.templates", "best_practice.templates")
            if template.count("{target}") != 1:
                self._problem(place, f"{show(template)} must have {{target}} once")
            elif template.startswith("/") or ".." in template.split("/"):
                self._problem(place, f"{show(template)} must be relative to the collections, without ..")

    def _order(self, smaller: str, relation: str, larger: str) -> None:
        def shown(name: str) -> str:
            return format_value(KEYS[name], self.values.get(name, KEYS[name].default)).strip('"')

        text = f"{smaller} ({shown(smaller)}) {relation} {larger} ({shown(larger)})"
        place = self.places.get(smaller) or self.places[larger]
        self._problem(place, text)

    def _warn(self) -> None:
        if not self.collections:
            self.warnings.append(f"{self.file or 'no configuration file'}: no collection is set, nothing is indexed")
        for position, collection in zip(self.positions, self.collections, strict=True):
            if not os.path.exists(collection.path):
                place = self._in_file(f"collections[{position}].path")
                self.warnings.append(f"{place}: there is nothing at {show(collection.path)} now")
        if self.file is not None and _may_be_changed_by_others(self.file):
            self.warnings.append(f"{self.file}: other users may change this file; chmod o-w closes it")

    def _in_file(self, dotted: str) -> str:
        line = line_of(dict(self.lines), dotted)
        return f"{self.file}:{line}: {dotted}" if line else f"{self.file}: {dotted}"

    def _problem(self, place: str, text: str) -> None:
        self.problems.append(f"{place}: {text}")

    def _base(self) -> Path:
        return Path.cwd() if self.file is None else Path(os.path.abspath(self.file)).parent


def default_name(path: str) -> str:
    """Return the name of a collection that has none: the folder's, with `-` for what a name may not have.

    macOS spells accents as separate characters, so the name is composed first.
    """
    last = unicodedata.normalize("NFC", os.path.basename(path))
    return re.sub(r"[^\w.-]+", "-", last).strip("-")[:64]


def _build(settings: type, prefix: str, values: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(settings)
    chosen: dict[str, Any] = {}
    for item in dataclasses.fields(settings):
        dotted = f"{prefix}{item.name.rstrip('_')}"
        if dataclasses.is_dataclass(hints[item.name]):
            chosen[item.name] = _build(hints[item.name], f"{dotted}.", values)
        elif dotted in values:
            chosen[item.name] = values[dotted]
    return settings(**chosen)


def _with_defaults(origins: Mapping[str, str]) -> dict[str, str]:
    return {"collections": DEFAULT} | dict.fromkeys(KEYS, DEFAULT) | dict(origins)


def _summary(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return f"{len(problems)} problems in the configuration: " + " | ".join(problems)


def _nearest(prefix: str, name: str) -> str:
    elsewhere = [key for key in (*KEYS, *_SECTION_NAMES) if key.rpartition(".")[2] == name]
    if elsewhere:
        return f"; did you mean {min(elsewhere)}?"
    close = difflib.get_close_matches(name, _names_below(prefix), n=1)
    if close:
        return f"; did you mean {f'{prefix}.{close[0]}'.lstrip('.')}?"
    return _did_you_mean(f"{prefix}.{name}".lstrip("."), KEYS)


def _names_below(prefix: str) -> list[str]:
    start = f"{prefix}." if prefix else ""
    names = ["collections", PROFILES, *KEYS, *sorted(_SECTION_NAMES)]
    return sorted({name[len(start) :].split(".")[0] for name in names if name.startswith(start)})


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _may_be_changed_by_others(file: Path) -> bool:
    # Not the group's bit: many systems give each user a group of their own and a umask of 002.
    return file.exists() and bool(file.stat().st_mode & stat.S_IWOTH)
