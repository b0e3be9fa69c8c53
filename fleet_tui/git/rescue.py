"""Save the work in a worktree as commits under a ref, before the worktree is deleted.

Works on a copy of the index, runs no configured program and changes nothing in the worktree. A changed file with a filter
(Git LFS) is saved as it is on the disk, not as its filter would store it. Raises Refused for what a commit cannot hold
(another repository, a submodule's own work), because the caller is going to delete it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import WorktreeEntry, read_link
from fleet_tui.git.plain import GitPlaces, plain_output
from fleet_tui.git.program import GitFailed, output, query, run
from fleet_tui.system import files

PLAIN = (
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.safecrlf=false"),
    # Set in a repository where case matters, it would hide one of two files from git.
    *("-c", "core.ignorecase=false"),
    *("-c", "advice.addEmbeddedRepo=false"),
)
_STATUS = (
    *("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"),
    *("--untracked-files=all", "--ignored=matching"),
)
_OWN = ("rev-list", "--max-count=1", "HEAD", "--all", "--not", "--remotes")
"""Prints a commit of a branch, a tag or a stash that no remote is known to have."""
INDEX_MOST = 4 << 30
"""A larger index is refused; one with a million files has about 100 MB."""
SECONDS = 1800.0
"""Timeout of one step of saving a worktree: hashing all that is new in it may take long."""
_SIGNATURE = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "fleet"), ("EMAIL", "fleet@localhost"))
}


def save(admin: WorktreeEntry, folder: Path, ref: str, *, head: str, original: Path) -> None:
    """Save HEAD, the index and every file that is not ignored; without the folder, only HEAD and the index.

    `original` is the folder's path before it was moved: submodules refer to their repositories relative to it.
    """
    import tempfile  # deferred: only emptying the trash needs it

    with tempfile.TemporaryDirectory(prefix="fleet-index-") as temporary:
        saving = IndexCopy(admin, folder, original, Path(temporary) / "index")
        parents = [head] if head else []
        committed = saving.git("rev-parse", f"{head}^{{tree}}").strip() if head else ""
        staged = tree = saving.index_tree(head)
        if folder.is_dir():
            tree = saving.files_tree()
        if staged not in ("", committed, tree):
            parents.append(saving.commit(staged, parents, "index"))
        commit = head
        if tree != committed or len(parents) > 1:
            commit = saving.commit(tree, parents, "files")
        query(admin.git_dir, "update-ref", "--no-deref", ref, commit)


@dataclass(frozen=True, slots=True)
class IndexCopy:
    """A copy of a worktree's index, from which trees and commits are created."""

    admin: WorktreeEntry
    folder: Path
    original: Path
    index: Path

    def git(self, *arguments: str, stdin: str = "") -> str:
        place = self.folder if self.folder.is_dir() else self.admin.folder
        here = GitPlaces(self.admin.git_dir, self.admin.folder, place)
        variables = {"GIT_INDEX_FILE": str(self.index), **_SIGNATURE}
        return plain_output(here, *PLAIN, *arguments, variables=variables, stdin=stdin, seconds=SECONDS)

    def copy_index(self, head: str) -> None:
        """Copy the worktree's index, or build it from HEAD if it is lost."""
        index = self.admin.folder / "index"
        if os.path.lexists(index):
            import shutil  # deferred: only emptying the trash needs it

            check_index(index)
            # With its mtime: git checks the content of files that are not older than the index.
            shutil.copy2(index, self.index)
        elif head:
            self.git("read-tree", head)

    def index_tree(self, head: str) -> str:
        """The staged tree; empty during a conflict."""
        self.copy_index(head)
        try:
            return self.git("write-tree").strip()
        except GitFailed:
            return ""

    def files_tree(self) -> str:
        """The tree of all files that are not ignored. Raises Refused if it cannot hold all the work."""
        submodules = self.gitlinks()
        self.check_submodules()
        self.stop_overlooking()
        spared = [f":(exclude,literal){path}" for path in submodules]
        self.git("add", "--all", *self._sparse_option(), "--", ".", *spared)
        for path in self.gitlinks():
            if path not in submodules:
                raise Refused(
                    f"{self.folder} holds another repository in {path}",
                    hint="undo, then move that repository elsewhere",
                )
        return self.git("write-tree").strip()

    def check_submodules(self) -> None:
        """Raise Refused if a submodule has work that exists nowhere else."""
        self._check_module_repositories()
        for path in self.gitlinks():
            self._check_submodule(path)

    def loose_files(self) -> tuple[list[str], list[str]]:
        """The files that are changed or untracked, and the ignored ones, including those of submodules.

        A folder that is ignored as a whole is one entry, which ends with a slash.
        """
        uncommitted, ignored = _loose(self.git(*_STATUS))
        for path in self.gitlinks():
            here = self._submodule(path)
            if here is not None:
                inner = _loose(plain_output(here, *PLAIN, *_STATUS))[1]
                ignored += [f"{path}/{name}" for name in inner]
        return uncommitted, ignored

    def is_submodule(self, path: str) -> bool:
        """Whether a repository below the folder is a submodule, also a nested one."""
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
        """Clear assume-unchanged, and skip-worktree of files that exist, so that git sees their changes."""
        assumed, skipped = _overlooked(self.git("ls-files", "-v", "-z"), self.folder)
        for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
            if paths:
                self.git("update-index", option, "-z", "--stdin", stdin="\0".join(paths) + "\0")

    def _check_module_repositories(self) -> None:
        """Check the repositories of submodules, also of those not checked out: they are deleted with the worktree's entry."""
        for head in (self.admin.folder / "modules").rglob("HEAD"):
            folder = head.parent
            if not (folder / "objects").is_dir():
                continue
            # Its own configuration names the work tree's original place.
            here = ("--git-dir", str(folder), "--work-tree", str(folder))
            if output(folder, *here, *_OWN):
                name = folder.relative_to(self.admin.folder / "modules")
                raise Refused(
                    f"the submodule {name} of {self.folder} has commits or a stash that exist nowhere else",
                    hint="undo, then push them from there",
                )

    def _submodule(self, path: str) -> GitPlaces | None:
        """The places of a submodule that is checked out; None otherwise."""
        folder = self.folder / path
        if not (folder / ".git").exists():
            return None
        link = _link(folder)
        git_dir = Path(os.path.normpath(self.original / path / link)) if link else folder / ".git"
        return GitPlaces(git_dir, git_dir, folder)

    def _check_submodule(self, path: str) -> None:
        """Raise Refused if a submodule has own work: a commit of the worktree holds only its commit id."""
        here = self._submodule(path)
        if here is None:
            return
        # Git would inspect nested submodules with a child process that reads their configuration.
        for nested in _gitlinks(plain_output(here, "ls-files", "--stage", "-z")):
            self._check_submodule(f"{path}/{nested}")
        if (
            plain_output(here, "status", "--porcelain")
            or plain_output(here, *_OWN)
            or any(_overlooked(plain_output(here, "ls-files", "-v", "-z"), here.work_tree))
        ):
            raise Refused(
                f"the submodule {path} of {self.folder} has work that exists nowhere else",
                hint="undo, then commit and push it there",
            )


