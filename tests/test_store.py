"""The store with real files and real processes: all or nothing, never an empty fleet by mistake."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet_tui import store as store_module
from fleet_tui.errors import NotFound, StoreDamaged, StoreError, StoreUnwritable
from fleet_tui.models import Agent, Batch, Evidence, Status
from fleet_tui.store import SCHEMA_VERSION, Store, alone
from tests.disks import fill, make_read_only, small_disk
from tests.holders import wait_until

BATCH = Batch("b1", "/project", 1.0, "the prompt")


def agent(name: str, **values: Any) -> Agent:
    plain = Agent(
        id=f"id-{name}",
        name=name,
        project="/project",
        branch=name,
        base="c0ffee",
        worktree=f"/worktrees/{name}",
        batch="b1",
        profile="generic",
        argv=("run", "it's", 'a "prompt"', "$(x)\n"),
        prompt="it's a prompt",
        status=Status.SETUP,
        created_at=2.0,
    )
    return replace(plain, **values)


def add(store: Store, *agents: Agent) -> None:
    with store.transaction():
        store.add_batch(BATCH, "project", [(one, {"argv": list(one.argv)}) for one in agents])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder / "fleet.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path, busy_seconds=0.1)) as opened:
        yield opened


def event(seq: int, kind: str = "bell", **data: Any) -> dict[str, Any]:
    return {"seq": seq, "at": float(seq), "kind": kind, "data": data}


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_is_read_as_it_was_added(store: Store) -> None:
    full = agent(
        "full",
        status_detail="npm ci",
        evidence=Evidence("exit", "code 1", 5.0),
        exit_code=1,
        pid=7,
        branch_made=False,
    )
    add(store, full)

    assert store.agent("id-full") == full
    assert store.intent("id-full") == {"argv": list(full.argv)}
    assert store.agents("/project") == [full]
    assert store.agents("/elsewhere") == []


def test_an_agent_that_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        store.agent("nobody")


def test_agents_whose_status_was_written_since_a_line_of_the_journal_are_known(store: Store) -> None:
    add(store, agent("a"), agent("b"), agent("c"))
    since = store.state().journal_id
    with store.transaction():
        store.change("id-a", 3.0, status=Status.DONE)
        store.change("id-b", 3.0, title="another title")
    add(store, agent("d"))

    assert store.moved_since(since) == {"id-a", "id-d"}
    assert store.moved_since(0) == {"id-a", "id-b", "id-c", "id-d"}
    assert store.moved_since(store.state().journal_id) == frozenset()


def test_a_change_is_journalled_in_the_same_transaction(store: Store) -> None:
    add(store, agent("a"))
    before = store.state().journal_id

    with pytest.raises(RuntimeError):
        _change_and_fail(store)
    assert store.agent("id-a").status is Status.SETUP
    assert store.journal(before) == []

    with store.transaction():
        store.change("id-a", 3.0, status=Status.WORKING)
    (line,) = store.journal(before)
    assert (line["agent"], line["kind"], line["data"]) == ("id-a", "agent-changed", {"status": "working"})


def _change_and_fail(store: Store) -> None:
    with store.transaction():
        store.change("id-a", 3.0, status=Status.WORKING)
        raise RuntimeError


def test_a_change_from_a_status_that_is_over_does_nothing(store: Store) -> None:
    add(store, agent("a", status=Status.STOPPED))
    before = store.state().journal_id

    with store.transaction():
        assert not store.change("id-a", 3.0, only_from=[Status.WORKING], status=Status.EXITED)

    assert store.agent("id-a").status is Status.STOPPED
    assert store.journal(before) == []


def test_the_rows_of_a_fan_out_are_all_there_or_none(store: Store) -> None:
    add(store, agent("c"))

    with pytest.raises(StoreDamaged, match="UNIQUE"):
        add(store, agent("a"), agent("b"), agent("c"))

    assert [one.name for one in store.agents()] == ["c"]


def test_names_of_killed_and_failed_agents_are_free_again(store: Store) -> None:
    add(store, agent("alive"), agent("killed", status=Status.KILLED), agent("failed", status=Status.FAILED))

    with store.transaction():
        assert store.taken_names("/project", ["alive", "killed", "failed", "new"]) == ["alive"]


def test_events_are_taken_over_once_however_often_they_are_read(store: Store) -> None:
    add(store, agent("a"))
    events = [event(1), event(2, "title", text="x")]
    for expected in (2, 0, 0):
        with store.transaction():
            assert len(store.take_over("id-a", 1, 50, events)) == expected
    with store.transaction():
        fresh = store.take_over("id-a", 1, 90, [*events, event(3)])

    assert [one["seq"] for one in fresh] == [3]
    assert store.live() == [(agent("a"), 90)]


def test_events_of_another_run_are_others(store: Store) -> None:
    add(store, agent("a"))
    with store.transaction():
        store.take_over("id-a", 1, 50, [event(1)])
        assert len(store.take_over("id-a", 2, 50, [event(1)])) == 1

    assert store.live()[0][1] == 50


def test_receipts_move_and_strange_ones_are_passed_over(store: Store) -> None:
    add(store, agent("a"))
    with store.transaction():
        store.set_receipt("r1", "id-a", "do it", "queued", "", 1.0)
        store.move_receipt("r1", "typed", "", 2.0)
        store.move_receipt("of another store", "typed", "", 2.0)

    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("select id, state from receipt").fetchall() == [("r1", "typed")]


# ── several processes ───────────────────────────────────────────────────────────────────────────────────────────

WRITER = """
import json, sys
from pathlib import Path
from fleet_tui.models import Batch, Status
from fleet_tui.store import Store
path, number, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store(path)
for step in range(count):
    with store.transaction():
        last = store.agent("id-a").exit_code or 0
        store.change("id-a", 1.0, exit_code=last + 1)
        store.take_over("id-a", 1, 9, [{"seq": step + 1, "at": 1.0, "kind": "bell", "data": {}}])
    store.state()
