"""The base of the forms that start agents: knows the installed programs, and stays until the agents run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.tui.dialogs.bases import BaseField
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.dialogs.external_editor import edit
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.widgets.prompt_area import PromptArea


class Form(DraftDialog[None]):
    """Calls `on_wanted` with its contents. The caller closes it once the agents are started."""

    on_wanted: Callable[[Any], None] = staticmethod(lambda _: None)
    on_started: Callable[[], None] = staticmethod(lambda: None)
    own_settings = False
    """Start agents with the user's own settings, without what the project asks for."""

    def __init__(self, project: ProjectInfo | None) -> None:
        super().__init__()
        self._project = project or ProjectInfo()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#prompt", PromptArea).focus()
        self.call_next(self._bring_up)

    def hints(self) -> Sequence[tuple[str, str]]:
        return (
            ("tab", "next field"),
            ("ctrl+↑", "history"),
            ("ctrl+e", "editor"),
            self.leave_hint(),
        )

    def action_pick_base(self) -> None:
        self.query_one(BaseField).pick()

    def take_project(self, project: ProjectInfo) -> None:
        """Show the project as it is now: the dashboard may have been open for hours."""
        self._project = project
        if self.is_mounted:
            self.call_next(self._bring_up)

    async def _bring_up(self) -> None:
        # The answer of the worker may arrive while the form closes.
        if self.is_attached and self.is_active:
            await self._show_project()

    async def _show_project(self) -> None:
        """Update the form from the project."""
        raise NotImplementedError

    @property
    def _missing(self) -> dict[str, str]:
        """The install command of each known program that is not installed."""
        return {program.name: program.install for program in self._project.programs if not program.path}

    @property
    def _usual(self) -> str:
        """The default profile, and whether it is installed."""
        usual = self._project.default_profile
        return f"{usual}, not installed" if usual in self._missing else usual

    def _can_run(self, *profiles: str) -> bool:
        """Whether all these programs are installed; names the first that is not."""
        missing = self._missing
        for name in (name or self._project.default_profile for name in profiles):
            if name in missing:
                how = f"install it with: {missing[name]}" if missing[name] else "install it"
                self.notify(
                    clean(f"{how}, or choose another"), title=f"{name} is not installed", severity="error"
                )
                return False
        return True

    def keep_draft(self) -> None:
        # What is being started goes on without the dashboard.
        if not self.has_class("-launching"):
            super().keep_draft()

    def stand_back(self) -> None:
        """Hide while the progress dialog is shown."""
        self.add_class("-launching")

    def come_back(self) -> None:
        """Show again after a failure, with everything as it was typed."""
        self.remove_class("-launching")

    def action_edit(self) -> None:
        """Edit the prompt in the user's editor."""
        area = self.query_one("#prompt", PromptArea)
        text = edit(self.app, area.text)
        if text is not None:
            area.load_text(text)
