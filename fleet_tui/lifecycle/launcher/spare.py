"""The launcher's spare worktree: find one that is ready, and hold it for the first agent of the order.

Checking a spare takes git about as long as the launcher waits for its order, so a launcher that knows where agents will
be created checks before it knows which.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths
from fleet_tui.errors import FleetError

if TYPE_CHECKING:
    from fleet_tui.git import HeldSpare
    from fleet_tui.store.database import Store


def spare_at(here: str) -> HeldSpare | None:
    """A spare of the project around a folder, and what is needed to use it, imported."""
    from concurrent.futures import ThreadPoolExecutor

    from fleet_tui.store.database import Store

    if not paths.store().exists():
        return None
    with contextlib.suppress(FleetError, OSError), contextlib.closing(Store(paths.store())) as store:
        projects = {spare.project for spare in store.spares.all()}
        project = max((one for one in projects if f"{here}/".startswith(f"{one}/")), key=len, default="")
        # Not a bare repository, and not a worktree whose repository is elsewhere.
        git_dir = Path(project) / ".git"
        if project and git_dir.is_dir():
            with ThreadPoolExecutor(1) as pool:
                held = pool.submit(hold_one, store, project, git_dir)
                _import_the_rest()
                return held.result()
    return None


def _import_the_rest() -> None:
    """Import what is otherwise imported during the checkout, while git checks the spare."""
    from fleet_tui.lifecycle import copied_files  # noqa: F401 - preload
    from fleet_tui.programs import command, environment, profiles  # noqa: F401 - preload


def hold_one(store: Store, project: str, git_dir: Path) -> HeldSpare | None:
    """The first spare of a project that is as it was made and that no other process uses."""
    from fleet_tui import git

    for spare in store.spares.ready(project):
        repository = git.Repository(
            Path(project), git_dir, "", is_bare=False, head=spare.base, head_branch=""
        )
        held = git.hold_spare(repository, Path(spare.path), spare.base, spare.settings)
        if held is not None:
            return held
    return None
