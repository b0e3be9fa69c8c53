"""`fleet conflicts`: who does not merge, in lines for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import Cli, cli
from tests.git.repositories import call, commit

__all__ = ["cli", "fleet", "module_pool", "pool", "project"]


@pytest.mark.slow
def test_without_conflicts_it_says_what_was_compared(cli: Cli, pool: AgentPool) -> None:
    agent = pool.take()
    assert "no conflicts: " in cli.ok("conflicts", agent.name)
    assert "no agent matches 'nobody'" in cli("conflicts", "nobody").complaint


def test_it_names_the_two_the_files_the_lines_and_what_merges(
    cli: Cli, fleet: Fleet, pool: AgentPool
) -> None:
    source = "def first():\n    a = 1\n    return a\n\n\ndef second():\n    return 2\n"
    commit(pool.project, {"code.py": source, "shared.txt": "1\n2\n3\n4\n5\n"})
    one, other, third = pool.take(), pool.take(), pool.take()
    for agent, value, shared in ((one, "10", "0\n1\n2\n3\n4\n5\n"), (other, "20", "1\n2\n3\n4\n5\n6\n")):
        worktree = Path(agent.worktree)
        call(worktree, "merge", "-q", "--no-edit", "main")
        (worktree / "code.py").write_text(source.replace("a = 1", f"a = {value}"))
        (worktree / "shared.txt").write_text(shared)
    (Path(third.worktree) / "own.txt").write_text("x\n")

    lines = cli.ok("conflicts").splitlines()

    assert lines[0].startswith(f"{one.name} ≠ {other.name}  since ")
    assert lines[1].split(maxsplit=1) == ["code.py", "2 first()"]
    assert lines[2] == f"{one.name} and {other.name} both changed shared.txt; it merges"
    assert cli.ok("conflicts", other.name).startswith(f"{other.name} ≠ {one.name}")
    assert "no conflicts" in cli.ok("conflicts", third.name)


def test_the_base_branch_is_named_and_odd_names_are_harmless(cli: Cli, fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take()
    odd = "x\x1b[31m\ny.txt"
    (Path(agent.worktree) / odd).write_text("agent\n")
    commit(pool.project, {odd: "base\n"})

    out = cli.ok("conflicts", agent.name)

    assert out.startswith(f"{agent.name} ≠ main  since ")
    assert "\x1b" not in out
    assert "both added it" in out
