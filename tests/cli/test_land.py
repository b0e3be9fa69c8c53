"""`fleet land`: what it shows, asks, does and prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import Cli, cli
from tests.fleet.test_landing import configure, on_main, take, tip
from tests.git.repositories import call, commit

__all__ = ["cli", "fleet", "module_pool", "on_main", "pool", "project"]


def conflicting(pool: AgentPool, project: Path) -> Agent:
    commit(project, {"both.py": "def f():\n    a = 1\n"})
    agent = take(pool, {"both.py": "def f():\n    a = 2\n"})
    commit(project, {"both.py": "def f():\n    a = 3\n"})
    return agent


def test_a_dry_run_shows_the_steps_and_changes_nothing(cli: Cli, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})
    (Path(agent.worktree) / "two.py").write_text("b\n")
    moved = commit(project, {"main.py": "c\n"}, "Move main")

    said = cli.ok("land", agent.name, "--dry-run", "--strategy", "squash")

    assert [line for line in said.splitlines() if "is still working" not in line] == [
        f"{agent.name} into main: 2 files +2 −0, no conflicts",
        "  1 Commit what is not committed",
        "      A two.py",
        "  2 Bring in main  moved by 1 since the branch",
        f"      {moved[:7]} Move main",
        "      ✓ merges clean, tried in memory",
        "  3 One commit on main",
        "  4 Update your main worktree  ✓ nothing is changed there",
        "  5 Tidy up  fleet undo brings all of it back",
        "      agent stopped, worktree to the trash, branch removed",
        "  message of the one commit:",
        f"      Work of {agent.name}",
        "      ",
        f"      Fleet-Agent: {agent.name} (echoer)",
        "  files:",
        "      A one.py  +1 −0",
        "      A two.py  +1 −0  not committed",
        "  ! nothing is checked first: land.check names no command, or it was left out",
    ]
    assert tip(project) == moved
    assert call(Path(agent.worktree), "status", "--porcelain") == "?? two.py"


def test_it_asks_first_and_names_the_flag_without_a_terminal(
    cli: Cli, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})

    ran = cli("land", agent.name)

    assert ran.code == 2
    assert ran.complaint == (
        f"fleet: cannot ask without a terminal: Land {agent.name} without a check? (confirm with --yes)"
    )
    assert not (project / "one.py").exists()


def test_it_lands_says_where_and_undo_takes_it_back(
    cli: Cli, fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    old = tip(project)

    ran = cli("land", agent.name, "--yes", "-m", "Add one")

    assert ran.code == 0
    assert ran.out == f"{agent.name}  landed on main as {tip(project)[:10]}\n"
    assert ran.err.splitlines() == [
        f"{agent.name}  ✓ merges clean", f"{agent.name}  ✓ branch moved", f"{agent.name}  ✓ tidied up",
        "fleet undo takes it back",
    ]  # fmt: skip
    assert call(project, "log", "-1", "--format=%s") == "Add one"
    assert f"main is back at {old[:10]}" in cli.ok("undo", agent.name)
    assert tip(project) == old
    assert fleet.current(agent).status is Status.STOPPED


def test_a_conflict_prints_its_lines_and_the_prompt(cli: Cli, pool: AgentPool, project: Path) -> None:
    agent = conflicting(pool, project)

    ran = cli("land", agent.name)

    assert ran.code == 14
    assert "    ✗ both.py  both changed" in ran.out.splitlines()
    for line in ("line 2  f()", "main:", "    a = 3", f"{agent.name}:", "    a = 2", "before:"):
        assert line.strip() in [one.strip() for one in ran.out.splitlines()]
    assert f"fleet land {agent.name} --give-back sends this prompt:" in ran.out
    assert "Resolve both.py (lines 2, in f())." in ran.out
    assert ran.complaint == "fleet: 1 file conflicts with main: both.py (nothing was changed)"


@pytest.mark.slow
def test_a_dry_run_has_the_exit_code_of_the_landing(cli: Cli, pool: AgentPool, project: Path) -> None:
    agent = conflicting(pool, project)
    before = tip(project)

    for options in ([], ["--json"]):
        ran = cli("land", agent.name, "--dry-run", *options)
        assert (ran.code, tip(project)) == (14, before)
        assert ran.complaint.startswith(f"fleet: {agent.name}: 1 file conflicts with main: both.py")


def test_a_conflict_is_given_back_as_a_prompt(cli: Cli, fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = conflicting(pool, project)

    ran = cli("land", agent.name, "--give-back")

    assert ran.code == 14
    [receipt] = [one for one in fleet.prompts.receipts(agent) if "Resolve both.py" in one.text]
    assert receipt.id in ran.complaint


@pytest.mark.slow
def test_a_red_check_has_its_own_exit_code(cli: Cli, pool: AgentPool, project: Path) -> None:
    configure('[land]\ncheck = "echo 3 failed; false"\n')
    agent = take(pool, {"one.py": "a\n"})

    ran = cli("land", agent.name, "--yes")

    assert ran.code == 15
    assert ran.err.splitlines()[-1].startswith(
        f"fleet: {agent.name} was not landed: the check did not pass: 3 failed"
    )
    assert "    3 failed" in ran.out.splitlines()
    assert not (project / "one.py").exists()
    assert cli("land", agent.name, "--yes", "--no-check").code == 0


@pytest.mark.slow
def test_json_of_a_landing_and_of_one_that_was_stopped(cli: Cli, pool: AgentPool, project: Path) -> None:
    agent, other = take(pool, {"one.py": "a\n"}), take(pool, {"one.py": "b\n"})

    ran = cli("land", agent.name, other.name, "--yes", "--json")

    assert ran.code == 14
    found = json.loads(ran.out)
    assert [one["agent"] for one in found["landings"]] == [agent.id]
    assert (found["agent"], found["stopped"]["kind"]) == (other.id, "conflict")
    assert [one["path"] for one in found["conflicts"]] == ["one.py"]


@pytest.mark.slow
def test_the_message_is_edited_in_the_users_editor(
    cli: Cli, pool: AgentPool, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i "1s/.*/Edited subject/" "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))

    cli.ok("land", agent.name, "--yes", "--edit", "-s", "squash")

    assert call(project, "log", "-1", "--format=%s") == "Edited subject"
    monkeypatch.setenv("EDITOR", "false")
    other = take(pool, {"two.py": "a\n"})
    assert cli("land", other.name, "--yes", "--edit").complaint.startswith("fleet: no message")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["{}", "{}"], 2, "is named twice"),
        (["{}", "--into", "no-such-branch"], 4, "there is no branch 'no-such-branch'"),
        (["{}", "--stop"], 4, "nothing is being landed"),
        (["{}", "-m", "x", "--edit"], 2, "--edit is for one agent"),
        (["{}", "-m", ""], 2, "--message is empty"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, pool: AgentPool, words: list[str], code: int, said: str) -> None:
    agent = take(pool, {"one.py": "a\n"})

    ran = cli("land", *(word.format(agent.name) for word in words))

    assert ran.code == code
    assert said in ran.complaint


def test_several_agents_take_no_common_message(cli: Cli, pool: AgentPool) -> None:
    one, other = take(pool, {"one.py": "a\n"}), take(pool, {"two.py": "a\n"})

    assert "one message cannot be that of several" in cli("land", one.name, other.name, "-m", "x").complaint
