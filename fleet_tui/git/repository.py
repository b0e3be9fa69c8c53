"""Repository of a folder, with its branches and worktrees; create one, prune and repair worktrees.

`creation` creates worktrees, and `trash` removes them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fleet_tui.errors import NoRepository, NothingToStartFrom
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import admin_of, admins, read_link
from fleet_tui.git.program import COMMIT, GitFailed, lines, output, query, reason, run


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with at least one commit, as seen from a folder in it."""

    root: Path
    """The main work tree, or the bare repository's folder; the same from every linked worktree."""
    git_dir: Path
    """The folder that all worktrees share."""
    name: str
    is_bare: bool
    head: str
    """The commit checked out in that folder's work tree, which may be a linked worktree."""
    head_branch: str
    """Empty when HEAD is detached."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The commit of a branch, and the folder that has it checked out; empty if none has."""

    commit: str
    checked_out_in: str


@dataclass(frozen=True, slots=True)
class Worktree:
    """One worktree in git's own list."""

    path: Path
    admin_name: str
    """The name of its entry in the repository; empty for the main work tree."""
    head: str
    branch: str
    is_locked: bool
    lock_reason: str


def discover(start: Path) -> Repository:
    """Find the repository of a folder. Raises NoRepository with a hint."""
    done = run(
        start,
        "rev-parse",
        "--path-format=absolute",
        "--is-bare-repository",
        "--git-common-dir",
        "--git-dir",
        "HEAD",
        "--symbolic-full-name",
        "HEAD",
        "--show-toplevel",  # fails outside a work tree, after everything else was printed
    )
    answers = lines(done.stdout)
    if len(answers) < 3:
        raise _no_repository(start, done)
    common = Path(answers[1])
    _refuse_embedded(common, start)
    is_bare = answers[0] == "true"
    if len(answers) < 5 or not COMMIT.fullmatch(answers[3]):
        commit = "git commit --allow-empty -m start"
        raise NothingToStartFrom(
            f"the repository of {start} has no commit yet",
            hint="push one to it with: git push" if is_bare else f"create one with: {commit}",
        )
    if len(answers) > 5 and answers[1] == answers[2]:
        root = Path(answers[5])
    else:
        root, is_bare = _main_work_tree(common)
    return Repository(
        root=root,
        git_dir=common,
        name=root.name.removesuffix(".git") if is_bare else root.name,
        is_bare=is_bare,
        head=answers[3],
        head_branch=answers[4].removeprefix("refs/heads/") if answers[4] != "HEAD" else "",
    )


def _refuse_embedded(git_dir: Path, start: Path) -> None:
    """Refuse a bare repository among the files of another one, where an agent or a clone can plant it.

    Git's own safe.bareRepository would refuse all bare repositories, and git before 2.38 lacks it.
    """
    if git_dir.name == ".git" or not Path(os.path.realpath(start)).is_relative_to(git_dir):
        return
    for folder in git_dir.parents:
        link = folder / ".git"
        if not os.path.lexists(link) or git_dir.is_relative_to(link):
            continue
        if Path(os.path.realpath(folder / read_link(link).removeprefix("gitdir: "))) == git_dir:
            return
        raise NoRepository(
            f"{git_dir} is a bare repository inside the work tree {folder}, and is not used",
            hint=f"go to {folder}, or move the bare repository out of it",
        )


