"""The store's file with real processes and disks: all or nothing, never an empty fleet by mistake."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from fleet_tui.errors import StoreError, StoreUnwritable
from fleet_tui.models import Evidence, Status
from fleet_tui.store import failures, replacement_lock
from fleet_tui.store.database import Store
from tests.holder.holders import wait_until
from tests.store.sample_rows import add, agent
from tests.system.small_disks import fill, make_read_only, small_disk

# ── several processes ─────────────────────────────────────────────────────────────────────────────────────────────


WRITER = """
import json, sys
from pathlib import Path
from fleet_tui.models import Batch, Status
from fleet_tui.store.database import Store
path, number, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store(path)
for step in range(count):
    with store.transaction():
        last = store.agents.get("id-a").exit_code or 0
        store.agents.change("id-a", 1.0, exit_code=last + 1)
        store.agents.import_events("id-a", 1, 9, [{"seq": step + 1, "at": 1.0, "kind": "bell", "data": {}}])
    store.state()
"""


def write_at_once(path: Path, writers: int, count: int) -> list[int]:
    command = [sys.executable, "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, str(number), str(count)]) for number in range(writers)]
    return [process.wait(60) for process in running]


def test_several_processes_write_at_once_and_nothing_is_lost(store: Store) -> None:
    add(store, agent("a"))

    assert write_at_once(store.path, 4, 25) == [0] * 4

    assert store.agents.get("id-a").exit_code == 100
    kinds = [line["kind"] for line in store.journal.since(0, 10_000)]
    assert kinds.count("agent-changed") == 100
    assert kinds.count("bell") == 25


def test_several_make_the_store_at_once(tmp_path: Path) -> None:
    def make(path: Path, begin: threading.Barrier) -> bool:
        begin.wait(10)
        store = Store(path)
        is_empty = store.agents.is_empty()
        store.close()
        return is_empty

    with ThreadPoolExecutor(8) as pool:
        for repetition in range(20):
            path, begin = tmp_path / str(repetition) / "fleet.db", threading.Barrier(8)
            path.parent.mkdir()
            assert all(pool.map(lambda _: make(path, begin), range(8)))  # noqa: B023 - called at once


def test_a_change_by_another_process_is_noticed_by_the_version(store: Store) -> None:
    add(store, agent("a"))
    before = store.db.version()
    assert store.db.version() == before

    write_at_once(store.path, 1, 1)

    assert store.db.version() != before


def test_a_writer_killed_in_the_middle_leaves_the_store_whole(store: Store) -> None:
    add(store, agent("a"))
    chance = random.Random(11)
    for _ in range(3):
        before = len(store.journal.since(0, 1_000_000))
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(store.path), "0", "100000"])
        enough = before + chance.randrange(5, 50)
        wait_until(lambda: len(store.journal.since(0, 1_000_000)) > enough, "some writing")  # noqa: B023 - called at once
        process.kill()
        process.wait()

    assert store.check() == []
    changed = [line for line in store.journal.since(0, 1_000_000) if line["kind"] == "agent-changed"]
    assert store.agents.get("id-a").exit_code == len(changed) > 0


def test_opening_stores_in_threads_changes_no_permissions_of_other_files(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with ThreadPoolExecutor(8) as pool:
            for store in pool.map(lambda number: Store(tmp_path / f"{number}.db"), range(64)):
                store.close()
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_only_the_user_can_read_the_files_of_a_store(path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(Store(path)) as store:
            add(store, agent("a"))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.glob("fleet.db*")}
    finally:
        os.umask(before)

    assert modes == dict.fromkeys(("fleet.db", "fleet.db-wal", "fleet.db-shm"), 384)


# ── locked, damaged, replaced, newer and unwritable files ─────────────────────────────────────────────────────────


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
def test_a_file_that_is_not_a_store_is_an_error_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(StoreError, match=r"damaged|failed"):
        Store(path).agents.all()

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
        assert len(Store(store.path).agents.all()) == 100


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
    before = store.db.version()
    store.path.rename(store.path.with_suffix(".damaged"))
    with pytest.raises(StoreError, match="no longer exists") as gone:
        store.db.version()
    assert "--repair" in gone.value.hint
    assert not store.path.exists(), "who puts a copy back must not find another file"
    with closing(Store(store.path)) as other:
        add(other, agent("new"))

    assert store.db.version() != before
    assert [one.name for one in store.agents.all()] == ["new"]
    add(store, agent("newer"))
    assert [one.name for one in store.agents.all()] == ["new", "newer"]


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
        assert newer.db.is_newer
        assert [(one.name, one.status, one.evidence) for one in newer.agents.all()] == [
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

        assert [one.name for one in full.agents.all()] == ["a"]


def test_a_store_on_a_network_filesystem_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "NETWORK_FILESYSTEMS", frozenset(_filesystems()))

    with pytest.raises(StoreError, match="network filesystem") as caught:
        Store(path)

    assert "XDG_STATE_HOME" in caught.value.hint


def _filesystems() -> set[str]:
    """The filesystems of this machine: the test takes all of them for network filesystems."""
    return {line.split(" ")[2] for line in Path("/proc/self/mounts").read_text().splitlines()}


def test_a_store_that_a_newer_program_has_taken_over_meanwhile_is_only_read(path: Path) -> None:
    store, newer = Store(path), sqlite3.connect(path)
    store.db.version()

    newer.execute("pragma user_version = 99")
    newer.commit()
    newer.close()
    store.db.version()

    assert store.db.is_newer
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
            assert [one.name for one in store.agents.all()] == ["one"]
            assert [one.name for one in store.state().agents] == ["one"]
            with pytest.raises(StoreUnwritable, match="the disk is full"):
                add(store, agent("two"))

            filler.unlink()
            add(store, agent("two"))
            assert [one.name for one in store.agents.all()] == ["one", "two"]


def test_a_store_that_could_not_be_opened_again_for_writing_is_tried_once_more(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as folder:
        path = folder / "fleet.db"
        with closing(Store(path)) as first:
            add(first, agent("one"))
        filler = fill(folder)
        with closing(Store(path, busy_seconds=0.05)) as store:
            filler.unlink()
            with replacement_lock.exclusive(path, 1.0), pytest.raises(StoreUnwritable, match="stayed locked"):
                store.db.version()

            with closing(Store(path)) as other:
                add(other, agent("two"))
            store.db.version()
            assert [one.name for one in store.agents.all()] == ["one", "two"]
            add(store, agent("three"))


def test_a_store_that_is_being_rebuilt_is_waited_for_no_longer_than_was_asked(store: Store) -> None:
    with replacement_lock.exclusive(store.path, 1.0), store.db.waiting_at_most(0.05):
        begin = time.monotonic()
        with pytest.raises(StoreUnwritable, match="stayed locked"), store.transaction():
            pass
        assert time.monotonic() - begin < 5.0
