"""`path` and `shell` lead into an agent's worktree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import FLEET, Cli, cli
from tests.conftest import processes_of
from tests.terminal.host_terminal import Host

__all__ = ["cli", "fleet", "module_pool", "pool", "project"]


def test_path_leads_into_a_worktree_of_a_running_or_ended_agent(cli: Cli, pool: AgentPool) -> None:
    agent = pool.take()

    done = subprocess.run(
        ["sh", "-c", 'cd "$("$0" path "$1")" && pwd', FLEET, agent.name],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == cli.ok("path", agent.name) == f"{agent.worktree}\n"
    cli.ok("stop", agent.name)
    assert cli.ok("path", agent.name) == done.stdout


def test_path_of_what_is_not_there_is_an_error(cli: Cli, pool: AgentPool) -> None:
    gone, killed = pool.take(), pool.take()
    shutil.rmtree(gone.worktree)
    cli.ok("kill", "-f", killed.name)

    for command in ("path", "shell"):
        ran = cli(command, killed.name)
        where = pool.fleet.find(killed.id).trash
        assert (ran.code, ran.out) == (3, "")
        assert ran.complaint == (
            f"fleet: {killed.name} was killed, its worktree is in the trash: {where} "
            f"(fleet undo {killed.name} restores it)"
        )
        ran = cli(command, gone.name)
        assert (ran.code, ran.out) == (3, "")
        assert f"the worktree of {gone.name} does not exist" in ran.complaint
        assert "fleet list --repair" in ran.complaint
        assert cli(command, "nobody").code == 3
    assert cli("undo", killed.name).code == 0
    assert cli.ok("path", killed.name)


def test_shell_runs_in_the_worktree_and_passes_on_its_exit_code(cli: Cli, pool: AgentPool) -> None:
    agent = pool.take()
    commands = "pwd; echo $PWD; env | grep -c ^FLEET_; yes | head -1; exit 7\n"

    ran = cli.script("shell", agent.name, stdin=commands, env={"SHELL": "/bin/sh"})

    tree = agent.worktree
    assert (ran.code, ran.out, ran.err) == (7, f"{tree}\n{tree}\n0\ny\n", "")


def test_shell_has_the_terminal_and_is_not_a_process_of_the_agent(pool: AgentPool) -> None:
    agent = pool.take()

    with Host([FLEET, "shell", agent.name], env={"SHELL": "/bin/sh", "PS1": "in $ "}) as host:
        host.pump(host.shows("in $"))
        host.type(b"echo pid=$$ >shell; tty -s && echo has a $((1 + 1))tty\n")
        host.pump(host.shows("has a 2tty"))
        pid = int((Path(agent.worktree) / "shell").read_text().removeprefix("pid="))
        assert pid == host.process.pid
        assert pid not in processes_of(agent)
        host.type(b"exit 3\n")
        assert host.pump_until_ended() == 3


def test_a_shell_that_cannot_run_is_one_line(cli: Cli, pool: AgentPool) -> None:
    ran = cli.script("shell", pool.take().name, env={"SHELL": "/nowhere/fancy"})

    assert ran.code == 3
    assert "cannot run /nowhere/fancy" in ran.complaint
    assert ran.complaint.endswith("(set SHELL to a shell that is installed)")
