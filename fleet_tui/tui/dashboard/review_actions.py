"""Open the review of an agent's work, and its timeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath

from fleet_tui.fleet.editor import editor
from fleet_tui.models import Agent
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.draft_keeper import DraftKeeper
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.outside import ExternalPrograms
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests
from fleet_tui.tui.review.screen import ReviewScreen
from fleet_tui.tui.review.surroundings import Surroundings
from fleet_tui.tui.review.timeline import TimelineScreen
from fleet_tui.tui.widgets.lines import Line, clean
from fleet_tui.tui.widgets.row_lines import CONFLICT

_PLUS_LINE = frozenset(
    {
        "vi",
        "vim",
        "nvim",
        "view",
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "micro",
        "kak",
        "joe",
        "ne",
        "jed",
        "mg",
    }
)
"""Editors that take a line as +7 before the file."""
_COLON_LINE = frozenset({"hx", "helix", "zed", "subl", "sublime_text"})
"""Editors that take a line as file:7."""
_GOTO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf", "code-oss"})
"""Editors that take it so after --goto."""


class ReviewActions:
    """Reviews."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        outside: ExternalPrograms,
        drafts: DraftKeeper,
        *,
        fork: Callable[[Agent, int], None],
        land: Callable[[Agent], None],
    ) -> None:
        """`fork` starts an agent from a checkpoint of another, `land` opens the landing of one."""
        self._view = view
        self._display = display
        self._outside = outside
        self._fork = fork
        self._surroundings = Surroundings(
            call=requests.call,
            start=requests.start,
            drafts=drafts,
            edit=self._edit,
            land=land,
            agents=lambda: view.state.agents,
            into=self._into,
            conflicts=self._conflicts,
            now=lambda: display.now,
        )

    def review(self) -> None:
        """Show what the selected agent has changed."""
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
        else:
            self.open(agent)

    def open(self, agent: Agent, against: str = "") -> None:
        """Show what an agent has changed since its base, or how it differs from another agent or a branch."""
        other = self._view.by_id(against)
        name = other.name if other is not None else against
        self._display.open(ReviewScreen(agent, self._surroundings, name))

    def timeline(self) -> None:
        """Show the checkpoints of the selected agent."""
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
        else:
            self._display.open(TimelineScreen(agent, self._surroundings, self._fork))

    def _into(self, agent: Agent) -> str:
        project = self._view.project
        return project.branch if project is not None and project.project == agent.project else ""

    def _conflicts(self, agent: Agent) -> Line:
        """What the radar knows of an agent; empty if it has not looked."""
        live = self._view.live
        if mark := live.conflict_marks.get(agent.id):
            return ((f"{CONFLICT} ", "error"), (clean(mark), ""))
        known = live.conflict_details
        merges = known.base if known.agent == agent.id else ""
        return (("✓ ", "success"), (f"merges with {clean(merges)}", "")) if merges else ()

    def _edit(self, agent: Agent, path: str, line: int) -> None:
        file = Path(agent.worktree) / path
        self._outside.run(lambda: at_line(editor(), str(file), line), agent.worktree)


def at_line(command: list[str], file: str, line: int) -> list[str]:
    """The command that opens a file at a line, or just the file in an editor that is not known."""
    name = PurePath(command[0]).name
    if line < 1:
        return [*command, file]
    if name in _PLUS_LINE:
        return [*command, f"+{line}", file]
    if name in _COLON_LINE:
        return [*command, f"{file}:{line}"]
    if name in _GOTO:
        return [*command, "--goto", f"{file}:{line}"]
    return [*command, file]
