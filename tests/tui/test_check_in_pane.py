"""The check of an agent's work in the agent's own pane, live."""

from __future__ import annotations

from pathlib import Path

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from tests.tui.running_dashboard import drive, opened


def test_a_pane_shows_the_check_live_and_the_agent_again(fleet: Fleet, repository: Path) -> None:
    agent = fleet.create("worker", profile="shell", prompt="echo the agent; exec cat")
    (Path(agent.worktree) / "new.txt").write_text("new\n")
    with paths.user_config().open("a") as settings:
        settings.write('\n[land]\ncheck = "echo the check; read line; echo got $line"\n')

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await driven.until(lambda: "the agent" in driven.text(), "the agent's screen")
            await driven.press("C")
            await driven.until(lambda: "has not been checked" in driven.toasts(), "what to do")
            fleet.checks.start([agent])
            await driven.press("C")
            await driven.until(lambda: "the check" in driven.text(), "the check's screen")
            assert "CHECK" in driven.text()
            await driven.press("C")
            await driven.until(lambda: "CHECK" not in driven.text(), "the agent again")
            await driven.until(lambda: "the agent" in driven.text(), "the agent's screen")
            await driven.press("C")
            await driven.until(lambda: "CHECK" in driven.text(), "the check's screen")

            await driven.press("i")
            await driven.until(lambda: "TYPING" in driven.text(), "typing")
            await driven.write("for the agent\n")
            await driven.until(lambda: driven.text().count("for the agent") > 1, "the agent echoes it")
            assert "CHECK" not in driven.text()
            fleet.checks.cancel([agent])

    drive(go())
