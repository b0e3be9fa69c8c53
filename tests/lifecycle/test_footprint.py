"""A fleet that was created and removed leaves the user's home and repository unchanged, byte for byte."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests import scripted
from tests.holder.holders import wait_until
from tests.real.homes import changed, contents

OUR_REFS = (
    ".git/worktrees/", ".git/refs/heads/", ".git/logs/refs/heads/", ".git/refs/fleet/", ".git/logs/refs/fleet/",
    ".git/objects/",
)  # fmt: skip
"""What agents are given of a repository: worktrees, branches, and the work that is saved before it is deleted."""


def is_asking(fleet: Fleet, agent: str) -> bool:
    return fleet.find(agent).status is Status.BLOCKED


def test_nothing_differs_after_agents_have_worked_asked_and_been_killed(
    fleet: Fleet, home: Path, repository: Path
) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"theme": "dark"}')
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "x"\n')
    before, project = contents(home), contents(repository)
    command = scripted.agent("chooses", "permission", "go?", "Yes", "No")

    agents = [
        fleet.create(name, profile="shell", prompt=f"exec {shlex.join(command)}") for name in ("one", "two")
    ]
    for agent in agents:
        wait_until(partial(is_asking, fleet, agent.id))
        fleet.prompts.send(agent, "and then")
        fleet.answer(agent, "1")
    wait_until(lambda: all((Path(agent.worktree) / "prompts").exists() for agent in agents), seconds=20)
    fleet.kill(agents, delete_branch=True)
    list(fleet.trash.empty(fleet.trash.agents()))

    assert changed(before, contents(home)) == []
    assert [name for name in changed(project, contents(repository)) if not name.startswith(OUR_REFS)] == []
