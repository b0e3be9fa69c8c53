"""An app with the real dashboard on a state made by hand: no store, no worker, a clock that stands still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.pilot import Pilot

from fleet_tui.faces.form_drafts import FormDrafts
from fleet_tui.faces.live import LiveData
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.holder.frames import Frames, Viewer
from fleet_tui.models import Agent, FleetState
from fleet_tui.prompting.why import StatusExplanation
from fleet_tui.terminal.emulator import Screen
from fleet_tui.tui import themes
from fleet_tui.tui.app import FleetApp
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.keys import Keymap
from fleet_tui.tui.panes.live_panes import LivePanes
from fleet_tui.tui.widgets.toasts import ToastApp
from fleet_tui.tui.worker_client import WorkerClient
from tests.places import RECORDINGS
from tests.tui import fleet_states
from tests.tui.keyboard import Keyboard

FOLDER = RECORDINGS / "programs"


async def until(pilot: Pilot[None], condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait for what is to come of a key."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await pilot.pause(0.01)


class Nowhere:
    """Where no agent has ever run."""

    def run_folder(self, agent: Agent) -> Path:
        return Path("/nonexistent") / agent.id


class Recorded:
    """Where every agent has left the screen of a recorded session of a real program."""

    SHOWN: ClassVar = {"claude": "claude2", "codex": "codex", "gemini": "gitlog"}

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("claude2", "codex", "gitlog", "bash"):
            screen = Screen(120, 40)
            screen.feed((FOLDER / f"{name}.bin").read_bytes())
            left = b"".join(Frames(screen).full(Viewer(kind="reader")))
            (folder / name).mkdir()
            (folder / name / "final.frame").write_bytes(left)

    def run_folder(self, agent: Agent) -> Path:
        return self._folder / self.SHOWN.get(agent.profile, "bash")


class StillWorker(WorkerClient):
    """Asked for things, does none of them."""

    def __init__(self) -> None:
        super().__init__(Path("/"))
        self.asked: list[tuple[Any, ...]] = []
        self.known: dict[str, Any] = {
            "project_info": fleet_states.PLACE,
            "start_points": fleet_states.BASES,
            "start_point": (fleet_states.BASES[0], fleet_states.WORKTREE_BYTES),
            "why": StatusExplanation("refactor-auth-A", "working", source="osc7501"),
        }
        """What it answers."""
        self.answers = asyncio.Event()
        """Cleared while it does not answer."""
        self.answers.set()

    def start(self) -> None:
        return

    def watch(self, selected: str) -> None:
        return

    async def call(self, verb: str, *arguments: Any, on_step: Any = None, **options: Any) -> Any:
        self.asked.append((verb, *arguments, options))
        await self.answers.wait()
        return self.known.get(verb, [])


class StageApp(ToastApp[None], inherit_bindings=False):
    COMMAND_PALETTE_BINDING = "f24"
    CSS_PATH = FleetApp.CSS_PATH
    COMMANDS = FleetApp.COMMANDS

    def __init__(
        self,
        state: FleetState = fleet_states.SMALL,
        *,
        live: LiveData = fleet_states.LIVE,
        place: ProjectInfo | None = fleet_states.PLACE,
        theme: str = "fleet-dark",
        keymap: Keymap | None = None,
        places: Nowhere | Recorded | None = None,
        panes: int = 0,
        drafts: FormDrafts | None = None,
        is_demo: bool = False,
        worker: StillWorker | None = None,
    ) -> None:
        super().__init__()
        for ours in themes.OURS:
            self.register_theme(ours)
        self.theme = theme
        self.worker = worker or StillWorker()
        self.fleet_state = state
        self.dashboard = Dashboard(
            LivePanes(places or Nowhere()),
            self.worker,
            keymap or Keymap(),
            state,
            clock=lambda: fleet_states.NOW,
            panes=panes,
            drafts=drafts,
            is_demo=is_demo,
        )
        self.dashboard.view.live = live
        self._place = place

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.roles(self.current_theme)

    def run(self, *, size: tuple[int, int] | None = None, auto_pilot: Any = None, **_: Any) -> Any:
        """The signature that the snapshot fixture calls, with `Keyboard` as the pilot."""

        async def pose() -> None:
            async with self.run_test(size=size, notifications=True):
                await auto_pilot(Keyboard(self))

        asyncio.run(pose())
        return self.return_value

    async def on_mount(self) -> None:
        await self.push_screen(self.dashboard)
        if self._place is not None:
            self.dashboard.view.take_project(self._place)


Go = Callable[[StageApp, Pilot[None]], Awaitable[None]]
"""The steps of a test."""


def run_dashboard(
    go: Go,
    state: FleetState = fleet_states.SMALL,
    *,
    size: tuple[int, int] = (120, 40),
    keymap: Keymap | None = None,
    place: ProjectInfo = fleet_states.PLACE,
    live: LiveData = fleet_states.LIVE,
) -> None:
    """Run the steps of a test on a dashboard of this size."""

    async def run() -> None:
        app = StageApp(state, keymap=keymap, place=place, live=live)
        async with app.run_test(size=size, notifications=True):
            keyboard = Keyboard(app)
            await keyboard.pause()
            await go(app, keyboard)

    asyncio.run(run())
