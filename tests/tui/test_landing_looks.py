"""The screens of a landing as pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from fleet_tui.models import Status
from fleet_tui.tui.landing.conflict_screen import ConflictScreen
from fleet_tui.tui.landing.screen import LandScreen
from fleet_tui.tui.landing.train_screen import TrainScreen
from tests.tui import fleet_states, landing_states
from tests.tui.dashboard_app import StageApp, until

Compare = Callable[..., bool]
AGENTS = [
    fleet_states.agent("refactor-auth-A", Status.WORKING, batch="auth"),
    fleet_states.agent("refactor-auth-C", Status.DONE, batch="auth"),
    fleet_states.agent("flaky-tests-B", Status.IDLE, batch="flaky", profile="codex"),
]
SIZES = [
    pytest.param((80, 24), marks=pytest.mark.slow),
    (120, 40),
    pytest.param((200, 60), marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "TZ"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")


def made(kind: str) -> Screen[None]:
    def start(work: Coroutine[Any, Any, None]) -> None:
        screen.run_worker(work)

    def around(plans: Any) -> Any:
        return landing_states.access(landing_states.LandingWorker(plans), AGENTS, start)

    plans = [landing_states.plan(agent) for agent in AGENTS]
    screen: Screen[None]
    if kind == "preview":
        screen = LandScreen(AGENTS[1], around(plans))
    elif kind == "conflict":
        broken = landing_states.plan(
            AGENTS[2], conflicts=landing_states.CONFLICTS, give_back=landing_states.GIVE_BACK
        )
        screen = ConflictScreen(AGENTS[2], broken, around(plans))
    else:
        screen = TrainScreen(AGENTS, around(plans))
    return screen


def shown(app: StageApp, kind: str, text: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def run(pilot: Pilot[None]) -> None:
        await app.push_screen(made(kind))
        await until(
            pilot, lambda: text in "\n".join(row.text for row in app.screen._compositor.render_strips())
        )
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40", "200x60"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [("preview", "Commit what is not"), ("conflict", "what now"), ("train", "flaky-tests-B")],
    ids=["preview", "conflict", "train"],
)
def test_a_landing(snap_compare: Compare, kind: str, text: str, size: tuple[int, int]) -> None:
    app = StageApp()
    assert snap_compare(app, terminal_size=size, run_before=shown(app, kind, text))
