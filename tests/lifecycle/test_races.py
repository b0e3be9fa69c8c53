"""Races: two faces that act on the same agent at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import Killed
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.lifecycle import revive, trash
from fleet_tui.lifecycle.request import RevivalRequest
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import configure, prints, project
from tests.conftest import git, processes_of
from tests.holder.holders import wait_until
from tests.watched_fleet import WatchedFleet

__all__ = ["module_pool", "pool", "project"]


@pytest.fixture
def endless_checkout(project: Path, tmp_path: Path) -> Iterator[None]:
    """Every checkout blocks on a pipe without a writer."""
    pipe = tmp_path / "gate"
    os.mkfifo(pipe)
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncat '{pipe}' >/dev/null\n")
    hook.chmod(0o755)
    yield
    hook.unlink()


@pytest.mark.slow
def test_a_running_agent_cannot_be_trashed_on_the_grounds_of_a_stale_row(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    [stopped] = fleet.stop([agent], grace=0.2)
    fleet.revive(agent)

    with pytest.raises(Refused, match="is running"):
        trash.to_trash(fleet.store, stopped, delete_branch=False, now=time.time())

    assert Path(agent.worktree).is_dir()
    assert not fleet.find(agent.name).has_ended


@pytest.mark.slow
def test_an_agent_killed_in_the_meantime_is_not_revived_without_its_worktree(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.kill([agent], grace=0.2)

    with pytest.raises(Refused, match="is killed now"):
        revive.plan_revival(fleet.store, fleet.store.agents.get(agent.id), RevivalRequest("", (80, 24)))

    assert fleet.revive(agent).run == 2


@pytest.mark.slow
def test_a_worktree_restored_in_the_meantime_is_not_emptied_from_the_trash(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.kill([agent], grace=0.2)
    [waiting] = [one for one in fleet.trash.agents() if one.id == agent.id]
    fleet.undo([agent])

    with pytest.raises(NotFound, match="no longer in the trash"):
        trash.empty_trash(fleet.store, waiting)

    assert git(Path(agent.worktree), "status", "--short") == ""


@pytest.mark.slow
def test_two_revives_at_once_start_one_program(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.stop([agent], grace=0.2)
    outcomes: list[Agent | Refused] = []

    def revive() -> None:
        other = WatchedFleet(pool.project)
        try:
            outcomes.append(other.revive(agent))
        except Refused as error:
            outcomes.append(error)
        finally:
            other.close()

    threads = [threading.Thread(target=revive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [type(outcome).__name__ for outcome in outcomes].count("Agent") == 1
    assert fleet.find(agent.name).run == 2


@pytest.mark.usefixtures("endless_checkout")
def test_an_agent_can_be_killed_during_its_creation(fleet: Fleet, project: Path) -> None:
    making = threading.Thread(target=lambda: WatchedFleet(project).create("slow"))
    making.start()
    wait_until(lambda: any(agent.name == "slow" for agent in fleet.store.agents.all()))
    agent = fleet.find("slow")
    wait_until(lambda: Path(agent.worktree).is_dir())
    killing = threading.Thread(target=lambda: WatchedFleet(project).kill([agent], grace=0.2))
    killing.start()
    making.join(10)
    killing.join(10)

    assert fleet.store.agents.get(agent.id).status is Status.KILLED
    assert fleet.store.agents.get(agent.id).pid is None
    assert not is_held(paths.lock(agent.id))
    assert not Path(agent.worktree).exists()
    assert "slow" not in git(project, "branch", "--list")


@pytest.mark.slow
def test_an_agent_is_revived_with_the_permissions_of_its_own_project(pool: AgentPool, tmp_path: Path) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.stop([agent], grace=0.2)
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    configure(other, "[agent]\nthis is not TOML")

    elsewhere = WatchedFleet(other)
    revived = elsewhere.revive(agent)
    elsewhere.close()

    assert not revived.has_ended


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_program_whose_path_has_a_space_runs_without_a_prompt(fleet: Fleet, tmp_path: Path) -> None:
    program = tmp_path / "my 'tools'" / "a \\ program"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho I run\ncat\n")
    program.chmod(0o755)

    agent = fleet.create("fix", profile=str(program))

    prints(fleet, agent, "I run")


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_files_of_a_first_fan_out_have_the_modes_of_the_users_umask(fleet: Fleet) -> None:
    agents = fleet.fanout(3, "many", prompt="go")

    modes = {(Path(agent.worktree) / "readme.txt").stat().st_mode & 0o777 for agent in agents}

    assert modes == {0o666 & ~_umask()}


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_manual_agents_of_two_projects_have_batches_of_their_own(fleet: Fleet, tmp_path: Path) -> None:
    fleet.create("here")
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    elsewhere = WatchedFleet(other)

    elsewhere.create("there", profile="cat")
    elsewhere.close()

    assert {batch.project for batch in fleet.state().batches} == {str(fleet.repository.root), str(other)}


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_lines_are_followed_as_they_are_printed_and_come_once(fleet: Fleet, tmp_path: Path) -> None:
    program = tmp_path / "counts"
    program.write_text(
        "#!/bin/sh\nstty -echo; for n in 1 2 3; do echo early $n; done\n"
        "read -r go; n=0; while [ $n -lt 200 ]; do echo late $n; n=$((n + 1)); done\nread -r end\n"
    )
    program.chmod(0o755)
    agent = fleet.create("fix", profile=str(program))
    prints(fleet, agent, "early 3")
    lines = fleet.follow(agent, 50)

    def until(text: str) -> list[str]:
        found: list[str] = []
        while not found or found[-1] != text:
            found.append(next(lines))
        return found

    seen = until("early 3")
    fleet.prompts.send(fleet.find("fix"), "go")
    seen += until("late 199")
    fleet.prompts.send(fleet.find("fix"), "end")
    rest = [line for line in lines if line]

    assert [line for line in seen if line] == [
        "early 1",
        "early 2",
        "early 3",
        *(f"late {n}" for n in range(200)),
    ]
    assert rest == []


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_lines_that_scroll_while_the_log_is_read_come_once_and_none_is_missing(
    fleet: Fleet, tmp_path: Path
) -> None:
    program = tmp_path / "counts"
    program.write_text(
        "#!/bin/sh\nn=0; while sleep 0.01; do seq -f 'line %.0f' $n $((n + 499)); n=$((n + 500)); done\n"
    )
    program.chmod(0o755)
    agent = fleet.create("fix", profile=str(program))
    prints(fleet, agent, "line ")

    for _ in range(20):
        found = [
            int(line.split()[1]) for line in fleet.logs(fleet.find("fix"), 60) if line.startswith("line ")
        ][:-1]
        assert found == list(range(found[0], found[-1] + 1))


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_unchanged_lines_of_an_alternate_screen_come_once(fleet: Fleet, tmp_path: Path) -> None:
    program = tmp_path / "draws"
    program.write_text("#!/bin/sh\nprintf '\\033[?1049h\\033[Hfirst\\r\\nsecond'\nread -r end\n")
    program.chmod(0o755)
    agent = fleet.create("fix", profile=str(program))
    wait_until(lambda: "second" in last_lines(fleet.run_folder(agent), 9), "lines that have settled")

    assert fleet.logs(fleet.find("fix"), 50) == ["first", "second"]


def test_a_kill_interrupted_before_the_store_is_finished_by_the_next(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.stop([agent], grace=0.2)
    trash._moved(fleet.store.agents.get(agent.id), delete_branch=False, removal=Killed(time.time()))

    fleet.kill([fleet.find(agent.name)])
    [(restored, _)] = fleet.undo([agent])

    assert Path(restored.worktree).is_dir()


@pytest.mark.slow
def test_a_system_error_for_one_agent_does_not_keep_others_from_being_killed(pool: AgentPool) -> None:
    fleet, stuck, other = pool.fleet, pool.take(), pool.take()
    fleet.stop([stuck], grace=0.2)
    entry = pool.project / ".git" / "worktrees" / Path(stuck.worktree).name
    in_the_way = entry / f"locked.fleet-{os.getpid()}"
    in_the_way.mkdir()

    with pytest.raises(FleetError, match=f"^{stuck.name}: .*locked.*; killed: {other.name} ") as refused:
        fleet.kill([stuck, other], grace=0.2)

    assert refused.value.hint == "check space and permissions"
    assert fleet.find(other.name).status is Status.KILLED
    in_the_way.rmdir()
    fleet.kill([stuck])


@pytest.mark.slow
def test_an_undo_interrupted_before_the_store_is_finished_by_the_next(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    fleet.kill([agent], grace=0.2)
    trash._restored(fleet.store.agents.get(agent.id))

    [(restored, _)] = fleet.undo([agent])

    assert (restored.status, Path(restored.worktree).is_dir()) == (Status.STOPPED, True)


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_trashed_worktree_that_was_removed_by_hand_does_not_keep_the_others_from_being_emptied(
    fleet: Fleet,
) -> None:
    agents = fleet.multi([(name, "x") for name in ("gone", "there")])
    fleet.kill(agents, grace=0.2)
    for entry in Path(fleet.trash.agents()[0].trash).parent.glob("gone-*"):
        entry.unlink() if entry.is_file() else shutil.rmtree(entry)

    emptied = list(fleet.trash.empty(fleet.trash.agents()))

    assert [agent.name for agent, _ in emptied] == ["gone", "there"]
    assert fleet.trash.agents() == []


@pytest.mark.slow
def test_an_agent_killed_while_its_repository_was_away_comes_back_with_undo(
    fleet: Fleet, project: Path
) -> None:
    agent = fleet.create("fix")
    fleet.stop([agent], grace=0.2)
    project.rename(project.with_name("away"))
    fleet.kill([fleet.store.agents.get(agent.id)])
    project.with_name("away").rename(project)

    [(restored, _)] = WatchedFleet(project).undo([WatchedFleet(project).trash.find("fix")])

    assert (restored.status, Path(restored.worktree).is_dir()) == (Status.STOPPED, True)


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_killing_a_lost_agent_ends_what_its_program_left(fleet: Fleet) -> None:
    agent = fleet.create("fix", profile="bash")
    fleet.prompts.send(fleet.find("fix"), "setsid sleep 1000 &")
    wait_until(lambda: len(processes_of(agent)) > 1)
    assert agent.keeper_pid is not None
    os.kill(agent.keeper_pid, signal.SIGKILL)
    wait_until(lambda: fleet.find("fix").status is Status.LOST)

    fleet.kill([fleet.find("fix")])

    assert processes_of(agent) == []


@pytest.mark.slow
def test_an_agent_whose_setup_failed_is_revived_with_its_setup(
    fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    allowed = tmp_path / "allowed"
    configure(project, f'[agent]\ndefault = "cat"\n[setup]\ncommands = ["test -e {allowed}"]\n')
    agent = fleet.create("fix")
    wait_until(lambda: fleet.find("fix").status is Status.FAILED)
    allowed.touch()

    fleet.revive(fleet.find("fix"))

    wait_until(lambda: (paths.run(agent.id, 2) / "setup.log").read_text().endswith("done\n"))


@pytest.mark.slow
def test_a_stash_in_a_submodule_keeps_the_trash_from_being_emptied(
    fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    subprocess.run(["git", "init", "-q", str(library)], check=True)
    (library / "code").write_text("one\n")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "first")
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    git(project, "commit", "-q", "-m", "with a submodule")
    agent = WatchedFleet(project).create("fix")
    inside = Path(agent.worktree)
    git(inside, "-c", "protocol.file.allow=always", "submodule", "update", "--init", "-q")
    (inside / "lib" / "code").write_text("two\n")
    git(inside / "lib", "stash")
    fleet.kill([fleet.find("fix")], grace=0.2)

    with pytest.raises(Refused, match="a stash that exist nowhere else"):
        list(fleet.trash.empty(fleet.trash.agents()))

    [(restored, _)] = fleet.undo([fleet.trash.find("fix")])
    assert "stash@{0}" in git(Path(restored.worktree) / "lib", "stash", "list")
