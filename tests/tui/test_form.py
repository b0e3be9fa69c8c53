"""The forms that start agents: where the keys are, what can be picked, and what is promised beside them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from fleet_tui.errors import NotFound
from fleet_tui.fleet.profiles import AgentProgram
from fleet_tui.models import Agent, Status
from fleet_tui.tui.dialogs.bases import BaseField, BasePicker, BaseRows
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.fan_out_preview import FanOut, Preview, expected
from fleet_tui.tui.dialogs.new_agents import MultiDialog, NewAgentDialog
from fleet_tui.tui.dialogs.profile_field import ProfilePicker
from fleet_tui.tui.dialogs.profile_mix import ProfileMix
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.test_dashboard import said
from tests.tui.test_dialogs import plain, text_of


@pytest.mark.slow
def test_the_number_that_has_the_keys_is_marked() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        assert "▌− 3 +" not in text_of(app)
        await pilot.press("tab")
        await until(pilot, lambda: text_of(app).count("▌− 3 +") == 1)
        await pilot.press("tab")
        await until(pilot, lambda: "▌− 3 +" not in text_of(app))

    run_dashboard(go)


@pytest.mark.slow
def test_the_form_says_which_commit_the_usual_base_is_and_what_a_worktree_takes() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: "main  e41c0d2 Bump pytest, 2h ago" in text_of(app))
        await until(pilot, lambda: "3 × 84 MB" in text_of(app))

    run_dashboard(go)


def test_a_base_is_picked_from_the_list_and_used() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f", *"fix", "ctrl+b")
        await until(pilot, lambda: isinstance(app.screen, BasePicker))
        await pilot.press(*"wheel")
        assert [base.name for base in app.screen.query_one(BaseRows).found] == ["release/2.4"]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FanOutDialog))
        assert app.screen.query_one("#base", Input).value == "release/2.4"
        await until(pilot, lambda: ("start_point", "release/2.4", {}) in app.worker.asked)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any(call[0] == "fanout" for call in app.worker.asked))
        assert app.worker.asked[-1][-1]["base"] == "release/2.4"

    run_dashboard(go)


def is_open(app: StageApp, form: type[Screen[Any]]) -> bool:
    return isinstance(app.screen, form)


@pytest.mark.slow
def test_the_arrow_down_opens_the_list_of_bases_in_every_form() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        for chord, form in (("n", NewAgentDialog), ("M", MultiDialog), ("f", FanOutDialog)):
            await pilot.press(chord)
            await until(pilot, partial(is_open, app, form))
            app.screen.query_one("#base", Input).focus()
            await pilot.press("down")
            await until(pilot, lambda: isinstance(app.screen, BasePicker))
            await pilot.press("down", "down", "up", "enter")
            await until(pilot, partial(is_open, app, form))
            assert app.screen.query_one(BaseField).value == "release/2.4"
            await pilot.press("escape")

    run_dashboard(go)


@pytest.mark.slow
def test_a_base_that_is_in_no_list_can_be_written() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f", "ctrl+b")
        await until(pilot, lambda: isinstance(app.screen, BasePicker))
        await pilot.press(*"HEAD~3")
        await until(pilot, lambda: "↵ uses 'HEAD~3' as a commit" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FanOutDialog))
        assert app.screen.query_one(BaseField).value == "HEAD~3"

    run_dashboard(go)


@pytest.mark.slow
def test_an_invalid_base_is_marked_before_anything_is_started() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        field = app.screen.query_one(BaseField)

        async def refuse(verb: str, *arguments: object) -> object:
            raise NotFound(f"{arguments[0]!r} is not a commit", hint="")

        field._ask = refuse
        app.screen.query_one("#base", Input).value = "nowhere"
        await until(pilot, lambda: field.query_one(Input).has_class("wrong"))
        await until(pilot, lambda: "✗ 'nowhere' is not" in text_of(app))

    run_dashboard(go)


def launched(name: str, batch: str, created: float, took: float | None, **changes: object) -> Agent:
    agent = fleet_states.agent(name, Status.WORKING, batch=batch)
    started = created + took if took is not None else None
    return replace(agent, created_at=created, started_at=started, **changes)  # type: ignore[arg-type]  # fields by name


def test_how_long_it_takes_is_known_from_the_last_launch_in_this_project() -> None:
    before = [
        launched("old-A", "one", 100.0, 60.0),
        launched("new-A", "two", 200.0, 2.0),
        launched("new-B", "two", 200.0, 3.0),
        launched("elsewhere", "three", 300.0, 90.0, project=fleet_states.PIXEL),
        launched("revived", "four", 400.0, 9000.0, run=2),
        launched("failed", "five", 500.0, None),
    ]
    assert expected(before, fleet_states.ATLAS, 2) == 3.0
    assert expected(before, fleet_states.ATLAS, 4) == 6.0, "twice as many take twice as long"
    assert expected(before, fleet_states.ATLAS, 1) == 3.0, "fewer are not promised to be faster"
    assert expected(before[-3:], fleet_states.ATLAS, 2) is None
    assert expected([launched("back", "one", 100.0, -5.0)], fleet_states.ATLAS, 1) is None, (
        "the clock was set back"
    )


def test_the_estimate_says_what_it_is_of_and_is_left_out_where_nothing_is_known() -> None:
    def shown(*before: Agent, setup: tuple[str, ...] = ()) -> str:
        preview = Preview(replace(fleet_states.PLACE, setup=setup), fleet_states.NOW, before=before)
        preview._wanted = FanOut(3, "fix", "do it")
        return "\n".join(plain(preview.lines(30, 40)))

    past = launched("a", "one", 100.0, 1.4)
    assert "ready in             about 4 s" in shown(past)
    assert "setup begins in      about 4 s" in shown(past, setup=("uv sync",)), (
        "setup's own time is not known"
    )
    assert "about" not in shown()


@pytest.mark.slow
def test_a_form_rereads_the_project_and_keeps_known_versions() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        known = tuple(replace(program, version="2.1") for program in fleet_states.PLACE.programs)
        app.dashboard.view.take_project(
            replace(fleet_states.PLACE, uncommitted=0, branch="old", programs=known)
        )
        await pilot.press("f")
        await until(pilot, lambda: "2 uncommitted files in main" in text_of(app))
        assert app.dashboard.view.project is not None
        assert {program.version for program in app.dashboard.view.project.programs} == {"2.1"}

    run_dashboard(go)


NOTHING = replace(
    fleet_states.PLACE, programs=tuple(replace(program, path="") for program in fleet_states.PLACE.programs)
)
"""A place where no agent program is installed."""


@pytest.mark.slow
def test_a_missing_program_is_shown_as_such_and_a_shell_can_be_started_instead() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = NOTHING
        await pilot.press("f")
        await until(pilot, lambda: "claude     ■■■···  not installed" in text_of(app))
        await pilot.press(*"fix", "ctrl+s")
        assert "claude is not installed" in said(app)
        assert isinstance(app.screen, FanOutDialog), "it stays"
        app.screen.query_one(ProfileMix).focus()
        await pilot.press("down", "2", "up", "0")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any(call[0] == "fanout" for call in app.worker.asked))
        assert app.worker.asked[-1][-1]["mix"] == (("shell", 2),)

    run_dashboard(go)


@pytest.mark.slow
def test_a_program_that_is_not_installed_is_not_started_by_the_other_forms_either() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = NOTHING
        for chord, form in (("n", NewAgentDialog), ("M", MultiDialog)):
            await pilot.press(chord)
            await until(pilot, lambda: "claude, not installed" in text_of(app))
            await pilot.press(*"fix", "ctrl+s")
            assert "claude is not installed" in said(app)
            assert isinstance(app.screen, form), "it stays"
            await pilot.press("escape")
        assert not any(call[0] in ("create", "multi") for call in app.worker.asked)

    run_dashboard(go)


@pytest.mark.slow
def test_a_default_that_was_set_in_another_terminal_is_taken_up_by_every_form() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = replace(fleet_states.PLACE, default_profile="codex")
        await pilot.press("n")
        await until(pilot, lambda: "codex; or any" in text_of(app))
        await pilot.press("escape")
        app.worker.known["project_info"] = replace(fleet_states.PLACE, default_profile="shell")
        await pilot.press("M")
        await until(pilot, lambda: app.screen.query_one("#profile", Input).placeholder.startswith("shell;"))
        await pilot.press("escape")
        app.worker.known["project_info"] = replace(fleet_states.PLACE, default_profile="my-agent")
        await pilot.press("f")
        await until(pilot, lambda: "my-agent   ■■■" in text_of(app))
        await pilot.press(*"fix", "ctrl+s")
        await until(pilot, lambda: any(call[0] == "fanout" for call in app.worker.asked))
        assert app.worker.asked[-1][-1]["mix"] == (("my-agent", 3),)

    run_dashboard(go)


def test_an_empty_prompt_is_refused_in_the_same_words_as_on_the_command_line() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        for form, send in (("f", "ctrl+s"), ("p", "ctrl+s")):
            await pilot.press(form, "space", send)
            await until(pilot, lambda: "the prompt is empty write what the agent should do" in said(app))
            app.clear_notifications()
            await pilot.press("escape")

    run_dashboard(go)


MANY = replace(
    fleet_states.PLACE,
    programs=(
        *(AgentProgram(f"agent{letter}", f"/bin/agent{letter}", "", "1.0") for letter in "abcdefgh"),
        AgentProgram("gemini", "", "npm i -g @google/gemini-cli"),
    ),
    default_profile="agentb",
)
"""A place with more profiles than fit into a low form."""


async def open_many(app: StageApp, pilot: Pilot[None]) -> ProfileMix:
    """Open the fan-out form with ten profiles."""
    app.worker.known["project_info"] = MANY
    await pilot.press("f")
    mix = app.screen.query_one(ProfileMix)
    await until(pilot, lambda: len(mix.found) == 10)
    return mix


def rows_of(app: StageApp) -> list[str]:
    mix = app.screen.query_one(ProfileMix)
    return ["".join(text for text, _ in line).rstrip() for line in mix.lines(mix.size.width, mix.size.height)]


@pytest.mark.parametrize("size", [pytest.param((120, 40), marks=pytest.mark.slow), (80, 24)])
def test_the_fan_out_form_has_every_profile_and_says_how_to_install_one(size: tuple[int, int]) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        mix = await open_many(app, pilot)
        assert [one.name for one in mix.found][:2] == ["agentb", "agenta"], "the default comes first"
        mix.focus()
        await pilot.press(*["down"] * 9)
        assert rows_of(app)[-1].startswith("▌− 0 +  gemini"), "what did not fit is scrolled to"
        assert "not installed: npm i -g" in rows_of(app)[-1]
        assert all(line in text_of(app) for line in rows_of(app)), "nothing is cut off"

    run_dashboard(go, size=size)


LONG_NAMES = replace(
    MANY,
    programs=tuple(
        replace(MANY.programs[0], name=name)
        for name in ("our-profile-1", "our-profile-2", "a-profile-with-a-very-long-name")
    ),
    default_profile="our-profile-1",
)


def test_profiles_with_long_names_are_told_apart_and_their_names_end_before_the_bar() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = LONG_NAMES
        await pilot.press("f")
        await until(pilot, lambda: len(app.screen.query_one(ProfileMix).found) >= 3)
        shown = [row.split()[3:5] for row in rows_of(app)[1:4]]
        assert ["our-profile-1", "■■■···"] in shown
        assert ["our-profile-2", "······"] in shown
        assert any(name.endswith("…") and bar == "······" for name, bar in shown)

    run_dashboard(go, size=(80, 24))


def test_profiles_are_filtered_by_typing_and_those_hidden_still_count() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = MANY
        await pilot.press("f", *"fix")
        mix = app.screen.query_one(ProfileMix)
        await until(pilot, lambda: len(mix.found) == 10)
        mix.focus()
        await pilot.press(*"agentd", "plus", "right")
        assert [one.name for one in mix.found] == ["agentd"]
        assert rows_of(app)[0].split() == ["filter", "agentd▏", "also", "agentb", "3"]
        assert rows_of(app)[1].startswith("▌− 2 +  agentd")
        assert "start 5 agents" in text_of(app)
        await pilot.press("x")
        assert "no profile matches" in rows_of(app)[1]
        await pilot.press("escape")
        assert len(mix.found) == 10
        assert isinstance(app.screen, FanOutDialog), "escape clears the filter first"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any(call[0] == "fanout" for call in app.worker.asked))
        assert app.worker.asked[-1][-1]["mix"] == (("agentb", 3), ("agentd", 2))

    run_dashboard(go)


@pytest.mark.slow
def test_a_profile_that_counts_is_named_when_it_is_scrolled_out_of_view() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        mix = await open_many(app, pilot)
        mix.focus()
        await pilot.press(*["down"] * 9, "2")
        assert "also agentb 3  ▴" in rows_of(app)[0]
        await pilot.press(*["up"] * 9)
        assert "also gemini 2  ▾" in rows_of(app)[0]

    run_dashboard(go, size=(80, 20))


def test_many_profiles_that_count_out_of_view_leave_room_for_the_filter_and_the_arrows() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        mix = await open_many(app, pilot)
        mix.focus()
        for one in mix.found:
            mix.set(one.name, 10)
        await pilot.press("down")
        assert "also " in rows_of(app)[0]
        assert rows_of(app)[0].endswith("more")
        assert len(rows_of(app)[0]) <= mix.size.width
        await pilot.press(*"zz")
        assert rows_of(app)[0].startswith(" filter zz▏ also ")

    run_dashboard(go, size=(80, 20))


def test_a_raised_digit_which_french_keyboards_have_is_no_number_of_agents() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        mix = app.screen.query_one(ProfileMix)
        await until(pilot, lambda: len(mix.found) == 4)
        before = mix.counts
        for field in (mix, app.screen.query_one("#count")):
            field.focus()
            await pilot.press("²")
        assert isinstance(app.screen, FanOutDialog)
        assert mix.counts == before

    run_dashboard(go)


def test_the_numbers_of_profiles_can_be_clicked() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        mix = app.screen.query_one(ProfileMix)
        await until(pilot, lambda: len(mix.found) == 4)
        await pilot.click(ProfileMix, offset=(5, 2))
        await pilot.click(ProfileMix, offset=(5, 2))
        await pilot.click(ProfileMix, offset=(1, 1))
        assert mix.counts == (("claude", 2), ("codex", 2))
        assert "start 4 agents" in text_of(app)

    run_dashboard(go)


def test_the_profile_of_a_new_agent_is_picked_from_a_list_or_any_command() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["project_info"] = MANY
        await pilot.press("n")
        await until(pilot, lambda: "agentb; or any profile or command" in text_of(app))
        app.screen.query_one("#profile", Input).focus()
        await pilot.press("down")
        await until(pilot, lambda: isinstance(app.screen, ProfilePicker))
        assert "gemini          not installed: npm i -g @google/gemini-cli" in text_of(app)
        await pilot.press(*"agentd", "enter")
        await until(pilot, lambda: isinstance(app.screen, NewAgentDialog))
        assert app.screen.query_one("#profile", Input).value == "agentd"
        await pilot.press("down")
        await until(pilot, lambda: isinstance(app.screen, ProfilePicker))
        await pilot.press(*"my-tool -v")
        await until(pilot, lambda: "↵ uses 'my-tool -v' as a command" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, NewAgentDialog))
        assert app.screen.query_one("#profile", Input).value == "my-tool -v"

    run_dashboard(go)


def test_a_list_to_pick_from_says_how_much_of_it_is_out_of_view() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        letters = "abcdefghijklmnopqrst"
        programs = tuple(
            AgentProgram(f"agent{letter}", f"/bin/agent{letter}", "", "1.0") for letter in letters
        )
        app.worker.known["project_info"] = replace(fleet_states.PLACE, programs=programs)
        await pilot.press("n")
        await until(pilot, lambda: "or any profile or command" in text_of(app))
        app.screen.query_one("#profile", Input).focus()
        await pilot.press("down")
        await until(pilot, lambda: isinstance(app.screen, ProfilePicker))
        await until(pilot, lambda: "▾ 8 more  22" in text_of(app))
        await pilot.press(*["down"] * 16)
        await until(pilot, lambda: "▴ 3  ▾ 5 more  22" in text_of(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: "▴ 8  22" in text_of(app))
        await pilot.press(*"agentt")
        await until(pilot, lambda: "─ 1 of 22 ─" in text_of(app))

    run_dashboard(go)


def test_a_form_in_a_small_terminal_is_never_laid_out_for_a_large_one() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, FanOutDialog) and "tab next field" in text_of(app))
        assert not app.screen.query_one(Preview)._drawn, "it was shown beside the fields before it was hidden"

    run_dashboard(go, size=(80, 24))
