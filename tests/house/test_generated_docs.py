"""What is generated from the code and kept in the tree is what the code makes now."""

import re
import tomllib
from pathlib import Path

from groove_daemon.config import document
from groove_daemon.config.load import load
from groove_daemon.config.schema import COLLECTION, KEYS
from groove_daemon.config.settings import CollectionSettings, Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_reference_of_options_is_fresh() -> None:
    """When this fails: python -m groove_daemon.config.document docs."""
    assert (DOCS / document.REFERENCE).read_text(encoding="utf-8") == document.reference()


def test_example_of_the_configuration_is_fresh() -> None:
    """When this fails: python -m groove_daemon.config.document docs."""
    assert (DOCS / document.EXAMPLE).read_text(encoding="utf-8") == document.example()


def test_example_changes_nothing_when_it_is_copied(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(document.example())

    assert load(file, {}, flags={}).settings == Settings()


def test_example_shows_the_defaults(tmp_path: Path) -> None:
    """Every key made effective gives what no key gives."""
    file = tmp_path / "config.toml"
    text = re.sub(r"^# (\[\[collections\]\]|\w+ = )", r"\1", document.example(), flags=re.MULTILINE)
    file.write_text(text.replace('"~/Notes"', '"/notes"').replace("evergreen = true\n", ""))
    loaded = load(file, {}, flags={})

    assert loaded.settings == Settings(collections=(CollectionSettings(path="/notes", name="notes"),))
    assert {key for key in KEYS if loaded.origins[key] != "default"} == set(KEYS)


def test_documents_name_every_key() -> None:
    example = document.example()
    sections = "[index]\n" + example.partition("\n[index]\n")[2]
    data = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", sections, flags=re.MULTILINE))

    assert data["limits"]["readers"] == 4
    assert all(f"\n### `{key.name.rpartition('.')[2]}`\n" in document.reference() for key in KEYS.values())
    assert all(f"\n# {key.name} = " in example for key in COLLECTION.keys)
