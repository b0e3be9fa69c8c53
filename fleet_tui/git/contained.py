"""Whether a branch's work is already part of another: merged, rebased onto it, or squashed into one commit.

In memory: nothing is fetched, and what has to be written goes to scratch objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from fleet_tui.git.merging import merge_pairs
from fleet_tui.git.program import COMMIT, GitFailed, ask, lines, reason, run
from fleet_tui.git.scratch import scratch_objects

Containment = Literal["", "merged", "rebased", "squashed"]
"""How one commit's work got into another; empty if it did not."""

_IDENTITY = ("-c", "user.name=fleet", "-c", "user.email=fleet@localhost")


def containment(git_dir: Path, *, start: str, tip: str, target: str) -> Containment:
    """How the commits from `start` to `tip` are contained in `target`, all given by full ids.

    A branch without commits of its own is contained in nothing.
    """
    if not has_own_commits(git_dir, start, tip):
        return ""
    fork = ask(git_dir, "merge-base", tip, target).stdout.strip()
    if fork == tip:
        return "merged"
    if fork in ("", target):
        return ""
    touched = _touched(git_dir, fork, tip)
    # A file that only the branch has changed is not in the target; without any, the commits undo each other.
    if not touched or not touched <= _touched(git_dir, fork, target):
        return ""
    if _has_all_patches(git_dir, target, tip, fork, {}):
        return "rebased"
    trees = [f"{commit}^{{tree}}" for commit in (tip, target)]
    of_tip, of_target = lines(ask(git_dir, "rev-parse", *trees).stdout)
    with scratch_objects(git_dir) as scratch:
        as_one = _as_one_commit(git_dir, of_tip, fork, scratch.variables)
        if _has_all_patches(git_dir, target, as_one, fork, scratch.variables) or (
            _merged_tree(git_dir, tip, target, scratch.variables) == of_target
        ):
            return "squashed"
    return ""


def has_own_commits(git_dir: Path, start: str, tip: str) -> bool:
    """Whether there are commits from `start` to `tip`."""
    return bool(ask(git_dir, "rev-list", "--max-count=1", tip, f"^{start}").stdout.strip())


def is_between(git_dir: Path, start: str, commit: str, tip: str) -> bool:
    """Whether a commit is `tip` or before it, and not before `start`. One that is not here is not."""
    if not COMMIT.fullmatch(commit):
        return False
    is_before = ("merge-base", "--is-ancestor", commit)
    return ask(git_dir, *is_before, tip).returncode == 0 and ask(git_dir, *is_before, start).returncode == 1


def _touched(git_dir: Path, old: str, new: str) -> set[str]:
    listing = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
    return set(ask(git_dir, *listing).stdout.split("\0")) - {""}


def _has_all_patches(git_dir: Path, target: str, tip: str, fork: str, objects: Mapping[str, str]) -> bool:
    done = run(git_dir, "--git-dir", str(git_dir), "cherry", target, tip, fork, variables=objects)
    marks = [line[:1] for line in lines(done.stdout)]
    return done.returncode == 0 and bool(marks) and set(marks) == {"-"}


def _as_one_commit(git_dir: Path, tree: str, fork: str, objects: Mapping[str, str]) -> str:
    words = ("commit-tree", tree, "-p", fork, "-m", "squashed")
    done = run(git_dir, "--git-dir", str(git_dir), *_IDENTITY, *words, variables=objects)
    if done.returncode:
        raise GitFailed(reason(done))
    return done.stdout.strip()


def _merged_tree(git_dir: Path, tip: str, target: str, objects: Mapping[str, str]) -> str:
    """What the target would have after a merge; empty if they conflict."""
    try:
        [merged] = merge_pairs(git_dir, [(target, tip)], base=target, objects=objects)
    except GitFailed:
        # Git before 2.39 merges nothing in memory.
        return ""
    return merged.tree
