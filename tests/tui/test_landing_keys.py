"""Keys of the landing screens while a preview is on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from fleet_tui.landings import LandingPlan, LandingReport
from fleet_tui.models import Status
from fleet_tui.tui.landing.screen import LandScreen
from fleet_tui.tui.landing.train_screen import TrainScreen
from tests.tui import fleet_states, landing_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.test_dialogs import text_of

AGENTS = [fleet_states.agent(f"tokens-{letter}", Status.DONE, batch="tokens") for letter in "ABC"]


class SlowWorker(landing_states.LandingWorker):
    """Answers previews once it is let go on."""

    def __init__(self, plans: Sequence[LandingPlan]) -> None:
        super().__init__(plans)
        self.goes_on = asyncio.Event()
        self.previewed = 0
        self.landed: list[Any] = []

    async def __call__(self, verb: str, *arguments: Any, **options: Any) -> Any:
        if verb == "landing.land":
            self.landed.append((arguments[0], options["strategy"]))
            return LandingReport(())
        if verb != "landing.preview":
            return await super().__call__(verb, *arguments, **options)
        self.previewed += 1
        await self.goes_on.wait()
        found = await super().__call__(verb, *arguments, **options)
        return [replace(one, strategy=options["strategy"] or "merge") for one in found]


def opened(kind: type[LandScreen] | type[TrainScreen]) -> tuple[Screen[None], SlowWorker]:
    def start(work: Coroutine[Any, Any, None]) -> None:
        screen.run_worker(work)

    worker = SlowWorker([landing_states.plan(agent) for agent in AGENTS])
    access = landing_states.access(worker, AGENTS, start)
    screen: Screen[None] = (
        LandScreen(AGENTS[0], access) if kind is LandScreen else TrainScreen(AGENTS, access)
    )
    return screen, worker


def test_a_strategy_lands_only_once_its_preview_is_shown() -> None:
    async def go(app: StageApp, keyboard: Pilot[None]) -> None:
        screen, worker = opened(LandScreen)
        worker.goes_on.set()
        await app.push_screen(screen)
        await until(keyboard, lambda: "Commit what is not" in text_of(app))
        worker.goes_on.clear()

        await keyboard.press("s", "s")
        await until(keyboard, lambda: worker.previewed == 3)
        await keyboard.press("ctrl+s")
        await until(keyboard, lambda: "wait for the preview of that" in text_of(app))
        assert worker.landed == []
        worker.goes_on.set()
        await until(keyboard, lambda: getattr(screen, "_plan").strategy == "rebase")  # noqa: B009 - it is private
        await keyboard.press("ctrl+s")
        await until(keyboard, lambda: worker.landed)

        assert worker.landed == [([AGENTS[0].id], "rebase")]

    run_dashboard(go)


def test_agents_are_taken_out_of_a_train_as_fast_as_keys_are_pressed() -> None:
    async def go(app: StageApp, keyboard: Pilot[None]) -> None:
        screen, worker = opened(TrainScreen)
        worker.goes_on.set()
        await app.push_screen(screen)
        await until(keyboard, lambda: "tokens-C" in text_of(app))
        worker.goes_on.clear()

        await keyboard.press("D", "j", "j", "D", "ctrl+s")
        await until(keyboard, lambda: "wait for the preview of that" in text_of(app))
        worker.goes_on.set()
        await until(keyboard, lambda: "tokens-A" not in text_of(app) and "tokens-C" not in text_of(app))
        await keyboard.press("ctrl+s")
        await until(keyboard, lambda: worker.landed)

        assert worker.landed == [([AGENTS[1].id], "merge")]

    run_dashboard(go)
