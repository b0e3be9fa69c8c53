"""What can still be done on a full disk."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from fleet_tui import reserve
from fleet_tui.fleet import Fleet
from tests.disks import fill, small_disk
from tests.programs import program, start_cli


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
        fleet = Fleet(repository)
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


def test_the_reserve_holds_real_room_and_is_nobody_elses(tmp_path: Path) -> None:
    reserve.look_after(tmp_path)

    found = (tmp_path / "reserve").stat()
    assert found.st_blocks * 512 >= reserve.RESERVE_BYTES
    assert stat.S_IMODE(found.st_mode) == 0o600


def test_the_reserve_is_not_taken_where_little_is_left_and_given_up_where_nothing_is(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="1m") as disk:
        reserve.look_after(disk)
        assert list(disk.iterdir()) == []

        (disk / "reserve").write_bytes(b"x" * 4096)
        fill(disk)
        reserve.look_after(disk)
        assert not (disk / "reserve").exists()


def test_a_folder_that_is_gone_fails_nobody(tmp_path: Path) -> None:
    reserve.look_after(tmp_path / "gone")
