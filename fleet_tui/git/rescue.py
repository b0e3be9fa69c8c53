"""Saves the work in a worktree as commits under a ref, before somebody deletes the worktree.

Works on a copy of the index, runs nothing that is configured and changes nothing in the worktree. A changed file with a
filter (Git LFS) is saved as it is on the disk, not as its filter would store it. What a commit cannot hold
(another repository, a submodule's own work) is a reason to refuse, because the caller will delete it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.git.entries import Admin, read_link
from fleet_tui.git.plain import Place, answer
from fleet_tui.git.program import GitFailed, output, query, run
from fleet_tui.values import dataclass

PLAIN = (
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.safecrlf=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
)
_STATUS = (
    *("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"),
    *("--untracked-files=all", "--ignored=matching"),
)
_OWN = ("rev-list", "--max-count=1", "HEAD", "--all", "--not", "--remotes")
"""A commit that no remote is known to have: of a branch, a tag or a stash."""
SECONDS = 1800.0
"""For one step of saving a worktree: hashing all that is new in it may take long."""
_SIGNATURE = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "fleet"), ("EMAIL", "fleet@localhost"))
}


def save(admin: Admin, folder: Path, ref: str, *, head: str, original: Path) -> None:
    """Keep HEAD, the index and every file that is not ignored; a folder that is gone leaves the index.

    `original` is where the folder was before it was moved: submodules name their repositories from there.
    """
    import tempfile  # here, because only emptying the trash needs it

    with tempfile.TemporaryDirectory(prefix="fleet-index-") as temporary:
        desk = Desk(admin, folder, original, Path(temporary) / "index")
        parents = [head] if head else []
        committed = desk.git("rev-parse", f"{head}^{{tree}}").strip() if head else ""
        staged = tree = desk.index_tree(head)
        if folder.is_dir():
            tree = desk.files_tree()
        if staged not in ("", committed, tree):
            parents.append(desk.commit(staged, parents, "index"))
        commit = head
        if tree != committed or len(parents) > 1:
            commit = desk.commit(tree, parents, "files")
        query(admin.git_dir, "update-ref", ref, commit)


@dataclass(frozen=True, slots=True)
class Desk:
    """A copy of a worktree's index, to make trees and commits with."""

    admin: Admin
    folder: Path
    original: Path
    index: Path

    def git(self, *arguments: str, stdin: str = "") -> str:
        place = self.folder if self.folder.is_dir() else self.admin.folder
        here = Place(self.admin.git_dir, self.admin.folder, place)
        variables = {"GIT_INDEX_FILE": str(self.index), **_SIGNATURE}
        return answer(here, *PLAIN, *arguments, variables=variables, stdin=stdin, seconds=SECONDS)

    def copy_index(self, head: str) -> None:
        """Take the worktree's index, or HEAD's if it has lost its own."""
        index = self.admin.folder / "index"
        if index.exists():
            found = index.stat()
            self.index.write_bytes(index.read_bytes())
            # By its time, git knows which files may have changed after they were staged without looking different.
            os.utime(self.index, ns=(found.st_atime_ns, found.st_mtime_ns))
        elif head:
            self.git("read-tree", head)

    def index_tree(self, head: str) -> str:
        """The tree that is staged; empty in the middle of a conflict."""
        self.copy_index(head)
        try:
            return self.git("write-tree").strip()
        except GitFailed:
            return ""

    def files_tree(self) -> str:
        """The tree of all files that are not ignored; Refused if it could not hold all the work."""
        submodules = self.gitlinks()
        self.check_submodules()
        self.stop_overlooking()
        spared = [f":(exclude,literal){path}" for path in submodules]
        self.git("add", "--all", *self._sparse_option(), "--", ".", *spared)
        for path in self.gitlinks():
            if path not in submodules:
                raise Refused(
                    f"{self.folder} holds another repository in {path}",
                    hint="undo, and move that repository to a place of its own",
                )
        return self.git("write-tree").strip()

    def check_submodules(self) -> None:
        """Refused if a submodule has work that only it holds."""
        self._check_module_repositories()
        for path in self.gitlinks():
            self._check_submodule(path)

    def loose_files(self) -> tuple[list[str], list[str]]:
        """The files that differ from HEAD or are untracked; and what is ignored, of submodules too.

        A folder that is ignored as a whole ends with a slash, and its files are not listed.
        """
        uncommitted, ignored = _loose(self.git(*_STATUS))
        for path in self.gitlinks():
            here = self._submodule(path)
            if here is not None:
                inner = _loose(answer(here, *PLAIN, *_STATUS))[1]
                ignored += [f"{path}/{name}" for name in inner]
        return uncommitted, ignored

    def is_submodule(self, path: str) -> bool:
        """Whether a repository below the folder is a submodule, or one of a submodule's."""
        if path in self.gitlinks():
            return True
        link = _link(self.folder / path)
        target = Path(os.path.normpath(self.original / path / link)) if link else None
        places = (self.admin.folder / "modules", self.admin.git_dir / "modules")
        return target is not None and any(target.is_relative_to(place) for place in places)

    def commit(self, tree: str, parents: Sequence[str], what: str) -> str:
        options = [option for parent in parents for option in ("-p", parent)]
        message = f"{what} of {self.original.name} when its trash was emptied"
        return self.git("commit-tree", tree, *options, "-m", message).strip()

    def _sparse_option(self) -> list[str]:
        here = ("--git-dir", str(self.admin.folder))
        is_sparse = run(self.admin.folder, *here, "config", "--bool", "core.sparseCheckout").stdout.strip()
        return ["--sparse"] if is_sparse == "true" else []

    def gitlinks(self) -> list[str]:
        return _gitlinks(self.git("ls-files", "--stage", "-z"))

    def stop_overlooking(self) -> None:
        """Look again at files that somebody told git to pass over, when they are there."""
        assumed, skipped = _overlooked(self.git("ls-files", "-v", "-z"), self.folder)
        for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
            if paths:
                self.git("update-index", option, "-z", "--stdin", stdin="\0".join(paths) + "\0")

    def _check_module_repositories(self) -> None:
        """Repositories of submodules live in the worktree's entry and go with it, also of those not checked out now."""
        for head in (self.admin.folder / "modules").rglob("HEAD"):
            folder = head.parent
            if not (folder / "objects").is_dir():
                continue
            # The place that it remembers as its own is where the worktree was before.
            here = ("--git-dir", str(folder), "--work-tree", str(folder))
            if output(folder, *here, *_OWN):
                name = folder.relative_to(self.admin.folder / "modules")
                raise Refused(
                    f"the submodule {name} of {self.folder} has commits or a stash that only it holds",
                    hint="undo, then push them from there",
                )

    def _submodule(self, path: str) -> Place | None:
        """Where git finds a submodule that is checked out."""
        folder = self.folder / path
        if not (folder / ".git").exists():
            return None
        link = _link(folder)
        git_dir = Path(os.path.normpath(self.original / path / link)) if link else folder / ".git"
        return Place(git_dir, git_dir, folder)

    def _check_submodule(self, path: str) -> None:
        """A commit holds no more of a submodule than its commit's name, so there must not be more."""
        here = self._submodule(path)
        if here is None:
            return
        # Git would look into submodules of this one by a child that reads their configuration.
        for nested in _gitlinks(answer(here, "ls-files", "--stage", "-z")):
            self._check_submodule(f"{path}/{nested}")
        if (
            answer(here, "status", "--porcelain")
            or answer(here, *_OWN)
            or any(_overlooked(answer(here, "ls-files", "-v", "-z"), here.work_tree))
        ):
            raise Refused(
                f"the submodule {path} of {self.folder} has work that only it holds",
                hint="undo, then commit and push it there",
            )


def _loose(status: str) -> tuple[list[str], list[str]]:
    entries = [(entry[:2], entry[3:]) for entry in status.split("\0") if entry]
    ignored = [name for code, name in entries if code == "!!"]
    return [name for code, name in entries if code != "!!"], ignored


def _overlooked(listed: str, folder: Path) -> tuple[list[str], list[str]]:
    """The files that are assumed to be unchanged, and those that are skipped and there all the same; from what
    `ls-files -v -z` prints."""
    tagged = [(entry[0], entry[2:]) for entry in listed.split("\0") if entry]
    assumed = [path for tag, path in tagged if tag.islower()]
    return assumed, [path for tag, path in tagged if tag in "sS" and os.path.lexists(folder / path)]


def _link(folder: Path) -> str:
    """Where the `.git` file of a folder points to; empty if it is a folder, or nothing."""
    return read_link(folder / ".git").removeprefix("gitdir: ")


def _gitlinks(staged: str) -> list[str]:
    """Paths of submodules, from what `ls-files --stage -z` prints."""
    return [entry.partition("\t")[2] for entry in staged.split("\0") if entry.startswith("160000 ")]
