"""The trash on the command line: `kill`, `trash`, `undo`, `doctor` and `list --repair` on a real fleet."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from fleet_tui.system.identity import user_and_host
from tests.cli.commands import Cli, cli, project
from tests.conftest import git
from tests.watched_fleet import WatchedFleet

__all__ = ["cli", "project"]


def killed(fleet: Fleet, name: str) -> Agent:
    """An agent that was killed with uncommitted work."""
    agent = fleet.create(name)
    (Path(agent.worktree) / "work.txt").write_text("precious")
    fleet.kill([agent], grace=0.2)
    return fleet.store.agents.get(agent.id)


@pytest.fixture
def other_project(project: Path, tmp_path: Path) -> Path:
    """A second repository beside the one that the test is in."""
    other = tmp_path / "elsewhere"
    subprocess.run(["git", "clone", "-q", str(project), str(other)], check=True)
    return other


# ── who, when and why ──


def test_the_trash_says_who_moved_a_worktree_there_and_what_for(
    cli: Cli, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(fleet, "mine")
    outer = killed(fleet, "outer")
    monkeypatch.setenv("FLEET_AGENT_ID", outer.id)
    inner = killed(fleet, "inner")

    mine, _, by_agent, *_ = (line for line in cli.ok("trash").splitlines() if " ago" in line)

    assert f"ago, kill by {user_and_host()}" in mine
    assert f"ago, kill by outer, an agent of {user_and_host()}" in by_agent
    assert f"s ago, kill by {user_and_host()}" in cli.ok("trash", "show", "mine")
    paths.killed(inner.id).unlink()
    assert json.loads(cli.ok("trash", "show", "inner", "--json"))["why"] == "kill", "the trash record has it"


def test_single_agents_are_shown_restored_and_emptied(cli: Cli, fleet: Fleet) -> None:
    one, two = killed(fleet, "one"), killed(fleet, "two")

    shown = cli.ok("trash", "show", "one").splitlines()
    assert shown[0] == "one"
    assert any(line.split() == ["worktree", one.trash] for line in shown)
    assert "  uncommitted: work.txt" in shown
    assert cli.ok("trash", "restore", "one").split()[:2] == ["one", "stopped"]
    assert (Path(one.worktree) / "work.txt").read_text() == "precious"
    assert cli("trash", "empty", "one", "-f").code == 3
    assert cli.ok("trash", "empty", "two", "-f").startswith(
        "two  deleted, its last state saved as refs/fleet"
    )
    assert not Path(two.trash).exists()
    assert cli.ok("trash", "empty") == "The trash is empty\n"
    assert "write it after the word list" in cli("trash", "-a", "list").complaint


def test_a_record_of_an_earlier_version_names_nobody(cli: Cli, fleet: Fleet) -> None:
    agent = killed(fleet, "old")
    paths.killed(agent.id).write_text('{"at": 1.0}')
    record = Path(f"{agent.trash}.json")
    facts = json.loads(record.read_text())
    record.write_text(json.dumps({key: facts[key] for key in facts if key not in ("who", "why")}))

    [found] = json.loads(cli.ok("trash", "--json"))

    assert (found["moved_by"], found["why"]) == ("", "")
    assert " by " not in cli.ok("trash")


# ── whose agents undo brings back ──


@pytest.mark.slow
def test_undo_by_name_leaves_the_agents_of_other_projects_alone(cli: Cli, other_project: Path) -> None:
    theirs = killed(WatchedFleet(other_project), "fix")

    ran = cli("undo", "fix")

    assert ran.code == 3
    assert f"belongs to {other_project}: go there, or run: fleet undo -a fix" in ran.complaint
    assert Path(theirs.trash).is_dir()


@pytest.mark.slow
def test_undo_prefers_this_project_and_points_to_another(cli: Cli, fleet: Fleet, other_project: Path) -> None:
    ours, theirs = killed(fleet, "fix"), killed(WatchedFleet(other_project), "fix")

    assert ours.worktree in cli.ok("undo", "fix")
    assert Path(theirs.trash).is_dir()

    ran = cli("undo", "-a", "fix")
    assert f"project {other_project}" in ran.out
    assert ran.complaint == f"to start it again: fleet revive {theirs.id}", "the name means ours"
    assert Path(theirs.worktree).is_dir()


@pytest.mark.slow
def test_undo_of_a_name_in_several_projects_is_ambiguous(
    cli: Cli, fleet: Fleet, other_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = killed(fleet, "fix"), killed(WatchedFleet(other_project), "fix")

    refused = cli("undo", "--all", "fix")
    assert (refused.code, "several projects" in refused.complaint) == (2, True)
    monkeypatch.chdir(tmp_path)
    refused = cli("undo", "fix")
    assert (refused.code, "several projects" in refused.complaint) == (2, True)
    assert Path(ours.trash).is_dir()

    assert f"project {other_project}" in cli.ok("undo", theirs.id)


# ── what is in it ──


def ignore(project: Path, *patterns: str) -> None:
    (project / ".git" / "info" / "exclude").write_text("".join(f"{pattern}\n" for pattern in patterns))


@pytest.mark.slow
def test_trash_shows_what_each_worktree_holds_and_when_it_is_deleted(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    ignore(project, ".env", "build/")
    agent = fleet.create("fix")
    inside = Path(agent.worktree)
    (inside / "work.txt").write_text("precious")
    (inside / ".env").write_text("TOKEN=1")
    (inside / "build").mkdir()
    git(inside / "build", "init", "-q", "tool")
    fleet.kill([agent], grace=0.2)
    killed(fleet, "plain")

    first, *details = cli.ok("trash").splitlines()

    assert first.split()[:1] == ["fix"]
    assert "stays" in first
    assert details[0] == "    uncommitted: work.txt"
    assert details[1].startswith("    ignored: .env 7B, build/ ")
    assert "holds another repository in build/tool (undo, then move" in details[2]
    assert "deleted in 13d" in details[3]
    found = {one["name"]: one for one in json.loads(cli.ok("trash", "--json"))}
    assert found["fix"]["uncommitted"] == ["work.txt"]
    assert found["plain"]["obstacles"] == []

    refused = cli("trash", "--empty", "--force")
    assert refused.out.splitlines()[0].startswith("plain  deleted, its last state saved as refs/fleet/trash/")
    assert (refused.code, "holds another repository" in refused.complaint) == (4, True)
    assert (Path(fleet.store.agents.get(agent.id).trash) / "build" / "tool" / ".git").is_dir()


@pytest.mark.slow
def test_a_worktree_that_has_left_the_trash_is_restored_by_the_commands_in_the_hint(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    ignore(project, ".env")
    agent = fleet.create("fix")
    (Path(agent.worktree) / "work.txt").write_text("precious")
    (Path(agent.worktree) / ".env").write_text("TOKEN=1")
    fleet.kill([agent], grace=0.2)
    cli.ok("trash", "--empty", "--force")

    assert "archive of ignored files, deleted in 13d: " in cli.ok("trash")
    ran = cli("undo", "fix")

    assert ran.code == 3
    add, _, extract = (
        ran.complaint.partition("its work is saved: ")[2].rstrip(")").partition("; ignored files: ")
    )
    subprocess.run(add.split(), check=True, cwd=project, capture_output=True)
    subprocess.run(extract.split(), check=True)
    assert (Path(agent.worktree) / "work.txt").read_text() == "precious"
    assert (Path(agent.worktree) / ".env").read_text() == "TOKEN=1"


@pytest.mark.slow
def test_a_kill_that_puts_the_trash_over_its_limit_says_so_once(cli: Cli, fleet: Fleet) -> None:
    paths.user_config().write_text(
        paths.user_config().read_text().replace("[fleet]\n", "[fleet]\ntrash_mb = 1\n")
    )
    for name in ("small", "large", "late"):
        agent = fleet.create(name)
        (Path(agent.worktree) / "data").write_bytes(b"x" * ((2 << 20) if name == "large" else 10))

    assert cli("kill", "-f", "small").err == ""
    assert "the trash is over its limit of 1 MB now" in cli("kill", "-f", "large").complaint
    assert cli("kill", "-f", "late").err == ""
    assert "over its limit: 2M of 1M" in cli.ok("trash")
    assert "the trash takes 2 MB, more than its limit of 1 MB" in cli.ok("doctor")


# ── damaged records ──


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["{", None])
def test_a_damaged_or_missing_record_stops_neither_undo_nor_emptying(
    cli: Cli, fleet: Fleet, project: Path, damage: str | None
) -> None:
    for agent in [killed(fleet, name) for name in ("first", "second", "third")][:2]:
        record = Path(f"{agent.trash}.json")
        record.unlink() if damage is None else record.write_text(damage)

    assert cli.ok("trash").count("uncommitted: work.txt") == 3
    assert "first" in cli.ok("undo", "first")
    assert git(Path(fleet.find("first").worktree), "branch", "--show-current") == "first\n"
    assert [line.split(",")[0] for line in cli.ok("trash", "--empty", "-f").splitlines()] == [
        "second  deleted",
        "third  deleted",
    ]
    saved = git(project, "for-each-ref", "--format=%(refname)", "refs/fleet/trash").split()
    assert [git(project, "show", f"{ref}:work.txt") for ref in saved] == ["precious"] * 2


@pytest.mark.slow
def test_a_folder_that_is_no_longer_a_worktree_is_not_reported_as_deleted(cli: Cli, fleet: Fleet) -> None:
    broken, gone = killed(fleet, "broken"), killed(fleet, "gone")
    Path(f"{broken.trash}.json").unlink()
    (Path(broken.trash) / ".git").unlink()
    Path(f"{gone.trash}.json").unlink()
    shutil.rmtree(gone.trash)

    ran = cli("trash", "--empty", "-f")

    assert ran.out == "gone  already gone\n"
    assert f"{broken.trash} is no longer a worktree" in ran.complaint
    assert (Path(broken.trash) / "work.txt").read_text() == "precious"


# ── found again ──


@pytest.mark.slow
def test_a_worktree_that_git_has_moved_is_killed_and_comes_back_to_its_new_place(
    cli: Cli, fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    agent = fleet.create("fix")
    (Path(agent.worktree) / "work.txt").write_text("precious")
    fleet.stop([agent], grace=0.2)
    git(project, "worktree", "move", agent.worktree, str(tmp_path / "moved"))

    assert "worktree in the trash" in cli.ok("kill", "-f", "fix")
    assert not (tmp_path / "moved").exists()
    assert Path(fleet.store.agents.get(agent.id).trash).parent == paths.trash(Path(agent.worktree).parent)

    assert str(tmp_path / "moved") in cli.ok("undo", "fix")
    assert (tmp_path / "moved" / "work.txt").read_text() == "precious"
    assert git(tmp_path / "moved", "branch", "--show-current") == "fix\n"


@pytest.fixture
def with_an_older_store(fleet: Fleet) -> Agent:
    """An agent that was killed, brought back and killed again, with the store from after the first kill."""
    agent = killed(fleet, "fix")
    fleet.undo([fleet.trash.find("fix")])
    # The second kill must have another stamp, which counts seconds.
    trash = Path(agent.trash)
    fleet.kill([fleet.find("fix")])
    later = Path(fleet.store.agents.get(agent.id).trash)
    place = trash.with_name(f"{trash.name.rpartition('.')[0]}.20990101-000000")
    later.rename(place)
    Path(f"{later}.json").rename(f"{place}.json")
    with fleet.store.transaction():
        older = str(trash.with_name(f"{trash.name}-older"))
        fleet.store.agents.change(agent.id, 0.0, trash=older, ended_at=time.time() - 20 * 86_400)
    return fleet.store.agents.get(agent.id)


@pytest.mark.slow
def test_undo_finds_a_worktree_under_a_later_stamp_than_the_store_has(
    cli: Cli, with_an_older_store: Agent
) -> None:
    agent = with_an_older_store

    assert agent.worktree in cli.ok("undo", "fix")
    assert (Path(agent.worktree) / "work.txt").read_text() == "precious"


@pytest.mark.slow
@pytest.mark.parametrize("how", [("doctor", "--fix"), ("list", "--repair")])
def test_repair_finds_a_worktree_in_the_trash_that_the_store_has_elsewhere(
    cli: Cli, fleet: Fleet, with_an_older_store: Agent, how: tuple[str, ...]
) -> None:
    agent = with_an_older_store
    second = fleet.create("second")
    fleet.stop([second], grace=0.2)
    row = fleet.store.agents.get(second.id)
    fleet.kill([row])
    with fleet.store.transaction():
        fleet.store.agents.change(second.id, 0.0, status=Status.STOPPED, trash="")

    said = cli("doctor").out
    assert "fix: its worktree is in the trash" in said
    assert "second: its worktree is in the trash" in said
    cli(*how)

    for found in (fleet.store.agents.get(agent.id), fleet.store.agents.get(second.id)):
        assert found.status is Status.KILLED
        assert Path(found.trash).is_dir()
        assert found.ended_at is not None
        assert time.time() - found.ended_at < 3600, "its time in the trash counts from the last kill"
    assert "not where the store says" not in cli.ok("doctor")
    cli.ok("undo", "fix")
    cli.ok("undo", "second")


@pytest.mark.slow
def test_repair_of_a_store_from_before_the_kill_finds_the_worktree_in_the_trash(
    cli: Cli, fleet: Fleet, tmp_path: Path
) -> None:
    """As a backup that was put back; the agent's own files say where its worktree is, but not that it was killed."""
    agent = fleet.create("fix")
    (Path(agent.worktree) / "work.txt").write_text("precious")
    fleet.stop([agent], grace=0.2)
    with contextlib.closing(sqlite3.connect(paths.store())) as now:
        with contextlib.closing(sqlite3.connect(tmp_path / "older")) as older:
            now.backup(older)
        cli.ok("kill", "-f", "fix")
        with contextlib.closing(sqlite3.connect(tmp_path / "older")) as older:
            older.backup(now)

    assert "fix: its worktree is in the trash" in cli("list", "--repair").err
    cli.ok("undo", "fix")
    assert (Path(agent.worktree) / "work.txt").read_text() == "precious"


