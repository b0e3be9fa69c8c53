"""What the dashboard does to real agents, key by key, and what it shows of what others do."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from textual.widgets import Input

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.lifecycle.rebuild import rebuild
from fleet_tui.models import Agent, Status
from fleet_tui.tui.dialogs.confirm import ConfirmInput
from fleet_tui.tui.dialogs.fan_out import FanOutDialog
from fleet_tui.tui.dialogs.new_agents import MultiDialog
from fleet_tui.tui.dialogs.progress import CLOSES_AFTER, TICK_SECONDS, ProgressDialog
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.worker import VERBS_AT_ONCE
from tests.conftest import git
from tests.holder.holders import wait_until
from tests.lifecycle.trusted_projects import write_trusted
from tests.places import REPOSITORY
from tests.tui.running_dashboard import Driven, drive, opened

ECHO = "while read line; do echo got $line; done"
"""Echoes its input until it is ended."""


def shell(fleet: Fleet, *names: str, script: str = ECHO) -> list[Agent]:
    return fleet.multi([(name, script) for name in names], profile="shell")


def hastening(progress: object) -> ProgressDialog:
    """The same dialog, for which time passes ten times as fast."""
    assert isinstance(progress, ProgressDialog)
    progress.clock = lambda: 10 * time.monotonic()
    return progress


def test_a_new_agent_is_made_by_its_form_and_selected_and_one_of_another_terminal_appears_by_itself(
    fleet: Fleet, repository: Path
) -> None:
    async def go() -> None:
        async with opened(repository) as driven:
            assert driven.dashboard.has_class("empty")
            await driven.press("n")
            await driven.write("sleep 1000")
            await driven.press("shift+tab", "shift+tab", "shift+tab")
            await driven.write("nap")
            await driven.press("tab")
            await driven.write("shell")
            await driven.press("ctrl+s")
            await driven.until(lambda: driven.status("nap") in ("starting", "working", "idle"), "it runs")
            await driven.until(
                lambda: driven.dashboard.view.agent is not None and driven.dashboard.view.agent.name == "nap"
            )
            assert fleet.find("nap").prompt == "sleep 1000"

            agent = shell(fleet, "other")[0]
            await driven.until(lambda: driven.status("other"), "what another terminal starts appears")
            fleet.stop([agent], grace=0.2)
            await driven.until(lambda: driven.status("other") == "stopped", "its end appears")

    drive(go())


def test_a_fan_out_shows_every_agents_progress_and_closes_when_all_run(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    write_trusted(
        repository,
        f'[agent]\ndefault = "shell"\n[setup]\ncommands = ["until test -e {go_on}; do sleep 0.02; done"]\n',
    )

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("f")
            await driven.until(lambda: isinstance(driven.app.screen, FanOutDialog))
            await driven.write("sleep 1000")
            await driven.press("ctrl+s")
            await driven.until(lambda: isinstance(driven.app.screen, ProgressDialog), "progress is shown")
            progress = hastening(driven.app.screen)
            await driven.until(lambda: len(progress.agents) == 3, "all three are on it")
            go_on.touch()
            await driven.until(lambda: driven.app.screen is driven.dashboard, "it closes by itself")
            assert [agent.name for agent in driven.dashboard.view.listed] == [
                "sleep-1000-A",
                "sleep-1000-B",
                "sleep-1000-C",
            ]
            assert all(not agent.has_ended for agent in fleet.agents())

    drive(go())


@pytest.mark.slow
def test_an_agent_that_fails_in_a_fan_out_stays_with_its_reason_while_the_others_go_on(
    fleet: Fleet, repository: Path
) -> None:
    write_trusted(repository, '[agent]\ndefault = "shell"\n[setup]\ncommands = ["sh check.sh"]\n')
    (repository / "check.sh").write_text('case "$(git branch --show-current)" in *-B) exit 4;; esac\n')
    git(repository, "add", "check.sh")
    git(repository, "commit", "-q", "-m", "check")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("f")
            await driven.until(lambda: isinstance(driven.app.screen, FanOutDialog))
            await driven.write("sleep 1000")
            await driven.press("ctrl+s")
            await driven.until(lambda: isinstance(driven.app.screen, ProgressDialog), "progress is shown")
            progress = hastening(driven.app.screen)
            await driven.until(
                lambda: "1 failed; created worktrees are kept" in driven.text(), "all are over"
            )
            assert "✗ failed" in driven.text()
            assert "'sh check.sh' ended with code 4" in driven.text()
            assert "2 working, 1 failed" in driven.text()
            over_at = progress.clock()
            await driven.until(lambda: progress.clock() > over_at + CLOSES_AFTER + 30 * TICK_SECONDS)
            assert driven.app.screen is progress, "a failure is not taken away unseen"
            await driven.press("escape")
            await driven.until(lambda: driven.app.screen is driven.dashboard)

    drive(go())
    ended = {agent.name: agent.has_ended for agent in fleet.agents()}
    assert ended == {"sleep-1000-A": False, "sleep-1000-B": True, "sleep-1000-C": False}


@pytest.mark.slow
def test_what_was_typed_is_still_there_when_nothing_could_be_started(fleet: Fleet, repository: Path) -> None:
    shell(fleet, "taken", "many-A")
    write_trusted(repository, '[agent]\ndefault = "shell"\n')

    async def go() -> None:
        async with opened(repository) as driven:

            def shown(text: str) -> bool:
                area = driven.app.screen.query(PromptArea)
                return bool(area) and area.first().text == text

            def said(word: str) -> bool:
                return word in driven.toasts()

            await driven.press("M")
            await driven.until(lambda: isinstance(driven.app.screen, MultiDialog))
            lines = "taken: sleep 1000\nfree: sleep 1000"
            await driven.write(lines)
            await driven.press("ctrl+s")
            await driven.until(lambda: "taken" in driven.toasts(), "the reason")
            await driven.until(lambda: shown(lines), "the form again")
            assert "free: sleep 1000" in driven.text()
            await driven.press("escape")
            await driven.until(lambda: driven.app.screen is driven.dashboard)

            for chord, field, name in (("n", "#name", "many-A"), ("f", "#base", "nowhere")):
                await driven.press(chord)
                await driven.until(lambda: bool(driven.app.screen.query(PromptArea)))
                await driven.write("sleep 1000")
                driven.app.screen.query_one(field, Input).value = name
                await driven.press("ctrl+s")
                await driven.until(partial(said, name), "the reason")
                await driven.until(lambda: shown("sleep 1000"), "the form again")
                assert driven.app.screen.query_one(field, Input).value == name
                await driven.press("escape")
                await driven.until(lambda: driven.app.screen is driven.dashboard)
            assert sorted(agent.name for agent in fleet.agents()) == ["many-A", "taken"]

    drive(go())


@pytest.mark.slow
def test_an_agent_that_ended_before_the_dashboard_was_opened_is_shown_with_its_last_line(
    fleet: Fleet, repository: Path
) -> None:
    shell(fleet, "one", "two", script="printf 'the %s line\\n' last; exit 127")
    wait_until(lambda: all(agent.status is Status.EXITED for agent in fleet.agents()))

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: driven.text().count("exited 127  the last line") == 2)

    drive(go())


def test_stop_and_kill_take_two_taps_and_undo_and_revive_restore(fleet: Fleet, repository: Path) -> None:
    shell(fleet, "one", "two")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: len(driven.dashboard.view.listed) == 2)
            await driven.press("x")
            await driven.press("j", "x")
            assert not driven.app._worker._waiting, "nothing was asked of the worker"
            assert all(not agent.has_ended for agent in fleet.agents()), (
                "a tap on another agent is a first tap"
            )
            await driven.press("x")
            await driven.until(lambda: driven.status("two") == "stopped", "the second tap stops it")
            await driven.press("v")
            await driven.until(
                lambda: driven.status("two") in ("starting", "working", "idle"), "it is revived"
            )
            await driven.press("X", "X")
            await driven.until(lambda: driven.status("two") == "killed", "it is killed")
            assert [agent.name for agent in driven.dashboard.view.listed] == ["one"]
            await driven.press("u")
            await driven.until(lambda: driven.status("two") == "stopped", "it is brought back")
            await driven.until(
                lambda: driven.dashboard.view.agent is not None and driven.dashboard.view.agent.name == "two"
            )
            assert Path(fleet.find("two").worktree).is_dir()

    drive(go())


@pytest.mark.slow
def test_any_number_of_agents_that_are_slow_to_stop_are_killed(fleet: Fleet, repository: Path) -> None:
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text("[fleet]\nstop_grace = 99999\n")
    names = [f"agent-{number}" for number in range(VERBS_AT_ONCE + 1)]
    refusing = "trap 'echo no' TERM INT HUP; echo ready; while :; do sleep 0.05; done"
    agents = shell(fleet, *names, script=refusing)
    for agent in agents:
        wait_until(lambda a=agent: "ready" in fleet.peek(a), "its trap")  # type: ignore[misc]  # as below

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: len(driven.dashboard.view.listed) == len(names))
            for agent in agents:
                await driven.press("x", "x", "j")
                await driven.until(lambda a=agent: "no" in fleet.peek(a), "it was asked to end")  # type: ignore[misc]  # a default binds the loop's value
            for count in (1, 2):
                await driven.press("X", "X")
                await driven.until(
                    lambda n=count: [driven.status(name) for name in names].count("killed") == n,  # type: ignore[misc]  # as above
                    "the selected one is killed",
                )

    drive(go())


@pytest.mark.slow
def test_a_prompt_reaches_all_marked_agents_and_stopping_all_needs_the_word(
    fleet: Fleet, repository: Path
) -> None:
    agents = shell(fleet, "one", "two", "three")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: len(driven.dashboard.view.listed) == 3)
            await driven.press("s", "s")
            assert len(driven.dashboard.view.targets) == 2
            await driven.press("p")
            await driven.write("hello")
            await driven.press("ctrl+n")
            for agent in agents[:2]:
                await driven.until(lambda a=agent: "got hello" in "\n".join(fleet.logs(a, 20)), "it heard")  # type: ignore[misc]  # a default binds the loop's value
            assert "got hello" not in "\n".join(fleet.logs(agents[2], 20))

            await driven.press("Q")
            await driven.write("stip")
            await driven.press("enter")
            assert isinstance(driven.app.screen, ConfirmInput), "another word does nothing"
            assert all(not agent.has_ended for agent in fleet.agents())
            await driven.press("backspace", "backspace")
            await driven.write("op")
            await driven.press("enter")
            await driven.until(
                lambda: {driven.status(agent.name) for agent in agents} == {"stopped"}, "all are stopped"
            )

    drive(go())


def test_typing_reaches_the_agent_the_leave_chord_comes_back_and_leaving_the_dashboard_ends_no_agent(
    fleet: Fleet, repository: Path
) -> None:
    agent = shell(fleet, "one")[0]

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: driven.dashboard.view.agent is not None)
            await driven.press("enter")
            assert driven.dashboard.view.typing == agent.id
            await driven.press("q", "x")
            await driven.press("enter")
            await driven.until(lambda: "got qx" in "\n".join(fleet.logs(agent, 20)), "keys went to the agent")
            assert not fleet.find("one").has_ended
            await driven.press("ctrl+q")
            await driven.until(lambda: driven.dashboard.view.typing == "")
            assert driven.app.is_running
            assert driven.dashboard.focused is None
            await driven.press("q")
            await driven.until(lambda: not driven.app.is_running, "the end of the dashboard")

    drive(go())
    assert not fleet.find(agent.id).has_ended
    assert fleet.find(agent.id).status is not Status.LOST


@pytest.mark.slow
def test_a_terminal_that_closes_takes_no_open_form_with_it(fleet: Fleet, repository: Path) -> None:
    async def write_and_lose_the_terminal() -> None:
        async with opened(repository) as driven:
            await driven.press("f")
            await driven.write("fix it")
            driven.app.exit(return_code=128 + signal.SIGHUP)

    async def look() -> None:
        async with opened(repository) as driven:
            await driven.press("f")
            assert driven.app.screen.query_one(PromptArea).text == "fix it"
            assert "draft from" in driven.text()

    drive(write_and_lose_the_terminal())
    drive(look())


@pytest.mark.slow
def test_rename_move_restart_and_the_log_do_what_they_say(fleet: Fleet, repository: Path) -> None:
    agent = shell(fleet, "one", script="echo ready; sleep 1000")[0]
    others = fleet.fanout(2, "login", profile="shell", prompt="exec cat")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: len(driven.dashboard.view.state.agents) == 3)
            driven.dashboard.view.select(agent.id)
            await driven.press("r", "end")
            await driven.write("-b")
            await driven.press("enter")
            await driven.until(lambda: driven.status("one-b"), "it has the new name")
            for name, batch in (("login", others[0].batch), ("mine", "mine")):
                await driven.press("b")
                await driven.until(lambda: isinstance(driven.app.screen, ConfirmInput))
                await driven.press("home", "ctrl+k")
                await driven.write(name)
                await driven.press("enter")
                await driven.until(lambda batch=batch: moved(driven) == batch, f"it is in {name}")  # type: ignore[misc]  # a default binds the loop's value
                assert driven.dashboard.view.agent is not None
                assert driven.dashboard.view.agent.id == agent.id
            await driven.press("R")
            await driven.press("y")
            await driven.until(
                lambda: driven.dashboard.view.agent is not None and driven.dashboard.view.agent.run == 2,
                "it was started again",
            )
            await driven.press("L")
            await driven.until(lambda: "ready" in driven.app.export_screenshot(), "its log is shown")
            await driven.press("escape")
            assert driven.app.screen is driven.dashboard

    def moved(driven: Driven) -> str:
        return next(one.batch for one in driven.dashboard.view.state.agents if one.id == agent.id)

    drive(go())
    assert fleet.find(agent.id).branch == "one"


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_its_pending_call_fails_with_a_hint(
    fleet: Fleet, repository: Path
) -> None:
    shell(fleet, "one")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: driven.dashboard.view.agent is not None)
            process = driven.app._worker._process
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            await driven.press("x", "x")
            await driven.until(lambda: "worker" in driven.toasts() or driven.status("one") == "stopped")
            await driven.press("x", "x")
            await driven.until(lambda: driven.status("one") == "stopped", "the next worker does it")

    drive(go())


def test_a_failed_start_is_shown_an_unexpected_error_is_a_dialog_and_a_log_and_the_dashboard_goes_on(
    fleet: Fleet, repository: Path
) -> None:
    from fleet_tui import paths
    from fleet_tui.tui.dialogs.crash import CrashDialog

    async def go() -> None:
        async with opened(repository) as driven:
            launch = driven.dashboard.groups.start._launch
            launch(None, "x", 1, "create", "x", prompt="", profile="no-such-program")
            await driven.until(lambda: "no-such-program" in driven.toasts(), "the reason is said")
            await driven.until(lambda: driven.app.screen is driven.dashboard)

            driven.dashboard.call_later(lambda: 1 // 0)
            await driven.until(lambda: isinstance(driven.app.screen, CrashDialog), "it is shown")
            await driven.press("escape")
            await driven.until(lambda: driven.app.screen is driven.dashboard, "and goes on")

    drive(go())
    assert "ZeroDivisionError" in (paths.log() / "crash.log").read_text()


def test_an_unexpected_error_is_shown_also_when_it_cannot_be_logged(repository: Path) -> None:
    from fleet_tui import paths
    from fleet_tui.tui.dialogs.crash import CrashDialog

    async def go() -> None:
        (paths.log() / "crash.log").mkdir()
        async with opened(repository) as driven:
            driven.dashboard.call_later(lambda: 1 // 0)
            await driven.until(lambda: isinstance(driven.app.screen, CrashDialog), "it is shown")
            assert "writing the crash log failed: Is a directory" in driven.text()
            await driven.press("escape")
            await driven.until(lambda: driven.app.screen is driven.dashboard, "and goes on")

    drive(go())


def test_outside_a_repository_the_screen_says_what_to_do_but_the_home_folder_is_not_made_one(
    home: Path,
) -> None:
    async def go() -> None:
        async with opened(home) as driven:
            await driven.until(
                lambda: driven.dashboard.view.project is not None and driven.dashboard.view.project.problem
            )
            await driven.press("f")
            await driven.until(lambda: "git repository" in driven.toasts())
            assert driven.app.screen is driven.dashboard
            await driven.until(lambda: "Start here" in driven.text())
            await driven.press("i")
            await driven.until(lambda: "not a folder for a repository" in driven.toasts())

    drive(go())
    assert not (home / ".git").exists()


@pytest.mark.slow
def test_the_process_that_paints_has_loaded_neither_git_nor_the_emulator(
    fleet: Fleet, repository: Path
) -> None:
    shell(fleet, "one")
    script = """
