"""Agents of real programs: tests judge them by what their holder recorded, never by their screen."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.event_log import read_events
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_holder
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent, Receipt, Spending
from fleet_tui.programs import input_box, profiles
from fleet_tui.programs.input_box import Box
from fleet_tui.system import leftovers
from fleet_tui.terminal.cells import Cursor
from fleet_tui.terminal.input_events import KeyEvent
from fleet_tui.terminal.view import View
from tests.conftest import processes_of
from tests.holder.holders import wait_until
from tests.holder.screens import wait_for_screen
from tests.real import homes
from tests.real.api import Api
from tests.real.homes import changed, contents

SECONDS = 20.0

HARD_PROMPT = """It's a "prompt" with $(touch PWNED) `and` ${HOME} in it,
several lines, a \\ backslash and {braces},

an empty line, zażółć gęślą jaźń, 日本語 and 🛠️👩‍💻."""
LONG_PROMPT = "".join(f"line {number} of many, which it's all about\n" for number in range(2500)) + "the end"

PERMISSION_SHOWN = {
    "claude": "Do you want to proceed?",
    "codex": "Would you like to run",
    "gemini": "Allow execution of",
    "opencode": "Permission required",
    "qwen": "Allow execution of",
}
"""Words of the dialog in which a program asks for permission to run a command."""


def asks_to_touch(program: str) -> str:
    """A prompt that makes a program ask before it runs `touch one.txt`."""
    order = "escape" if program == "codex" else "run"  # codex asks only for what its sandbox does not allow
    return f"please [[{order} touch one.txt]]"


@dataclass(frozen=True, slots=True)
class ReportedStatus:
    """A status in the holder's events."""

    status: str
    detail: str
    source: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Running:
    """One started agent. A revive changes its run, so the row is read again on each access."""

    fleet: Fleet
    id: str

    @property
    def agent(self) -> Agent:
        return self.fleet.store.agents.get(self.id)

    @property
    def worktree(self) -> Path:
        return Path(self.agent.worktree)

    def events(self, kind: str) -> list[dict[str, Any]]:
        _, events = read_events(paths.run(self.id, self.agent.run), 0)
        return [event for event in events if event["kind"] == kind]

    def statuses(self) -> list[ReportedStatus]:
        return [
            ReportedStatus(data["status"], data["detail"], data["source"], data["text"], event["at"])
            for event in self.events("status")
            for data in [event["data"]]
        ]

    def wait_for(
        self,
        *wanted: str,
        since: float = 0.0,
        source: str = "",
        detail: str = "",
        text: str = "",
        seconds: float = SECONDS,
    ) -> ReportedStatus:
        """Wait for the first status with one of these names, these words and this source, recorded at or after `since`."""

        def found() -> Iterator[ReportedStatus]:
            for told in self.statuses():
                is_worded = text in told.text and detail in ("", told.detail)
                if told.status in wanted and told.at >= since and source in ("", told.source) and is_worded:
                    yield told

        try:
            wait_until(
                lambda: any(found()), f"{self.agent.profile} being {' or '.join(wanted)}", seconds=seconds
            )
        except AssertionError as error:
            raise AssertionError(
                f"{error}; reported were {self.statuses()}; screen: {self.screen()}"
            ) from None
        return next(found())

    def file(self, name: str, *, seconds: float = SECONDS) -> str:
        """Wait for a file in the worktree and return its content."""
        path = self.worktree / name
        try:
            wait_until(
                lambda: path.is_file() and path.stat().st_size > 0, f"{name} being written", seconds=seconds
            )
        except AssertionError as error:
            raise AssertionError(
                f"{error}; reported were {self.statuses()}; screen: {self.screen()}"
            ) from None
        return path.read_text()

    def shows(self, text: str, *, seconds: float = SECONDS) -> None:
        """Wait until the screen shows a text. Use it to find the moment to act, never to check a result."""
        wait_until(lambda: text in self.screen(), f"{text!r} being shown", seconds=seconds)

    def box_becomes(
        self,
        wanted: Callable[[Box], bool],
        what: str,
        *,
        keys: tuple[KeyEvent, ...] = (),
        seconds: float = SECONDS,
    ) -> None:
        """Press keys, and wait until the input box on the screen is as wanted."""
        rule = profiles.load(self.agent.profile).rules.box
        assert rule is not None

        def is_wanted(view: View) -> bool:
            x, y, visible, _, blink = view.cursor
            cursor = Cursor(x, y, visible, "block", blink)
            return bool(view.lines) and wanted(input_box.read(rule, view.lines, cursor))

        with open_session(self.agent, rate=60) as session:
            session.keys(*keys)
            assert wait_for_screen(session, is_wanted, seconds=seconds), (
                f"{what}; the screen: {self.screen()}"
            )

    def listed(self) -> Agent:
        """The agent as a face sees it now."""
        return self.fleet.find(self.id)

    def wait_for_receipts(self, prompt: str, wanted: list[str], *, seconds: float = SECONDS) -> None:
        """Wait until the holder has recorded exactly these states of a prompt, in this order.

        A repeated state with another reason counts once.
        """

        def told() -> list[str]:
            states = [e["data"]["state"] for e in self.events("receipt") if e["data"]["prompt"] == prompt]
            return [state for state, _ in groupby(states)]

        try:
            wait_until(lambda: told() == wanted, f"a receipt of {wanted}", seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; reported were {told()}") from None

    def answer(self, key: str) -> float:
        """Press a key in a dialog until the dialog closes; codex ignores a key that arrives together with the dialog."""
        begun = time.time()
        for _ in range(5):
            self.press(key)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self.statuses()[-1].status != "blocked", seconds=1.0)
                return begun
        raise AssertionError(f"the dialog stays: {self.screen()}")

    def press(self, *keys: str) -> float:
        """Press keys as a user at its pane does; return when."""
        at = time.time()
        with open_session(self.agent, rate=0) as session:
            for key in keys:
                session.keys(KeyEvent(key))
            session.ask("ping")
        return at

    def type(self, text: str) -> None:
        """Type a text, each key once the box shows the one before: programs treat a burst of keys as a paste."""
        for count, key in enumerate(text, start=1):
            typed = text[:count]
            self.box_becomes(
                lambda box, typed=typed: box.text.rstrip().endswith(typed.rstrip()),  # type: ignore[misc]
                f"the box does not show {typed!r}",
                keys=(KeyEvent("space", text=" ") if key == " " else KeyEvent.named(key),),
            )

    @contextlib.contextmanager
    def not_reading(self) -> Iterator[None]:
        """Suspend the program, as a busy machine would; afterwards it reads everything at once."""
        pid = self.agent.pid
        assert pid is not None
        os.killpg(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(pid, signal.SIGCONT)

    def prompt(self, text: str, *, now: bool = False, command: bool = False) -> Receipt:
        return self.fleet.prompts.send(self.agent, text, now=now, command=command)

    def insist(self, text: str, api: Api) -> None:
        """Prompt, and press Enter until the API is asked, for tests of something other than prompts."""
        given = self.prompt(text)
        # Pressing keys keeps a queued prompt from being typed.
        wait_until(
            lambda: self.fleet.prompts.receipt(given.id).state != "queued",
            f"{text!r} being typed",
            seconds=SECONDS,
        )
        for _ in range(15):
            with contextlib.suppress(AssertionError):
                api.wait_for(lambda asked: text in asked.prompt, seconds=1.0)
                return
            self.press("enter")
        raise AssertionError(f"{text!r} was never asked; screen: {self.screen()}")

    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self.fleet.peek(self.agent) if line.strip())


