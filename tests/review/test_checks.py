"""Checks of agents' work: real commands in real terminals, and every way in which they end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import Refused, Untrusted
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_holder
from fleet_tui.models import Agent
from fleet_tui.review import check_folder, checks
from fleet_tui.system import processes
from fleet_tui.work import CheckRun, CheckState
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git.repositories import commit
from tests.holder.holders import wait_until
from tests.places import AGENTS

__all__ = ["fleet", "module_pool", "pool"]

SECONDS = 30.0


@pytest.fixture(autouse=True)
def own_settings(pool: AgentPool) -> Iterator[None]:
    """Each test sets its own command in the user's file."""
    file = paths.user_config()
    before = file.read_text() if file.exists() else ""
    yield
    file.write_text(before)


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    return pool.take("shell", "exec sleep 1000")


def check_with(command: str, **more: int) -> None:
    """Make this the user's check command."""
    settings = "".join(f"{name} = {value}\n" for name, value in more.items())
    file = paths.user_config()
    before = file.read_text() if file.exists() else ""
    quoted = command.replace("\\", "\\\\").replace('"', '\\"')
    file.write_text(f'{before}\n[land]\ncheck = "{quoted}"\n{settings}')


def checked(fleet: Fleet, agent: Agent) -> CheckRun:
    return fleet.checks.wait(fleet.checks.start([agent]), seconds=SECONDS)[0]


def script(name: str, *arguments: object) -> str:
    return " ".join([sys.executable, "-S", str(AGENTS / f"{name}.py"), *map(str, arguments)])


def wait_for_output(fleet: Fleet, agent: Agent, text: str) -> None:
    wait_until(lambda: any(text in line for line in fleet.checks.output(agent)), f"output {text!r}")


def alive(pids: Path) -> list[int]:
    """Those of the processes in this file that still run; the pid is the last word of a line."""
    found = (processes.look_up(int(line.split()[-1])) for line in pids.read_text().splitlines())
    return [one.pid for one in found if one is not None and one.is_alive]


# ── how a check ends ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_check_whose_command_succeeds_is_green(fleet: Fleet, agent: Agent) -> None:
    check_with("test -t 1 && pwd && echo '=== 214 passed, 3 skipped in 2.5s ==='")

    run = checked(fleet, agent)

    assert (run.state, run.is_green, run.exit_code) == (CheckState.PASSED, True, 0)
    assert run.summary == "214 passed, 3 skipped"
    assert agent.worktree in fleet.checks.output(agent)
    assert fleet.checks.runs([agent]) == {agent.id: run}


def test_a_check_whose_command_fails_is_red(fleet: Fleet, agent: Agent) -> None:
    check_with("echo 'E  assert 1 == 2'; false && echo never")

    run = checked(fleet, agent)

    assert (run.state, run.exit_code, run.summary) == (CheckState.FAILED, 1, "E assert 1 == 2")


@pytest.mark.parametrize("command", ["no-such-command --all", "./readme.txt"])
def test_a_command_that_cannot_be_run_is_not_red(fleet: Fleet, agent: Agent, command: str) -> None:
    check_with(command)

    run = checked(fleet, agent)

    assert run.state is CheckState.NOT_STARTED
    assert command.split()[0] in run.summary


def test_a_worktree_that_is_gone_is_no_failed_check(fleet: Fleet, agent: Agent, tmp_path: Path) -> None:
    check_with("true")
    settings = fleet.checks.settings(agent)

    run = checks.run_in(fleet.store, agent, settings, folder=tmp_path / "gone", tree="a" * 40, onto="b" * 40)

    assert run.state is CheckState.NOT_STARTED
    assert "gone" in run.note


def test_a_check_has_an_environment_of_its_own(fleet: Fleet, agent: Agent) -> None:
    check_with(
        "echo port=$FLEET_PORT base=$FLEET_PORT_BASE term=$TERM; echo x >$TMPDIR/file; ls -ld $TMPDIR; nice"
    )

    run = checked(fleet, agent)

    output = "\n".join(fleet.checks.output(agent))
    assert f"base={agent.port_base} term=xterm-256color" in output
    assert "drwx------" in output
    assert not check_folder.temporary(run).exists()
    assert int(output.splitlines()[-1]) >= 10


def test_only_what_the_last_run_printed_is_kept_in_bounds(fleet: Fleet, agent: Agent) -> None:
    check_with("seq 1 300000; echo '3 passed'")

    run = checked(fleet, agent)

    assert (run.state, run.summary) == (CheckState.PASSED, "3 passed")
    assert fleet.checks.output(agent, lines=2) == ["300000", "3 passed"]
    folder = check_folder.of(run)
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 20 << 20