import asyncio, sys
from pathlib import Path
from tests.conftest import git
from tests.tui.running_dashboard import opened
from tests.lifecycle.trusted_projects import write_trusted

async def go():
    async with opened(Path(sys.argv[1])) as driven:
        await driven.until(lambda: driven.dashboard.view.agent is not None)
        await driven.press("enter", "a", "ctrl+q", "x", "x")
        await driven.until(lambda: driven.status("one") == "stopped")
    print([name for name in ("pygit2", "pyghostty") if name in sys.modules])

asyncio.run(go())
"""
    root = str(REPOSITORY)
    done = subprocess.run(
        [sys.executable, "-c", script, str(repository)],
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_a_key_makes_the_repository_that_is_missing(home: Path) -> None:
    place = home / "nothing here yet"
    place.mkdir()

    async def go() -> None:
        async with opened(place) as driven:
            await driven.until(lambda: "Start here" in driven.text())
            await driven.press("i")
            await driven.until(lambda: "New agent" in driven.text(), "agents can be started")

    drive(go())
    assert git(place, "log", "--format=%s").splitlines() == ["Start"]


def test_without_a_name_in_git_the_dashboard_says_how_to_set_it_before_anything_is_made(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{who}_NAME")
        monkeypatch.delenv(f"GIT_{who}_EMAIL")
    # Git would else make an address of the machine's name, where that is a long one.
    (Path.home() / ".gitconfig").write_text("[user]\nuseConfigOnly = true\n")
    place = home / "nothing here yet"
    place.mkdir()

    async def go() -> None:
        async with opened(place) as driven:
            await driven.until(lambda: "Start here" in driven.text())
            await driven.press("i")
            await driven.until(lambda: "git has no author" in driven.toasts(), "the reason")
            assert 'git config --global user.email "you@example.com"' in driven.toasts()
            assert "user.name" in driven.toasts()

    drive(go())
    assert not (place / ".git").exists()


def test_a_repository_without_a_commit_is_recognized_and_gets_its_first(home: Path) -> None:
    place = home / "project"
    (place / "inner").mkdir(parents=True)
    git(place, "init")

    async def go() -> None:
        async with opened(place / "inner") as driven:
            await driven.until(
                lambda: (
                    driven.dashboard.view.project is not None
                    and "no commit" in driven.dashboard.view.project.problem
                )
            )
            await driven.press("n")
            await driven.until(lambda: "--allow-empty" in driven.toasts())
            await driven.press("i")
            await driven.until(lambda: "New agent" in driven.text())

    drive(go())
    assert not (place / "inner" / ".git").exists(), "no second repository inside the first"


@pytest.mark.slow
def test_a_store_that_replaces_a_damaged_one_is_opened_and_one_toast_says_what_is_wrong(
    fleet: Fleet, repository: Path
) -> None:
    shell(fleet, "old")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: driven.status("old"))
            paths.store().rename(repository / "damaged.db")
            await driven.until(lambda: "no longer exists" in driven.toasts(), "it is said")
            ticks = driven.dashboard._tick
            await driven.until(lambda: driven.dashboard._tick > ticks + 4, "many a look at the store")
            assert driven.toasts().count("no longer exists") == 1
            fleet.close()
            fleet.__init__(repository)  # type: ignore[misc]  # as another terminal makes a new one
            fleet.repair()
            shell(fleet, "new")
            await driven.until(lambda: driven.status("new") and driven.status("old"), "both are there")
            driven.dashboard.view.select(fleet.find("new").id)
            await driven.press("x", "x")
            await driven.until(lambda: driven.status("new") == "stopped", "the worker has taken it up too")
            await driven.until(
                lambda: fleet.find("old").id in driven.dashboard.view.live.usage, "and watches it"
            )

    drive(go())


@pytest.mark.slow
def test_a_damaged_record_and_a_damaged_store_are_named_and_what_was_rebuilt_is_taken_up(
    fleet: Fleet, repository: Path
) -> None:
    shell(fleet, "one", "two")
    fleet.close()

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: driven.status("one") and driven.status("two"))
            with closing(sqlite3.connect(paths.store())) as other:
                other.execute("update agent set status = 'wprking' where name = 'one'")
                other.commit()
            await driven.until(lambda: "the record of one is damaged" in driven.toasts(), "it is named")
            await driven.until(
                lambda: not driven.status("one") and driven.status("two"), "the other is there"
            )
            rebuild(paths.store())
            await driven.until(lambda: driven.status("one") and driven.status("two"), "both are there")

            paths.store().write_bytes(b"no database at all" * 1000)
            await driven.until(lambda: "is damaged" in driven.toasts().split("fleet.db")[-1], "it is said")
            rebuild(paths.store())
            fleet.__init__(repository)  # type: ignore[misc]  # the fixture ends the agents with it
            shell(fleet, "three")
            await driven.until(lambda: all(map(driven.status, ("one", "two", "three"))), "all are there")

    drive(go())