"""


def write_at_once(path: Path, writers: int, count: int) -> list[int]:
    command = [sys.executable, "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, str(number), str(count)]) for number in range(writers)]
    return [process.wait(60) for process in running]


def test_several_processes_write_at_once_and_nothing_is_lost(store: Store) -> None:
    add(store, agent("a"))

    assert write_at_once(store.path, 4, 25) == [0] * 4

    assert store.agent("id-a").exit_code == 100
    kinds = [line["kind"] for line in store.journal(0, 10_000)]
    assert kinds.count("agent-changed") == 100
    assert kinds.count("bell") == 25


def test_several_make_the_store_at_once(tmp_path: Path) -> None:
    def make(path: Path, begin: threading.Barrier) -> bool:
        begin.wait(10)
        store = Store(path)
        is_empty = store.is_empty()
        store.close()
        return is_empty

    with ThreadPoolExecutor(8) as pool:
        for repetition in range(20):
            path, begin = tmp_path / str(repetition) / "fleet.db", threading.Barrier(8)
            path.parent.mkdir()
            assert all(pool.map(lambda _: make(path, begin), range(8)))  # noqa: B023 - called at once


def test_a_change_by_another_process_is_noticed_by_the_version(store: Store) -> None:
    add(store, agent("a"))
    before = store.version()
    assert store.version() == before

    write_at_once(store.path, 1, 1)

    assert store.version() != before


def test_a_writer_killed_in_the_middle_leaves_the_store_whole(store: Store) -> None:
    add(store, agent("a"))
    chance = random.Random(11)
    for _ in range(3):
        before = len(store.journal(0, 1_000_000))
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(store.path), "0", "100000"])
        enough = before + chance.randrange(5, 50)
        wait_until(lambda: len(store.journal(0, 1_000_000)) > enough, "some writing")  # noqa: B023 - called at once
        process.kill()
        process.wait()

    assert store.check() == []
    changed = [line for line in store.journal(0, 1_000_000) if line["kind"] == "agent-changed"]
    assert store.agent("id-a").exit_code == len(changed) > 0


# ── when something is wrong ─────────────────────────────────────────────────────────────────────────────────────


def test_a_store_that_stays_locked_is_an_error_that_says_so(store: Store) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(StoreError, match="stayed locked") as caught, store.transaction():
            pass
    assert "try again" in caught.value.hint
    add(store, agent("a"))


@pytest.mark.parametrize(
    "content", [b"this is no database", b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_store_is_an_error_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(StoreError, match=r"damaged|failed"):
        Store(path).agents()

    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "part", [0.02, 0.5, *(pytest.param(part, marks=pytest.mark.slow) for part in (0.1, 0.9))]
)
def test_a_store_that_was_cut_short_is_an_error_and_never_an_empty_fleet(store: Store, part: float) -> None:
    add(store, *(agent(f"agent-{number}", prompt="x" * 500) for number in range(100)))
    store.close()
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[: int(len(whole) * part)])

    with pytest.raises(StoreError):
        assert len(Store(store.path).agents()) == 100


def test_damage_inside_the_file_is_found_by_the_check(store: Store) -> None:
    add(store, *(agent(f"agent-{number}", prompt="x" * 500) for number in range(100)))
    store.close()
    content = bytearray(store.path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096] = b"\xff" * 4096
    store.path.write_bytes(content)

    with closing(Store(store.path)) as damaged:
        assert _problems(damaged) != []


def test_a_file_that_takes_the_place_of_the_store_is_read_from_then_on(store: Store) -> None:
    add(store, agent("old"))
    before = store.version()
    store.path.rename(store.path.with_suffix(".damaged"))
    with pytest.raises(StoreError, match="not there any more") as gone:
        store.version()
    assert "--repair" in gone.value.hint
    assert not store.path.exists(), "who puts a copy back must not find another file"
    with closing(Store(store.path)) as other:
        add(other, agent("new"))

    assert store.version() != before
    assert [one.name for one in store.agents()] == ["new"]
    add(store, agent("newer"))
    assert [one.name for one in store.agents()] == ["new", "newer"]


def _problems(store: Store) -> list[str]:
    try:
        return store.check()
    except StoreError as error:
        return [error.message]


def test_a_newer_store_is_read_and_not_changed(store: Store) -> None:
    add(store, agent("a"))
    store.close()
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("alter table agent add column mood text")
        db.execute("update agent set status = 'meditating'")
        db.execute("""update agent set evidence = '{"source": "aura", "wish": null}'""")
        db.execute("pragma user_version = 99")
        db.commit()

    with closing(Store(store.path)) as newer:
        assert newer.is_newer
        assert [(one.name, one.status, one.evidence) for one in newer.agents()] == [
            ("a", Status.UNKNOWN, Evidence("aura"))
        ]
        with pytest.raises(StoreError, match="newer") as caught, newer.transaction():
            pass
    assert "restart" in caught.value.hint


def test_a_store_in_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        with closing(Store(folder / "fleet.db")) as made:
            add(made, agent("a"))
        make_read_only(folder)

        for name in ("fleet.db", "new.db"):
            with (
                pytest.raises(StoreError, match=r"cannot be written|failed"),
                closing(Store(folder / name)) as found,
            ):
                add(found, agent("b"))


@pytest.mark.slow
def test_a_full_disk_is_an_error_that_loses_nothing_written_before(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder, closing(Store(folder / "fleet.db")) as full:
        add(full, agent("a"))

        with pytest.raises(StoreError, match=r"full|failed"):
            add(full, *(agent(f"agent-{number}", prompt="x" * 5000) for number in range(500)))

        assert [one.name for one in full.agents()] == ["a"]


def test_a_store_on_a_network_filesystem_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "NETWORK_FILESYSTEMS", frozenset(_filesystems()))

    with pytest.raises(StoreError, match="network filesystem") as caught:
        Store(path)

    assert "XDG_STATE_HOME" in caught.value.hint


def _filesystems() -> set[str]:
    """Whatever this machine has: here, all of them are to be taken for network ones."""
    return {line.split(" ")[2] for line in Path("/proc/self/mounts").read_text().splitlines()}


# ── migrations ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_older_store_is_brought_up_to_date_with_all_that_is_in_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, agent("a"))
    store.close()
    monkeypatch.setattr(store_module, "SCHEMA_VERSION", SCHEMA_VERSION + 2)
    monkeypatch.setattr(
        store_module,
        "MIGRATIONS",
        store_module.MIGRATIONS
        | {
            SCHEMA_VERSION: "create table pet (name text) strict; -- a comment; with a semicolon\n"
            "alter table agent add column mood text not null default 'fine';",
            SCHEMA_VERSION + 1: "insert into pet values ('rex');",
        },
    )

    for _ in range(2):
        with closing(Store(store.path)) as migrated:
            assert migrated.agents() == [agent("a")]
    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("pragma user_version").fetchone() == (SCHEMA_VERSION + 2,)
        assert db.execute("select name from pet").fetchall() == [("rex",)]
        assert db.execute("select mood from agent").fetchall() == [("fine",)]


def test_a_store_of_the_first_version_is_opened_with_all_that_is_in_it(store: Store, path: Path) -> None:
    add(store, agent("a"))
    store.close()
    with closing(sqlite3.connect(path)) as db:
        script = Path(store_module.__file__).with_name("schema.sql").read_text()
        tables = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
        for newer in [name for name in tables if f"table {name} " not in script and "sqlite" not in name]:
            db.execute(f"drop table {newer}")
        columns = [name for _, name, *_ in db.execute("pragma table_info(agent)")]
        for newer in [name for name in columns if f"    {name} " not in script]:
            db.execute(f"alter table agent drop column {newer}")
        db.execute("pragma user_version = 1")
        db.commit()

    with closing(Store(path)) as migrated:
        assert migrated.agents() == [agent("a")]
        assert migrated.spending() == {}
        with migrated.transaction():
            migrated.change(agent("a").id, 3.0, title="goes on")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma user_version").fetchone() == (SCHEMA_VERSION,)


def test_a_new_store_goes_through_the_same_migrations(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    steps = store_module.MIGRATIONS | {SCHEMA_VERSION: "create table pet (name text) strict;"}
    monkeypatch.setattr(store_module, "MIGRATIONS", steps)

    Store(path).close()

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select count(*) from pet").fetchone() == (0,)


def test_a_migration_that_fails_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, agent("a"))
    store.close()
    monkeypatch.setattr(store_module, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    steps = "create table pet (name text) strict; select nonsense from nowhere;"
    monkeypatch.setattr(store_module, "MIGRATIONS", {SCHEMA_VERSION: steps})

    with pytest.raises(StoreError):
        Store(store.path)

    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("pragma user_version").fetchone() == (SCHEMA_VERSION,)
        assert db.execute("select name from sqlite_master where name = 'pet'").fetchall() == []
        assert json.loads(db.execute("select argv from agent").fetchone()[0]) == list(agent("a").argv)


def test_a_status_that_is_said_again_has_lasted_since_it_was_first_said(store: Store) -> None:
    one = agent("fix", status=Status.STARTING)
    add(store, one)
    with store.transaction():
        store.change(one.id, 100.0, status=Status.WORKING)
        store.change(one.id, 200.0, status=Status.WORKING, status_detail="still")
    assert store.agent(one.id).status_since == 100.0

    with store.transaction():
        store.change(one.id, 300.0, status=Status.IDLE)

    assert store.agent(one.id).status_since == 300.0


def test_a_store_that_a_newer_program_has_taken_over_meanwhile_is_only_read(path: Path) -> None:
    store, newer = Store(path), sqlite3.connect(path)
    store.version()

    newer.execute("pragma user_version = 99")
    newer.commit()
    newer.close()
    store.version()

    assert store.is_newer
    with pytest.raises(StoreError, match="newer"), store.transaction():
        pass
    store.close()


def test_a_store_on_a_full_disk_is_read_and_written_again_once_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        with closing(Store(folder / "fleet.db")) as first:
            add(first, agent("one"))
        # The last to close it has removed the files beside it, and there is no room for new ones.
        filler = fill(folder)
        with closing(Store(folder / "fleet.db")) as store:
            assert [one.name for one in store.agents()] == ["one"]
            assert [one.name for one in store.state().agents] == ["one"]
            with pytest.raises(StoreUnwritable, match="the disk is full"):
                add(store, agent("two"))

            filler.unlink()
            add(store, agent("two"))
            assert [one.name for one in store.agents()] == ["one", "two"]


def test_a_prompt_with_a_nul_byte_damages_no_record(store: Store) -> None:
    add(store, agent("a"))
    with store.transaction():
        store.set_receipt("p1", "id-a", "one\0two", "queued", "", 1.0)
        store.set_receipt("p2", "id-a", "three", "queued", "", 1.0)
        store.reword_receipt("p2", "id-a", "fo\0ur", 2.0)

    assert [store.receipt(one).text for one in ("p1", "p2")] == ["onetwo", "four"]
    assert store.check() == []


def test_a_store_that_could_not_be_opened_again_for_writing_is_tried_once_more(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        path = folder / "fleet.db"
        with closing(Store(path)) as first:
            add(first, agent("one"))
        filler = fill(folder)
        with closing(Store(path, busy_seconds=0.05)) as store:
            filler.unlink()
            with alone(path, 1.0), pytest.raises(StoreUnwritable, match="stayed locked"):
                store.version()

            with closing(Store(path)) as other:
                add(other, agent("two"))
            store.version()
            assert [one.name for one in store.agents()] == ["one", "two"]
            add(store, agent("three"))


def test_a_store_that_is_being_rebuilt_is_waited_for_no_longer_than_was_asked(store: Store) -> None:
    with alone(store.path, 1.0), store.waiting_at_most(0.05):
        begin = time.monotonic()
        with pytest.raises(StoreUnwritable, match="stayed locked"), store.transaction():
            pass
        assert time.monotonic() - begin < 5.0
