"""The verbs of a fleet, on real agents."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import NotFound, Refused, UsageError
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.lifecycle.launcher_client import LaunchProgress
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import configure, prints, project, traces
from tests.conftest import git, processes_of
from tests.holder.holders import wait_until
from tests.watched_fleet import WatchedFleet

__all__ = ["module_pool", "pool", "project"]


def test_an_agent_has_a_worktree_a_branch_a_row_and_a_holder(fleet: Fleet, project: Path) -> None:
    agent = fleet.create("fix/login", prompt="hello")

    assert git(Path(agent.worktree), "branch", "--show-current").strip() == "fix/login"
    assert agent.base == git(project, "rev-parse", "HEAD").strip()
    assert is_held(paths.lock(agent.id))
    assert [one.name for one in fleet.agents()] == ["fix/login"]
    prints(fleet, agent, "argument: hello")
    for path in (paths.state(), *paths.state().rglob("*")):
        assert not path.lstat().st_mode & 0o077, f"{path} is not for its owner only"
    assert not Path(agent.worktree).parent.stat().st_mode & 0o077


@pytest.mark.usefixtures("project")
def test_pwd_in_an_agents_environment_is_its_worktree(fleet: Fleet, tmp_path: Path) -> None:
    """Some programs believe PWD more than the system, and would work where the fleet was started."""
    program = tmp_path / "tells-where"
    program.write_text(f"#!{sys.executable}\nimport os\nprint('PWD', os.environ['PWD'])\ninput()\n")
    program.chmod(0o755)

    agent = fleet.create("fix", profile=str(program))

    wait_until(lambda: "PWD" in "".join(fleet.peek(agent)), "it telling where it is")
    # The terminal wraps it.
    assert f"PWD {agent.worktree}" in "".join(fleet.peek(agent))


def test_a_stopped_agent_keeps_its_worktree_and_revives_in_it(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    work = Path(agent.worktree) / "work.txt"
    work.write_text("mine")
    with pytest.raises(Refused, match="is running"):
        fleet.revive(agent)

    [stopped] = fleet.stop([agent])

    assert (stopped.status, processes_of(agent), work.read_text()) == (Status.STOPPED, [], "mine")
    revived = fleet.revive(agent)
    assert (revived.id, revived.run, revived.worktree) == (agent.id, 2, agent.worktree)
    prints(fleet, revived, "ready")


def test_an_agent_is_revived_where_its_worktree_was_moved(pool: AgentPool, tmp_path: Path) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.stop([agent])
    git(Path(agent.project), "worktree", "move", agent.worktree, str(tmp_path / "moved"))
    fleet.repair()

    revived = fleet.revive(fleet.find(agent.id))

    assert (revived.worktree, revived.run) == (str(tmp_path / "moved"), 2)
    prints(fleet, revived, "ready")


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True])
def test_git_removes_no_worktree_under_an_agent_that_was_revived(
    fleet: Fleet, project: Path, fresh: bool
) -> None:
    agent = fleet.create("fix")
    fleet.stop([agent])
    assert not is_locked(project, agent)

    fleet.revive(fleet.find("fix"), fresh=fresh)

    assert is_locked(project, agent)


@pytest.mark.slow
def test_a_worktree_is_locked_by_its_running_agent_alone_also_after_a_kill_that_was_undone(
    fleet: Fleet, project: Path
) -> None:
    agent = fleet.create("fix")
    fleet.kill([agent])
    fleet.undo([fleet.trash.find("fix")])
    assert not is_locked(project, agent)

    revived = fleet.revive(fleet.find("fix"))
    assert is_locked(project, revived)

    fleet.stop([revived])
    assert not is_locked(project, agent)


@pytest.mark.slow
def test_a_worktree_whose_agent_could_not_be_revived_is_not_left_locked(
    fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\nexec sleep 100\n")
    own.chmod(0o755)
    agent = fleet.create("fix", profile=str(own))
    fleet.stop([agent])
    own.write_bytes(b"\x7fELF not really")

    assert fleet.revive(fleet.find("fix")).status is Status.FAILED

    assert not is_locked(project, agent)


def is_locked(project: Path, agent: Agent) -> bool:
    blocks = git(project, "worktree", "list", "--porcelain").split("\n\n")
    [own] = [block for block in blocks if f"worktree {agent.worktree}\n" in block]
    return "\nlocked" in own


@pytest.mark.slow
def test_an_agent_can_be_revived_with_something_to_do(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    prints(fleet, agent, "argument: x")
    fleet.stop([agent])

    revived = fleet.revive(agent, prompt="go on")

    prints(fleet, revived, "argument: go on")
    assert "argument: x" not in "\n".join(fleet.logs(revived, 200))


def test_reviving_a_killed_agent_brings_its_worktree_back_first(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.kill([agent])

    revived = fleet.revive(agent)

    assert (revived.id, revived.trash, Path(revived.worktree).is_dir()) == (agent.id, "", True)
    assert not revived.has_ended
    fleet.stop([revived])
    shutil.rmtree(agent.worktree)
    with pytest.raises(Refused, match=f"worktree of {agent.name} is gone"):
        fleet.revive(agent)


def test_a_killed_agent_comes_back_by_undo_with_uncommitted_and_ignored_files(
    fleet: Fleet, project: Path
) -> None:
    (project / ".gitignore").write_text("*.secret\n")
    git(project, "add", ".gitignore")
    git(project, "commit", "-q", "-m", "ignore")
    agent = fleet.create("fix")
    tree = Path(agent.worktree)
    for name in ("new.txt", "readme.txt", "a.secret"):
        (tree / name).write_text("mine")

    [kept] = fleet.kill([agent])

    assert kept.path is not None
    assert not tree.exists()
    assert processes_of(agent) == []
    assert "fix" in git(project, "branch", "--list", "fix")

    [(restored, note)] = fleet.undo()

    assert (restored.id, restored.status, note) == (agent.id, Status.STOPPED, "")
    assert [(tree / name).read_text() for name in ("new.txt", "readme.txt", "a.secret")] == ["mine"] * 3
    assert git(tree, "branch", "--show-current").strip() == "fix"


def test_killing_with_the_branch_can_be_undone_too(pool: AgentPool) -> None:
    fleet, project, agent = pool.fleet, pool.project, pool.take()
    git(Path(agent.worktree), "commit", "-q", "--allow-empty", "-m", "work")
    tip = git(project, "rev-parse", agent.name)

    [kept] = fleet.kill([agent], delete_branch=True)

    assert kept.branch == ""
    assert git(project, "branch", "--list", agent.name) == ""
    fleet.undo([agent])
    assert git(project, "rev-parse", agent.name) == tip


@pytest.mark.slow
def test_a_branch_that_was_there_before_is_never_deleted(fleet: Fleet, project: Path) -> None:
    git(project, "branch", "mine")
    agent = fleet.create("mine", existing=True)

    [kept] = fleet.kill([agent], delete_branch=True)

    assert kept.branch == "mine"
    assert git(project, "branch", "--list", "mine")


@pytest.mark.slow
def test_an_agent_whose_worktree_was_removed_behind_its_back_can_be_killed(
    fleet: Fleet, project: Path
) -> None:
    deleted, removed = fleet.multi([("deleted", "x"), ("removed", "x")])
    shutil.rmtree(deleted.worktree)
    git(project, "worktree", "remove", "-f", "-f", removed.worktree)

    kept = fleet.kill([deleted, removed])

    assert [agent.status for agent in fleet.agents()] == [Status.KILLED] * 2
    assert [bool(one.path) for one in kept] == [True, False]
    fleet.undo([fleet.trash.find("deleted")])
    assert (Path(deleted.worktree) / "readme.txt").read_text() == "hello\n"


@pytest.mark.slow
def test_an_agent_whose_repository_is_gone_can_be_killed_and_its_files_stay(
    fleet: Fleet, project: Path
) -> None:
    agent = fleet.create("fix")
    shutil.rmtree(project)

    [kept] = fleet.kill([agent])

    assert "its repository is gone" in kept.note
    assert (Path(agent.worktree) / "readme.txt").exists()
    assert fleet.store.agents.get(agent.id).status is Status.KILLED


@pytest.mark.slow
def test_one_agent_that_cannot_be_trashed_does_not_keep_the_others_from_it(
    pool: AgentPool, tmp_path: Path
) -> None:
    fleet, first, second = pool.fleet, pool.take(), pool.take()
    link = Path(first.worktree) / ".git"
    moved = tmp_path / "moved"
    link.rename(moved)
    (Path(first.worktree) / ".git").mkdir()

    with pytest.raises(Refused, match="repository of its own"):
        fleet.kill([first, second])

    assert fleet.store.agents.get(second.id).status is Status.KILLED
    assert fleet.store.agents.get(first.id).status is Status.STOPPED


@pytest.mark.slow
def test_undo_refuses_before_it_moves_anything_when_the_name_is_taken(pool: AgentPool) -> None:
    fleet, old = pool.fleet, pool.take()
    fleet.kill([old], delete_branch=True)
    fleet.create(old.name)

    with pytest.raises(Refused, match="another agent"):
        fleet.undo([old])

    assert not Path(old.worktree).exists()
    assert Path(fleet.store.agents.get(old.id).trash).exists()


@pytest.mark.slow
def test_emptying_the_trash_saves_uncommitted_work_under_a_ref(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    (Path(agent.worktree) / "new.txt").write_text("mine")
    fleet.kill([agent])

    [(_, ref)] = fleet.trash.empty([one for one in fleet.trash.agents() if one.id == agent.id])

    assert git(pool.project, "show", f"{ref}:new.txt") == "mine"
    assert agent.id not in [one.id for one in fleet.trash.agents()]
    with pytest.raises(NotFound):
        fleet.undo([agent])


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_fan_out_over_several_programs_gives_each_its_share(fleet: Fleet) -> None:
    agents = fleet.fanout(3, "mix", prompt="60", mix=[("echoer", 2), ("sleep", 1)])

    assert [agent.profile for agent in agents] == ["echoer", "echoer", "sleep"]


def test_a_fan_out_is_all_or_nothing_when_something_is_wrong_beforehand(fleet: Fleet, project: Path) -> None:
    git(project, "branch", "b")
    before = traces(project)

    with pytest.raises(Refused, match="'b'"):
        fleet.multi([("a", "x"), ("b", "x"), ("c", "x")])
    with pytest.raises(NotFound):
        fleet.fanout(2, "x", prompt="p", mix=[("echoer", 1), ("nosuch", 1)])

    assert traces(project) == before


def test_of_a_fan_out_one_that_fails_is_shown_failed_while_the_others_go_on(
    fleet: Fleet, project: Path
) -> None:
    steps: list[tuple[str, str]] = []
    # Another process takes the last one's branch once the first is checked out.
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit branch x-C 2>/dev/null\nexit 0\n")
    hook.chmod(0o755)
    configure(project, "[fleet]\nparallel_checkouts = 1\n")

    agents = fleet.fanout(
        3, "x", prompt="p", on_progress=lambda agent, progress: steps.append((agent.name, progress.step))
    )

    assert [agent.status is Status.FAILED for agent in agents] == [False, False, True]
    assert "'x-C' already exists" in agents[2].status_detail
    assert ("x-C", "failed") in steps
    assert not Path(agents[2].worktree).exists()
    git(project, "branch", "-D", "x-C")
    assert fleet.create("x-C").status is not Status.FAILED, "a failed agent gives its name back"


def test_setup_commands_run_in_the_terminal_before_the_program(fleet: Fleet, project: Path) -> None:
    configure(project, "[setup]\ncommands = ['echo one > made.txt', 'test -t 0 && echo on-a-terminal']\n")
    told: list[str] = []

    agent = fleet.create("fix", on_progress=lambda _, progress: told.append(progress.step))
    [agent] = fleet.wait_for_setup([agent])

    prints(fleet, agent, "ready")
    assert not (Path(fleet.create("quickly", quick=True).worktree) / "made.txt").exists()
    assert "on-a-terminal" in fleet.logs(fleet.find("fix"), 50)
    assert "$ echo one > made.txt" in fleet.logs(fleet.find("fix"), 50)
    assert (Path(agent.worktree) / "made.txt").read_text() == "one\n"
    assert "setup" in told


def test_waiting_for_setup_reports_each_command_and_ends_with_the_failure(
    fleet: Fleet, project: Path
) -> None:
    configure(project, "[setup]\ncommands = ['while test ! -e go; do sleep 0.02; done', 'exit 3']\n")
    agent = fleet.create("fix")
    told: list[str] = []

    def listen(_: Agent, progress: LaunchProgress) -> None:
        told.append(progress.note)
        (Path(agent.worktree) / "go").touch()

    [ended] = fleet.wait_for_setup([agent], listen)

    assert (ended.status, ended.status_detail) == (Status.FAILED, "setup: 'exit 3' ended with code 3")
    assert told[0].startswith("while test")
    assert Path(agent.worktree).is_dir()


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_name_finds_the_living_agent_of_this_project_first(fleet: Fleet, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    there = WatchedFleet(other)
    theirs = there.create("fix")
    mine = fleet.create("fix")

    assert fleet.find("fix").id == mine.id
    assert there.find("fix").id == theirs.id
    assert fleet.find(theirs.id).id == theirs.id
    outside = WatchedFleet(tmp_path)
    with pytest.raises(UsageError, match="several projects"):
        outside.find("fix")
    assert [agent.id for agent in fleet.agents()] == [mine.id]
    assert {agent.id for agent in outside.agents()} == {mine.id, theirs.id}
    fleet.rename(fleet.find("fix"), "mine")
    with pytest.raises(NotFound, match="mine belongs to"):
        there.match(["min*"])
    for one in (there, outside):
        one.close()


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_name_that_several_projects_have_does_not_match_all_of_them(fleet: Fleet, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    there = WatchedFleet(other)
    theirs, mine = there.create("fix"), fleet.create("fix")
    outside = WatchedFleet(tmp_path)

    with pytest.raises(UsageError, match="several projects have an agent 'fix'") as refused:
        outside.match(["fix"])

    assert refused.value.hint == f"go to one of {theirs.project}, {mine.project}; or use the id"
    assert {agent.id for agent in outside.match(["fi[x]"])} == {mine.id, theirs.id}
    assert [agent.id for agent in outside.match([mine.id])] == [mine.id]
    assert [agent.id for agent in fleet.match(["fix"])] == [mine.id]
    there.kill([theirs])
    assert [agent.id for agent in outside.match(["fix"], but_not=[Status.KILLED])] == [mine.id]
    for one in (there, outside):
        one.close()


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_other_names_of_agents_and_batches_are_not_called_branches(fleet: Fleet) -> None:
    agent = fleet.create("fix")

    with pytest.raises(UsageError, match="'a b' cannot be an agent's name: it contains a space"):
        fleet.rename(fleet.find("fix"), "a b")
    with pytest.raises(UsageError, match="'a b' cannot be a batch's name: it contains a space"):
        fleet.move_to_batch([agent], "a b")


@pytest.mark.usefixtures("project")
def test_patterns_choose_each_agent_once_and_all_must_match(fleet: Fleet) -> None:
    fleet.multi([("fix-1", "x"), ("fix-2", "x"), ("other", "x")])

    assert [agent.name for agent in fleet.match(["fix-*", "fix-1"])] == ["fix-1", "fix-2"]
    with pytest.raises(NotFound, match="'nope'"):
        fleet.match(["fix-*", "nope"])
    with pytest.raises(UsageError):
        fleet.match([])
    with pytest.raises(NotFound, match="batch"):
        fleet.match([], batch="nope")
    assert len(fleet.match([], batch=fleet.find("other").batch)) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_batch_is_found_by_the_name_that_the_dashboard_shows_as_well_as_by_its_id(fleet: Fleet) -> None:
    first = fleet.fanout(2, "login", prompt="x")
    other = fleet.create("docs")

    assert fleet.match([], batch="login") == fleet.match([], batch=first[0].batch)
    assert [agent.name for agent in fleet.match([], batch="login")] == ["login-A", "login-B"]
    assert [agent.id for agent in fleet.match([], batch="manual")] == [other.id]

    second = fleet.fanout(1, "login", prompt="x")
    with pytest.raises(UsageError, match="several batches are called 'login'") as refused:
        fleet.match([], batch="login")
    assert {first[0].batch, second[0].batch} <= set(refused.value.hint.replace(",", "").split())
    fleet.kill(second)
    assert len(fleet.match([], batch="login")) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_each_living_agent_has_ports_of_its_own(fleet: Fleet) -> None:
    agents = fleet.fanout(3, "x", prompt="p")

    ports = [agent.port_base for agent in agents]
    assert len(set(ports)) == 3
    fleet.stop(agents[:1])
    assert fleet.create("y").port_base == ports[0]


@pytest.mark.usefixtures("project")
def test_a_lost_store_is_made_again_from_the_agents_own_files(fleet: Fleet) -> None:
    agent = fleet.create("fix", prompt="hello")
    for file in paths.state().glob("fleet.db*"):
        file.unlink()

    again = WatchedFleet(Path.cwd())

    again.repair()
    found = again.find("fix")
    assert (found.id, found.prompt, found.has_ended) == (agent.id, "hello", False)
    again.stop([found])
    again.close()


def test_uncommitted_changes_are_counted_without_our_own_settings(fleet: Fleet, project: Path) -> None:
    assert fleet.uncommitted() == 0
    configure(project, "")
    assert fleet.uncommitted() == 0
    (project / "readme.txt").write_text("changed")
    (project / "new.txt").write_text("new")
    assert fleet.uncommitted() == 2


def test_head_as_base_means_the_commit_that_is_checked_out_here(fleet: Fleet, project: Path) -> None:
    first = git(project, "rev-parse", "HEAD").strip()
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    other = WatchedFleet(project)
    before = other.version()

    assert fleet.create("older", base="HEAD~1").base == first
    assert other.version() != before, "another fleet notices"
    other.close()


@pytest.mark.slow
def test_a_store_that_is_lost_is_made_anew_with_the_living_the_ended_and_the_killed(
    fleet: Fleet, project: Path
) -> None:
    _, ended, killed = fleet.multi([(name, "x") for name in ("living", "ended", "killed")])
    fleet.stop([ended], grace=0.2)
    fleet.kill([killed], grace=0.2)
    fleet.close()
    for file in paths.state().glob("fleet.db*"):
        file.rename(file.with_name(f"lost-{file.name}"))

    again = WatchedFleet(project)
    again.repair()

    statuses = {agent.name: agent.status for agent in again.agents()}
    assert statuses["ended"] is Status.STOPPED
    assert statuses["killed"] is Status.KILLED
    assert not statuses["living"].has_ended
    [(restored, _)] = again.undo([again.trash.find("killed")])
    assert Path(restored.worktree).is_dir()
    again.stop([again.find("living")], grace=0.2)
    again.close()
    fleet.store = WatchedFleet(project).store


@pytest.mark.slow
def test_a_store_that_is_made_anew_knows_who_was_killed_after_the_trash_was_emptied(
    fleet: Fleet, project: Path
) -> None:
    killed, undone = fleet.multi([(name, "x") for name in ("killed", "undone")])
    fleet.kill([killed, undone], grace=0.2)
    assert len(fleet.undo()) == 2
    fleet.kill([killed, undone], grace=0.2)
    fleet.undo([fleet.trash.find("undone")])
    assert len(list(fleet.trash.empty(fleet.trash.agents()))) == 1
    fleet.close()
    for file in paths.state().glob("fleet.db*"):
        file.rename(file.with_name(f"lost-{file.name}"))

    fleet.store = WatchedFleet(project).store

    statuses = {agent.name: agent.status for agent in fleet.agents()}
    assert statuses == {"killed": Status.KILLED, "undone": Status.STOPPED}


@pytest.mark.slow
def test_a_configuration_that_cannot_be_read_does_not_keep_an_agent_from_being_stopped(
    fleet: Fleet, project: Path
) -> None:
    agent = fleet.create("fix")
    configure(project, "this is not TOML [")

    [stopped] = fleet.stop([agent])

    assert stopped.status is Status.STOPPED


@pytest.mark.slow
def test_what_only_reads_writes_nothing(project: Path) -> None:
    fleet = WatchedFleet(project)
    agent = fleet.create("fix", profile="shell", prompt="sleep 0.5; exit 3")
    wait_until(lambda: not is_held(paths.lock(agent.id)), "its end")
    reader = Fleet(project)
    before = reader.state()

    found = reader.find("fix")
    reader.prompts.receipts(found)
    reader.prompts.counts()
    reader.examine()
    reader.trash.agents()
    reader.spending([])
    assert reader.state() == before, "reading has recorded nothing"

    reader.refresh()
    assert reader.find("fix").status is Status.EXITED
    reader.close()
    fleet.close()