@pytest.mark.slow
def test_the_doctor_finds_a_worktree_that_git_has_moved(
    cli: Cli, fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    agent = fleet.create("fix")
    fleet.stop([agent], grace=0.2)
    git(project, "worktree", "move", agent.worktree, str(tmp_path / "moved"))

    assert f"fix: its worktree is {tmp_path / 'moved'}, not where" in cli("doctor").out
    cli.ok("doctor", "--fix")

    assert fleet.find("fix").worktree == str(tmp_path / "moved")


# ── branches ──


@pytest.mark.slow
def test_branches_without_commits_of_their_own_are_offered_removed_and_restored(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    agents = fleet.multi([(name, "x") for name in ("empty", "merged", "own", "emptied", "living")])
    for agent in agents[1:3]:
        (Path(agent.worktree) / "work.txt").write_text(agent.name)
        git(Path(agent.worktree), "add", ".")
        git(Path(agent.worktree), "commit", "-q", "-m", "work")
    git(project, "merge", "-q", "merged")
    fleet.kill(agents[:4], grace=0.2)
    list(fleet.trash.empty([fleet.store.agents.get(agents[3].id)]))

    hint = "3 branches of killed agents without commits of their own: "
    assert f"{hint}emptied, empty, merged (fleet trash --prune-branches" in cli.ok("trash")
    assert "3 branches of killed agents without commits of their own: " in cli.ok("doctor")
    assert cli("trash", "--prune-branches").code == 2
    removed = cli.ok("trash", "--prune-branches", "-f").splitlines()

    assert [line.split()[:2] for line in removed] == [
        ["emptied", "deleted,"],
        ["empty", "deleted,"],
        ["merged", "deleted,"],
    ]
    assert set(git(project, "branch", "--format=%(refname:short)").split()) == {"main", "own", "living"}
    assert "branches of killed" not in cli.ok("trash")
    assert "no killed agent has a branch" in cli.ok("trash", "--prune-branches")
    cli.ok("undo", "empty")
    cli.ok("undo", "merged")
    assert git(Path(agents[1].worktree), "branch", "--show-current") == "merged\n"
    assert git(Path(agents[0].worktree), "branch", "--show-current") == "empty\n"
    left = git(project, "for-each-ref", "--format=%(refname)", "refs/fleet/branches").split()
    assert left == [f"refs/fleet/branches/emptied-{agents[3].id}"]


@pytest.mark.slow
def test_the_last_branch_with_its_base_stays(cli: Cli, fleet: Fleet, project: Path) -> None:
    git(project, "checkout", "-q", "-b", "feature")
    git(project, "commit", "-q", "--allow-empty", "-m", "only here")
    agents = fleet.multi([(name, "x") for name in ("first", "second")])
    git(project, "checkout", "-q", "main")
    git(project, "branch", "-q", "-D", "feature")
    fleet.kill(agents, grace=0.2)

    assert "branches of killed" not in cli.ok("trash")
