"""Finds the repository around the current folder, or creates one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import names
from fleet_tui.errors import NoRepository, Refused, UsageError

if TYPE_CHECKING:
    from fleet_tui.fleet.worktrees import WorktreeVerbs
    from fleet_tui.git import Repository
    from fleet_tui.store.database import Store


def discover(start: Path, store: Store, worktrees: WorktreeVerbs) -> Repository:
    """The repository around a folder; NoRepository if there is none that can be used."""
    from fleet_tui import git

    found = git.discover(start)
    try:
        names.check_text(str(found.root), "")
    except UsageError:
        raise NoRepository(
            f"the path {str(found.root)!a} is not valid UTF-8", hint="rename the folder"
        ) from None
    _refuse_changed_link(start, store, worktrees)
    return found


def _refuse_changed_link(start: Path, store: Store, worktrees: WorktreeVerbs) -> None:
    """In a worktree whose `.git` was changed, git would use whatever repository it names now."""
    around = (start, *start.parents)
    # The folder's name ends with the agent's id; a symlink may give the folder another path than the recorded one.
    agents = store.agents.at(
        {str(folder) for folder in around}, {folder.name.rpartition("-")[2] for folder in around}
    )
    for agent in agents:
        problem = worktrees.link_problems([agent]).get(agent.id)
        if problem and start.resolve().is_relative_to(Path(agent.worktree).resolve()):
            raise NoRepository(
                f"{agent.worktree} no longer leads to {agent.project}: {problem}",
                hint=f"go to {agent.project} and run: fleet list --repair",
            )


def prepare_repository(start: Path) -> None:
    """Create what a first agent needs: a repository if there is none, and a commit to start from."""
    from fleet_tui import git

    if start.resolve() in (Path.home(), Path(start.anchor)):
        raise Refused(
            f"{start} is not a folder for a repository", hint="create a folder for it, and cd there"
        )
    git.ensure_repository(start)
