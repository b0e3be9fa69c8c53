"""The doctor: reports problems, changes nothing without --fix, and repairs with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.git import to_trash
from fleet_tui.git.landing_note import MARK, LandingNote, write_note
from fleet_tui.models import Status
from tests.cli.commands import Cli, cli, configure, eventually, prints, project, traces
from tests.conftest import git

__all__ = ["cli", "project"]


def test_a_healthy_fleet_has_no_problem_and_examining_changes_nothing(cli: Cli) -> None:
    before = traces(cli.project)

    said = cli.ok("doctor")

    assert "✗" not in said
    assert "!" not in said
    assert traces(cli.project) == before


def test_findings_are_available_as_json(cli: Cli) -> None:
    found = json.loads(cli.ok("doctor", "--json"))

    assert {"level", "text", "remedy", "fixed"} == set(found[0])
    assert {one["level"] for one in found} == {"ok"}


def test_findings_as_json_are_fixed_and_fail_like_those_for_people(cli: Cli) -> None:
    def of_socket(*options: str) -> list[str | None]:
        found = json.loads(cli.ok("doctor", "--json", *options))
        return [one["fixed"] for one in found if str(stale) in one["text"]]

    stale = paths.sockets() / "abcdefghjk.sock"
    stale.touch()
    assert of_socket() == [None]
    assert stale.exists()
    [fixed] = of_socket("--fix")
    assert fixed
    assert not stale.exists()
    paths.user_config().write_text("[ui]\nlog_lines = -1\n")

    ran = cli("doctor", "--json")

    assert (ran.code, "problem" in {one["level"] for one in json.loads(ran.out)}) == (1, True)
    assert "problem found" in ran.complaint


@pytest.mark.slow
def test_a_missing_worktree_is_a_problem_with_a_remedy(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    shutil.rmtree(fleet.find("fix").worktree)

    ran = cli("doctor")

    assert ran.code == 1
    assert "fix: its worktree" in ran.out
    assert "fleet kill fix" in ran.out
    assert "1 problem found" in ran.complaint
    assert cli("doctor", "--fix").code == 1, "it has no mending of its own, and says so"
    cli.ok("kill", "-f", "fix")
    cli.ok("doctor")


@pytest.mark.slow
def test_killing_an_agent_without_its_worktree_does_not_claim_that_it_is_in_the_trash(
    cli: Cli, fleet: Fleet
) -> None:
    cli.ok("create", "fix")
    shutil.rmtree(fleet.find("fix").worktree)

    said = cli.ok("kill", "-f", "fix")

    assert "its folder was gone" in said
    assert "worktree in the trash" not in said


@pytest.mark.slow
def test_killing_an_agent_that_never_had_a_worktree_reports_no_branch(cli: Cli, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o755)
    assert cli("create", "fix", "-a", str(broken)).code == 7

    assert cli.ok("kill", "-f", "-d", "fix") == "fix  killed, it had no worktree, and no branch fix\n"


@pytest.mark.slow
def test_killing_an_agent_without_a_worktree_reports_that_its_branch_is_kept(
    cli: Cli, fleet: Fleet, project: Path
) -> None:
    cli.ok("create", "fix")
    fleet.stop([fleet.find("fix")])
    git(project, "worktree", "remove", "--force", fleet.find("fix").worktree)

    assert cli.ok("kill", "-f", "fix") == "fix  killed, it had no worktree, branch fix kept\n"


@pytest.mark.slow
def test_a_moved_repository_is_named_and_repair_moves_its_agents(
    cli: Cli, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("create", "fix")
    agent = fleet.find("fix")
    moved = cli.project.rename(tmp_path / "moved")
    monkeypatch.chdir(moved)

    ran = cli("doctor")

    assert ran.code == 1
    assert f"the repository {cli.project} is gone, and fix with it" in ran.out
    assert "fleet list --repair; if not: fleet kill fix" in ran.out
    assert cli.listed() == []
    assert "moved to this repository: fix" in cli("list", "--repair").err
    assert [(one["name"], one["project"]) for one in cli.listed()] == [("fix", str(moved))]
    assert git(Path(agent.worktree), "status", "--porcelain") == ""
    assert "✗" not in cli.ok("doctor")
    cli.ok("kill", "-f", "fix")
    cli.ok("undo")
    cli.ok("revive", "fix")
    assert cli.listed("-a")[0]["project"] == str(moved)
    assert fleet.store.agents.intent(agent.id)["git_dir"] == str(moved / ".git")


@pytest.mark.slow
def test_a_copy_of_a_repository_does_not_take_the_agents_of_the_first(
    cli: Cli, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("create", "fix")
    monkeypatch.chdir(shutil.copytree(cli.project, tmp_path / "copy"))

    cli("list", "--repair")

    assert cli.listed() == []
    assert fleet.store.agents.all()[0].project == str(cli.project)


def test_leftover_processes_are_named_and_ended_only_with_fix(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    agent = fleet.find("fix")
    fleet.stop([agent])
    left = subprocess.Popen(["sleep", "1000"], env={**os.environ, "FLEET_AGENT_ID": agent.id})

    assert f"left processes: {left.pid}" in cli("doctor").out
    assert left.poll() is None

    cli.ok("doctor", "--fix")
    assert left.wait(timeout=10) in (-signal.SIGTERM, -signal.SIGKILL)
    cli.ok("doctor")


def test_a_socket_without_a_holder_is_removed(cli: Cli) -> None:
    stale = paths.sockets() / "abcdefghjk.sock"
    stale.touch()

    assert str(stale) in cli.ok("doctor")
    assert stale.exists()
    cli.ok("doctor", "--fix")
    assert not stale.exists()


def test_the_socket_of_a_living_agent_stays(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    prints(fleet, fleet.find("fix"), "ready")

    cli.ok("doctor", "--fix")

    assert fleet.peek(fleet.find("fix"))


def test_a_socket_with_a_listener_belongs_to_another_fleet_and_stays(cli: Cli) -> None:
    theirs = paths.sockets() / "abcdefghjk.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(theirs))
        listener.listen()

        assert str(theirs) not in cli.ok("doctor", "--fix")
        assert theirs.exists()

    assert str(theirs) in cli.ok("doctor", "--fix")
    assert not theirs.exists()


@pytest.mark.slow
def test_lost_rows_are_restored(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "a:x", "b:x", "c:x")
    agent = fleet.find("a")
    fleet.store.db.execute("delete from receipt")
    fleet.store.db.execute("delete from agent where name = 'a'")

    assert "1 agent with files but no row" in cli("doctor").out
    assert "restored: a" in cli.ok("doctor", "--fix")
    assert fleet.find("a").pid == agent.pid

    fleet.store.db.execute("delete from agent where name = 'b'")
    ran = cli("list", "--repair")
    assert "restored: b" in ran.err
    assert {agent["name"] for agent in cli.listed()} == {"a", "b", "c"}


@pytest.mark.slow
def test_repair_finds_moved_worktrees_and_names_the_missing_ones(
    cli: Cli, fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    cli.ok("multi", *(f"{name}:x" for name in "abcdefg"))
    fleet.stop(fleet.agents())
    gone, bare, broken, kept, beside, away, cut_off = (Path(fleet.find(name).worktree) for name in "abcdefg")
    to_trash(cut_off, paths.trash(cut_off.parent), stamp="s", delete_branch=False)
    beside = beside.rename(beside.with_name("beside"))
    git(project, "worktree", "move", str(away), str(tmp_path / "away"))
    shutil.rmtree(gone)
    (bare / ".git").unlink()
    (broken / ".git").write_text(f"gitdir: {tmp_path}\n")
    (kept / ".git").write_text(f"gitdir: {tmp_path}/.git/worktrees/{kept.name}\n")

    ran = cli("list", "--repair")

    assert ran.code == 0
    assert f"a: its worktree {gone} is gone (fleet kill a cleans up;" in ran.err
    assert f"b: {bare} is no longer a worktree" in ran.err
    for name, place in (("c", broken), ("d", kept)):
        assert f"{name}: its .git was changed; repaired" in ran.err
        assert git(place, "status", "--porcelain") == ""
    assert f"e: its worktree is now {beside}" in ran.err
    assert fleet.find("g").worktree == str(cut_off), "a kill that was cut off is gone on with by the next"
    assert [fleet.find(name).worktree for name in "ef"] == [str(beside), str(tmp_path / "away")]
    assert git(beside, "branch", "--show-current") == "e\n"
    cli.ok("kill", "-f", "e", "f")
    cli.ok("undo")
    assert beside.is_dir()
    assert (tmp_path / "away").is_dir()


def test_gits_entries_for_missing_worktrees_are_pruned(cli: Cli, project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", str(tmp_path / "gone"), "-b", "gone")
    shutil.rmtree(tmp_path / "gone")

    assert "git has entries for missing worktrees" in cli.ok("doctor")
    cli.ok("doctor", "--fix")
    assert "gone" not in git(project, "worktree", "list")


def test_an_error_in_the_configuration_is_a_finding_and_not_the_end(cli: Cli, project: Path) -> None:
    configure(project, "[agent\n")

    ran = cli("doctor")

    assert ran.code == 1
    assert f"✗ {paths.project_config(project)}:1:" in ran.out
    assert "✓ store" in ran.out


@pytest.mark.slow
def test_unreadable_limits_delete_nothing(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "old")
    agent = fleet.find("old")
    cli.ok("kill", "old", "-f")
    with fleet.store.transaction():
        fleet.store.agents.change(agent.id, time.time(), ended_at=time.time() - 30 * 86_400)
    paths.user_config().write_text("[fleet]\ntrash_days = 60\ntrash_mb = oops\n")

    ran = cli("doctor", "--fix")

    assert "older than" not in ran.out
    assert Path(fleet.find("old").trash).is_dir()


def test_a_default_agent_that_is_not_installed_is_named(cli: Cli, project: Path) -> None:
    configure(project, '[agent]\ndefault = "nosuch"\n')

    assert "the default agent cannot start: no profile or program 'nosuch'" in cli("doctor").out


def test_a_keeper_that_was_killed_leaves_a_lost_agent_that_is_named(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    keeper = fleet.find("fix").keeper_pid
    assert keeper
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: fleet.find("fix").status is Status.LOST, "its loss")

    said = cli("doctor", "--fix").out

    assert "fix: its keeper is gone without a record" in said
    assert "fleet revive fix" in said
    assert Path(fleet.find("fix").worktree).is_dir()


def test_doctor_works_outside_a_repository(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert "✓ store" in cli.ok("doctor")


def test_the_folder_of_an_agent_that_was_never_created_is_removed(fleet: Fleet) -> None:
    folder = paths.private(paths.agent("halfmade99"))
    (folder / "lock").touch(mode=0o600)

    [finding] = [finding for finding in fleet.examine() if "never created" in finding.text]
    assert finding.fix is not None
    finding.fix()

    assert not folder.exists()


@pytest.mark.slow
def test_what_killed_landings_have_left_is_found_and_mended(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "landing")
    agent = fleet.find("landing")
    old = git(cli.project, "rev-parse", "HEAD").strip()
    (cli.project / "new.txt").write_text("half done\n")
    git(cli.project, "add", "new.txt")
    new = git(
        cli.project, "commit-tree", "-m", "x", "-p", old, git(cli.project, "write-tree").strip()
    ).strip()
    git(cli.project, "reset", "-q")
    branch = git(cli.project, "symbolic-ref", "--short", "HEAD").strip()
    own = cli.project / ".git"
    (own / "index.lock").write_bytes(MARK)
    write_note(own, LandingNote(branch, old, new, str(own), str(cli.project)))
    scratch = Path(agent.worktree).parent / ".landing/left"
    git(cli.project, "worktree", "add", "-q", "--detach", str(scratch))

    said = cli("doctor").out
    assert "was interrupted while it moved a branch" in said
    assert str(scratch) in said
    assert (own / "index.lock").exists()

    assert "everything is as before the landing" in cli("doctor", "--fix").out
    assert git(cli.project, "status", "--porcelain") == ""
    assert not (own / "index.lock").exists()
    assert not scratch.exists()
    assert "was interrupted" not in cli("doctor").out
