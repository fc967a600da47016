"""Every released schema migrates to exactly `schema.sql`."""

from pathlib import Path

import pytest

from groove_daemon.errors import StoreError
from groove_daemon.store import migrate
from groove_daemon.store.connection import Database, open_plain

RELEASED = {int(path.stem): path.read_text("utf-8") for path in (Path(__file__).parent / "released").glob("*.sql")}


def dump(database: Database) -> list[tuple[object, ...]]:
    return database.rows(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
    )


def made_by(sql: str, path: Path, version: int) -> Database:
    database = open_plain(path)
    database.run(sql)
    database.run(f"PRAGMA user_version = {version}")
    return database


def test_every_version_has_its_released_schema_and_its_migration() -> None:
    assert sorted(RELEASED) == list(range(1, migrate.SCHEMA_VERSION + 1))
    assert sorted(migrate.migrations()) == list(range(2, migrate.SCHEMA_VERSION + 1))


@pytest.mark.parametrize("version", sorted(RELEASED))
def test_released_schema_migrates_to_the_current_one(tmp_path: Path, version: int) -> None:
    old = made_by(RELEASED[version], tmp_path / "old.db", version)
    migrate.migrate(old)
    fresh = made_by(migrate.schema(), tmp_path / "fresh.db", migrate.SCHEMA_VERSION)

    assert dump(old) == dump(fresh)
    assert old.value("PRAGMA user_version") == migrate.SCHEMA_VERSION


def test_migrations_run_one_after_the_other(tmp_path: Path) -> None:
    database = made_by("CREATE TABLE a (x)", tmp_path / "old.db", 1)
    scripts = {2: "CREATE TABLE b (x); INSERT INTO b VALUES (2)", 3: "ALTER TABLE b ADD COLUMN y DEFAULT 3"}
    migrate.migrate(database, scripts=scripts, target=3)
    migrate.migrate(database, scripts=scripts, target=3)

    assert database.rows("SELECT x, y FROM b") == [(2, 3)]
    assert database.value("PRAGMA user_version") == 3


def test_failed_migration_leaves_the_version_before_it(tmp_path: Path) -> None:
    database = made_by("CREATE TABLE a (x)", tmp_path / "old.db", 1)
    scripts = {2: "CREATE TABLE b (x)", 3: "CREATE TABLE c (x); INSERT INTO nowhere VALUES (1)"}

    with pytest.raises(StoreError, match="nowhere"):
        migrate.migrate(database, scripts=scripts, target=3)
    assert database.value("PRAGMA user_version") == 2
    assert [row[1] for row in dump(database)] == ["a", "b"]


def test_every_table_and_column_is_commented() -> None:
    lines = migrate.schema().splitlines()
    made = [number for number, line in enumerate(lines) if line.startswith("CREATE") and "TABLE" in line]

    assert made
    assert all(lines[number - 1].startswith("--") for number in made)
