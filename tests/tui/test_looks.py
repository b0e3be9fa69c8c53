"""The main screens as pictures, on states made by hand and on recorded sessions of real programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from fleet_tui.faces.away_summary import Mark, summarize
from fleet_tui.models import FleetState
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.widgets.which_key import WhichKey
from tests.tui import fleet_states
from tests.tui.dashboard_app import Recorded, StageApp, until

Compare = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
WIDE_FIRST = pytest.mark.parametrize(
    "size", [(120, 40), pytest.param((80, 24), marks=pytest.mark.slow)], ids=["120x40", "80x24"]
)
THEMES = pytest.mark.parametrize("theme", ["fleet-dark", pytest.param("fleet-light", marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove settings that change the pictures: disabled colors, another theme, another time zone."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("recorded"))


def pressing(app: StageApp, *keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Steps before the picture: wait until every pane shows its screen, then press the keys."""

    async def run(pilot: Pilot[None]) -> None:
        def are_drawn() -> bool:
            frames = list(app.dashboard.query_one(PaneGrid).frames)
            return bool(frames) and all(frame.pane.view.rows for frame in frames)

        await until(pilot, are_drawn)
        await pilot.press(*keys)
        await pilot.pause()
        await until(pilot, are_drawn)

    return run


def shows(
    compare: Compare,
    places: Recorded,
    size: tuple[int, int],
    *keys: str,
    state: FleetState = fleet_states.SMALL,
    theme: str = "fleet-dark",
) -> bool:
    app = StageApp(state, theme=theme, places=places)
    return compare(app, terminal_size=size, run_before=pressing(app, *keys))


@BOTH
@THEMES
def test_dashboard(snap_compare: Compare, places: Recorded, size: tuple[int, int], theme: str) -> None:
    assert shows(snap_compare, places, size, "j", theme=theme)


@BOTH
def test_a_conflict(snap_compare: Compare, places: Recorded, size: tuple[int, int]) -> None:
    app = StageApp(live=fleet_states.IN_CONFLICT, places=places)
    assert snap_compare(app, terminal_size=size, run_before=pressing(app))


@WIDE_FIRST
def test_typing(snap_compare: Compare, places: Recorded, size: tuple[int, int]) -> None:
    assert shows(snap_compare, places, size, "enter")


@pytest.mark.slow
def test_typing_in_the_light(snap_compare: Compare, places: Recorded) -> None:
    assert shows(snap_compare, places, (120, 40), "enter", theme="fleet-light")


@WIDE_FIRST
@THEMES
def test_fan_out(snap_compare: Compare, places: Recorded, size: tuple[int, int], theme: str) -> None:
    assert shows(snap_compare, places, size, "f", "f", "i", "x", theme=theme)


@WIDE_FIRST
@THEMES
def test_trust(snap_compare: Compare, places: Recorded, size: tuple[int, int], theme: str) -> None:
    app = StageApp(theme=theme, places=places, place=replace(fleet_states.PLACE, asked=fleet_states.ASKED))

    async def seen(pilot: Pilot[None]) -> None:
        await pressing(app, "f")(pilot)
        await until(pilot, lambda: getattr(app.screen, "has_paused", False))
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=seen)


@WIDE_FIRST
@THEMES
def test_first_run(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = StageApp(fleet_states.EMPTY, live=fleet_states.NOTHING_SEEN, theme=theme)
    assert snap_compare(app, terminal_size=size)


@WIDE_FIRST
def test_help(snap_compare: Compare, places: Recorded, size: tuple[int, int]) -> None:
    assert shows(snap_compare, places, size, "question_mark")


@WIDE_FIRST
def test_copy_mode(snap_compare: Compare, places: Recorded, size: tuple[int, int]) -> None:
    assert shows(snap_compare, places, size, "V", "k", "v", "k")


def test_many_agents_in_sixteen_colors(snap_compare: Compare, places: Recorded) -> None:
    assert shows(snap_compare, places, (120, 40), "j", state=fleet_states.BIG, theme="ansi-dark")


def test_nine_panes(snap_compare: Compare, places: Recorded) -> None:
    assert shows(snap_compare, places, (220, 60), state=fleet_states.BIG)


@pytest.mark.slow
def test_nine_panes_in_little_room(snap_compare: Compare, places: Recorded) -> None:
    app = StageApp(fleet_states.BIG, places=places, panes=9)
    assert snap_compare(app, terminal_size=(120, 40), run_before=pressing(app))


@pytest.mark.slow
def test_an_armed_kill(snap_compare: Compare, places: Recorded) -> None:
    assert shows(snap_compare, places, (120, 40), "X")


@WIDE_FIRST
@THEMES
def test_coming_back(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    moved = {agent.id for agent in fleet_states.SMALL.agents}
    summary = summarize(
        fleet_states.SMALL, moved, Mark(fleet_states.NOW - 120 * fleet_states.MINUTE, 0), fleet_states.NOW
    )
    assert summary is not None

    async def come_back(pilot: Pilot[None]) -> None:
        app.dashboard.groups.away.show(summary)
        await pilot.press("right_square_bracket")
        await pilot.pause()

    app = StageApp(theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=come_back)


@WIDE_FIRST
@THEMES
def test_an_answer(snap_compare: Compare, places: Recorded, size: tuple[int, int], theme: str) -> None:
    assert shows(snap_compare, places, size, "a", theme=theme)


def test_a_question(snap_compare: Compare, places: Recorded) -> None:
    keys = ("right_square_bracket", "right_square_bracket", "a")
    assert shows(snap_compare, places, (160, 45), *keys, state=fleet_states.BIG)


def test_what_may_follow_the_leader(snap_compare: Compare, places: Recorded) -> None:
    async def lead(pilot: Pilot[None]) -> None:
        await pressing(app, "enter", "ctrl+right_square_bracket")(pilot)
        await until(pilot, lambda: app.dashboard.query_one(WhichKey).display)

    app = StageApp(fleet_states.SMALL, places=places)
    assert snap_compare(app, terminal_size=(120, 40), run_before=lead)


@pytest.mark.slow
def test_an_answer_in_sixteen_colors(snap_compare: Compare, places: Recorded) -> None:
    assert shows(snap_compare, places, (120, 40), "a", theme="ansi-dark")


@WIDE_FIRST
def test_every_status(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(StageApp(fleet_states.EVERY_STATUS), terminal_size=size)
