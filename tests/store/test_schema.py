"""Migrations: a store of each earlier version is opened with all that is in it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fleet_tui.errors import StoreDamaged, StoreError
from fleet_tui.models import Evidence, Status
from fleet_tui.store import schema
from fleet_tui.store.database import Store
from tests.store.sample_rows import add, agent

VERSIONS = Path(__file__).with_name("versions")
"""A dump of a store of each version, as a release of that version wrote it."""


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of migrations, for a version two later."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema.FOLDER, folder)
    monkeypatch.setattr(schema, "FOLDER", folder)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 2)
    (folder / f"{schema.VERSION - 1:04}.sql").write_text(
        "create table pet (name text) strict; -- a comment; with a semicolon\n"
        "alter table agent add column mood text not null default 'fine';"
    )
    (folder / f"{schema.VERSION:04}.sql").write_text("insert into pet values ('rex');")
    return folder


def test_there_is_a_migration_and_a_store_of_each_version() -> None:
    versions = range(1, schema.VERSION + 1)
    assert sorted(file.name for file in schema.FOLDER.iterdir()) == [f"{one:04}.sql" for one in versions]
    assert {file.name for file in VERSIONS.iterdir()} == {f"{one}.sql" for one in versions}


@pytest.mark.parametrize("file", sorted(VERSIONS.iterdir()), ids=lambda file: f"version {file.stem}")
def test_a_store_of_each_version_is_opened_with_all_that_is_in_it(path: Path, file: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(file.read_text())

    with closing(Store(path)) as store:
        assert store.check() == []
        assert store.db.has_own_schema()
        blocked, killed = store.agents.all()
        assert (blocked.status, killed.status) == (Status.BLOCKED, Status.KILLED)
        assert blocked.evidence == Evidence(
            "screen", "Do you want to proceed?", 3.0, choices=(("1", "Yes"), ("2", "No"))
        )
        assert blocked.argv == ("claude", "--model", "a b")
        assert (killed.exit_code, killed.branch_made, killed.lost_output) == (0, False, 0)
        assert store.agents.git_dirs([blocked]) == {"id-a": Path("/project/.git")}
        assert store.agents.live() == [(blocked, 50)]
        assert [receipt.state for receipt in store.receipts.of("id-a")] == ["answered"]
        assert [batch.prompt for batch in store.state().batches] == ["do it"]
        assert [line["id"] for line in store.journal.since(0)] == [1, 2, 3, 4, 5, 6, 7]
        assert [*store.spending.all()] == ([] if file.stem == "1" else ["id-a"])
        with store.transaction():
            store.agents.change("id-a", 9.0, title="goes on")
        assert store.journal.last_id() == 8
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (schema.VERSION,)


@pytest.mark.usefixtures("migrations")
def test_a_new_store_goes_through_the_same_migrations(path: Path) -> None:
    Store(path).close()

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select name from pet").fetchall() == [("rex",)]


def test_an_older_store_is_brought_up_to_date_with_all_that_is_in_it(
    store: Store, request: pytest.FixtureRequest
) -> None:
    add(store, agent("a"))
    store.close()
    request.getfixturevalue("migrations")

    for _ in range(2):
        with closing(Store(store.path)) as migrated:
            assert migrated.agents.all() == [agent("a")]
    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("pragma user_version").fetchone() == (schema.VERSION,)
        assert db.execute("select name from pet").fetchall() == [("rex",)]
        assert db.execute("select mood from agent").fetchall() == [("fine",)]


def test_a_store_that_a_newer_program_has_migrated_meanwhile_keeps_its_version() -> None:
    newer = schema.VERSION + 1
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"pragma user_version = {newer}")
        schema.migrate(db, newer)

        assert schema.version_of(db) == newer


def test_a_negative_version_is_damage(store: Store) -> None:
    add(store, agent("a"))
    store.close()
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("pragma user_version = -7")

    with pytest.raises(StoreDamaged, match="version number"):
        Store(store.path)


def test_a_migration_that_fails_changes_nothing(store: Store, request: pytest.FixtureRequest) -> None:
    add(store, agent("a"))
    store.close()
    before = schema.VERSION
    folder = request.getfixturevalue("migrations")
    (folder / f"{schema.VERSION:04}.sql").write_text("select nonsense from nowhere;")

    with pytest.raises(StoreError):
        Store(store.path)

    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("pragma user_version").fetchone() == (before,)
        assert db.execute("select name from sqlite_master where name = 'pet'").fetchall() == []
        assert json.loads(db.execute("select argv from agent").fetchone()[0]) == list(agent("a").argv)
