"""Every visible pane of a running agent is connected, whatever happened to the layout while something covered it."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from textual import events
from textual.geometry import Size

from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.panes.pane import Pane
from fleet_tui.tui.widgets.welcome import LEAST
from tests.tui.keyboard import key_event
from tests.tui.running_dashboard import Driven, drive, opened

T = TypeVar("T")

ECHO = "stty -echo; echo ready; while read line; do echo got $line; done"
NEWEST_FRAME_SECONDS = 2.0
CATCH_UP_SECONDS = 20.0
MOST_AGENTS = 8
SIZES = ((120, 40), (80, 24), (160, 50), (200, 60), (100, 30), (60, 16), (30, 8))
DIALOGS = ("L", "f", "question_mark", "P", "n", "e")
OF_AN_AGENT = frozenset({"L", "P", "e"})
"""Dialogs that open only while an agent is selected."""
STEPS = (
    *DIALOGS, "escape", "escape", "resize", "resize", "fan-out", "fan-out", "kill", "kill", "stop", "undo", "revive",
    "vertical_line", "vertical_line", "z", "full_stop", "j", "k", "G", "1", "2", "O", "less_than_sign",
    "greater_than_sign", "h", "l",
)  # fmt: skip


class OtherTerminal:
    """Runs commands outside of the dashboard, without blocking its loop."""

    def __init__(self, project: Path) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._project = project
        self._fleet: Fleet | None = None

    async def run(self, command: Callable[[Fleet], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, command)

    def _run(self, command: Callable[[Fleet], T]) -> T:
        if self._fleet is None:
            self._fleet = Fleet(self._project)
        return command(self._fleet)

    def close(self) -> None:
        if self._fleet is not None:
            self._thread.submit(self._fleet.close).result()
        self._thread.shutdown()


class User:
    """Acts without waiting for effects, then checks the panes."""

    def __init__(self, driven: Driven, terminal: OtherTerminal, randomness: random.Random) -> None:
        self.driven = driven
        self.terminal = terminal
        self.random = randomness
        self.done: list[str] = []
        self.size = driven.dashboard.size
        """Of the terminal; the dashboard may not be laid out for it yet."""
        self._words = 0

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.driven.app.post_message(key_event(key))
            await asyncio.sleep(self.random.choice((0, 0.005, 0.03)))

    def resize(self) -> None:
        self.size = size = Size(*self.random.choice(SIZES))
        self.driven.app.post_message(events.Resize(size, size))

    async def close_dialogs(self) -> None:
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while self.driven.app.screen is not self.driven.dashboard:
            assert time.monotonic() < deadline, f"a dialog stays open\n{self.driven.text()}"
            await self.press("escape")
            await asyncio.sleep(0.05)

    async def command(self, command: Callable[[Fleet], object]) -> None:
        """Run it in another terminal, and wait until the dashboard knows its outcome."""
        try:
            await self.terminal.run(command)
        except FleetError as error:
            self.done.append(f"({error.message})")
        await self.catch_up()

    async def catch_up(self) -> None:
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while True:
            there = await self.terminal.run(lambda fleet: fleet.state().agents)
            here = self.driven.dashboard.view.state.agents
            is_known = [(one.id, one.run, one.has_ended) for one in there] == [
                (one.id, one.run, one.has_ended) for one in here
            ]
            if is_known and all(one.has_ended or is_running(one) for one in here):
                return
            assert time.monotonic() < deadline, f"{there} is not known: {here}"
            await asyncio.sleep(0.05)

    async def step(self) -> None:
        """Do one thing at random."""
        choose = self.random.choice
        what = choose(STEPS)
        self.done.append(what)
        if what in DIALOGS:
            await self.close_dialogs()
            dashboard = self.driven.dashboard
            opens = dashboard.view.agent is not None or what not in OF_AN_AGENT
            await self.press(what)
            if opens:
                await self.driven.until(lambda: self.driven.app.screen is not dashboard, "a dialog")
        elif what == "escape":
            await self.close_dialogs()
        elif what == "resize":
            self.resize()
        elif what == "fan-out":
            count = self.random.randint(1, 3)
            if len(self.living()) < MOST_AGENTS:
                await self.command(lambda there: there.fanout(count, "u", profile="shell", prompt=ECHO))
        elif what in ("kill", "stop") and self.living():
            chosen = self.random.sample(self.living(), self.random.randint(1, len(self.living())))
            verb = Fleet.kill if what == "kill" else Fleet.stop
            await self.command(lambda there: verb(there, chosen, grace=0.2))
        elif what == "undo":
            await self.command(lambda there: there.undo())
        elif what == "revive":
            ended = [one for one in self.driven.dashboard.view.state.agents if one.status is Status.STOPPED]
            if ended:
                agent = choose(ended)
                await self.command(lambda there: there.revive(agent, fresh=True))
        elif self.driven.app.screen is self.driven.dashboard:
            await self.press(what)

    def living(self) -> list[Agent]:
        return [agent for agent in self.driven.dashboard.view.state.agents if not agent.has_ended]

    async def check(self) -> None:
        """What each visible pane is sent must be on it soon after."""
        self._words += 1
        word = f"word{self._words}"
        told: set[str] = set()

        def missing() -> list[str]:
            """Reads the visible panes again, because a layout may still be pending."""
            for pane in self.visible():
                if pane.agent is not None and pane.agent.id not in told:
                    told.add(pane.agent.id)
                    pane.send_paste(f"{word}\n")
            return [about(one) for one in self.visible() if f"got {word}" not in text_of(one)]

        await self._until(missing, "newest frame")

    async def check_typing(self) -> None:
        """Text typed into the selected pane must appear on it soon."""
        dashboard = self.driven.dashboard
        # In a terminal that becomes too small meanwhile, no keys are taken.
        is_small = self.size.width < LEAST[0] or self.size.height < LEAST[1]
        await self._until(
            lambda: dashboard.size != self.size or dashboard.has_class("small") != is_small, "size"
        )
        agent = dashboard.view.agent
        # With all panes pinned, the selected agent may have none.
        if agent is None or agent not in [pane.agent for pane in self.visible()]:
            return
        self._words += 1
        word = f"typed{self._words}"
        await self.press("enter")
        await self._until(lambda: dashboard.view.typing != agent.id, "typing")
        await self.press(*word, "enter")
        pane = self.pane_of(agent)
        # Its new layout may still be pending.
        await self._until(lambda: pane in self.visible() and f"got {word}" not in text_of(pane), "keys")
        await self.press("ctrl+q")
        await self._until(lambda: bool(dashboard.view.typing), "the list")

    def visible(self) -> list[Pane]:
        dashboard = self.driven.dashboard
        if dashboard.has_class("empty") or dashboard.has_class("small") or self.is_covered():
            return []
        frames = dashboard.query_one(PaneGrid).frames
        return [
            frame.pane
            for frame in frames
            if frame.pane.agent is not None and frame.pane.size.height > 2 and is_running(frame.pane.agent)
        ]

    def is_covered(self) -> bool:
        """Whether a full screen hides the dashboard; panes behind a dialog are visible."""
        stack = self.driven.app.screen_stack
        above = stack[stack.index(self.driven.dashboard) + 1 :]
        return not all(screen.is_modal for screen in above)

    def pane_of(self, agent: Agent) -> Pane:
        frame = self.driven.dashboard.query_one(PaneGrid).frame_of(agent.id)
        assert frame is not None
        return frame.pane

    async def _until(self, missing: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + NEWEST_FRAME_SECONDS
        while missing():
            assert time.monotonic() < deadline, f"{what}: {missing()} after {self.done}\n{self.driven.text()}"
            await asyncio.sleep(0.01)


def is_running(agent: Agent) -> bool:
    return not agent.has_ended and agent.status not in (Status.SETUP, Status.STARTING)


def text_of(pane: Pane) -> str:
    return "\n".join(pane.render_line(y).text for y in range(pane.size.height))


def about(pane: Pane) -> str:
    agent = pane.agent
    state = f"{agent.name} {agent.status}" if agent is not None else "-"
    return f"{state} {pane.size} visible={pane.is_visible} scrolled={pane.is_scrolled}\n{text_of(pane)}"


@contextmanager
def load() -> Iterator[None]:
    """Programs that keep every core busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


