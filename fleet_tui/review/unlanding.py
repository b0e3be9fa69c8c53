"""Take a landing back: move the branch back if it has not moved on, else add a commit that reverts it."""

from __future__ import annotations

import time
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import Refused
from fleet_tui.landings import Landing, LandingState
from fleet_tui.store.database import Store


def unland(store: Store, landing: Landing) -> str:
    """Take a landing back; returns what was done. Raises Refused if later work changed the same lines.

    The worktree that has the branch checked out follows by the same rules as in landing.
    """
    if landing.state is not LandingState.LANDED:
        raise Refused(
            f"that landing is {landing.state}, so there is nothing to take back", hint="see: git log"
        )
    repo = git.discover(Path(landing.project))
    found = git.branches(repo.git_dir, [landing.into]).get(landing.into)
    if found is not None and found.commit == landing.old:
        # By hand, or by an undo that was killed before it could say so.
        done = f"{landing.into} was back at {landing.old[:10]} already"
        with store.transaction():
            store.landings.change(landing, LandingState.UNDONE, time.time(), reason=done)
        return done
    if found is None or not git.has_commit(repo.git_dir, landing.new, found.commit):
        raise Refused(
            f"{landing.into} no longer has what was landed",
            hint="its agent alone comes back with: fleet undo --only-agent",
        )
    goal, done = _goal(repo.git_dir, landing, found.commit)
    git.keep_undone(repo.git_dir, landing.id, landing.new)
    why = f"fleet: undo landing of {landing.new[:10]}"
    git.move_branch(repo.git_dir, landing.into, found.commit, goal, why=why, root=repo.root)
    with store.transaction():
        store.landings.change(landing, LandingState.UNDONE, time.time(), reason=done)
    return done


def _goal(git_dir: Path, landing: Landing, tip: str) -> tuple[str, str]:
    """The commit that the branch goes to, and what that is in words."""
    if tip == landing.new:
        return landing.old, f"{landing.into} is back at {landing.old[:10]}"
    subject = landing.message.partition("\n")[0] or landing.new[:10]
    message = f'Revert "{subject}"\n\nThis takes back what was landed as {landing.new}.\n'
    built = git.reverted(git_dir, tip, landing.old, landing.new, message, signs=git.is_signed(git_dir))
    if not built.commit:
        files = git.conflicting_files(git_dir, built.ours, built.theirs, base=tip)
        named = ", ".join(one.path for one in files[:5])
        raise Refused(
            f"{landing.into} has later work on the same lines: {named}; nothing was changed",
            hint=f"revert it by hand: git revert {landing.new[:10]}",
        )
    again = ""
    if landing.strategy == "merge":
        again = "; to land the same commits again, revert that commit first"
    return built.commit, f"{landing.into} has moved on, so {built.commit[:10]} reverts it{again}"
