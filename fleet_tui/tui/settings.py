"""What the configuration says about the dashboard itself: keys, theme, layout, motion, notices."""

from __future__ import annotations

from pathlib import Path

from fleet_tui import config, paths
from fleet_tui.errors import FleetError
from fleet_tui.tui import keys
from fleet_tui.tui.attention import Switches
from fleet_tui.values import dataclass, field

THEME = "fleet-dark"


@dataclass(frozen=True, slots=True)
class Settings:
    keymap: keys.Keymap = field(default_factory=keys.Keymap)
    theme: str = THEME
    panes: int = 0
    """How many are shown; 0 chooses by the terminal."""
    has_motion: bool = True
    notify: Switches = field(default_factory=Switches)
    warning: str = ""
    """What of the project's configuration does not count, and why."""

    @classmethod
    def load(cls, project_dir: Path) -> Settings:
        """The user's and, over it, what any project may say; UsageError when the user gives a key twice."""
        project, warning = _project(project_dir), ""
        try:
            found = config.load(project)
        except FleetError as error:
            # The user's own file has to be right; that of a repository must not keep the dashboard from opening.
            found, warning = config.load(project, trusted=False), error.message
        keymap, refused = keys.chosen(found)
        notify = Switches(
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
