"""On a full disk agents can still be listed, stopped and killed."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from pathlib import Path

import pytest

from fleet_tui.models import Status
from fleet_tui.store import disk_reserve
from fleet_tui.tui.state_feed import StateFeed
from tests.conftest import processes_of
from tests.holder.holders import wait_until
from tests.scripted import program, start_cli
from tests.system.small_disks import fill, small_disk
from tests.watched_fleet import WatchedFleet


def called(folder: Path, *arguments: str) -> str:
    process = start_cli(folder, *arguments)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (arguments, err)
    return out


@pytest.mark.slow
def test_on_a_full_disk_agents_are_still_listed_stopped_and_killed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", size="6m") as disk:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk))
        fleet = WatchedFleet(repository)
        fleet.multi([("one", "x"), ("two", "x")], profile=program(tmp_path, "echoes"))
        fleet.close()
        filler = fill(disk)

        listed = json.loads(called(repository, "list", "--json"))
        assert {agent["name"] for agent in listed} == {"one", "two"}
        called(repository, "peek", "one")
        called(repository, "stop", "one")
        called(repository, "kill", "-f", "one", "two")
        assert json.loads(called(repository, "list", "--json")) == []

        filler.unlink()
        called(repository, "list")
        assert (disk / "fleet-tui" / "reserve").exists(), "it is taken again"


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def spoken(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = start_cli(folder, *arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.slow
@pytest.mark.parametrize("is_reserve_gone", [False, True])
def test_an_agent_that_eats_every_free_byte_is_listed_stopped_and_killed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_reserve_gone: bool
) -> None:
    with small_disk(tmp_path / "disk", size="8m") as disk:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk / "state"))
        monkeypatch.setenv("XDG_DATA_HOME", str(disk / "data"))
        fleet = WatchedFleet(repository)
        calm = fleet.create("calm", profile=program(tmp_path, "stubborn"))
        eater = fleet.create("eater", profile=program(tmp_path, "eats", disk / "eaten"))
        fleet.close()
        (disk / "eaten").touch()
        wait_until(lambda: free_bytes(disk) == 0, "a full disk")
        if is_reserve_gone:
            (disk / "state" / "fleet-tui" / "reserve").unlink()
            wait_until(lambda: free_bytes(disk) == 0, "a full disk again")

        code, out, err = spoken(repository, "list", "--json")
        assert (code, {one["name"] for one in json.loads(out)}) == (0, {"calm", "eater"})
        assert "the disk is full" in err
        assert (disk / "state" / "fleet-tui" / "reserve").exists() is not is_reserve_gone

        code, out, err = spoken(repository, "stop", "calm")
        assert (code, out.split()) == (0, ["calm", "stopped"])
        assert "the disk is full" in err
        assert processes_of(calm) == []

        code, out, err = spoken(repository, "kill", "-f", "eater")
        assert processes_of(eater) == []
        if is_reserve_gone:
            assert code != 0
            assert "eater has ended" in err
            (disk / "eaten").unlink()
            called(repository, "kill", "-f", "eater")
        else:
            assert (code, out.split()[:2]) == (0, ["eater", "killed,"])
        (disk / "eaten").unlink(missing_ok=True)
        [listed] = json.loads(called(repository, "list", "--json"))
        assert (listed["name"], listed["status"]) == ("calm", "stopped")
        assert called(repository, "undo", "eater").startswith("eater")


@pytest.mark.slow
def test_a_dashboard_on_a_full_disk_shows_an_agent_that_was_stopped(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", size="8m") as disk:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk))
        with (
            contextlib.closing(WatchedFleet(repository)) as fleet,
            contextlib.closing(WatchedFleet(repository)) as shown,
        ):
            fleet.create("one", profile=program(tmp_path, "echoes"))
            feed = StateFeed(shown)
            first = feed.poll()
            assert first is not None
            assert not first.agents[0].has_ended
            # Everything that SQLite could write to without growing a file is gone as well.
            with shown.store.db.reading():
                shown.store.agents.all()
                fill(disk)
                fleet.stop([fleet.find("one")])

            later = feed.poll()
            assert later is not None
            assert later.agents[0].status is Status.STOPPED


def test_the_reserve_takes_real_space_and_is_private(tmp_path: Path) -> None:
    disk_reserve.allocate(tmp_path)

    found = (tmp_path / "reserve").stat()
    assert found.st_blocks * 512 >= disk_reserve.RESERVE_BYTES
    assert stat.S_IMODE(found.st_mode) == 0o600


def test_the_reserve_is_not_taken_where_little_is_left_and_given_up_where_nothing_is(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="1m") as disk:
        disk_reserve.allocate(disk)
        assert list(disk.iterdir()) == []

        (disk / "reserve").write_bytes(b"x" * 4096)
        disk_reserve.release_if_full(disk)
        assert (disk / "reserve").exists()
        fill(disk)
        disk_reserve.allocate(disk)
        assert (disk / "reserve").exists(), "only for what has to be written"
        disk_reserve.release_if_full(disk)
        assert not (disk / "reserve").exists()


def test_a_missing_folder_causes_no_error(tmp_path: Path) -> None:
    disk_reserve.allocate(tmp_path / "gone")
    disk_reserve.release_if_full(tmp_path / "gone")
