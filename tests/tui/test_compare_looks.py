"""The compare screen as pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from fleet_tui.comparison import Comparison
from fleet_tui.tui.compare.screen import CompareScreen
from tests.tui.compare_states import CHECKED, IDS, RUNNING, STATE, CompareWorker
from tests.tui.dashboard_app import StageApp, until

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)


def comparing(app: StageApp, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Steps before the picture: open the comparison, wait for it, press the keys."""

    async def run(pilot: Pilot[None]) -> None:
        app.dashboard.view.select(IDS["A"])
        await pilot.press("c")
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await until(pilot, lambda: screen.model.found is not None and screen._has_begun)
        await pilot.press(*keys)
        await pilot.pause()

    return run


def shows(
    compare: Compare, found: Comparison, size: tuple[int, int], *keys: str, theme: str = "fleet-dark"
) -> bool:
    app = StageApp(STATE, worker=CompareWorker(found), theme=theme)
    return compare(app, terminal_size=size, run_before=comparing(app, *keys))


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((120, 40), "fleet-dark"),
        pytest.param((80, 24), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((200, 60), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((160, 45), "fleet-light", marks=pytest.mark.slow),
        pytest.param((120, 40), "ansi-dark", marks=pytest.mark.slow),
    ],
    ids=["120x40", "80x24", "200x60", "160x45-light", "120x40-16colors"],
)
def test_compare(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    assert shows(snap_compare, CHECKED, size, "space", "j", theme=theme)


@pytest.mark.slow
def test_checks_that_run(snap_compare: Compare) -> None:
    assert shows(snap_compare, RUNNING, (120, 40))


@pytest.mark.slow
def test_files_in_a_small_terminal(snap_compare: Compare) -> None:
    assert shows(snap_compare, CHECKED, (80, 24), "tab")


@pytest.mark.slow
def test_keys_of_the_comparison(snap_compare: Compare) -> None:
    assert shows(snap_compare, CHECKED, (120, 40), "question_mark")
