"""Dialogs: what they show, and where their keys are."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.command import CommandList
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Label, Static

from fleet_tui.models import FleetState, PermissionRequest, Status
from fleet_tui.programs.prompt_text import TextRule
from fleet_tui.tui.dialogs.answer import AnswerDialog, touched
from fleet_tui.tui.dialogs.fan_out_preview import FanOut, Preview
from fleet_tui.tui.dialogs.help import AllKeys
from fleet_tui.tui.dialogs.logs import MOST_LINES, LogScreen, LogView
from fleet_tui.tui.dialogs.new_agents import NewAgentDialog
from fleet_tui.tui.dialogs.progress import ProgressDialog
from fleet_tui.tui.dialogs.prompt import PromptDialog
from fleet_tui.tui.dialogs.why import WhyDialog
from fleet_tui.tui.worker_protocol import LaunchStep
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until


def plain(lines: object) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]  # type: ignore[attr-defined]  # lines of parts


def text_of(app: StageApp) -> str:
    return "\n".join(row.text for row in app.screen._compositor.render_strips())


def in_bold(app: StageApp) -> list[str]:
    """The labels of a form that stand out."""
    found = app.screen.query(".label").results(Label)
    return [str(label.render()) for label in found if label.styles.text_style.bold]


@pytest.mark.slow
def test_the_label_of_the_field_that_has_the_keys_stands_out() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: in_bold(app) == ["prompt"])
        await pilot.press("tab")
        await until(pilot, lambda: in_bold(app) == ["agents"])

    run_dashboard(go)


def test_the_names_of_a_fan_out_stay_distinct_however_long_the_prefix() -> None:
    preview = Preview(fleet_states.PLACE)
    preview._wanted = FanOut(3, "replace-the-session-cookie", "do it", mix=(("/opt/bin/mine", 3),))
    lines = plain(preview.lines(30, 40))
    made = [line for line in lines if line.startswith(("A ", "B ", "C "))]
    assert [line.split()[1][-2:] for line in made] == ["-A", "-B", "-C"]
    assert all(line.split()[2] == "mine" for line in made), "a program is known by its last part"
    assert all(len(line) == 30 for line in made)


def test_all_keys_can_be_reached_in_a_low_terminal() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await until(pilot, lambda: app.screen.query(AllKeys) and app.screen.query_one(AllKeys).size.height)
        await pilot.press(*["pagedown"] * 10)
        await until(pilot, lambda: "all keys go to the agent except" in text_of(app))

    run_dashboard(go, size=(80, 24))


def test_progress_is_in_the_order_of_names_and_estimates_the_time_left() -> None:
    agents = [replace(one, created_at=1.0, status=Status.SETUP) for one in fleet_states.BIG.agents[:3]]
    agents[2] = replace(agents[2], name="refactor-auth-C漢")

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dialog = ProgressDialog("refactor-auth", 3, "fanout")
        await app.push_screen(dialog)
        for agent in reversed(agents):
            dialog.take(LaunchStep(1, agent, "worktree"))
        dialog._started = time.monotonic() - 6.0
        lines = plain(dialog.lines(98, 20))
        named = [line.split()[0] for line in lines if line.startswith("refactor-auth")]
        assert named == ["refactor-auth-A", "refactor-auth-B", "refactor-auth-C漢"]
        columns = {cell_len(re.split(r"(?=claude|codex)", line)[0]) for line in lines if "refactor" in line}
        assert len(columns) == 1, "profiles stand below each other"
        assert "more" not in lines[-1], "nothing is promised without an example"
        dialog.take_state(FleetState((replace(agents[0], status=Status.WORKING),), ()))
        assert plain(dialog.lines(98, 20))[-1].rstrip().endswith("about 12 s more")
        dialog.take(LaunchStep(1, agents[1], "setup", "a setup command of any length, " * 9))
        (long,) = [line for line in plain(dialog.lines(98, 20)) if "a setup" in line]
        assert long.startswith("refactor-auth-B")
        assert (long[-1], cell_len(long)) == ("…", 98)

    run_dashboard(go, fleet_states.EMPTY)


def test_a_launch_took_as_long_as_its_last_agent() -> None:
    agents = [replace(one, created_at=1.0, status=Status.SETUP) for one in fleet_states.BIG.agents[:2]]

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dialog = ProgressDialog("refactor-auth", 2, "fanout")
        now = dialog._started
        dialog.clock = lambda: now
        await app.push_screen(dialog)
        for agent, took in zip(agents, (2.0, 3.0), strict=True):
            now = dialog._started + took
            dialog.take(LaunchStep(1, agent, "starting"))
            dialog.take_state(FleetState((replace(agent, status=Status.WORKING),), ()))
        now = dialog._started + 3.2
        dialog._tock()
        assert [line.split()[-2] for line in plain(dialog.lines(98, 20)) if "ready in" in line] == [
            "2.0",
            "3.0",
        ]
        assert plain(dialog.titles())[1] == "3.0 s"

    run_dashboard(go, fleet_states.EMPTY)


def test_no_choice_looks_like_what_enter_does_unless_enter_does_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
        drawn = [one.render() for one in app.screen.query(".choice").results(Static)]
        styles = {str([span.style for span in one.spans]) for one in drawn if isinstance(one, Content)}
        assert len(styles) == 1
        assert "↵ open the pane" in text_of(app)

    run_dashboard(go)


def test_the_palette_has_every_action_with_its_key_on_one_line() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("colon")
        await until(pilot, lambda: re.search(r"kill +kill \(twice\), to trash +X ", text_of(app)))
        await pilot.press(*"undo")
        await until(pilot, lambda: re.search(r"undo +undo the last kill or landing +u ", text_of(app)))
        await pilot.press("enter")
        await until(pilot, lambda: ("undo", {}) in app.worker.asked)

    run_dashboard(go)


def test_an_answer_is_given_to_the_exact_command_with_its_reason_and_what_it_touches(tmp_path: Path) -> None:
    request = PermissionRequest("rm -rf build/ gone/ &&\n  tar xf /etc/hostname > out.log", "a clean tree")
    state = changed("refactor-auth-B", request, tmp_path)

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog) and "1" in text_of(app))
        shown = [line.strip(" │") for line in text_of(app).splitlines()]
        found = "\n".join(shown)
        assert re.search(r"\$ rm -rf build/ gone/ &&\n.*  tar xf /etc/hostname > out\.log", found), found
        assert re.search(r"why +a clean tree", found)
        assert re.search(r"touches +build/, gone/, out\.log, /etc/hostname", found), found
        app.dashboard.view.take_state(changed("refactor-auth-B", request, tmp_path))
        assert isinstance(app.screen, AnswerDialog), "the same is asked"
        app.dashboard.view.take_state(changed("refactor-auth-B", PermissionRequest("ls"), tmp_path))
        await until(pilot, lambda: app.screen is app.dashboard and "asks something else" in text_of(app))

    run_dashboard(go, state=state)


def test_paths_are_recognized_by_their_form_and_never_looked_up() -> None:
    command = "cp -r /gone/a ~nobody/b.txt ../c src/d.py e.rs lib/ 1.5 origin/main word https://x.org/f.py && mv . n > o"

    found = touched(PermissionRequest(command), Path("/nowhere/at/all"))

    assert found == ["/gone/a", "~nobody/b.txt", "../c", "src/d.py", "e.rs", "lib/", "2 more"]
    assert touched(PermissionRequest(touches="/nowhere/src/a.py"), Path("/nowhere")) == ["src/a.py"]


@pytest.mark.slow
def test_details_that_the_agent_does_not_report_are_not_shown_with_its_question(tmp_path: Path) -> None:
    state = changed("refactor-auth-B", PermissionRequest(touches=f"{tmp_path}/src/a.py"), tmp_path)

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog) and "waits 3m" in text_of(app))
        found = text_of(app)
        assert re.search(r"touches +src/a\.py", found)
        assert "  why  " not in found.replace("e why", "")
        assert "$ " not in found

    run_dashboard(go, state=state)


@pytest.mark.slow
def test_in_sixteen_colors_too_what_a_dialog_is_about_stays_readable_behind_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.theme = "ansi-dark"
        for opening, shown in (
            ("a", "It wants to run"),
            ("f", "one prompt, several"),
            ("colon", "answer a question"),
        ):
            await pilot.press(opening)
            await until(pilot, lambda shown=shown: shown in text_of(app))  # type: ignore[misc]  # a default binds the loop's value
            assert "refactor-auth  3" in text_of(app), shown
            assert "1 needs you" in text_of(app), shown
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.dashboard)

    run_dashboard(go, size=(120, 40))


def test_words_can_be_typed_only_where_the_program_takes_them() -> None:
    asking = fleet_states.agent(
        "a", Status.BLOCKED, batch="b", detail="question", says="Which way?", choices=("This", "That")
    )
    assert asking.evidence is not None
    free = replace(asking, evidence=replace(asking.evidence, takes_words=True))

    async def plain_question(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog) and "That" in text_of(app))
        assert "of your own" not in text_of(app)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, WhyDialog))

    async def free_question(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog) and "of your own" in text_of(app))

    run_dashboard(plain_question, state=FleetState((asking,), ()))
    run_dashboard(free_question, state=FleetState((free,), ()))


@pytest.mark.slow
def test_a_command_that_is_too_long_says_that_there_is_more(tmp_path: Path) -> None:
    request = PermissionRequest("\n".join(f"echo {number}" for number in range(80)))

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog) and "echo 3" in text_of(app))
        assert re.search(r"… \d+ more lines", text_of(app))
        assert "Yes, run it" in text_of(app), "the choices are still there"

    run_dashboard(go, state=changed("refactor-auth-B", request, tmp_path))


@pytest.mark.slow
def test_in_a_low_terminal_every_choice_of_a_long_question_is_on_the_screen(tmp_path: Path) -> None:
    paths = " ".join(f"/some/where/far/away/number/{number}" for number in range(6))
    request = PermissionRequest(f"rm -rf {paths} " + "漢字 " * 300, "because " * 37)
    labels = ("Yes", "Yes, and do not ask again for " + "this " * 20, "No", "Later, the very last")
    state = changed("refactor-auth-B", request, tmp_path)
    agents = [
        replace(one, evidence=replace(one.evidence, choices=tuple(zip("1234", labels, strict=True))))
        if one.name == "refactor-auth-B" and one.evidence is not None
        else one
        for one in state.agents
    ]

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog) and "rm -rf" in text_of(app))
        await until(pilot, lambda: "the very last" in text_of(app))
        assert re.search(r"… \d+ more lines", text_of(app))
        assert re.search(r"why +because .*…", text_of(app))

    run_dashboard(go, state=replace(state, agents=tuple(agents)), size=(80, 24))


def changed(name: str, request: PermissionRequest, worktree: Path) -> FleetState:
    """The small fleet with another request of one agent."""
    agents = tuple(
        replace(one, worktree=str(worktree), evidence=replace(one.evidence, request=request))
        if one.name == name and one.evidence is not None
        else one
        for one in fleet_states.SMALL.agents
    )
    return replace(fleet_states.SMALL, agents=agents)


def test_a_prompt_that_is_a_command_is_called_one_before_it_is_sent() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        dialog = app.screen
        assert isinstance(dialog, PromptDialog)
        await pilot.press("exclamation_mark", "l")
        await until(pilot, lambda: "profiles.text_rules" in [asked[0] for asked in app.worker.asked])
        dialog.know([TextRule("^!", command=True, before=" ")])
        await until(pilot, lambda: "run as command" in text_of(app))
        assert "command" in text_of(app)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.worker.asked[-1][0] == "prompts.deliver")
        assert app.worker.asked[-1][2] == "!l"
        assert app.worker.asked[-1][3] == {"now": False, "command": True}

    run_dashboard(go)


def test_an_ordinary_prompt_asks_for_no_rules_and_is_no_command() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("l", "s", "ctrl+r")
        await until(pilot, lambda: bool(app.worker.asked))
        assert [asked[0] for asked in app.worker.asked] == ["prompts.deliver"]
        assert app.worker.asked[-1][3] == {"now": False}

    run_dashboard(go)


def test_long_lines_of_a_log_are_folded_searched_and_left_with_a_key_that_the_footer_names() -> None:
    long = f"begin {'x' * 100} needle {'y' * 100} end"

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["logs"] = ["first", *["more"] * 40, long, "last 数" * 20]
        await pilot.press("L")
        await until(pilot, lambda: "43 of 43" in text_of(app))
        shown = text_of(app)
        assert "y end" in shown
        assert shown.count("数") == 20
        assert "esc back" in shown
        await pilot.press("g", "slash", *"first", "enter", "slash", *"needle", "enter")
        await until(pilot, lambda: "needle" in text_of(app))
        view = app.screen.query_one(LogView)
        marked = [text for line in view.lines(*view.size) for text, role in line if "reverse" in role]
        assert "".join(marked) == "needle"

    run_dashboard(go, size=(80, 24))


@pytest.mark.slow
def test_the_part_of_a_long_line_that_is_read_stays_when_the_log_grows() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        logs = app.worker.known["logs"] = [" ".join(map(str, range(1000)))]
        await pilot.press("L")
        await until(pilot, lambda: "1 of 1" in text_of(app))
        view = app.screen.query_one(LogView)
        await pilot.press("g", "j", "j", "j")
        before = view.lines(*view.size)
        logs.append("new")
        await until(pilot, lambda: "1 of 2" in text_of(app))
        assert view.lines(*view.size) == before

    run_dashboard(go, size=(80, 24))


def test_a_paused_log_and_its_match_stay_where_they_are_when_the_oldest_lines_are_dropped() -> None:
    lines = [f"line {number}" for number in range(MOST_LINES + 3)]

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.worker.known["logs"] = lines[:MOST_LINES]
        await pilot.press("L")
        await until(pilot, lambda: f"{MOST_LINES} of {MOST_LINES}" in text_of(app))
        await pilot.press("slash", *"line 4000", "enter")
        view = app.screen.query_one(LogView)
        before = view.lines(*view.size)
        view.fill(lines[3:])
        assert view.lines(*view.size) == before

    run_dashboard(go, size=(80, 24))


def test_a_line_that_is_added_to_a_long_log_does_not_fold_all_lines_again() -> None:
    lines = [f"數 {number} {'x' * 200}" for number in range(MOST_LINES // 4)]

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LogScreen) and bool(app.screen.query(LogView)))
        view = app.screen.query_one(LogView)

        def seconds_to_fill(shown: list[str]) -> float:
            start = time.process_time()
            view.fill(shown)
            return time.process_time() - start

        first = seconds_to_fill(lines)
        assert seconds_to_fill([*lines[1:], "new"]) < first / 4

    run_dashboard(go, size=(80, 24))


def test_lines_of_a_long_command_begin_below_each_other_in_the_explanation_of_a_status() -> None:
    agent = replace(fleet_states.agent("a", Status.IDLE, batch="b"), argv=("program", *["word"] * 30))

    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, WhyDialog) and "runs" in text_of(app))
        lines = text_of(app).split("\n")
        first = next(row for row, line in enumerate(lines) if "runs  " in line)
        assert lines[first + 1].index("word") == lines[first].index("program")

    run_dashboard(go, state=FleetState((agent,), ()))


@pytest.mark.slow
def test_placeholders_are_readable_in_sixteen_colors() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.theme = "ansi-dark"
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, NewAgentDialog))
        style = app.screen.query_one("#name").get_component_rich_style("input--placeholder")
        assert style.dim
        assert style.color is not None
        assert style.color.is_default, "a dark gray that is dim as well is black"

    run_dashboard(go)


@pytest.mark.slow
def test_the_selected_command_of_the_palette_has_a_shape_of_its_own_in_sixteen_colors() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.theme = "ansi-dark"
        await pilot.press("colon")
        await until(pilot, lambda: app.screen.query(CommandList) and "previous agent" in text_of(app))
        commands = app.screen.query_one(CommandList)
        selected = commands.get_visual_style("option-list--option", "option-list--option-highlighted")
        assert selected.underline
        assert not commands.get_visual_style("option-list--option").underline

    run_dashboard(go)
