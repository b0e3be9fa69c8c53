"""Find the commit that the work on a branch starts from, also after the branch took in newer commits of its base.

Without this, a branch that was rebased onto its base, or has merged it, would seem to have written what others did.
"""

from __future__ import annotations

from pathlib import Path

from fleet_tui.git.branch_to_land_on import base_branch
from fleet_tui.git.diffs import fork_point
from fleet_tui.git.program import ask, lines

_TAKEN_OVER = ("branch: ", "clone: ", "reset: ")
"""What the log of a branch says of a commit that was not made on it."""


def work_start(git_dir: Path, recorded: str, head: str, branch: str) -> str:
    """The newest commit of the base that `head` contains, if it is newer than the recorded start; else that one.

    A commit that was made on the branch itself is no start, although the base has it once it is landed.
    """
    start = fork_point(git_dir, recorded, head) or recorded
    base = base_branch(git_dir)
    fork = fork_point(git_dir, base.commit, head) if base is not None and head else ""
    if not fork or fork == start or fork_point(git_dir, start, fork) != start:
        return start
    return start if _is_made_on(git_dir, branch, fork) else fork


def _is_made_on(git_dir: Path, branch: str, commit: str) -> bool:
    """Whether a commit was made on a branch, by the branch's log; True without a log, because nothing speaks against it."""
    # A configured `log.showSignature` would run a program.
    format_only = ("--format=%H %gs", "--no-show-signature")
    listed = ask(git_dir, "log", "--walk-reflogs", *format_only, f"refs/heads/{branch}", "--")
    entries = [line.partition(" ")[::2] for line in lines(listed.stdout)] if not listed.returncode else []
    if not entries:
        return True
    return any(made == commit and not _took_over(action, commit) for made, action in entries)


def _took_over(action: str, commit: str) -> bool:
    return action.startswith(_TAKEN_OVER) or action.endswith(("Fast-forward", f"onto {commit}"))