@dataclass(frozen=True, slots=True)
class Real:
    """A fleet whose agents run one real program."""

    fleet: Fleet
    api: Api
    home: Path
    project: Path
    program: str

    def start(self, prompt: str = "", *, name: str = "work") -> Running:
        return Running(self.fleet, self.fleet.create(name, prompt=prompt, profile=self.program).id)

    def fork(self, agent: Running, name: str, prompt: str) -> Running:
        return Running(self.fleet, self.fleet.fork(agent.agent, name, prompt=prompt).id)

    def spent(self, agent: Running) -> tuple[int, int, int]:
        """Input, cached and output tokens according to the fleet."""
        found = self.fleet.spending([agent.agent]).get(agent.id, Spending())
        return found.input_tokens, found.cached_tokens, found.output_tokens

    def left_in_home(self, before: dict[str, str]) -> list[str]:
        """Paths in the user's home that changed, except fleet-tui's folders and the program's own records."""
        known = homes.RECORDS[self.program]
        return [name for name in changed(before, contents(self.home)) if not name.startswith(known)]

    def left_in_project(self, before: dict[str, str]) -> list[str]:
        """Paths in the repository that changed, except the fleet's branches and worktrees."""
        ours = (".git/worktrees/", ".git/refs/heads/", ".git/logs/refs/heads/")
        return [name for name in changed(before, contents(self.project)) if not name.startswith(ours)]

    def distrust(self) -> None:
        """Make the program forget that the user trusts this project."""
        homes.distrust(self.program, self.home)

    def start_late(self, seconds: float) -> None:
        """Delay the program after its first line, like one that checks for updates first."""
        found = shutil.which(self.program)
        file = self.project.parent / "late" / self.program
        file.parent.mkdir()
        file.write_text(f'#!/bin/sh\necho loading\nsleep {seconds}\nexec {found} "$@"\n')
        file.chmod(0o755)
        os.environ["PATH"] = f"{file.parent}:{os.environ['PATH']}"

    def configure(self, text: str) -> None:
        """Write the user's configuration."""
        file = paths.user_config()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def kill_keeper(agent: Running) -> None:
    """Kill the keeper like a crash. The program ends with its terminal; if it does not, kill it too."""
    found = read_holder(paths.run(agent.id, agent.agent.run))
    assert found is not None
    os.kill(found.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not is_held(paths.lock(agent.id)), "the agent's lock being free")
    try:
        wait_until(lambda: not processes_of(agent.agent), "the agent's processes being gone", seconds=3.0)
    except AssertionError:
        leftovers.end(leftovers.Traces(agent.id), state_folder=str(paths.state()))
    agent.fleet.refresh()
