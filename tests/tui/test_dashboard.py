"""The dashboard's reactions to keys and the mouse, on hand-written fleets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from fleet_tui.faces.away_summary import Summary
from fleet_tui.faces.live import LiveData
from fleet_tui.models import FleetState, Status
from fleet_tui.tui import keys
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.dialogs.answer import AnswerDialog
from fleet_tui.tui.dialogs.confirm import Confirm, ConfirmInput
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.help import HelpDialog
from fleet_tui.tui.dialogs.new_agents import tasks
from fleet_tui.tui.dialogs.prompt import PromptDialog
from fleet_tui.tui.dialogs.why import WhyDialog
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.widgets.fleet_list import FleetList
from fleet_tui.tui.widgets.footer import Footer
from fleet_tui.tui.widgets.header import Header
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.which_key import WhichKey
from tests.tui import fleet_states
from tests.tui.dashboard_app import Go, StageApp, run_dashboard, until


def name(dashboard: Dashboard) -> str:
    return dashboard.view.agent.name if dashboard.view.agent else ""


def footer(app: StageApp) -> str:
    return "".join(segment.text for segment in app.dashboard.query_one(Footer).render_line(0))


def said(app: StageApp) -> str:
    return "\n".join(f"{toast.title} {toast.message}" for toast in app._notifications)


def test_moving_wraps_around_and_next_goes_to_the_agent_that_needs_you() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        assert name(dashboard) == "refactor-auth-A"
        await pilot.press("k")
        assert name(dashboard) == "bump-deps"
        await pilot.press("g")
        await pilot.press("right_square_bracket")
        assert name(dashboard) == "refactor-auth-B", "who waits comes before who is merely done"
        await pilot.press("G", "left_square_bracket")
        assert name(dashboard) == "refactor-auth-B"
        await pilot.press("2")
        assert name(dashboard) == dashboard.groups.layout.agents_in_panes()[1].name
        await pilot.press("о")
        assert name(dashboard) != dashboard.groups.layout.agents_in_panes()[1].name, (
            "the Cyrillic letter on the j key moves as j does"
        )

    run_dashboard(go)


@pytest.mark.slow
def test_the_cursor_stays_with_its_agent_when_others_come_and_go() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("j", "j")
        before = name(dashboard)
        dashboard.view.take_state(fleet_states.BIG)
        await pilot.pause()
        assert name(dashboard) == before
        dashboard.view.take_state(fleet_states.with_status(fleet_states.BIG, before, Status.KILLED))
        await pilot.pause()
        assert name(dashboard) == "refactor-auth-D", "a neighbor gets it when the agent is gone"

    run_dashboard(go)


def test_filtering_narrows_the_list_and_escape_widens_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("slash", *"a:codex".replace(":", ""))
        await pilot.pause()
        dashboard.query_one("#filter").value = "a:codex"  # type: ignore[attr-defined]  # an Input
        await pilot.pause()
        assert [agent.name for agent in dashboard.view.listed] == ["refactor-auth-B", "flaky-tests-B"]
        assert "FILTER" in footer(app)
        await pilot.press("enter")
        assert dashboard.focused is None
        assert len(dashboard.view.listed) == 2
        await pilot.press("escape")
        assert len(dashboard.view.listed) == 7
        await pilot.press("w")
        assert [agent.name for agent in dashboard.view.listed] == ["refactor-auth-B"]

    run_dashboard(go)


def test_keys_do_nothing_to_an_agent_that_the_filter_hides_but_its_question_is_answered() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("slash", *"zzz", "enter", "X")
        assert "no agent selected" in said(app)
        await pilot.press("X", "enter", "L", "e")
        assert not app.worker.asked
        assert app.screen is dashboard
        assert dashboard.view.typing == ""
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
        await pilot.press("enter")
        await until(pilot, lambda: dashboard.view.typing != "")
        agent = dashboard.view.agent
        assert agent is not None
        assert agent.status is Status.BLOCKED

    run_dashboard(go)


def test_a_filter_that_hides_an_agent_that_needs_you_is_cleared_by_the_key_that_goes_there() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("slash", *"bump", "enter", "right_square_bracket")
        assert name(dashboard) == "refactor-auth-B"
        assert "no agent needs you" not in said(app)
        await pilot.pause()
        assert dashboard.view.shown.filter.is_empty
        assert not dashboard.has_class("filtering")
        await pilot.press("slash", *"refactor", "enter", "g", "right_square_bracket")
        assert name(dashboard) == "refactor-auth-B"
        assert not dashboard.view.shown.filter.is_empty, "it hides no agent that the key goes to"

    run_dashboard(go)


@pytest.mark.parametrize(
    "key", ["h", "slash", *(pytest.param(key, marks=pytest.mark.slow) for key in ("w", "s", "O"))]
)
def test_keys_that_change_the_list_show_it_when_zoom_has_hidden_it(key: str) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("z")
        assert dashboard.has_class("no-side")
        await pilot.press(key)
        assert not dashboard.has_class("no-side")
        assert list(dashboard.query_one(PaneGrid).frames)

    run_dashboard(go)


def test_zoom_ends_when_its_agent_leaves_the_filtered_list() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("w", "z")
        assert name(dashboard) == "refactor-auth-B"
        dashboard.view.take_state(
            fleet_states.with_status(fleet_states.SMALL, "refactor-auth-B", Status.WORKING)
        )
        await pilot.pause()
        assert not dashboard.has_class("no-side")
        await pilot.press("escape", "z", "X")
        assert "X again: move to trash" in said(app), "the hint has no list to be below"

    run_dashboard(go)


def test_a_filter_that_hides_an_agent_of_the_summary_is_cleared_by_the_key_that_goes_there() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        agent = next(one for one in dashboard.view.state.agents if one.name == "refactor-auth-B")
        await pilot.press("slash", *"bump", "enter")
        dashboard.groups.away.show(Summary(5000.0, (agent,), "1 waits for you"))
        await pilot.press("right_square_bracket")
        assert name(dashboard) == "refactor-auth-B"
        assert not dashboard.has_class("filtering")

    run_dashboard(go)


def test_zoom_shows_a_pinned_agent_that_the_filter_hides_and_needs_an_agent() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("full_stop", "slash", *"zzz", "enter", "z")
        assert [agent.name for agent in dashboard.groups.layout.agents_in_panes()] == [name(dashboard)]
        await pilot.press("full_stop")
        assert not dashboard.has_class("no-side"), "it has no pane any more"
        await pilot.press("z")
        assert not dashboard.has_class("no-side"), "there is nothing else to show"
        assert "no agent selected" in said(app)

    run_dashboard(go)


def test_no_batch_is_folded_unseen_while_a_filter_shows_all_that_pass() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        view = app.dashboard.view
        await pilot.press("slash", *"zzz", "enter", "h", "escape")
        assert not view.shown.folded
        await pilot.press("h")
        assert view.shown.folded

    run_dashboard(go)


def test_marking_folding_and_ordering() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("s", "s")
        assert [agent.name for agent in dashboard.view.targets] == ["refactor-auth-A", "refactor-auth-B"]
        await pilot.press("escape")
        assert dashboard.view.marked == frozenset()
        await pilot.press("g", "h")
        assert len(dashboard.view.listed) == 4
        await pilot.press("right_square_bracket")
        assert name(dashboard) == "refactor-auth-B", "a folded batch opens for who needs you"
        await pilot.press("O")
        assert dashboard.view.listed[0].name == "refactor-auth-B"

    run_dashboard(go)


def test_panes_zoom_pin_and_change_their_number() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        grid = dashboard.query_one(PaneGrid)
        assert len(list(grid.frames)) == 2
        await pilot.press("vertical_line")
        assert len(list(grid.frames)) == 4
        await pilot.press("z")
        assert [frame.pane.agent.name for frame in grid.frames if frame.pane.agent] == ["refactor-auth-A"]
        assert not dashboard.query_one("#side").display
        await pilot.press("escape")
        assert len(list(grid.frames)) == 4
        await pilot.press("full_stop", "G")
        assert grid.frame_of("id-refactor-auth-a") is not None, "a pinned pane stays"
        assert grid.frame_of(dashboard.view.selected) is not None

    run_dashboard(go)


def test_a_pinned_pane_stays_when_its_batch_is_folded_or_filtered_out() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard

        def shown() -> list[str]:
            frames = dashboard.query_one(PaneGrid).frames
            return [frame.pane.agent.name for frame in frames if frame.pane.agent is not None]

        await pilot.press("g", "full_stop")
        pinned = name(dashboard)
        await pilot.press("h")
        assert name(dashboard) != pinned
        assert shown()[0] == pinned
        await pilot.press("G")
        assert shown() == [pinned, name(dashboard)]
        dashboard.view.filter("pixel")
        await pilot.pause()
        assert shown()[0] == pinned
        await pilot.press("1", "z")
        assert shown() == [pinned]

    run_dashboard(go)


def test_the_list_is_made_wider_by_keys_and_by_dragging_its_edge() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        side = app.dashboard.query_one("#side")
        await pilot.press("greater_than_sign")
        await pilot.pause()
        assert side.outer_size.width == 48
        await pilot.press("less_than_sign", "less_than_sign")
        await pilot.pause()
        assert side.outer_size.width == 40
        await pilot.mouse_down(offset=(39, 10))
        await pilot.hover(offset=(59, 10))
        await pilot.mouse_up(offset=(59, 10))
        await pilot.pause()
        assert side.outer_size.width == 60

    run_dashboard(go)


def test_the_width_of_the_list_is_not_changed_where_it_is_above_the_panes() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("less_than_sign")
        assert "the list has the whole width" in said(app)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: app.dashboard.query_one("#side").outer_size.width == 44)

    run_dashboard(go, size=(80, 24))


@pytest.mark.parametrize(
    ("size", "panes", "is_stacked"),
    [
        ((80, 24), 1, True),
        pytest.param((120, 40), 2, False, marks=pytest.mark.slow),
        pytest.param((160, 45), 4, False, marks=pytest.mark.slow),
        pytest.param((200, 50), 6, False, marks=pytest.mark.slow),
        ((250, 70), 9, False),
    ],
)
def test_the_layout_follows_the_size_of_the_terminal(
    size: tuple[int, int], panes: int, is_stacked: bool
) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        assert len(list(app.dashboard.query_one(PaneGrid).frames)) == panes
        assert app.dashboard.has_class("stacked") is is_stacked
        assert app.dashboard.query_one("#detail").display is not is_stacked

    run_dashboard(go, fleet_states.BIG, size=size)


def test_typing_is_shown_twice_and_the_leave_chord_never_quits() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        assert " LIST " in footer(app)
        await pilot.press("enter")
        await pilot.pause()
        frame = dashboard.query_one(PaneGrid).frame_of(dashboard.view.typing)
        assert frame is not None
        assert frame.has_class("typing")
        assert frame.pane.has_focus
        assert frame.pane.is_typing
        assert "TYPING → refactor-auth-A" in footer(app)
        assert "ctrl+q back to the list (or F12)" in footer(app)
        await pilot.press("q", "x", "x", "escape")
        assert dashboard.view.typing, "keys of the list are the agent's now"
        assert not app.worker.asked
        await pilot.press("f12")
        await pilot.pause()
        assert dashboard.view.typing == ""
        assert dashboard.focused is None
        await pilot.press("ctrl+q", "ctrl+c")
        assert app.is_running

    run_dashboard(go)


def test_the_leader_shows_its_keys_switches_agents_and_names_what_it_does_not_know() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("enter", "ctrl+right_square_bracket")
        await until(pilot, lambda: dashboard.query_one(WhichKey).display)
        await pilot.press("n")
        await pilot.pause()
        assert not dashboard.query_one(WhichKey).display
        assert dashboard.view.by_id(dashboard.view.typing).name == "refactor-auth-B"  # type: ignore[union-attr]  # it is there
        await pilot.press("ctrl+right_square_bracket", "o")
        await pilot.pause()
        assert "does nothing" in said(app)
        assert dashboard.view.typing
        await pilot.press("ctrl+right_square_bracket", "tab")
        await pilot.pause()
        assert dashboard.view.by_id(dashboard.view.typing).name == "refactor-auth-A"  # type: ignore[union-attr]  # it is there
        await pilot.press("ctrl+right_square_bracket", "l")
        await pilot.pause()
        assert dashboard.view.typing == ""

    run_dashboard(go)


@pytest.mark.slow
def test_keys_after_the_leader_go_back_zoom_hide_the_list_and_ask_and_typing_goes_on() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        lead = "ctrl+right_square_bracket"
        await pilot.press("j", "enter", lead, "k")
        assert name(dashboard) == "refactor-auth-A"
        await pilot.press(lead, "N")
        assert name(dashboard) == "refactor-auth-B", "the one that needs the user, also from before it"
        looks = []
        for key in ("z", "z", "b", "b"):
            await pilot.press(lead, key)
            looks.append((dashboard.view.is_zoomed, dashboard.has_class("no-side")))
        assert looks == [(True, True), (False, False), (False, True), (False, False)]
        for key, dialog in (("e", WhyDialog), ("question_mark", HelpDialog), ("x", Confirm)):
            await pilot.press(lead, key)
            await until(pilot, lambda dialog=dialog: isinstance(app.screen, dialog))  # type: ignore[misc]  # a default binds the loop's value
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is dashboard)
        assert dashboard.view.typing == "id-refactor-auth-b", "none of them has ended the typing"
        assert not any(asked[0] == "stop" for asked in app.worker.asked)
        await pilot.press(lead, "x")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: ("stop", ["id-refactor-auth-b"], {}) in app.worker.asked)

    run_dashboard(go)


@pytest.mark.slow
def test_two_batches_of_one_name_are_distinguished_by_their_ids_when_agents_are_moved() -> None:
    made = [fleet_states.agent(f"wk-{letter}", Status.IDLE, batch="261118-cpkc") for letter in "AB"]
    killed = fleet_states.agent("wk-C", Status.KILLED, batch="other")

    def offers(*shown: tuple[Sequence[str], str]) -> Go:
        async def go(app: StageApp, pilot: Pilot[None]) -> None:
            for key, value in shown:
                await pilot.press(*key, "b")
                await until(pilot, lambda: isinstance(app.screen, ConfirmInput))
                assert app.screen.query_one(Input).value == value
                await pilot.press("escape")
                await until(pilot, lambda: app.screen is app.dashboard)

        return go

    gamma = fleet_states.agent("gamma", Status.IDLE, batch="wk")
    run_dashboard(offers(("g", "261118-cpkc"), ("G", "wk")), FleetState((*made, gamma), ()))
    run_dashboard(offers(("g", "wk")), FleetState((*made, killed), ()))
    seek = ("slash", *"s:killed", "enter", "g")
    run_dashboard(offers((seek, "other")), FleetState((*made, killed), ()))


def test_a_muted_batch_is_called_by_its_name_in_the_list() -> None:
    agents = tuple(
        fleet_states.agent(name, Status.IDLE, batch="261118-cpkc") for name in ("login-A", "login-B")
    )

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("N")
        assert "notices of login are muted until you quit" in said(app)

    run_dashboard(go, FleetState(agents, ()))


def test_batches_are_folded_and_unfolded_and_a_fork_is_asked_for_by_name() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("h")
        assert "refactor-auth-B" not in [agent.name for agent in dashboard.view.listed]
        await pilot.press("h", "l")
        assert len(dashboard.view.listed) == len(fleet_states.SMALL.agents)
        await pilot.press("g", "F")
        await until(pilot, lambda: isinstance(app.screen, ConfirmInput))
        await pilot.press("enter")
        wanted = ("fork", "id-refactor-auth-a", "refactor-auth-A-fork")
        await until(pilot, lambda: any(asked[:3] == wanted for asked in app.worker.asked))

    run_dashboard(go)


@pytest.mark.slow
def test_an_ended_agent_cannot_be_typed_to_and_says_what_to_do() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        assert app.dashboard.view.typing == ""
        assert "v revives" in said(app)

    run_dashboard(go, fleet_states.with_status(fleet_states.SMALL, "refactor-auth-A", Status.EXITED))


def test_an_agent_that_is_killed_while_typed_to_gives_the_keys_back() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        app.dashboard.view.take_state(
            fleet_states.with_status(fleet_states.SMALL, "refactor-auth-A", Status.KILLED)
        )
        await pilot.pause()
        assert app.dashboard.view.typing == ""

    run_dashboard(go)


def test_warnings_of_a_kill_are_shown() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["kill"] = ["the trash is over its limit of 1 MB now"]
        await pilot.press("X", "X")
        await pilot.pause()
        assert "branch kept, u undoes it" in said(app)
        assert "the trash is over its limit of 1 MB now" in said(app)

    run_dashboard(go)


def test_one_tap_of_stop_or_kill_does_nothing_and_moving_away_forgets_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("x", "j", "k", "x")
        assert not app.worker.asked
        await pilot.press("X")
        assert not app.worker.asked, "the tap of another key is no second tap"
        await pilot.press("X")
        await pilot.pause()
        assert app.worker.asked[0][:2] == ("kill", ["id-refactor-auth-a"])
        assert "branch kept, u undoes it" in said(app)

    run_dashboard(go)


def test_pasted_text_in_the_list_becomes_a_prompt_and_never_shortcuts() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.post_message(events.Paste("xx\nQ\nq"))
        await pilot.pause()
        assert isinstance(app.screen, PromptDialog)
        assert app.screen.query_one(PromptArea).text == "xx\nQ\nq"
        await pilot.press("enter")
        await pilot.pause()
        assert app.worker.asked[0][:3] == ("prompts.deliver", ["id-refactor-auth-a"], "xx\nQ\nq")

    run_dashboard(go)


@pytest.mark.slow
def test_unbound_letters_show_a_hint() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("ä", "ä", "ä")
        assert "to type to refactor-auth-A" in said(app)

    run_dashboard(go)


def test_clicks_select_fold_and_open() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.click(FleetList, offset=(10, 4))
        assert name(dashboard) == "refactor-auth-B"
        await pilot.click(FleetList, offset=(10, 1))
        assert len(dashboard.view.listed) == 4
        await pilot.click(FleetList, offset=(10, 1))
        await pilot.click(FleetList, offset=(10, 2), times=2)
        await pilot.pause()
        assert dashboard.view.typing == dashboard.view.selected == "id-refactor-auth-a"
        await pilot.click(FleetList, offset=(10, 4))
        assert dashboard.view.typing == "", "a click on the list is a way out"

    run_dashboard(go)


def test_a_click_on_an_entry_of_the_footer_presses_its_key() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard

        async def click(label: str) -> None:
            await pilot.click(Footer, offset=(footer(app).index(label), 0))
            await pilot.pause()

        await click("next")
        assert name(dashboard) == "refactor-auth-B"
        await click("type")
        assert dashboard.view.typing == "id-refactor-auth-b"
        await click("more keys")
        await pilot.press("z")
        assert dashboard.view.is_zoomed
        await click("zoom")
        assert not dashboard.view.is_zoomed, "the leader and the key after it"
        await click("back to the list")
        assert not dashboard.view.typing
        await click("filter")
        await click("status")
        assert dashboard.query_one("#filter", Input).value == "s:"
        await click("clear")
        await click("help")
        assert isinstance(app.screen, HelpDialog)

    run_dashboard(go, size=(200, 45))


def test_a_click_on_a_count_of_the_header_goes_to_the_next_agent_it_counts() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard

        async def click(word: str) -> None:
            header = dashboard.query_one(Header)
            await pilot.click(header, offset=(header.render_line(0).text.index(word), 0))
            await pilot.pause()

        await click("needs you")
        assert name(dashboard) == "refactor-auth-B"
        await click("done")
        assert name(dashboard) == "refactor-auth-C"
        dashboard.view.filter("pixel")
        await click("7 agents")
        assert len(dashboard.view.listed) == 7, "all agents are listed again"
        await pilot.press("g", "h", "j")
        await click("working")
        assert name(dashboard) == "refactor-auth-A", "its batch was folded"
        dashboard.groups.typing.type()
        await click("idle")
        assert (name(dashboard), dashboard.view.typing) == ("flaky-tests-B", "")

    run_dashboard(go, size=(160, 45))


def test_the_fan_out_form_adds_up_and_says_what_it_will_make() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await pilot.press(*"fix", "space", *"it")
        await pilot.press("shift+tab", "down", "right", "right")
        await pilot.pause()
        dialog = app.screen
        assert isinstance(dialog, FanOutDialog)
        assert dialog._wanted().mix == (("claude", 3), ("codex", 2))
        assert dialog._wanted().count == 5
        await pilot.press("ctrl+s")
        await pilot.pause()
        verb, count, prefix, options = app.worker.asked[-1]
        assert (verb, count, prefix) == ("fanout", 5, "fix-it")
        assert options["prompt"] == "fix it"

    run_dashboard(go)


@pytest.mark.slow
def test_earlier_prompts_come_back_with_ctrl_up() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("p", "h", "i", "ctrl+up")
        area = app.screen.query_one(PromptArea)
        assert area.text == "Replace the session cookie by signed tokens."
        await pilot.press("ctrl+down")
        assert area.text == "hi"
        await pilot.press("alt+enter", "y")
        assert area.text == "hi\ny"

    run_dashboard(go)


def test_help_lists_the_users_own_keys_and_can_be_searched() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpDialog)
        await pilot.press(*"zoom")
        await pilot.pause()
        shown = app.export_screenshot()
        assert "ctrl+z" in shown
        assert "fan one" not in shown.replace("&#160;", " ")

    run_dashboard(go, keymap=keys.resolve({"zoom": ["ctrl+z"]}))


@pytest.mark.slow
def test_escape_closes_a_dialog_without_doing_anything() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, WhyDialog))
        await pilot.press("escape", "f", "escape", "p", "a", "escape")
        assert len(app.screen_stack) == 2
        assert {verb for verb, *_ in app.worker.asked} <= {"why", "project_info", "start_point"}, (
            "only questions"
        )

    run_dashboard(go)


def test_the_first_screen_offers_keys_that_do_something() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        assert app.dashboard.has_class("empty")
        assert "new agent" in footer(app)
        await pilot.press("j", "x", "enter", "a", "z", "d")
        await pilot.press("c")
        await pilot.pause()
        assert ("settings.init", {}) in app.worker.asked
        await pilot.press("f")
        assert isinstance(app.screen, FanOutDialog)

    run_dashboard(go, fleet_states.EMPTY)


def test_tasks_are_named_by_their_line_or_from_their_prompt() -> None:
    found = tasks("auth: fix the login\n\nwrite more tests please\nwrite more tests now\n")
    assert found == [
        ("auth", "fix the login"),
        ("write-more-tests", "write more tests please"),
        ("write-more-tests-2", "write more tests now"),
    ]


def test_nothing_moves_when_motion_is_off_or_the_terminal_has_no_focus() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        dashboard.view.take_live(LiveData(active={"id-refactor-auth-a": fleet_states.NOW}))
        assert dashboard._moving(fleet_states.NOW) == {"id-refactor-auth-a"}
        app.app_focus = False
        assert dashboard._moving(fleet_states.NOW) == frozenset()

    run_dashboard(go)


def test_a_key_of_the_first_screen_counts_once() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("t")
        await pilot.pause()
        assert said(app).count("this terminal cannot run another") == 1
        await pilot.press("c")
        await pilot.pause()
        assert app.worker.asked.count(("settings.init", {})) == 1

    run_dashboard(go, fleet_states.EMPTY)


@pytest.mark.slow
def test_in_an_empty_fleet_a_filter_hides_nothing_and_the_welcome_stays() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        needing = dashboard.keymap.of("needing-only")[0]
        await pilot.press("slash", "z", "b", keys.event_key(needing))
        assert dashboard.has_class("empty")
        assert dashboard.view.shown.filter.is_empty
        assert dashboard.focused is None
        assert "no agents to filter" in said(app)
        dashboard.view.take_state(fleet_states.SMALL)
        await pilot.pause()
        assert len(dashboard.view.listed) == len(fleet_states.SMALL.agents)

    run_dashboard(go, fleet_states.EMPTY)
