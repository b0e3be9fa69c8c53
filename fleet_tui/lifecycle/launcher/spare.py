"""The launcher's spare worktree: find one that is ready, and hold it for the first agent of the order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet_tui.git import HeldSpare
    from fleet_tui.store.database import Store


def hold_one(store: Store, project: str, git_dir: Path) -> HeldSpare | None:
    """The first spare of a project that is as it was made and that no other process uses."""
    ready = store.spares.ready(project)
    if not ready:
        return None
    from fleet_tui import git

    for spare in ready:
        repository = git.Repository(
            Path(project), git_dir, "", is_bare=False, head=spare.base, head_branch=""
        )
        held = git.hold_spare(repository, Path(spare.path), spare.base, spare.settings)
        if held is not None:
            return held
    return None
