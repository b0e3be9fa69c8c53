"""The dashboard on a worktree whose `.git` an agent has replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from tests.git import traps
from tests.git.planted import planted, planter
from tests.tui.running_dashboard import drive, opened


@pytest.mark.parametrize("is_inside", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_dashboard_shows_that_a_git_file_was_changed_and_runs_nothing_it_leads_to(
    fleet: Fleet, repository: Path, tmp_path: Path, is_inside: bool
) -> None:
    trap = traps.lay(tmp_path / "trap")
    planter(trap.program.parent, trap)
    agent = planted(fleet, "fix")

    async def go(start: Path) -> None:
        async with opened(start, size=(140, 40)) as driven:
            await driven.until(lambda: driven.status("fix"), "the agent is listed")
            await driven.until(lambda: driven.dashboard.view.live.link_problems, "its link is looked at")
            await driven.until(lambda: "! .git" in driven.text(), "it is shown in place of its changes")

    drive(go(Path(agent.worktree) if is_inside else repository))
    assert not trap.has_sprung
    assert fleet.worktrees.link_problems([agent]) == {agent.id: "its .git was changed"}