@asynccontextmanager
async def user_of(repository: Path, seed: int) -> AsyncIterator[User]:
    terminal = OtherTerminal(repository)
    try:
        async with opened(repository) as driven:
            yield User(driven, terminal, random.Random(seed))
    finally:
        terminal.close()


@pytest.mark.slow
@pytest.mark.parametrize("dialog", ["L", "f"])
def test_agents_that_replace_others_behind_a_dialog_are_shown(
    dialog: str, fleet: Fleet, repository: Path
) -> None:
    async def go() -> None:
        async with user_of(repository, 1) as user:
            driven = user.driven
            for _ in range(2):
                await user.command(lambda there: there.fanout(3, "u", profile="shell", prompt=ECHO))
                await driven.until(lambda: len(user.visible()) >= 2, "panes")
                await user.check()
                await user.press(dialog)
                await driven.until(lambda: driven.app.screen is not driven.dashboard, "the dialog")
                await user.command(lambda there: there.kill(there.agents(), grace=0.2))
                await driven.until(lambda: driven.dashboard.has_class("empty"), "they are gone")
                await user.press("escape")
                await driven.until(lambda: driven.app.screen is driven.dashboard, "the list")

    drive(go())


def random_session(repository: Path, seed: int, steps: int) -> None:
    async def go() -> None:
        async with user_of(repository, seed) as user:
            await user.command(lambda there: there.fanout(3, "u", profile="shell", prompt=ECHO))
            for _ in range(steps):
                await user.step()
                await user.check()
                if user.driven.app.screen is user.driven.dashboard:
                    await user.check_typing()
            await user.close_dialogs()
            await user.catch_up()
            await user.check()
            await user.check_typing()

    with load():
        drive(go())


def test_visible_panes_are_live_after_each_step_of_a_random_session(fleet: Fleet, repository: Path) -> None:
    random_session(repository, seed=3, steps=12)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10))
def test_visible_panes_are_live_after_each_step_of_many_random_sessions(
    seed: int, fleet: Fleet, repository: Path
) -> None:
    random_session(repository, seed, steps=60)
