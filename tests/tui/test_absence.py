"""What is told to a person who comes back: from the store's journal, once, calmly, and gone through with one key."""

from __future__ import annotations

import json
import re
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState, Status
from fleet_tui.tui.absence import LONG_SECONDS, Mark, read_mark, summarize, write_mark
from fleet_tui.tui.attention import Switches
from fleet_tui.tui.herald import Herald
from fleet_tui.tui.screens.help import HelpDialog
from fleet_tui.tui.vigil import Vigil
from tests.holders import wait_until
from tests.tui.desk import PROGRAM
from tests.tui.driving import Driven, drive, opened
from tests.tui.ptyapp import PtyApp
from tests.tui.reporters import Reporter, reporters
from tests.tui.states import MINUTE, NOW, agent

LEFT = Mark(NOW - 120 * MINUTE, 7)

# ── in words ──


def state(*agents: object) -> FleetState:
    return FleetState(tuple(agents), ())  # type: ignore[arg-type]  # agents, as the callers make them


ALL = state(
    agent("a", Status.DONE, batch="b", since=30 * MINUTE),
    agent("b", Status.FAILED, batch="b", since=50 * MINUTE, says="setup: npm ci ended with code 1"),
    agent("c", Status.WORKING, batch="b", since=5 * MINUTE),
    agent("d", Status.DONE, batch="b", since=20 * MINUTE),
    agent("e", Status.BLOCKED, batch="b", since=40 * MINUTE, says="rm x?", detail="permission"),
    agent("f", Status.STOPPED, batch="b", since=5 * MINUTE),
)


def test_what_has_changed_is_said_the_most_urgent_first() -> None:
    summary = summarize(ALL, {one.id for one in ALL.agents}, LEFT, NOW)

    assert summary is not None
    assert summary.said == "1 waits for you 40m, 1 failed: setup: npm ci ended with code 1, 2 done"
    assert [one.name for one in summary.agents] == ["e", "b", "d", "a"]
    assert summary.seconds == 120 * MINUTE


def test_what_has_not_moved_or_was_so_before_is_not_said() -> None:
    assert summarize(ALL, set(), LEFT, NOW) is None
    assert summarize(ALL, {one.id for one in ALL.agents}, Mark(NOW - MINUTE, 7), NOW) is None
    assert summarize(ALL, {"id-c", "id-f"}, LEFT, NOW) is None


def test_what_happened_just_before_leaving_is_said() -> None:
    summary = summarize(ALL, {"id-a"}, Mark(NOW - 30 * MINUTE + 1, 7), NOW)

    assert summary is not None
    assert summary.said == "1 done"


def test_several_ways_to_go_wrong_are_counted_together() -> None:
    wrong = state(
        agent("a", Status.LOST, batch="b", since=MINUTE, says="its keeper is gone"),
        replace(agent("b", Status.EXITED, batch="b", since=MINUTE), exit_code=3),
    )
    summary = summarize(wrong, {"id-a", "id-b"}, LEFT, NOW)

    assert summary is not None
    assert summary.said == "2 went wrong: its keeper is gone"


# ── the mark ──


def test_the_mark_is_a_private_file_that_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "last-look.json"

    write_mark(file, LEFT)

    assert read_mark(file) == LEFT
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.glob(".last-look*")) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"at": "x", "journal": 1}', '{"at": 1}', "null"])
def test_a_mark_that_says_nothing_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "last-look.json"
    file.write_text(text)

    assert read_mark(file) is None
    assert read_mark(tmp_path / "none") is None


def test_a_mark_that_cannot_be_written_fails_nobody(tmp_path: Path) -> None:
    write_mark(tmp_path / "gone" / "last-look.json", LEFT)


# ── on a real fleet ──


def left_before(seconds: float = 3600.0) -> None:
    """As if the dashboard had been closed so long ago."""
    mark = read_mark(paths.last_look())
    assert mark is not None
    write_mark(paths.last_look(), replace(mark, at=mark.at - seconds))


def left(fleet: Fleet, seconds: float = 0.0) -> None:
    """As a dashboard does that was closed so long ago and had seen all that there is."""
    write_mark(paths.last_look(), Mark(time.time() - seconds, fleet.snapshot().journal_id))


async def begun(driven: Driven) -> None:
    await driven.until(lambda: driven.app._vigil.has_begun, "the worker has looked")


async def visit(repository: Path) -> None:
    """Open the dashboard, see everything, and leave."""
    async with opened(repository) as driven:
        await begun(driven)


def three(fleet: Fleet, folder: Path) -> list[Reporter]:
    return reporters(fleet, folder, "alpha", "beta", "gamma")


def wait_until_heard(one: Reporter, state: str) -> None:
    """By its holder: the next dashboard that is opened finds it so."""
    events = paths.run(one.agent.id, 1) / "events.jsonl"
    wait_until(lambda: f'"status": "{state}"' in events.read_text(), f"{one.agent.name} {state}")


