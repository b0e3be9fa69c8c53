"""An agent of a real program as a test sees it: what its holder wrote, never what its screen seems to say."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from fleet_tui import leftovers, paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder import is_held, read_events, read_holder
from fleet_tui.inputs import KeyEvent
from fleet_tui.models import Agent, Receipt, Spending
from tests.conftest import processes_of
from tests.holders import wait_until
from tests.real import homes
from tests.real.api import Api
from tests.real.homes import changed, contents

SECONDS = 20.0

HARD_PROMPT = """It's a "prompt" with $(touch PWNED) `and` ${HOME} in it,
several lines, a \\ backslash and {braces},

an empty line, zażółć gęślą jaźń, 日本語 and 🛠️👩‍💻."""
LONG_PROMPT = "".join(f"line {number} of many, which it's all about\n" for number in range(2500)) + "the end"


@dataclass(frozen=True, slots=True)
class Told:
    """A status as it stands in the holder's events."""

    status: str
    detail: str
    source: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Running:
    """One started agent; `run` changes when it is revived, so the folder is asked for each time."""

    fleet: Fleet
    id: str

    @property
    def agent(self) -> Agent:
        return self.fleet.store.agent(self.id)

    @property
    def worktree(self) -> Path:
        return Path(self.agent.worktree)

    def events(self, kind: str) -> list[dict[str, Any]]:
        _, events = read_events(paths.run(self.id, self.agent.run), 0)
        return [event for event in events if event["kind"] == kind]

    def statuses(self) -> list[Told]:
        return [
            Told(data["status"], data["detail"], data["source"], data["text"], event["at"])
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
    ) -> Told:
        """The first status of one of these names that the holder told after a moment, with these words."""

        def found() -> Iterator[Told]:
            for told in self.statuses():
                is_worded = text in told.text and detail in ("", told.detail)
                if told.status in wanted and told.at >= since and source in ("", told.source) and is_worded:
                    yield told

        try:
            wait_until(
                lambda: any(found()), f"{self.agent.profile} being {' or '.join(wanted)}", seconds=seconds
            )
        except AssertionError as error:
            raise AssertionError(f"{error}; told were {self.statuses()}; screen: {self.screen()}") from None
        return next(found())

    def file(self, name: str, *, seconds: float = SECONDS) -> str:
        """The content of a file in the worktree, once it is there."""
        path = self.worktree / name
        try:
            wait_until(
                lambda: path.is_file() and path.stat().st_size > 0, f"{name} being written", seconds=seconds
            )
        except AssertionError as error:
            raise AssertionError(f"{error}; told were {self.statuses()}; screen: {self.screen()}") from None
        return path.read_text()

    def shows(self, text: str, *, seconds: float = SECONDS) -> None:
        """Wait until something is on its screen: for the moment to act, never for a result."""
        wait_until(lambda: text in self.screen(), f"{text!r} being shown", seconds=seconds)

    def listed(self) -> Agent:
        """As a face sees it now."""
        return self.fleet.find(self.id)

    def wait_for_receipts(self, prompt: str, wanted: list[str], *, seconds: float = SECONDS) -> None:
        """Until the holder has told exactly these states of a prompt, in this order; a state that is told again, with
        another reason, counts once."""

        def told() -> list[str]:
            states = [e["data"]["state"] for e in self.events("receipt") if e["data"]["prompt"] == prompt]
            return [state for state, _ in groupby(states)]

        try:
            wait_until(lambda: told() == wanted, f"a receipt of {wanted}", seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; told were {told()}") from None

    def answer(self, key: str) -> float:
        """Press a key in a dialog until it has gone; codex passes over one that comes along with the dialog."""
        begun = time.time()
        for _ in range(5):
            self.press(key)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self.statuses()[-1].status != "blocked", seconds=1.0)
                return begun
        raise AssertionError(f"the dialog stays: {self.screen()}")

    def press(self, *keys: str) -> float:
        """Press keys as a person at its pane does; returns the moment."""
        at = time.time()
        with self.fleet.session(self.agent, rate=0) as session:
            for key in keys:
                session.keys(KeyEvent(key))
            session.ask("ping")
        return at

    def type(self, text: str) -> None:
        """Type a text key by key, as a person does: several at once are a paste."""
        for key in text:
            with self.fleet.session(self.agent, rate=0) as session:
                session.keys(KeyEvent.named(key))
                session.ask("ping")

    @contextlib.contextmanager
    def not_reading(self) -> Iterator[None]:
        """The program stands still, as on a busy machine, and reads all at once what has come meanwhile."""
        pid = self.agent.pid
        assert pid is not None
        os.killpg(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(pid, signal.SIGCONT)

    def prompt(self, text: str, *, now: bool = False, command: bool = False) -> Receipt:
        return self.fleet.prompt(self.id, text, now=now, command=command)

    def insist(self, text: str, api: Api) -> None:
        """Prompt, and press Enter until it was asked: where something else than the prompt's way is under test."""
        given = self.prompt(text)
        # Whoever presses keys keeps a prompt that waits from being typed.
        wait_until(
            lambda: self.fleet.receipt(given.id).state != "queued", f"{text!r} being typed", seconds=SECONDS
        )
        for _ in range(15):
            with contextlib.suppress(AssertionError):
                api.wait_for(lambda asked: text in asked.prompt, seconds=1.0)
                return
            self.press("enter")
        raise AssertionError(f"{text!r} was never asked; screen: {self.screen()}")

    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self.fleet.peek(self.id) if line.strip())