def test_a_check_of_merged_work_runs_in_the_given_folder_and_does_not_count_for_the_worktree(
    fleet: Fleet, agent: Agent, tmp_path: Path
) -> None:
    check_with("pwd; echo made >made.txt")
    states: list[CheckState] = []

    run = checks.run_in(
        fleet.store, agent, fleet.checks.settings(agent), folder=tmp_path, tree="a" * 40, onto="b" * 40,
        on_change=lambda run: states.append(run.state),
    )  # fmt: skip

    assert run.is_green
    assert states[-1] is CheckState.PASSED
    assert checks.output(run, 1) == [str(tmp_path)]
    assert (run.onto, run.note, fleet.checks.runs([agent])) == ("b" * 40, "", {})


def test_a_check_of_merged_work_can_be_cancelled(fleet: Fleet, agent: Agent, tmp_path: Path) -> None:
    check_with(f"echo begun >{tmp_path}/begun; exec sleep 1000")

    run = checks.run_in(
        fleet.store, agent, fleet.checks.settings(agent), folder=tmp_path, tree="a" * 40, onto="b" * 40,
        is_cancelled=lambda: (tmp_path / "begun").exists(),
    )  # fmt: skip

    assert run.state is CheckState.CANCELLED


# ── bounds ──────────────────────────────────────────────────────────────────────────────────────────────────────


def limited(fleet: Fleet, agent: Agent, seconds: float) -> CheckRun:
    settings = replace(fleet.checks.settings(agent), minutes=seconds / 60)
    return checks.start(fleet.store, [agent], settings)[0]