@pytest.mark.slow
def test_the_first_dashboard_ever_says_nothing_and_leaves_a_mark(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    async def go() -> None:
        reporters(fleet, tmp_path, "alpha", state="done")
        async with opened(repository) as driven:
            await begun(driven)
            assert not driven.desk.away_actions.is_shown

    drive(go())
    assert json.loads(paths.last_look().read_text())["journal"] > 0


@pytest.mark.slow
def test_coming_back_one_is_told_what_has_happened_and_goes_through_it(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    async def go() -> None:
        alpha, beta, gamma = three(fleet, tmp_path)
        await visit(repository)
        left_before()
        # Nobody takes this over into the store until the next dashboard does.
        alpha.say("done")
        beta.leave(3)
        gamma.say("blocked", kind="permission", text="rm -rf x?")
        wait_until_heard(alpha, "done")
        wait_until_heard(gamma, "blocked")
        wait_until(lambda: (paths.run(beta.agent.id, 1) / "exit.json").exists(), "its end")
        async with opened(repository) as driven:
            await driven.until(lambda: driven.desk.away_actions.is_shown, "the summary")
            await driven.until(lambda: "while you were away  1h" in driven.text())
            said = re.search(r"1 waits for you \ds, (.*?) *│", driven.text())
            assert said is not None, driven.text()
            assert said[1] == "1 went wrong: code 3, 1 done"
            assert "] goes through them" in driven.text()
            visited = []
            for _ in range(3):
                await driven.press("right_square_bracket")
                assert driven.desk.agent is not None
                visited.append(driven.desk.agent.name)
                assert driven.desk.away_actions.is_shown
            assert visited == ["gamma", "beta", "alpha"]
            await driven.press("right_square_bracket")
            assert not driven.desk.away_actions.is_shown
            assert driven.desk.agent is not None
            assert driven.desk.agent.name == "gamma", "and on to who still waits"
        async with opened(repository) as driven:
            await begun(driven)
            assert not driven.desk.away_actions.is_shown, "it is told once"

    drive(go())


@pytest.mark.slow
def test_as_soon_as_it_is_told_who_waits_the_list_knows_them_too(
    fleet: Fleet, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker is quicker than the next look into the store.
    monkeypatch.setattr("fleet_tui.tui.app.POLL_SECONDS", 3600.0)

    async def go() -> None:
        alpha, _, gamma = three(fleet, tmp_path)
        left(fleet)
        gamma.say("blocked", kind="permission", text="rm -rf x?")
        wait_until_heard(gamma, "blocked")
        async with opened(repository) as driven:
            await driven.until(lambda: driven.desk.away_actions.is_shown, "the summary")
            assert driven.status("gamma") == "blocked"
            await driven.press("escape")
            assert driven.desk.selected == alpha.agent.id
            await driven.press("right_square_bracket")
            assert driven.desk.selected == gamma.agent.id

    drive(go())


@pytest.mark.slow
def test_any_key_closes_the_summary_and_does_what_it_always_does(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    back = {"j": "k", "enter": "ctrl+q", "question_mark": "escape"}

    async def go() -> None:
        first, second, _ = three(fleet, tmp_path)
        left(fleet)
        second.say("done")
        wait_until_heard(second, "done")
        async with opened(repository) as driven:
            desk = driven.desk
            await driven.until(lambda: desk.away_actions.is_shown, "the summary")
            summary = summarize(fleet.snapshot(), {second.agent.id}, Mark(0.0, 0), time.time())
            assert summary is not None
            for key in ("j", "escape", "enter", "ö", "question_mark"):
                desk.away_actions.show(summary)
                assert desk.selected == first.agent.id
                await driven.press(key)
                assert not desk.away_actions.is_shown, key
                assert (desk.selected != first.agent.id) is (key == "j")
                assert bool(desk.typing) is (key == "enter")
                assert isinstance(driven.app.screen, HelpDialog) is (key == "question_mark")
                if key in back:
                    await driven.press(back[key])

    drive(go())


@pytest.mark.slow
def test_a_short_look_elsewhere_is_no_absence_and_after_a_long_one_no_key_is_taken_from_an_agent(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    now = [time.time()]

    async def go() -> None:
        fleet.create("typed", profile="shell", prompt="while read line; do echo heard $line; done")
        (other,) = reporters(fleet, tmp_path, "zeta")
        async with opened(repository) as driven:
            await begun(driven)
            driven.app._vigil = at(fleet, driven, now)
            driven.app._vigil.begin()
            await driven.press("enter")
            await driven.until(lambda: driven.desk.typing, "typing")
            driven.app.app_focus = False
            other.say("done")
            await driven.until(lambda: driven.status("zeta") == "done")
            now[0] += LONG_SECONDS - 1
            driven.app.app_focus = True
            await driven.hands.pause()
            assert not driven.desk.away_actions.is_shown, "a short look elsewhere is no absence"

            now[0] = time.time()
            driven.app.app_focus = False
            other.say("error")
            await driven.until(lambda: driven.status("zeta") == "error")
            now[0] += LONG_SECONDS + 1
            driven.app.app_focus = True
            await driven.until(lambda: driven.desk.away_actions.is_shown, "the summary")
            await driven.press("h", "i", "enter")
            assert not driven.desk.away_actions.is_shown
            await driven.until(lambda: "heard hi" in driven.text(), "what was typed")

    drive(go())


def at(fleet: Fleet, driven: Driven, now: list[float]) -> Vigil:
    """The dashboard's vigil with a clock that the test turns."""
    herald = Herald(driven.app, Switches(terminal="off"), lambda _: None)
    return Vigil(fleet, driven.desk, herald, Switches(), clock=lambda: now[0])


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")
def test_in_a_small_terminal_the_summary_is_whole_and_goes_with_a_key(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    agents = three(fleet, tmp_path)
    left(fleet, seconds=3600.0)
    for one in agents:
        one.say("done")
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