@dataclass(frozen=True, slots=True)
class Real:
    """A fleet whose agents are of one real program."""

    fleet: Fleet
    api: Api
    home: Path
    project: Path
    program: str

    def start(self, prompt: str = "", *, name: str = "work") -> Running:
        return Running(self.fleet, self.fleet.create(name, prompt=prompt, profile=self.program).id)

    def fork(self, agent: Running, name: str, prompt: str) -> Running:
        return Running(self.fleet, self.fleet.fork(agent.id, name, prompt=prompt).id)

    def spent(self, agent: Running) -> tuple[int, int, int]:
        """Tokens sent anew, found in the cache and answered, as the fleet has them."""
        found = self.fleet.spending([agent.agent]).get(agent.id, Spending())
        return found.input_tokens, found.cached_tokens, found.output_tokens

    def left_in_home(self, before: dict[str, str]) -> list[str]:
        """What has changed in the user's home, apart from our own folders and what the program records."""
        known = homes.RECORDS[self.program]
        return [name for name in changed(before, contents(self.home)) if not name.startswith(known)]

    def left_in_project(self, before: dict[str, str]) -> list[str]:
        """What has changed in the repository, the fleet's branches and worktrees aside."""
        ours = (".git/worktrees/", ".git/refs/heads/", ".git/logs/refs/heads/")
        return [name for name in changed(before, contents(self.project)) if not name.startswith(ours)]

    def distrust(self) -> None:
        """As if the user had never opened this project with the program."""
        homes.distrust(self.program, self.home)

    def start_late(self, seconds: float) -> None:
        """Let the program print a line at once, and begin some time after: as one that looks for updates first."""
        found = shutil.which(self.program)
        file = self.project.parent / "late" / self.program
        file.parent.mkdir()
        file.write_text(f'#!/bin/sh\necho loading\nsleep {seconds}\nexec {found} "$@"\n')
        file.chmod(0o755)
        os.environ["PATH"] = f"{file.parent}:{os.environ['PATH']}"

    def configure(self, text: str) -> None:
        """The user's own settings of the fleet."""
        file = paths.user_config()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def kill_keeper(agent: Running) -> None:
    """End the keeper as a crash would. Its program goes with its terminal; one that does not is ended too."""
    found = read_holder(paths.run(agent.id, agent.agent.run))
    assert found is not None
    os.kill(found.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not is_held(paths.lock(agent.id)), "the agent's lock being free")
    try:
        wait_until(lambda: not processes_of(agent.agent), "the agent's processes being gone", seconds=3.0)
    except AssertionError:
        leftovers.end(leftovers.Traces(agent.id), state_folder=str(paths.state()))