def check_index(index: Path) -> None:
    """Raise Refused for what cannot be an index: a device would be copied until the disk is full."""
    try:
        descriptor = files.open_regular(index, os.O_RDONLY)
        try:
            is_index = os.read(descriptor, 4) == b"DIRC" and os.fstat(descriptor).st_size <= INDEX_MOST
        finally:
            os.close(descriptor)
    except OSError:
        is_index = False
    if not is_index:
        raise Refused(
            f"{index} is not an index of git",
            hint=f"move it away; git then takes all files as changed: mv {shlex.quote(str(index))} /tmp",
        )


def _loose(status: str) -> tuple[list[str], list[str]]:
    entries = [(entry[:2], entry[3:]) for entry in status.split("\0") if entry]
    ignored = [name for code, name in entries if code == "!!"]
    return [name for code, name in entries if code != "!!"], ignored


def _overlooked(listed: str, folder: Path) -> tuple[list[str], list[str]]:
    """The files marked assume-unchanged, and existing ones marked skip-worktree, from the output of
    `ls-files -v -z`."""
    tagged = [(entry[0], entry[2:]) for entry in listed.split("\0") if entry]
    assumed = [path for tag, path in tagged if tag.islower()]
    return assumed, [path for tag, path in tagged if tag in "sS" and os.path.lexists(folder / path)]


def _link(folder: Path) -> str:
    """The target of a folder's `.git` file; empty if there is no such file."""
    return read_link(folder / ".git").removeprefix("gitdir: ")


def _gitlinks(staged: str) -> list[str]:
    """Paths of submodules, from the output of `ls-files --stage -z`."""
    return [entry.partition("\t")[2] for entry in staged.split("\0") if entry.startswith("160000 ")]
