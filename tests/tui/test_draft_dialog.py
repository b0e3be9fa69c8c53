"""Drafts: what was typed into a form that is left comes back when the form opens again, until it is sent or cleared."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from fleet_tui.errors import FleetError
from fleet_tui.faces.form_drafts import KEEP_SECONDS, MOST_DRAFTS, FormDraft, FormDrafts
from fleet_tui.tui.dialogs.answer import AnswerDialog
from fleet_tui.tui.dialogs.confirm import ConfirmInput
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.new_agents import MultiDialog, NewAgentDialog
from fleet_tui.tui.dialogs.profile_mix import ProfileMix
from fleet_tui.tui.dialogs.prompt import PromptDialog
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.stepper import Stepper
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.keyboard import Keyboard
from tests.tui.test_dialogs import text_of


def written(app: StageApp) -> str:
    return app.screen.query_one(PromptArea).text


def field(app: StageApp, name: str) -> str:
    return app.screen.query_one(f"#{name}", Input).value


@pytest.mark.parametrize("size", [pytest.param((120, 40), marks=pytest.mark.slow), (80, 24)])
def test_a_fan_out_that_was_left_comes_back_whole_and_one_key_clears_it(size: tuple[int, int]) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        assert "esc cancel" in text_of(app)
        await pilot.press(*"fix it")
        assert "esc keep draft" in text_of(app)
        app.screen.query_one("#prefix", Input).value = "mine"
        app.screen.query_one("#base", Input).value = "v2.3"
        app.screen.query_one("#count", Stepper).set(4)
        await pilot.pause()
        app.screen.query_one(ProfileMix).set("codex", 2)
        await pilot.press("escape", "f")
        assert isinstance(app.screen, FanOutDialog)
        assert "draft from 0s ago  ctrl+l clears it" in text_of(app)
        assert (written(app), field(app, "prefix"), field(app, "base")) == ("fix it", "mine", "v2.3")
        assert app.screen.query_one(ProfileMix).counts == (("claude", 4), ("codex", 2))
        assert "start 6 agents" in text_of(app)
        await pilot.press("ctrl+l")
        assert (written(app), field(app, "prefix"), field(app, "base")) == ("", "", "")
        assert app.screen.query_one(ProfileMix).counts == (("claude", 3),)
        assert "draft cleared  ctrl+l brings it back" in text_of(app)
        await pilot.press("ctrl+l")
        assert written(app) == "fix it"
        await pilot.press("ctrl+l", "escape", "f")
        assert "draft" not in text_of(app), "a cleared draft is gone"

    run_dashboard(go, size=size)


@pytest.mark.parametrize(("chord", "form"), [("n", NewAgentDialog), ("M", MultiDialog)])
def test_the_other_forms_that_start_agents_keep_a_draft_of_their_own(chord: str, form: type[Any]) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press(chord, *"do this")
        app.screen.query_one("#profile", Input).value = "my-tool"
        await pilot.press("escape", "f")
        assert written(app) == "", "another form has another draft"
        await pilot.press("escape", chord)
        assert isinstance(app.screen, form)
        assert (written(app), field(app, "profile")) == ("do this", "my-tool")
        assert "draft from" in text_of(app)

    run_dashboard(go)


def test_a_draft_that_was_sent_is_gone_and_one_that_could_not_be_sent_stays() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        answered = app.worker.call

        async def refuse(verb: str, *arguments: Any, **options: Any) -> Any:
            if verb == "prompts.deliver":
                raise FleetError("it is gone", hint="")
            return await answered(verb, *arguments, **options)

        app.worker.call = refuse  # type: ignore[method-assign]  # the worker of this test refuses
        await pilot.press("p", *"hello", "enter")
        await pilot.press("p")
        assert written(app) == "hello"
        app.worker.call = answered  # type: ignore[method-assign]  # it works again
        await pilot.press("enter")
        await until(pilot, lambda: any(call[0] == "prompts.deliver" for call in app.worker.asked))
        await pilot.press("p")
        assert written(app) == ""
        await pilot.press("escape", "f", *"fix it", "ctrl+s")
        await until(pilot, lambda: any(call[0] == "fanout" for call in app.worker.asked))
        await pilot.press("escape", "f")
        await until(pilot, lambda: isinstance(app.screen, FanOutDialog))
        assert written(app) == ""

    run_dashboard(go)


def test_a_form_that_opens_before_the_project_is_known_keeps_and_offers_the_draft_of_the_project() -> None:
    async def go() -> None:
        app = StageApp(place=None)
        async with app.run_test(size=(120, 40)):
            pilot, dashboard = Keyboard(app), app.dashboard
            app.worker.answers.clear()
            await pilot.press("f", *"fix it", "escape")
            app.worker.answers.set()
            await until(pilot, lambda: dashboard.view.project == fleet_states.PLACE)
            await pilot.press("f")
            assert written(app) == "fix it"
            await pilot.press("escape")

            dashboard.view.project = None
            app.worker.answers.clear()
            await pilot.press("f")
            assert written(app) == ""
            app.worker.answers.set()
            await until(pilot, lambda: written(app) == "fix it")
            assert "draft from 0s ago  ctrl+l clears it" in text_of(app)
            await pilot.press("escape")

            dashboard.view.project = None
            app.worker.answers.clear()
            await pilot.press("f", *"else")
            app.worker.answers.set()
            await until(pilot, lambda: "ctrl+l brings it back" in text_of(app))
            assert written(app) == "else"
            await pilot.press("ctrl+l")
            assert written(app) == "fix it"
            await pilot.press("ctrl+l", "escape", "f")
            assert written(app) == "else"

    asyncio.run(go())


def test_prompts_have_a_draft_for_each_agent_and_pasted_text_is_added_to_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("p", *"for a", "escape", "j", "p")
        assert written(app) == ""
        await pilot.press("escape", "k", "p")
        assert written(app) == "for a"
        await pilot.press("escape")
        app.dashboard.groups.prompts.prompt("pasted")
        await pilot.pause()
        assert isinstance(app.screen, PromptDialog)
        assert written(app) == "for a\npasted"
        await pilot.press("escape", "j")
        app.dashboard.groups.prompts.prompt("pasted elsewhere")
        await pilot.pause()
        assert isinstance(app.screen, PromptDialog)
        await pilot.press("escape", "p")
        assert written(app) == "pasted elsewhere", "what was pasted is kept though nothing was typed"

    run_dashboard(go)


def test_a_name_and_an_answer_that_were_begun_are_kept_too() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("r", *"-new", "escape", "r")
        assert isinstance(app.screen, ConfirmInput)
        assert field(app, "value") == "-new"
        await pilot.press("ctrl+l")
        assert field(app, "value") == "refactor-auth-A"
        await pilot.press("escape", "right_square_bracket", "right_square_bracket", "a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
        await pilot.press(*"neither")
        assert "↵ send this answer" in text_of(app)
        await pilot.press("escape", "a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
        assert field(app, "words") == "neither"

    run_dashboard(go, fleet_states.BIG)


def test_a_draft_outlives_the_dashboard_in_a_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    file = tmp_path / "form-drafts.json"

    async def run(*keys: str) -> str:
        app = StageApp(drafts=FormDrafts(file))
        async with app.run_test(size=(120, 40)):
            keyboard = Keyboard(app)
            await keyboard.pause()
            await keyboard.press("p", *keys)
            text = written(app)
            await keyboard.press("escape")
            return text

    asyncio.run(run(*"unsent"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert asyncio.run(run()) == "unsent"


@pytest.mark.pure
def test_the_newest_drafts_of_the_last_weeks_are_kept_and_a_damaged_file_costs_nothing_else(
    tmp_path: Path,
) -> None:
    file = tmp_path / "drafts.json"
    drafts = FormDrafts(file)
    for number in range(MOST_DRAFTS + 5):
        drafts.keep(f"form {number}", {"prompt": "x"}, float(number))
    assert FormDrafts(file).get("form 4") is None
    assert FormDrafts(file).get("form 5") == FormDraft({"prompt": "x"}, 5.0)
    drafts.keep("form 7", {"prompt": "x"}, 99.0)
    assert drafts.get("form 7") == FormDraft({"prompt": "x"}, 7.0), "unchanged, it keeps its age"
    drafts.keep("late", {"prompt": "y"}, KEEP_SECONDS + 30.0)
    assert FormDrafts(file).get("form 30") is None
    assert FormDrafts(file).get("form 31") is not None
    for damage in (b"", b"[]", b'{"late": 5}', b"\xff"):
        file.write_bytes(damage)
        assert FormDrafts(file).get("late") is None
