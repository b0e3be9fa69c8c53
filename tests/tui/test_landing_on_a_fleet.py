"""Landings from the dashboard: a repository, agents, git, the check, the worker, the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.landings import LandingState
from fleet_tui.models import Agent, Status
from fleet_tui.tui.dialogs.confirm import Confirm
from fleet_tui.tui.landing.conflict_screen import ConflictScreen
from fleet_tui.tui.landing.train_screen import TrainScreen
from tests.git.repositories import call, commit
from tests.scripted_hosts import ScriptedHost
from tests.tui.running_dashboard import Driven, drive, opened

ECHO = "while read line; do echo got $line; done"


@pytest.fixture(autouse=True)
def on_main(repository: Path) -> None:
    call(repository, "checkout", "-q", "-B", "main")
    commit(repository, {"both.txt": "one\ntwo\nthree\n"})


def worked(fleet: Fleet, name: str, **files: str) -> Agent:
    """An agent with these files, the last of them not committed."""
    agent = fleet.create(name, profile="shell", prompt=ECHO)
    tree = Path(agent.worktree)
    *committed, last = files.items()
    if committed:
        commit(tree, {f"{path}.txt": text for path, text in committed}, f"Work of {name}")
    (tree / f"{last[0]}.txt").write_text(last[1])
    return agent


def check_with(command: str) -> None:
    with paths.user_config().open("a") as settings:
        settings.write(f'\n[land]\ncheck = "{command}"\n')


async def landing(driven: Driven, name: str) -> None:
    await driven.until(lambda: driven.status(name), "the agent is listed")
    driven.dashboard.view.select(next(a.id for a in driven.dashboard.view.state.agents if a.name == name))
    await driven.press("m")


def test_a_preview_changes_nothing_and_landing_it_can_be_undone(fleet: Fleet, repository: Path) -> None:
    agent = worked(fleet, "worker", first="1\n", second="2\n")
    before = call(repository, "rev-parse", "main")

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await landing(driven, "worker")
            await driven.until(lambda: "Merge commit on main" in driven.text(), "the preview")
            assert "nothing has yet" in driven.text()
            await driven.press("s")
            await driven.until(lambda: "One commit on main" in driven.text(), "the next strategy")
            assert call(repository, "rev-parse", "main") == before

            await driven.press("tab")
            driven.app.screen.query_one("#text").load_text("Said by hand\n")  # type: ignore[attr-defined]
            await driven.press("escape", "ctrl+s")
            await driven.until(lambda: "landed worker" in driven.toasts(), "it has landed")
            await driven.until(lambda: "What will happen  landed" in driven.text(), "the screen says so")
            assert call(repository, "log", "-1", "--format=%s", "main") == "Said by hand"
            assert (repository / "second.txt").read_text() == "2\n"
            assert fleet.current(agent).status is Status.KILLED

            await driven.press("u")
            await driven.until(lambda: "undone: worker" in driven.toasts(), "it is undone")
            await driven.press("escape")
            assert driven.app.screen is driven.dashboard

    drive(go())
    assert call(repository, "rev-parse", "main") == before
    assert not (repository / "second.txt").exists()
    assert fleet.current(agent).status is Status.STOPPED
    assert (Path(agent.worktree) / "second.txt").read_text() == "2\n"
    assert [one.state for one in fleet.landing.landings()] == [LandingState.UNDONE]


@pytest.mark.slow
def test_a_pull_request_is_opened_and_named(
    fleet: Fleet, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(fleet, "worker", first="1\n", second="2\n")
    host = ScriptedHost(tmp_path, repository, monkeypatch).install()

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await landing(driven, "worker")
            await driven.until(lambda: "Merge commit on main" in driven.text(), "the preview")
            for title in ("One commit on main", "2 commits on main", "Push the branch"):
                await driven.press("s")
                await driven.until(lambda title=title: title in driven.text(), title)  # type: ignore[misc] # its default
            assert "to origin (github.com/o/n), with gh" in driven.text()
            await driven.press("ctrl+s")
            await driven.until(lambda: "pushed worker" in driven.toasts(), "it is pushed")
            assert "https://github.com/o/n/pull/1" in driven.toasts()
            await driven.until(lambda: "What will happen  pushed" in driven.text(), "the screen says so")
            await driven.press("escape")
            await driven.until(lambda: "#1" in driven.text(), "the row has its number")

    drive(go())
    assert [one["branch"] for one in host.requests] == ["worker"]


@pytest.mark.slow
def test_a_red_check_stops_it_and_asks_before_it_is_landed_all_the_same(
    fleet: Fleet, repository: Path
) -> None:
    worked(fleet, "worker", first="1\n")
    check_with("echo 1 failed; exit 1")
    before = call(repository, "rev-parse", "main")

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await landing(driven, "worker")
            await driven.until(lambda: "Check the result" in driven.text(), "the preview")
            await driven.press("ctrl+s")
            await driven.until(lambda: "land anyway" in driven.text(), "the check is red")
            assert "1 failed" in driven.text()
            assert call(repository, "rev-parse", "main") == before

            await driven.press("ctrl+s")
            await driven.until(lambda: isinstance(driven.app.screen, Confirm), "the question")
            await driven.press("n")
            assert call(repository, "rev-parse", "main") == before
            await driven.press("ctrl+s")
            await driven.until(lambda: isinstance(driven.app.screen, Confirm), "the question")
            await driven.press("y")
            await driven.until(lambda: "landed worker" in driven.toasts(), "it has landed")

    drive(go())
    assert call(repository, "rev-parse", "main") != before


def test_a_conflict_is_shown_and_given_back_with_a_receipt(fleet: Fleet, repository: Path) -> None:
    agent = worked(fleet, "worker", both="one\nmine\nthree\n")
    commit(repository, {"both.txt": "one\ntheirs\nthree\n"}, "Move main")
    before = call(repository, "rev-parse", "main")

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await landing(driven, "worker")
            await driven.until(lambda: isinstance(driven.app.screen, ConflictScreen), "the conflict")
            await driven.until(lambda: "what now" in driven.text(), "the offers")
            for text in ("both changed", "+ theirs", "+ mine", "- two", "Give it back to worker"):
                assert text in driven.text(), text
            await driven.press("1")
            await driven.until(lambda: "given back to worker" in driven.toasts(), "the receipt")
            assert driven.app.screen is driven.dashboard

    drive(go())
    receipt = fleet.prompts.receipts(agent)[-1]
    assert "both.txt" in receipt.text
    assert call(repository, "rev-parse", "main") == before


@pytest.mark.slow
def test_a_train_lands_until_one_is_stopped(fleet: Fleet, repository: Path) -> None:
    first, second = worked(fleet, "first", one="1\n"), worked(fleet, "second", bad="2\n")
    check_with("test ! -e bad.txt")

    async def go() -> None:
        async with opened(repository, size=(120, 40)) as driven:
            await driven.until(lambda: driven.status("first") and driven.status("second"), "both are listed")
            driven.dashboard.view.select(first.id)
            await driven.press("s")
            driven.dashboard.view.select(second.id)
            await driven.press("s", "m")
            await driven.until(lambda: "waits for 1" in driven.text(), "the train")
            assert isinstance(driven.app.screen, TrainScreen)
            await driven.press("ctrl+s")
            await driven.until(lambda: "landed 1 of 2" in driven.toasts(), "the second is red")
            assert "✗" in driven.text()

    drive(go())
    assert (repository / "one.txt").exists()
    assert not (repository / "bad.txt").exists()
    assert fleet.current(first).status is Status.KILLED
    assert fleet.current(second).status is not Status.KILLED