def _main_work_tree(common: Path) -> tuple[Path, bool]:
    done = run(common, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--show-toplevel")
    answers = [*lines(done.stdout), "", ""]
    if answers[1]:
        return Path(answers[1]), False
    return (common.parent if common.name == ".git" else common), answers[0] == "true"


def main_work_tree(git_dir: Path) -> tuple[Path | None, bool]:
    """The work tree that is not a linked one, None if there is none or git does not know it; and whether it is bare."""
    root, is_bare = _main_work_tree(git_dir)
    return (None if is_bare or root == git_dir or not root.is_dir() else root), is_bare


def _no_repository(start: Path, done: subprocess.CompletedProcess[str]) -> NoRepository:
    owned = re.search(r"dubious ownership in repository at '(.+)'", done.stderr)
    if owned:
        return NoRepository(
            f"git does not trust {owned[1]}: another user owns it",
            hint=f"if you do, run: git config --global --add safe.directory {shlex.quote(owned[1])}",
        )
    if "not a git repository" in done.stderr:
        return NothingToStartFrom(
            f"{start} is not in a git repository", hint="go to one, or create one with: git init"
        )
    return NoRepository(f"git cannot use {start}: {reason(done)}", hint=_remedy(done))


def _remedy(done: subprocess.CompletedProcess[str]) -> str:
    if "unknown repository extension" in done.stderr or "expected git repo version" in done.stderr.lower():
        return "a newer git created it, for example with reftable: install that version"
    return "run git status there"


def ensure_repository(start: Path) -> None:
    """Create what agents need to start from, as far as it is missing: a repository here, with an empty first commit."""
    try:
        discover(start)
    except NothingToStartFrom:
        if any(run(start, "var", f"GIT_{who}_IDENT").returncode != 0 for who in ("AUTHOR", "COMMITTER")):
            raise GitFailed(
                "git has no author for the first commit",
                hint='run: git config --global user.name "Your Name"; '
                'git config --global user.email "you@example.com"',
            ) from None
        # In a folder of a repository without commits, init would create a nested one.
        if run(start, "rev-parse", "--git-dir").returncode != 0:
            init(start)
        # Not `git commit`, which would include what the user has staged.
        nothing = output(start, "mktree").strip()
        first = output(start, "commit-tree", "-m", "Start", nothing).strip()
        output(start, "update-ref", "-m", "Start", "HEAD", first)


def init(folder: Path) -> None:
    """Create a repository here, whatever repository the environment names."""
    output(folder, "init", "--quiet")


def branches(git_dir: Path, names: Sequence[str]) -> dict[str, Branch]:
    """The branches with these names, and those below them, by name."""
    patterns = [f"refs/heads/{name}" for name in names]
    form = "--format=%(objectname)%00%(refname)%00%(worktreepath)"
    found = {}
    for line in lines(query(git_dir, "for-each-ref", form, *patterns)):
        commit, name, where = line.split("\0")
        found[name.removeprefix("refs/heads/")] = Branch(commit, where)
    return found


def branch_names(repo: Repository, pattern: str) -> set[str]:
    """The branches that match a glob; `*` does not match a slash."""
    found = lines(query(repo.git_dir, "for-each-ref", "--format=%(refname)", f"refs/heads/{pattern}"))
    return {name.removeprefix("refs/heads/") for name in found}


def branches_with(git_dir: Path, commit: str) -> set[str]:
    """The branches that contain a commit."""
    found = lines(query(git_dir, "for-each-ref", f"--contains={commit}", "--format=%(refname)", "refs/heads"))
    return {name.removeprefix("refs/heads/") for name in found}


def worktrees(repo: Repository) -> list[Worktree]:
    """The main work tree first, then the linked ones."""
    names = {admin.worktree: admin.name for admin in admins(repo.git_dir)}
    found = []
    for block in query(repo.git_dir, "worktree", "list", "--porcelain").split("\n\n"):
        facts = dict(line.partition(" ")[::2] for line in lines(block))
        if "worktree" in facts:
            path = Path(facts["worktree"])
            found.append(
                Worktree(
                    path=path,
                    admin_name=names.get(path, ""),
                    head=facts.get("HEAD", ""),
                    branch=facts.get("branch", "").removeprefix("refs/heads/"),
                    is_locked="locked" in facts,
                    lock_reason=facts.get("locked", ""),
                )
            )
    return found


def moved_to(repo: Repository, worktree: Path, mark: str) -> Path | None:
    """Find a worktree that was moved, by git's list or beside its old place: the name of its entry still ends with the
    mark."""
    entries = [admin.worktree for admin in admins(repo.git_dir) if admin.name.endswith(mark)]
    places = [place for place in entries if place is not None]
    if worktree.parent.is_dir():
        places += [place for place in worktree.parent.iterdir() if not place.name.startswith(".")]
    for place in places:
        admin = admin_of(place)
        if admin is not None and admin.name.endswith(mark) and admin.folder.is_dir():
            return place
    return None


def prune(repo: Repository, *, dry_run: bool) -> list[str]:
    """Remove the entries of worktrees that are gone and not locked; return git's message for each."""
    done = run(repo.root, "worktree", "prune", "--verbose", *(["--dry-run"] if dry_run else []))
    if done.returncode != 0:
        raise GitFailed(reason(done))
    return lines(done.stdout + done.stderr)


def repair(repo: Repository, moved: Sequence[Path] = ()) -> list[str]:
    """Reconnect worktrees after the repository, or the named folders, were moved; return git's message for each.

    A worktree that cannot be reconnected does not stop git from repairing the others.
    """
    done = run(repo.root, "worktree", "repair", *(str(path.absolute()) for path in moved))
    said = lines(done.stdout + done.stderr)
    if done.returncode != 0 and not all(line.startswith(("error: ", "repair: ")) for line in said):
        raise GitFailed(reason(done))
    return [line.replace("error: ", "not repaired: ", 1) for line in said]
