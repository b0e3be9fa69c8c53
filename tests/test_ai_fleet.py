"""Bugs measured in ai-fleet, one test each, that fleet-tui does not have."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from fleet_tui import __version__, paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests.cli.commands import FLEET, Cli, cli, configure, eventually, prints, project, traces
from tests.conftest import git, processes_of

__all__ = ["cli", "project"]


def test_a_fresh_install_cannot_get_a_dependency_that_breaks_it() -> None:
    """ai-fleet asked for libtmux>=0.37 and got one that had dropped what it called."""
    requirements = [line for line in metadata.requires("fleet-tui") or [] if "extra ==" not in line]

    assert requirements
    for requirement in requirements:
        assert re.search(r"<\d|==", requirement), f"{requirement} has no upper bound"
    assert not any("tmux" in requirement for requirement in requirements)


def test_an_apostrophe_in_a_prompt_is_just_a_character(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet's shell waited for the closing quote, and reported the agent as started and ready."""
    cli.ok("create", "fix", "-p", "it's broken")

    prints(fleet, fleet.find("fix"), "argument: it's broken")


def test_a_prompt_cannot_run_a_command(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet typed the prompt into a shell, which ran what stood behind the quote when the agent ended."""
    cli.ok("create", "fix", "-p", "x'; touch PWNED; echo '")
    agent = fleet.find("fix")
    prints(fleet, agent, "argument: x'; touch PWNED; echo '")
    fleet.stop([agent])

    assert not list(Path(agent.worktree).glob("PWNED"))


@pytest.mark.parametrize("command", [["create", "x"], ["fanout", "2", "x", "-p", "p"], ["multi", "x:p"]])
def test_a_missing_program_is_an_error(cli: Cli, command: list[str]) -> None:
    """ai-fleet's fanout said "Started", exited with 0 and showed it idle."""
    before = traces(cli.project)

    ran = cli(*command, "-a", "nosuch")

    assert (ran.code, ran.out) == (3, "")
    assert traces(cli.project) == before


def test_claude_flags_apply_only_to_claude(cli: Cli, fleet: Fleet, project: Path) -> None:
    """ai-fleet's fanout and multi gave --dangerously-skip-permissions to every program."""
    configure(project, '[agent]\nclaude_flags = "--dangerously-skip-permissions"\n')

    cli.ok("fanout", "1", "x", "-p", "hello", "-a", "echoer")

    assert fleet.find("x-A").argv[1:] == ("hello",)


def test_a_slash_in_a_branch_does_not_make_an_agent_forgotten(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet stored another session name than it had made, and the next list forgot the living agents."""
    cli.ok("multi", "feat/a:x", "feat/b:y", "team/z-A:x")

    for _ in range(2):
        assert [agent["name"] for agent in cli.listed()] == ["feat/a", "feat/b", "team/z-A"]
    assert all(processes_of(agent) for agent in fleet.agents())


def test_feat_slash_a_and_feat_dash_a_have_different_worktrees(cli: Cli) -> None:
    """In ai-fleet both names meant one folder."""
    cli.ok("multi", "feat/a:x", "feat-a:y")

    first, second = cli.listed()
    assert first["worktree"] != second["worktree"]
    assert [git(Path(one["worktree"]), "branch", "--show-current").strip() for one in (first, second)] == [
        "feat/a",
        "feat-a",
    ]


def test_a_dot_in_a_branch_works(cli: Cli, fleet: Fleet) -> None:
    """tmux refused such a session's name, and ai-fleet left the branch behind."""
    cli.ok("create", "v1.2")

    prints(fleet, fleet.find("v1.2"), "ready")


def test_a_second_fan_out_of_one_prefix_leaves_the_first_alone(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet typed a shell command into the living agents and moved them to the new batch."""
    cli.ok("fanout", "2", "fix", "-p", "one")
    first = cli.listed()

    cli.ok("fanout", "2", "fix", "-p", "two")

    assert [agent["name"] for agent in cli.listed()] == ["fix-A", "fix-B", "fix-C", "fix-D"]
    still = cli.listed()[:2]
    for key in ("id", "batch", "pid", "prompt", "worktree"):
        assert [agent[key] for agent in still] == [agent[key] for agent in first]
    assert "two" not in "\n".join(fleet.logs(fleet.find("fix-A"), 50))


def test_an_existing_folder_is_never_used_as_a_worktree(cli: Cli, tmp_path: Path, project: Path) -> None:
    """ai-fleet used an existing folder silently, on any branch."""
    folder = tmp_path / "trees"
    configure(project, f'[project]\nworktree_root = "{folder}"\n')
    (folder / "fix").mkdir(parents=True)
    (folder / "fix" / "precious.txt").write_text("mine")

    cli.ok("create", "fix")

    [agent] = cli.listed()
    assert Path(agent["worktree"]).parent == folder
    assert Path(agent["worktree"]) != folder / "fix"
    assert [entry.name for entry in (folder / "fix").iterdir()] == ["precious.txt"]


@pytest.mark.slow
def test_parallel_creates_and_fan_outs_lose_nothing(cli: Cli, fleet: Fleet) -> None:
    """Of four at once ai-fleet's state lost one, with a traceback."""
    fan_out = ["fanout", "1", "f", "-p", "x"]
    running = [
        subprocess.Popen([FLEET, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in (["create", "p0"], ["create", "p1"], fan_out, fan_out, fan_out)
    ]
    results = [(process.communicate(), process.returncode) for process in running]

    assert [(code, "fleet: " in err) for (_, err), code in results] == [(0, False)] * 5
    assert sorted(agent["name"] for agent in cli.listed()) == ["f-A", "f-B", "f-C", "p0", "p1"]


def test_a_reboot_loses_nothing_and_agents_can_be_revived(cli: Cli, fleet: Fleet) -> None:
    """After one, ai-fleet's list forgot every agent and left the worktrees unreachable."""
    cli.ok("create", "fix")
    agent = fleet.find("fix")
    fleet.stop([agent])
    (paths.run(agent.id, 1) / "exit.json").unlink()
    with fleet.store.transaction():
        fleet.store.agents.change(agent.id, 0.0, status=Status.WORKING, boot_id="another boot", ended_at=None)

    [listed] = cli.listed()

    assert (listed["name"], listed["status"], listed["exit_code"]) == ("fix", "interrupted", None)
    assert Path(listed["worktree"]).is_dir()
    cli.ok("revive", "fix")
    assert cli.listed()[0]["status"] in ("starting", "working", "idle")


def test_killing_a_dirty_worktree_loses_nothing_even_with_force(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet's -f threw the work away, and without it nothing happened and the exit code was 0."""
    cli.ok("create", "fix")
    tree = Path(fleet.find("fix").worktree)
    (tree / "readme.txt").write_text("half done")
    (tree / "new.txt").write_text("new")

    cli.ok("kill", "-f", "-d", "fix")

    assert cli.listed() == []
    cli.ok("undo")
    assert [(tree / name).read_text() for name in ("readme.txt", "new.txt")] == ["half done", "new"]


def test_the_program_ends_before_its_worktree_is_moved(cli: Cli, fleet: Fleet, tmp_path: Path) -> None:
    """ai-fleet removed the worktree first, and the agent wrote into a deleted folder."""
    program = tmp_path / "bin" / "writer"
    program.write_text(
        "#!/bin/sh\ntrap 'echo last words > last.txt; exit 0' INT TERM HUP\necho ready\nwhile :; do sleep 0.02; done\n"
    )
    program.chmod(0o755)
    cli.ok("create", "fix", "-a", "writer")
    agent = fleet.find("fix")
    prints(fleet, agent, "ready")

    cli.ok("kill", "-f", "fix")

    assert processes_of(agent) == []
    assert (Path(fleet.find("fix").trash) / "last.txt").read_text() == "last words\n"


def test_cpu_and_memory_cover_the_whole_process_tree(cli: Cli, fleet: Fleet, tmp_path: Path) -> None:
    """ai-fleet showed the pane's shell: 4 MB, and for fanout and multi always 0.0 and 0."""
    program = tmp_path / "bin" / "busy"
    held = "x = bytearray(40 << 20)\nprint('up', flush=True)\nwhile True: pass"
    program.write_text(f'#!/bin/sh\n(exec {sys.executable} -c "{held}")\n')
    program.chmod(0o755)
    cli.ok("fanout", "1", "x", "-a", "busy", "-p", "work")
    prints(fleet, fleet.find("x-A"), "up")

    eventually(lambda: cli.listed()[0]["cpu"] > 1, "it being seen at work")
    [agent] = cli.listed()

    assert agent["memory"] > 40 << 20
    assert agent["processes"] >= 2


def test_an_exited_agent_is_shown_with_its_code(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet went on showing it idle."""
    cli.ok("create", "fix", "-a", "sh")
    agent = fleet.find("fix")
    cli.ok("prompt", "--now", "fix", "exit 3")

    eventually(lambda: fleet.find("fix").has_ended, "the end")

    [listed] = cli.listed()
    assert (listed["status"], listed["exit_code"], listed["pid"]) == ("exited", 3, None)
    assert "exited 3" in cli.ok("list")
    assert agent.id == listed["id"]


def test_list_never_deletes_a_record(cli: Cli, fleet: Fleet) -> None:
    """ai-fleet's list removed every agent whose session was gone."""
    cli.ok("create", "fix")
    fleet.stop([fleet.find("fix")])

    for _ in range(3):
        assert [agent["status"] for agent in cli.listed()] == ["stopped"]
    assert "ready" in cli.ok("logs", "fix")


def test_kill_takes_several_patterns(cli: Cli) -> None:
    """ai-fleet's own hint showed several, and it took one."""
    cli.ok("multi", "a-1:x", "a-2:x", "b-1:x", "c:x")

    cli.ok("kill", "-f", "a-*", "c")

    assert [agent["name"] for agent in cli.listed()] == ["b-1"]


def test_every_place_has_the_same_version_number(cli: Cli) -> None:
    """ai-fleet called itself 0.1.0 while its package was 0.1.3."""
    assert cli.ok("--version").split()[-1] == __version__ == metadata.version("fleet-tui")


def test_update_does_not_claim_to_be_current_without_asking(cli: Cli) -> None:
    """ai-fleet said "up to date" when it could not ask."""
    said = cli.ok("update")

    assert "up to date" not in said
    assert "update with: " in said


def test_a_python_project_with_a_package_json_is_a_python_project(cli: Cli, project: Path) -> None:
    """ai-fleet mistook Django for Node, and would have run npm install for every agent."""
    (project / "package.json").write_text("{}")
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")

    cli.ok("init", "--yes")

    setup = tomllib.loads(paths.project_config(project).read_text())["setup"]
    assert "npm" not in json.dumps(setup["commands"])
