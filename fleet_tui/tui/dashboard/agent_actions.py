"""Work on the selected agent: why, logs, attach, shell, editor, copy, rename, move to another batch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import selection
from fleet_tui.errors import FleetError
from fleet_tui.fleet.editor import editor
from fleet_tui.models import Agent
from fleet_tui.tui.dashboard import shell_program
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.draft_keeper import DraftKeeper
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.outside import FLEET, ExternalPrograms
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests, names_of
from fleet_tui.tui.dialogs.confirm import ConfirmInput
from fleet_tui.tui.dialogs.logs import LogScreen
from fleet_tui.tui.dialogs.why import WhyDialog, WrongDialog
from fleet_tui.tui.panes.grid import PaneFrame
from fleet_tui.tui.widgets.lines import clean

if TYPE_CHECKING:
    from fleet_tui.prompting.why import StatusExplanation


class AgentActions:
    """One agent."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        outside: ExternalPrograms,
        drafts: DraftKeeper,
        frame_of: Callable[[str], PaneFrame | None],
    ) -> None:
        self._view = view
        self._display = display
        self._requests = requests
        self._outside = outside
        self._drafts = drafts
        self._frame_of = frame_of
        self._seen: set[str] = set()

    def mark_seen(self, agent: Agent) -> None:
        """Record that the user has looked at a finished agent, once for each time it finishes."""
        moment = f"{agent.id}@{agent.evidence.at if agent.evidence else 0}"
        if moment not in self._seen:
            self._seen.add(moment)
            self._requests.ask("", "mark_seen", [agent.id])

    def _selected(self) -> Agent | None:
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
        return agent

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────

    def why(self) -> None:
        if agent := self._selected():
            self.explain(agent)

    def explain(self, agent: Agent) -> None:
        async def work() -> None:
            why: StatusExplanation = await self._requests.call("why", agent.id)
            self._display.open(
                WhyDialog(agent, why, self._display.now),
                lambda is_wrong: self._report_wrong(agent) if is_wrong else None,
            )

        self._requests.start(work())

    def _report_wrong(self, agent: Agent) -> None:
        async def work(right: str, kind: str) -> None:
            file: Path = await self._requests.call("report_wrong", agent.id, right, kind)
            self._display.notify(clean(str(file)), title="saved for a test case", timeout=8)

        self._display.open(
            WrongDialog(agent),
            lambda chosen: self._requests.start(work(*chosen)) if chosen is not None else None,
        )

    def logs(self) -> None:
        if agent := self._selected():
            self._display.open(LogScreen(agent, self._read_log))

    async def _read_log(self, agent_id: str, count: int) -> list[str]:
        lines: list[str] = await self._requests.call("logs", agent_id, count)
        return lines

    def check(self) -> None:
        """Show the terminal of the agent's newest check in its pane, or the agent's own again."""
        agent = self._selected()
        if agent is None:
            return

        async def work() -> None:
            screen: tuple[Path, Path] | None = await self._requests.call("checks.screen", agent.id)
            frame = self._frame_of(agent.id)
            if screen is None:
                compare = self._display.keymap.shown("compare")
                self._display.warn(f"{clean(agent.name)} has not been checked; {compare} checks its batch")
            elif frame is not None:
                frame.show_check(None if frame.is_check else screen)
                self._display.redraw()

        self._requests.start(work())

    # ── other programs ──────────────────────────────────────────────────────────────────────────────────────────

    def attach(self) -> None:
        if agent := self._selected():
            self._outside.run(lambda: [*FLEET, "attach", agent.id])

    def shell(self) -> None:
        if agent := self._selected():
            self.shell_in(agent)

    def shell_in(self, agent: Agent) -> None:
        leave = self._display.keymap.of("leave")
        self._outside.run(lambda: shell_program.command(_shell(), clean(agent.name), leave), agent.worktree)

    def editor(self) -> None:
        if agent := self._selected():
            self._outside.run(lambda: [*editor(), agent.worktree], agent.worktree)

    def copy_path(self) -> None:
        self._copy("path", lambda agent: agent.worktree)

    def copy_branch(self) -> None:
        self._copy("branch", lambda agent: agent.branch)

    def _copy(self, what: str, of: Callable[[Agent], str]) -> None:
        if agent := self._selected():
            text = of(agent)
            self._display.app.copy_to_clipboard(text)
            self._display.notify(clean(text), title=f"copied the {what}", timeout=3)

    # ── names ───────────────────────────────────────────────────────────────────────────────────────────────────

    def rename(self) -> None:
        agent = self._selected()
        if agent is None:
            return

        def rename(name: str) -> None:
            if name != agent.name:
                self._requests.ask(f"renamed {agent.name} to {name}", "rename", agent.id, name)

        says = "The branch keeps its name."
        question = ConfirmInput("Rename", says, label="name", value=agent.name, does="rename")
        self._drafts.open(f"rename {agent.id}", question, rename)

    def move(self) -> None:
        """Move the marked agents to another batch."""
        targets = self._view.targets
        if not targets:
            self._display.warn("no agent selected")
            return
        batches = self._batches(targets[0].project)

        ids = [agent.id for agent in targets]

        def move(name: str) -> None:
            batch = batches.get(name, name)
            self._requests.ask(f"moved {names_of(targets)} to {name}", "move_to_batch", ids, batch)
            self._view.unmark()

        says = f"A new name creates a batch. Existing ones: {', '.join(batches)}"
        of_first = targets[0].batch
        here = next((name for name, batch in batches.items() if batch == of_first), of_first)
        question = ConfirmInput("Move to batch", says, label="batch", value=here, does="move")
        self._drafts.open(f"move {' '.join(sorted(ids))}", question, move)

    def _batches(self, project: str) -> dict[str, str]:
        """The batches of a project by their names in the list; by their ids where two have the same name."""
        named = selection.batch_names(self._view.state.agents)
        return {name: batch for (place, batch), name in named.items() if place == project}


def _shell() -> str:
    shell = os.environ.get("SHELL") or "/bin/sh"
    if shutil.which(shell) is None:
        raise FleetError(f"there is no {shell}", hint="set SHELL to a shell that is installed")
    return shell
