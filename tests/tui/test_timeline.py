"""The timeline: what its keys do, on a timeline made by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from fleet_tui.errors import Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.tui.dialogs.confirm import Confirm, ConfirmInput
from fleet_tui.tui.review import timeline as timeline_screen
from fleet_tui.tui.review.review_dialogs import ReviewHelp
from fleet_tui.tui.review.timeline import TimelineScreen
from fleet_tui.work import Timeline
from tests.tui.dashboard_app import StageApp, until
from tests.tui.keyboard import Keyboard
from tests.tui.review_states import AGENT
from tests.tui.timeline_states import TIMELINE, TimelineWorker


class Open:
    """An open timeline and a keyboard for it."""

    def __init__(self, app: StageApp, worker: TimelineWorker, pilot: Pilot[None]) -> None:
        self.app = app
        self.worker = worker
        self.pilot = pilot

    @property
    def screen(self) -> TimelineScreen:
        return next(one for one in self.app.screen_stack if isinstance(one, TimelineScreen))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)
        await self.pilot.pause()

    def text(self) -> str:
        return "\n".join(row.text for row in self.app.screen._compositor.render_strips())

    def toasts(self) -> str:
        return "\n".join(f"{toast.title} {toast.message}" for toast in self.app._notifications)

    def asked(self, name: str) -> list[tuple[object, ...]]:
        return [(*call[2:-1], call[-1]) for call in self.worker.asked if call[0] == f"checkpoints.{name}"]


Go = Callable[[Open], Awaitable[None]]


def opened(
    go: Go, worker: TimelineWorker | None = None, *, size: tuple[int, int] = (120, 40), waits_for: str = "Refresh path"
) -> None:  # fmt: skip
    async def run() -> None:
        made = worker or TimelineWorker()
        app = StageApp(worker=made)
        async with app.run_test(size=size, notifications=True):
            keyboard = Keyboard(app)
            await keyboard.pause()
            app.dashboard.view.select(AGENT)
            await keyboard.press("H")
            found = Open(app, made, keyboard)
            await found.until(lambda: waits_for in found.text())
            await go(found)

    asyncio.run(run())


@pytest.fixture(autouse=True)
def lively(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_screen, "LIVE_SECONDS", 0.02)


def test_it_opens_on_the_newest_checkpoint_with_what_that_changed() -> None:
    async def go(found: Open) -> None:
        await found.until(lambda: "def test_it" in found.text() or "SessionError" in found.text() or "signer" in found.text())  # fmt: skip
        shown = found.text()
        assert "timeline  refactor-auth-A" in shown
        assert "7 checkpoints" in shown
        assert "kept 14 days" in shown
        assert "not saved yet: session.py" in shown
        assert "✓ 214 passed" in shown
        assert "left behind by a restore" in shown
        assert "what was there is" in shown
        assert "not in it: dump.sql" in shown
        assert found.asked("lines")[0] == (7, {"against": ""})
        await found.press("escape")
        assert found.app.screen is found.app.dashboard

    opened(go)


def test_the_selection_leads_the_diff() -> None:
    async def go(found: Open) -> None:
        await found.press("j")
        await found.until(lambda: "LIMIT_1 = 1" in found.text())
        await found.press("j")
        await found.until(lambda: "both have the same files" in found.text())
        await found.press("g")
        await found.until(lambda: (7, {"against": "now"}) in found.asked("lines"))
        await found.press("G", "k")
        row = found.screen.row
        assert row is not None
        assert row.number == 1

    opened(go)


def test_two_marked_ones_and_the_start_are_compared() -> None:
    async def go(found: Open) -> None:
        await found.press("=")
        assert "mark two" in found.toasts()
        await found.press("space", "j", "j", "j", "space", "=")
        await found.until(lambda: (7, {"against": "4"}) in found.asked("lines"))
        await found.until(lambda: "against turn 3" in found.text())
        await found.press("k", "k", "k", "b")
        await found.until(lambda: (7, {"against": "base"}) in found.asked("lines"))
        await found.until(lambda: "against its start" in found.text())
        await found.press("g", "space", "j", "space", "j", "space", "=")
        await found.until(lambda: (7, {"against": "6"}) in found.asked("lines"))

    opened(go)


def test_restoring_asks_first_and_says_what_was_saved() -> None:
    async def go(found: Open) -> None:
        await found.press("j", "R")
        await found.until(lambda: isinstance(found.app.screen, Confirm))
        assert "saved as a checkpoint first" in found.text().replace("\n", " ")
        assert "may be writing files" in found.text()
        await found.press("escape")
        assert found.asked("restore") == []
        await found.press("R", "y")
        await found.until(lambda: "what was there is checkpoint 7" in found.toasts())
        assert found.asked("restore") == [(6, {"force": True})]
        assert "submodules stay: lib" in found.toasts()
        await found.until(lambda: "restored" in found.text())

    opened(go)


def test_a_refusal_is_shown_and_changes_nothing() -> None:
    class Refusing(TimelineWorker):
        def _restore(self, number: int, *, force: bool) -> None:  # type: ignore[override] # it never returns
            raise Refused("refactor-auth-A is in the middle of a merge", hint="finish it")

    async def go(found: Open) -> None:
        await found.press("R", "y")
        await found.until(lambda: "in the middle of a merge" in found.toasts())
        assert "turn 5" in found.text()

    opened(go, Refusing())


def test_a_checkpoint_is_made_and_named() -> None:
    async def go(found: Open) -> None:
        await found.press("c")
        await found.until(lambda: "8 checkpoints" in found.text())
        await found.press("g", "r")
        await found.until(lambda: isinstance(found.app.screen, ConfirmInput))
        await found.press(*"good", "enter")
        await found.until(lambda: "you: good" in found.text())
        assert found.asked("rename") == [(8, "good", {})]

    opened(go)


@pytest.mark.slow
def test_fork_asks_for_a_name_and_starts_from_the_checkpoint() -> None:
    async def go(found: Open) -> None:
        await found.press("F")
        await found.until(lambda: isinstance(found.app.screen, ConfirmInput))
        assert "from checkpoint 7" in found.text()
        await found.press("enter")
        await found.until(lambda: any(call[0] == "fork" for call in found.worker.asked))
        [call] = [call for call in found.worker.asked if call[0] == "fork"]
        assert call[-1]["checkpoint"] == 7

    opened(go)


def test_new_checkpoints_appear_and_the_selection_stays() -> None:
    async def go(found: Open) -> None:
        await found.press("j", "j")
        before = found.screen.row
        found.worker._make()
        await found.until(lambda: "8 checkpoints" in found.text())
        after = found.screen.row
        assert before is not None
        assert after is not None
        assert before.number == after.number

    opened(go)


def test_without_checkpoints_it_says_how_one_is_made() -> None:
    async def go(found: Open) -> None:
        assert "start" in found.text()
        await found.press("g", "R", "F", "r", "space", "=", "b")
        assert found.screen.is_attached
        assert "select a checkpoint" in found.toasts()

    opened(
        go,
        TimelineWorker(replace(TIMELINE, checkpoints=TIMELINE.checkpoints[:1])),
        waits_for="No checkpoint yet",
    )


def test_an_agent_whose_repository_is_gone_has_an_empty_timeline() -> None:
    async def go(found: Open) -> None:
        await found.press("j", "R", "F", "r", "space", "=", "b", "G")
        assert found.screen.is_attached

    opened(go, TimelineWorker(Timeline(AGENT, ())), waits_for="No checkpoint yet")


def test_narrow_it_has_one_line_for_each_and_the_diff_below() -> None:
    async def go(found: Open) -> None:
        [line] = [line for line in found.text().splitlines() if "Use typed claims" in line]
        assert "claims.py" in line
        assert "types 1" in line
        await found.press("J", "K", "pagedown", "pageup", "question_mark")
        await found.until(lambda: isinstance(found.app.screen, ReviewHelp))

    opened(go, size=(80, 24))


def test_an_ended_agent_has_no_now_without_a_worktree() -> None:
    async def go(found: Open) -> None:
        assert "not saved yet" not in found.text()

    opened(go, TimelineWorker(replace(TIMELINE, now=None)))
