"""The settings of the dashboard: keys, theme, layout, motion, notices."""

from __future__ import annotations

from pathlib import Path

from fleet_tui import paths
from fleet_tui.config.load import load
from fleet_tui.errors import FleetError
from fleet_tui.faces.notices import NotifySettings
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.tui import keys

THEME = "fleet-dark"


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    keymap: keys.Keymap = field(default_factory=keys.Keymap)
    theme: str = THEME
    panes: int = 0
    """How many panes are shown; 0 chooses by the terminal's size."""
    has_motion: bool = True
    notify: NotifySettings = field(default_factory=NotifySettings)
    warning: str = ""
    """Which of the project's settings are ignored, and why."""

    @classmethod
    def load(cls, project_dir: Path) -> DashboardSettings:
        """The user's and, over it, what any project may say; UsageError when the user gives a key twice."""
        project, warning = _project(project_dir), ""
        try:
            found = load(project)
        except FleetError as error:
            # An error in the user's own file is fatal; one in a repository's must not keep the dashboard from opening.
            found, warning = load(project, trusted=False), error.message
        keymap, refused = keys.chosen(found)
        notify = NotifySettings(
            found.notify_on,
            found.notify_terminal,
            found.notify_command,
            found.notify_profiles,
            found.notify_batches,
        )
        return cls(keymap, found.theme, found.layout, found.motion, notify, warning or refused)


def _project(start: Path) -> Path | None:
    """The nearest folder with a configuration; finding the repository itself would need git."""
    return next(
        (folder for folder in (start, *start.parents) if paths.project_config(folder).is_file()), None
    )
