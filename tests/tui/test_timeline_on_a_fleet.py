"""The timeline of a real agent: git, the worker and the store."""

from __future__ import annotations

from pathlib import Path

from fleet_tui.fleet import Fleet
from fleet_tui.tui.dialogs.confirm import Confirm
from tests.tui.running_dashboard import drive, opened


def test_checkpoints_are_made_and_restored_from_the_dashboard(fleet: Fleet, repository: Path) -> None:
    agent = fleet.create("worker", profile="shell", prompt="exec sleep 1000")
    fleet.stop([agent])
    file = Path(agent.worktree, "new.py")
    file.write_text("first = 1\n")

    async def go() -> None:
        async with opened(repository, size=(160, 60)) as driven:
            await driven.until(lambda: driven.status("worker"), "the agent is listed")
            await driven.press("H")
            await driven.until(lambda: "not saved yet: new.py" in driven.text(), "the files now")
            await driven.press("c")
            await driven.until(lambda: "1 checkpoint " in driven.text(), "a checkpoint")
            file.write_text("second = 2\n")
            await driven.press("g", "j")
            await driven.until(lambda: "first = 1" in driven.text(), "its lines")
            await driven.press("R")
            await driven.until(lambda: isinstance(driven.app.screen, Confirm), "the question")
            await driven.press("y")
            await driven.until(lambda: "what was there is checkpoint 2" in driven.toasts(), "the restore")
            await driven.until(lambda: "↺ restored" in driven.text(), "its row")
            await driven.press("escape")
            await driven.until(lambda: "↺ restored 1" in driven.text(), "the detail panel shows it, too")

    drive(go())
    assert file.read_text() == "first = 1\n"
    assert [str(one.kind) for one in fleet.checkpoints.all(agent)] == ["named", "saved", "restored"]
