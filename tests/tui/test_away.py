"""The summary for a user who comes back to the dashboard: shown once, stepped through with one key, closed by any other."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.faces.away_summary import LONG_SECONDS, Mark, read_mark, summarize, write_mark
from fleet_tui.faces.notices import NotifySettings
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from fleet_tui.tui.dialogs.help import HelpDialog
from fleet_tui.tui.notifications import Notifications
from fleet_tui.tui.notifier import Notifier
from tests.holder.holders import wait_until
from tests.reporting_agents import exit_with, report, reporters
from tests.tui.installed_dashboard import PROGRAM
from tests.tui.ptyapp import PtyApp
from tests.tui.running_dashboard import Driven, drive, opened


def left_before(seconds: float = 3600.0) -> None:
    """As if the dashboard had been closed so long ago."""
    mark = read_mark(paths.last_look())
    assert mark is not None
    write_mark(paths.last_look(), replace(mark, at=mark.at - seconds))


def left(fleet: Fleet, seconds: float = 0.0) -> None:
    """As a dashboard does that was closed so long ago and had seen all that there is."""
    write_mark(paths.last_look(), Mark(time.time() - seconds, fleet.state().journal_id))


async def begun(driven: Driven) -> None:
    await driven.until(lambda: driven.app._fleet_notifications.has_begun, "the worker has looked")


async def visit(repository: Path) -> None:
    """Open the dashboard, see everything, and leave."""
    async with opened(repository) as driven:
        await begun(driven)


def three(fleet: Fleet) -> list[Agent]:
    return reporters(fleet, "alpha", "beta", "gamma")


def wait_until_heard(one: Agent, state: str) -> None:
    """By its holder: the next dashboard that is opened finds it so."""
    events = paths.run(one.id, 1) / "events.jsonl"
    wait_until(lambda: f'"status": "{state}"' in events.read_text(), f"{one.name} {state}")


@pytest.mark.slow
def test_the_first_dashboard_ever_says_nothing_and_leaves_a_mark(fleet: Fleet, repository: Path) -> None:
    async def go() -> None:
        reporters(fleet, "alpha", state="done")
        async with opened(repository) as driven:
            await begun(driven)
            assert not driven.dashboard.groups.away.is_shown

    drive(go())
    assert json.loads(paths.last_look().read_text())["journal"] > 0


@pytest.mark.slow
def test_a_returning_user_sees_what_happened_and_steps_through_it(fleet: Fleet, repository: Path) -> None:
    async def go() -> None:
        alpha, beta, gamma = three(fleet)
        await visit(repository)
        left_before()
        # The next dashboard is the first process that copies this into the store.
        report(alpha, "done")
        exit_with(beta, 3)
        report(gamma, "blocked:kind=permission", "rm -rf x?")
        wait_until_heard(alpha, "done")
        wait_until_heard(gamma, "blocked")
        wait_until(lambda: (paths.run(beta.id, 1) / "exit.json").exists(), "its end")
        async with opened(repository) as driven:
            await driven.until(lambda: driven.dashboard.groups.away.is_shown, "the summary")
            await driven.until(lambda: "while you were away  1h" in driven.text())
            said = re.search(r"1 waits for you \ds, (.*?) *│", driven.text())
            assert said is not None, driven.text()
            assert said[1] == "1 with an error: code 3, 1 done"
            assert "] goes through them" in driven.text()
            visited = []
            for _ in range(3):
                await driven.press("right_square_bracket")
                assert driven.dashboard.view.agent is not None
                visited.append(driven.dashboard.view.agent.name)
                assert driven.dashboard.groups.away.is_shown
            assert visited == ["gamma", "beta", "alpha"]
            await driven.press("right_square_bracket")
            assert not driven.dashboard.groups.away.is_shown
            assert driven.dashboard.view.agent is not None
            assert driven.dashboard.view.agent.name == "gamma", "and on to who still waits"
        async with opened(repository) as driven:
            await begun(driven)
            assert not driven.dashboard.groups.away.is_shown, "it is told once"

    drive(go())


@pytest.mark.slow
def test_agents_that_the_summary_shows_as_waiting_wait_in_the_list_too(
    fleet: Fleet, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker is quicker than the next look into the store.
    monkeypatch.setattr("fleet_tui.tui.app.POLL_SECONDS", 3600.0)

    async def go() -> None:
        alpha, _, gamma = three(fleet)
        left(fleet)
        report(gamma, "blocked:kind=permission", "rm -rf x?")
        wait_until_heard(gamma, "blocked")
        async with opened(repository) as driven:
            await driven.until(lambda: driven.dashboard.groups.away.is_shown, "the summary")
            assert driven.status("gamma") == "blocked"
            await driven.press("escape")
            assert driven.dashboard.view.selected == alpha.id
            await driven.press("right_square_bracket")
            assert driven.dashboard.view.selected == gamma.id

    drive(go())


@pytest.mark.slow
def test_any_key_closes_the_summary_and_does_what_it_always_does(fleet: Fleet, repository: Path) -> None:
    back = {"j": "k", "enter": "ctrl+q", "question_mark": "escape"}

    async def go() -> None:
        first, second, _ = three(fleet)
        left(fleet)
        report(second, "done")
        wait_until_heard(second, "done")
        async with opened(repository) as driven:
            dashboard = driven.dashboard
            await driven.until(lambda: dashboard.groups.away.is_shown, "the summary")
            summary = summarize(fleet.state(), {second.id}, Mark(0.0, 0), time.time())
            assert summary is not None
            for key in ("j", "escape", "enter", "ö", "question_mark"):
                dashboard.groups.away.show(summary)
                assert dashboard.view.selected == first.id
                await driven.press(key)
                assert not dashboard.groups.away.is_shown, key
                assert (dashboard.view.selected != first.id) is (key == "j")
                assert bool(dashboard.view.typing) is (key == "enter")
                assert isinstance(driven.app.screen, HelpDialog) is (key == "question_mark")
                if key in back:
                    await driven.press(back[key])

    drive(go())


@pytest.mark.slow
def test_a_short_loss_of_focus_is_no_absence_and_after_a_long_one_no_key_is_taken_from_an_agent(
    fleet: Fleet, repository: Path
) -> None:
    now = [time.time()]

    async def go() -> None:
        fleet.create("typed", profile="shell", prompt="while read line; do echo heard $line; done")
        (other,) = reporters(fleet, "zeta")
        async with opened(repository) as driven:
            await begun(driven)
            driven.app._fleet_notifications = at(fleet, driven, now)
            driven.app._fleet_notifications.begin()
            await driven.press("enter")
            await driven.until(lambda: driven.dashboard.view.typing, "typing")
            driven.app.app_focus = False
            report(other, "done")
            await driven.until(lambda: driven.status("zeta") == "done")
            now[0] += LONG_SECONDS - 1
            driven.app.app_focus = True
            await driven.keyboard.pause()
            assert not driven.dashboard.groups.away.is_shown, "a short look elsewhere is no absence"

            now[0] = time.time()
            driven.app.app_focus = False
            report(other, "error")
            await driven.until(lambda: driven.status("zeta") == "error")
            now[0] += LONG_SECONDS + 1
            driven.app.app_focus = True
            await driven.until(lambda: driven.dashboard.groups.away.is_shown, "the summary")
            await driven.press("h", "i", "enter")
            assert not driven.dashboard.groups.away.is_shown
            await driven.until(lambda: "heard hi" in driven.text(), "what was typed")

    drive(go())


def at(fleet: Fleet, driven: Driven, now: list[float]) -> Notifications:
    """The dashboard's away summary with a clock that the test sets."""
    notifier = Notifier(driven.app, NotifySettings(terminal="off"), lambda _: None)
    return Notifications(fleet, driven.dashboard, notifier, NotifySettings(), clock=lambda: now[0])


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")
def test_in_a_small_terminal_the_summary_is_whole_and_goes_with_a_key(fleet: Fleet, repository: Path) -> None:
    agents = three(fleet)
    left(fleet, seconds=3600.0)
    for one in agents:
        report(one, "done")
    for one in agents:
        wait_until_heard(one, "done")
    with PtyApp([], program=PROGRAM, is_warm=True, cols=80, rows=24, cwd=repository) as app:
        app.wait_for_text("while you were away")
        app.wait_for_text("3 done")
        app.wait_for_text("any other key closes this")
        assert b"is done" not in app.output, "what is old is no notice"
        app.send(b"k")
        app.wait_for(lambda: "while you were away" not in app.text, "the end of the summary")
        app.send(b"q")
        assert app.exit_code() == 0
