"""An app with the real dashboard on a state made by hand: no store, no worker, a clock that stands still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from fleet_tui.frames import Frames, Viewer
from fleet_tui.models import Agent, FleetState
from fleet_tui.screen import Screen
from fleet_tui.speaking import Why
from fleet_tui.tui import themes
from fleet_tui.tui.app import FleetApp
from fleet_tui.tui.exchange import Sights, Surroundings
from fleet_tui.tui.feeds import WorkerLink
from fleet_tui.tui.keys import Keymap
from fleet_tui.tui.screens.dashboard import Dashboard
from fleet_tui.tui.sessions import Sessions
from tests.tui import states
from tests.tui.hands import Hands

RECORDINGS = Path(__file__).parents[1] / "recordings" / "programs"


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
            screen.feed((RECORDINGS / f"{name}.bin").read_bytes())
            left = b"".join(Frames(screen).full(Viewer(kind="reader")))
            (folder / name).mkdir()
            (folder / name / "final.frame").write_bytes(left)

    def run_folder(self, agent: Agent) -> Path:
        return self._folder / self.SHOWN.get(agent.profile, "bash")


class StillWorker(WorkerLink):
    """Asked for things, does none of them."""

    def __init__(self) -> None:
        super().__init__(Path("/"))
        self.asked: list[tuple[Any, ...]] = []
        self.known: dict[str, Any] = {
            "surroundings": states.PLACE,
            "bases": states.BASES,
            "base": (states.BASES[0], states.WORKTREE_BYTES),
            "why": Why("refactor-auth-A", "working", source="osc7501"),
        }
        """What it answers."""

    def start(self) -> None:
        return

    def watch(self, selected: str) -> None:
        return

    async def call(self, verb: str, *arguments: Any, on_step: Any = None, **options: Any) -> Any:
        self.asked.append((verb, *arguments, options))
        return self.known.get(verb, [])


class KnownStylesheet(Stylesheet):
    """Parsed once for all dashboards of a run, which is a fifth of what opening one takes."""

    _known: ClassVar[dict[tuple[object, ...], list[RuleSet]]] = {}

    def _parse_rules(self, *source: Any, **more: Any) -> list[RuleSet]:
        key = (*source, *more.items(), *self._variables.items())
        if key not in self._known:
            self._known[key] = super()._parse_rules(*source, **more)
        return self._known[key]

    def reparse(self) -> None:
        self.parse()


class StageApp(App[None], inherit_bindings=False):
    COMMAND_PALETTE_BINDING = "f24"
    CSS_PATH = FleetApp.CSS_PATH
    COMMANDS = FleetApp.COMMANDS

    def __init__(
        self,
        state: FleetState = states.SMALL,
        *,
        sights: Sights = states.SIGHTS,
        place: Surroundings | None = states.PLACE,
        theme: str = "fleet-dark",
        keymap: Keymap | None = None,
        places: Nowhere | Recorded | None = None,
        panes: int = 0,
    ) -> None:
        super().__init__()
        known = KnownStylesheet(variables=self.get_css_variables())
        known.source = self.stylesheet.source
        self.stylesheet = known
        for ours in themes.OURS:
            self.register_theme(ours)
        self.theme = theme
        self.worker = StillWorker()
        self.fleet_state = state
        self.dashboard = Dashboard(
            Sessions(places or Nowhere()),
            self.worker,
            keymap or Keymap(),
            state,
            clock=lambda: states.NOW,
            panes=panes,
        )
        self.dashboard.set_reactive(Dashboard.sights, sights)
        self._place = place

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.roles(self.current_theme)

    def run(self, *, size: tuple[int, int] | None = None, auto_pilot: Any = None, **_: Any) -> Any:
        """As those ask who take pictures, only with quick hands."""

        async def pose() -> None:
            async with self.run_test(size=size, notifications=True):
                await auto_pilot(Hands(self))

        asyncio.run(pose())
        return self.return_value

    async def on_mount(self) -> None:
        await self.push_screen(self.dashboard)
        self.dashboard.place = self._place
