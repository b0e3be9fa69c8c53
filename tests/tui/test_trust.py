"""The question about a project's files: asked before a form is opened, and never answered by accident."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from fleet_tui import paths
from fleet_tui.config import trust_store
from fleet_tui.config.load import load
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status, TrustRequestLine
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.form import Form
from fleet_tui.tui.dialogs.new_agents import MultiDialog, NewAgentDialog
from fleet_tui.tui.dialogs.trust import FileDialog, TrustDialog
from fleet_tui.tui.host_keys import text_key
from fleet_tui.tui.settings import DashboardSettings
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.running_dashboard import drive, opened
from tests.tui.test_dialogs import text_of

ASKING = replace(fleet_states.PLACE, asked=fleet_states.ASKED)
FORMS: dict[str, type[Any]] = {"n": NewAgentDialog, "f": FanOutDialog, "M": MultiDialog}


def shown(app: StageApp, kind: type[Any]) -> Callable[[], bool]:
    return lambda: isinstance(app.screen, kind)


@pytest.mark.parametrize("key", ["f", pytest.param("n", marks=pytest.mark.slow)])
def test_trust_is_asked_for_before_the_form_and_granting_it_opens_the_form(key: str) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await until(pilot, shown(app, TrustDialog))
        await until(pilot, lambda: "Trust exactly these 9 lines" in text_of(app))
        await pilot.press("2")
        await until(pilot, shown(app, FORMS[key]))
        assert ("trust.accept", fleet_states.ASKED, {}) in app.worker.asked
        assert isinstance(app.screen, Form)
        assert not app.screen.own_settings

    run_dashboard(go, place=ASKING)


@pytest.mark.parametrize("key", ["1", "enter"])
def test_enter_never_trusts_but_starts_with_the_users_own_settings(key: str) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = ASKING
        await pilot.press("n")
        await until(pilot, shown(app, TrustDialog))
        await pilot.press(key)
        await until(pilot, shown(app, NewAgentDialog))
        await pilot.press("h", "i", "ctrl+s")
        await until(pilot, lambda: any(one[0] == "create" for one in app.worker.asked))
        (made,) = [one for one in app.worker.asked if one[0] == "create"]
        assert made[-1]["own_settings"] is True
        assert "trust.accept" not in [one[0] for one in app.worker.asked]

    run_dashboard(go, place=ASKING)


def test_escape_starts_nothing_and_trusts_nothing() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, shown(app, TrustDialog))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert "trust.accept" not in [one[0] for one in app.worker.asked]

    run_dashboard(go, place=ASKING)


def test_a_file_that_was_not_scrolled_to_its_end_cannot_be_trusted() -> None:
    many = tuple(TrustRequestLine("run", f"step {number}", number=number) for number in range(100))
    asked = replace(fleet_states.ASKED, lines=many, count=100)

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("n")
        await until(pilot, lambda: "Trust it" in text_of(app))
        await pilot.press("2")
        await pilot.pause()
        assert isinstance(app.screen, TrustDialog)
        assert "step 99" not in text_of(app)
        for key in ("j", "space", "k", "G"):
            await pilot.press(key)
        await until(pilot, lambda: "Trust exactly these 100 lines" in text_of(app))
        assert "step 99" in text_of(app)
        # Once seen, it stays seen.
        await pilot.press("g", "2")
        await until(pilot, shown(app, NewAgentDialog))

    run_dashboard(go, size=(80, 24), place=replace(fleet_states.PLACE, asked=asked))


def test_the_file_can_be_read_and_left_again() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("n")
        await until(pilot, shown(app, TrustDialog))
        await pilot.press("3")
        await until(pilot, shown(app, FileDialog))
        await until(pilot, lambda: "2  [agent]" in text_of(app))
        await pilot.press("escape")
        await until(pilot, shown(app, TrustDialog))

    run_dashboard(go, place=ASKING)


def test_a_project_that_has_changed_since_the_form_was_opened_is_asked_about_when_it_is_sent() -> None:
    """It does not open while the user types: a 2 would be taken as the answer."""

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = ASKING
        await pilot.press("n")
        await until(pilot, shown(app, NewAgentDialog))
        form = app.screen
        await until(pilot, lambda: app.dashboard.view.project == ASKING)
        await pilot.press("2", "ctrl+s")
        await until(pilot, shown(app, TrustDialog))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is form)
        assert "create" not in [one[0] for one in app.worker.asked]
        await pilot.press("ctrl+s")
        await until(pilot, shown(app, TrustDialog))
        await pilot.press("1")
        await until(pilot, lambda: any(one[0] == "create" for one in app.worker.asked))
        (made,) = [one for one in app.worker.asked if one[0] == "create"]
        assert (made[1], made[-1]["own_settings"]) == ("2", True)

    run_dashboard(go)


def test_keys_typed_ahead_trust_nothing() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        for key in ("n", "2", "2"):
            app.post_message(events.Key(key, key))
        await until(pilot, lambda: "Trust exactly these 9 lines" in text_of(app))
        assert "trust.accept" not in [one[0] for one in app.worker.asked]

    run_dashboard(go, place=ASKING)


def test_a_key_pressed_before_all_was_shown_trusts_nothing_however_late_it_is_handled() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        late = text_key("2")
        await pilot.press("n")
        await until(pilot, lambda: "Trust exactly these 9 lines" in text_of(app))
        app.post_message(late)
        await pilot.press("3")
        await until(pilot, shown(app, FileDialog))
        assert "trust.accept" not in [one[0] for one in app.worker.asked]

    run_dashboard(go, place=ASKING)


def test_asked_again_only_what_has_changed_is_shown() -> None:
    lines = (
        TrustRequestLine("run", "make install", "", True, 9, "+"),
        TrustRequestLine("run", "make", change="−"),
    )
    asked = replace(fleet_states.ASKED, lines=lines, count=8, same=7)

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("n")
        await until(pilot, lambda: "7 lines as before" in text_of(app))
        text = text_of(app)
        assert "wants something else now" in text
        assert " +!make install" in text
        assert " − make " in text

    run_dashboard(go, place=replace(fleet_states.PLACE, asked=asked))


def test_long_values_are_wrapped_whole() -> None:
    command = " ".join(f"word{number}" for number in range(60))
    asked = replace(
        fleet_states.ASKED, lines=(TrustRequestLine("run", command, "means this", True, 3),), count=1
    )

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("n")
        await until(pilot, lambda: "Trust exactly this line" in text_of(app))
        words = text_of(app).split()
        assert [word for word in words if word.startswith("word")] == command.split()
        assert "means this" in text_of(app)

    run_dashboard(go, place=replace(fleet_states.PLACE, asked=asked))


def test_reviving_asks_about_the_agents_own_project_first() -> None:
    state = fleet_states.with_status(fleet_states.SMALL, fleet_states.SMALL.agents[0].name, Status.STOPPED)
    ended = state.agents[0]

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["trust.asked"] = fleet_states.ASKED
        app.dashboard.view.select(ended.id)
        await pilot.press("v")
        await until(pilot, shown(app, TrustDialog))
        assert "revive" not in [one[0] for one in app.worker.asked]
        await pilot.press("1")
        await until(pilot, lambda: ("revive", [ended.id], {"own_settings": True}) in app.worker.asked)

    run_dashboard(go, state)


# ── with the real worker ──


def test_in_a_real_project_trust_is_recorded_as_shown(fleet: Fleet, repository: Path) -> None:
    paths.project_config(repository).parent.mkdir()
    paths.project_config(repository).write_text("[agent]\ndefault = 'shell'\n[env]\nA = 'x'\n")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(
                lambda: driven.dashboard.view.project is not None and driven.dashboard.view.project.asked
            )
            await driven.press("n")
            await driven.until(lambda: isinstance(driven.app.screen, TrustDialog), "the question")
            await driven.until(lambda: "Trust exactly these 2 lines" in driven.text(), "what it asks for")
            assert "A=x" in driven.text()
            assert trust_store.recorded(repository) is None
            await driven.press("2")
            await driven.until(lambda: isinstance(driven.app.screen, NewAgentDialog), "the form")

    drive(go())
    assert load(repository).untrusted == {}


def test_a_projects_bad_keys_do_not_keep_the_dashboard_from_opening(tmp_path: Path) -> None:
    file = paths.project_config(tmp_path)
    file.parent.mkdir()
    for text in ("leave = ''\nleader = ''", "stop = 'X'", "nosuch = 'q'", "stop = 7", "preset = 'x'"):
        file.write_text(f"[keys]\n{text}\n")
        loaded = DashboardSettings.load(tmp_path)
        assert loaded.keymap == DashboardSettings().keymap
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text("[keys]\nstop = 'S'\n")
    file.write_text("[keys]\nstop = 'X'\n")
    loaded = DashboardSettings.load(tmp_path)
    assert loaded.keymap.of("stop") == ("S",)
    assert "'X' is both stop and kill" in loaded.warning
    file.write_text("[keys\n")
    assert DashboardSettings.load(tmp_path).warning.startswith(f"{file}:1:")
    file.unlink()
    assert DashboardSettings.load(tmp_path).warning == ""
