"""A review of real work: a repository, an agent, git, the worker, the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from fleet_tui.tui.review.review_dialogs import SendDialog
from fleet_tui.tui.review.screen import ReviewScreen
from tests.conftest import git
from tests.tui.running_dashboard import Driven, drive, opened

ECHO = "while read line; do echo got $line; done"
OLD = "".join(f"line {number}\n" for number in range(1, 81))


def worked(fleet: Fleet, repository: Path) -> tuple[Agent, Path]:
    """An agent that has changed a committed file and made another."""
    (repository / "src").mkdir()
    (repository / "src" / "old.txt").write_text(OLD)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "files")
    agent = fleet.create("worker", profile="shell", prompt=ECHO)
    tree = Path(agent.worktree)
    (tree / "src" / "old.txt").write_text(OLD.replace("line 40\n", "line forty\n"))
    (tree / "new.py").write_text("def new():\n    return 1\n")
    git(tree, "add", "new.py")
    git(tree, "commit", "-qm", "new")
    return agent, tree


async def opened_review(driven: Driven) -> ReviewScreen:
    await driven.until(lambda: driven.status("worker"), "the agent is listed")
    await driven.press("d")
    await driven.until(lambda: "line forty" in driven.text(), "the diff")
    screen = driven.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


def test_a_review_marks_comments_sends_and_follows_the_agent(fleet: Fleet, repository: Path) -> None:
    agent, tree = worked(fleet, repository)

    async def go() -> None:
        async with opened(repository, size=(160, 45)) as driven:
            screen = await opened_review(driven)
            assert "2 files" in driven.text()
            assert "into main" in driven.text()

            await driven.press("l", "c")
            await driven.write("why not forty-one?")
            await driven.press("enter")
            await driven.until(lambda: "you on line 40, not sent" in driven.text(), "the comment")

            (tree / "src" / "old.txt").write_text("top\n" + OLD.replace("line 40\n", "line forty\n"))
            await driven.until(
                lambda: "you on line 41, not sent" in driven.text(), "the comment moves with its line"
            )
            assert screen.view.number == 41

            await driven.press("C")
            await driven.until(lambda: isinstance(driven.app.screen, SendDialog), "the prompt is shown")
            assert "why not forty-one?" in driven.text()
            await driven.press("enter")
            await driven.until(lambda: "round 1" in driven.text(), "the comment is sent")
            await driven.until(
                lambda: "sent to worker" in driven.toasts() or "queued" in driven.toasts(), "the receipt"
            )

            (tree / "src" / "old.txt").write_text("top\n" + OLD.replace("line 40\n", "line 41\n"))
            await driven.until(lambda: "✓ changed since" in driven.text(), "the comment is handled")

            await driven.press("space")
            await driven.until(lambda: "1 of 2 read" in driven.text(), "the mark")
            await driven.until(lambda: "return 1" in driven.text(), "the next file")
            assert "new.py" in driven.text()

    drive(go())
    [comment] = fleet.review.comments(agent)
    assert comment.is_sent
    assert comment.handled_at is not None

    async def again() -> None:
        async with opened(repository, size=(160, 45)) as driven:
            await driven.until(lambda: driven.status("worker"), "the agent is listed")
            await driven.press("d")
            await driven.until(lambda: "1 of 2 read" in driven.text(), "marks survive a restart")

    drive(again())


@pytest.mark.slow
def test_an_agent_that_is_killed_meanwhile_is_still_shown_from_the_trash(
    fleet: Fleet, repository: Path
) -> None:
    agent, _ = worked(fleet, repository)

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await opened_review(driven)
            fleet.kill([agent], grace=0.2)
            await driven.until(lambda: "killed: this is what it had" in driven.text(), "that it was killed")
            assert "line forty" in driven.text()
            await driven.press("escape")
            assert driven.app.screen is driven.dashboard

    drive(go())