@pytest.mark.slow
def test_a_check_that_hangs_is_ended_with_all_that_it_has_started(
    fleet: Fleet, agent: Agent, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    # A shell starts sooner than Python does on a busy machine.
    hang = f"sh -c 'echo $$ >>{pids}; exec sleep 1000'"
    check_with(f"{hang} & setsid {hang} & (setsid {hang} &); {hang}")

    run = fleet.checks.wait([limited(fleet, agent, 1.5)], seconds=SECONDS)[0]

    assert run.state is CheckState.TIMED_OUT
    assert len(pids.read_text().split()) == 4
    assert alive(pids) == []


@pytest.mark.slow
def test_a_check_that_ignores_signals_is_killed(fleet: Fleet, agent: Agent) -> None:
    check_with(script("stubborn"))

    run = fleet.checks.wait([limited(fleet, agent, 4.0)], seconds=SECONDS)[0]

    assert run.state is CheckState.TIMED_OUT
    assert any("no to SIGTERM" in line for line in fleet.checks.output(agent))


def test_no_more_checks_run_at_once_than_the_user_allows(
    fleet: Fleet, pool: AgentPool, tmp_path: Path
) -> None:
    agents = [pool.take("shell", "exec sleep 1000") for _ in range(2)]
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    check_with(f"echo begun; cat {gate}", checks_at_once=1)

    first, second = fleet.checks.start(agents)
    wait_for_output(fleet, agents[0], "begun")

    states = [run.state for run in fleet.checks.wait([first, second], seconds=0)]
    assert states == [CheckState.RUNNING, CheckState.WAITING]
    gate.write_text("go\n")
    wait_for_output(fleet, agents[1], "begun")
    gate.write_text("go\n")
    assert all(run.is_green for run in fleet.checks.wait([first, second], seconds=SECONDS))


# ── ended by somebody ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_cancelled_check_leaves_nothing_running(fleet: Fleet, agent: Agent, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    check_with(script("escapes", pids))
    fleet.checks.start([agent])
    wait_until(lambda: pids.exists() and len(pids.read_text().splitlines()) == 5, "five escaped processes")

    (run,) = fleet.checks.cancel([agent])

    assert run.state is CheckState.CANCELLED
    assert alive(pids) == []


def test_a_check_that_waits_can_be_cancelled(fleet: Fleet, pool: AgentPool) -> None:
    agents = [pool.take("shell", "exec sleep 1000") for _ in range(2)]
    check_with("echo begun; exec sleep 1000", checks_at_once=1)
    fleet.checks.start(agents)
    wait_for_output(fleet, agents[0], "begun")

    cancelled = fleet.checks.cancel(agents)

    assert [run.state for run in cancelled] == [CheckState.CANCELLED] * 2
    assert fleet.checks.output(agents[1]) == []


@pytest.mark.slow
def test_a_check_survives_its_runner_and_keeps_its_time_limit(fleet: Fleet, agent: Agent) -> None:
    check_with("echo begun; sleep 1000")
    run = limited(fleet, agent, 2.0)
    wait_for_output(fleet, agent, "begun")

    os.kill(runner_of(run), signal.SIGKILL)

    found = fleet.checks.wait([run], seconds=SECONDS)[0]
    assert found.state is CheckState.TIMED_OUT


def test_a_check_whose_holder_and_runner_are_killed_says_so(fleet: Fleet, agent: Agent) -> None:
    check_with("echo begun; sleep 1000")
    (run,) = fleet.checks.start([agent])
    wait_for_output(fleet, agent, "begun")
    holder = read_holder(check_folder.run(run))
    assert holder is not None

    os.kill(runner_of(run), signal.SIGKILL)
    os.kill(holder.keeper_pid, signal.SIGKILL)

    found = fleet.checks.wait([run], seconds=SECONDS)[0]
    assert (found.state, found.note) == (CheckState.CANCELLED, "its runner was killed")
    os.kill(holder.pid, signal.SIGKILL)


def test_killing_an_agent_ends_its_check_first(fleet: Fleet, agent: Agent) -> None:
    check_with("echo begun; exec sleep 1000")
    (run,) = fleet.checks.start([agent])
    wait_for_output(fleet, agent, "begun")

    fleet.kill([agent], grace=0.2)

    found = fleet.checks.wait([run], seconds=0)[0]
    assert (found.state, found.note) == (CheckState.CANCELLED, "the agent was killed")


def runner_of(run: CheckRun) -> int:
    """The runner of a check: the process besides its holder that has its lock open."""
    holder = read_holder(check_folder.run(run))
    assert holder is not None
    lock = str(check_folder.lock(run))
    return next(
        pid
        for pid in processes.snapshot()
        if pid not in (holder.keeper_pid, os.getpid())
        and any(target == lock for _, target in processes.open_descriptors(pid))
    )


# ── what it counts for ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_check_counts_only_for_the_files_that_it_ran_on(fleet: Fleet, agent: Agent) -> None:
    check_with("true")
    run = checked(fleet, agent)
    assert run.counts_for(checks.current_tree(fleet.store, agent))

    commit(Path(agent.worktree), {"more.txt": "more\n"})

    assert not run.counts_for(checks.current_tree(fleet.store, agent))


@pytest.mark.slow
def test_a_check_that_writes_into_the_worktree_of_an_agent_at_rest_still_counts(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = pool.take("shell", "true")
    wait_until(lambda: not is_held(fleet.lock_file(agent)), "the end of the agent")
    check_with("echo x >report.xml")

    run = checked(fleet, agent)

    assert run.note == "the check changed report.xml"
    assert run.counts_for(checks.current_tree(fleet.store, agent))


def test_what_a_working_agent_changes_during_its_check_was_not_checked(
    fleet: Fleet, pool: AgentPool, tmp_path: Path
) -> None:
    agent = pool.take("shell", "while sleep 0.1; do echo at work; done", together=1)
    check_with("echo x >report.xml")

    run = checked(fleet, agent)

    assert run.note == "files changed while it ran: report.xml"
    assert not run.counts_for(checks.current_tree(fleet.store, agent))


# ── whether it may run ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_of_a_project_is_not_run_before_it_is_trusted(
    fleet: Fleet, pool: AgentPool, agent: Agent, tmp_path: Path
) -> None:
    file = paths.project_config(pool.project)
    file.parent.mkdir()
    file.write_text(f'[land]\ncheck = "touch {tmp_path}/ran"\n')
    try:
        with pytest.raises(Untrusted, match=r"land\.check"):
            fleet.checks.start([agent])
        assert "land.check" in fleet.checks.missing([agent])
        assert not (tmp_path / "ran").exists()

        asked = fleet.trust.asked(agent)
        assert asked is not None
        assert [(line.verb, line.text) for line in asked.lines] == [("check", f"touch {tmp_path}/ran")]
        fleet.trust.accept(asked)

        assert checked(fleet, agent).is_green
        assert (tmp_path / "ran").exists()
    finally:
        file.unlink()
        file.parent.rmdir()


def test_a_project_without_a_command_is_not_checked(fleet: Fleet, agent: Agent) -> None:
    with pytest.raises(Refused, match="no check command"):
        fleet.checks.start([agent])


@pytest.mark.slow
def test_only_the_newest_runs_of_an_agent_are_kept(fleet: Fleet, agent: Agent) -> None:
    check_with("true")

    runs = [checked(fleet, agent) for _ in range(4)]

    kept = sorted(folder.name for folder in (paths.agent(agent.id) / "checks").iterdir())
    assert kept == sorted(run.id for run in runs[1:])
