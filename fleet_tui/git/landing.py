"""Move a branch from one commit to another together with the worktree that has it checked out, all or nothing.

No single git command survives being killed here, so the steps are our own: a note on the disk, git's own index.lock,
checks, the new value of the branch prepared but not committed, the files, the index, the branch. While it is half done
every other git refuses to touch that worktree. `landing_heal` brings a landing that was killed to before or after.

Nothing of the user is overwritten: changed or staged files that differ between the two commits stop it, and so does
whatever lies in the place of a new file, ignored files included, which git itself would replace without a word.
Git runs trusted, with the filters and hooks of the user's own clone, as when the user merges by hand.
docs/decisions/0028-landing.md has the reasons.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.git.landing_checks import (
    check_tip,
    checkout_of,
    head_and_branch,
    landing_files,
    refuse_overwriting,
    refuse_unfinished,
)
from fleet_tui.git.landing_heal import heal_locked, release, roll_back
from fleet_tui.git.landing_note import INDEX, MARK, LandingNote, drop_note, exclusive, write_note
from fleet_tui.git.plain import GitPlaces
from fleet_tui.git.program import GitFailed, converse, reason, run, what_stopped

STEPS = ("noted", "locked", "checked", "prepared", "files", "index", "ref", "unlocked")
"""The steps of a landing, in order, as `step` hears of each after it."""


def move_branch(
    git_dir: Path,
    branch: str,
    old: str,
    new: str,
    *,
    why: str,
    root: Path | None = None,
    step: Callable[[str], None] = lambda name: None,
) -> None:
    """Move a branch, and the worktree that has it checked out, from one commit to another.

    Raises Refused or GitFailed, and then nothing has changed. `why` goes to the reflog. `root` is the main work tree by
    our own records. `step` hears of each step.
    """
    with exclusive(git_dir) as descriptor:
        heal_locked(git_dir, descriptor)
        place = checkout_of(git_dir, branch, root)
        if place is None:
            check_tip(git_dir, branch, old)
            done = run(
                git_dir, "--git-dir", str(git_dir), "update-ref", "-m", why, f"refs/heads/{branch}", new, old,
                keep_open=(descriptor,), trusted=True,
            )  # fmt: skip
            if done.returncode:
                raise _not_moved(branch, reason(done))
            return
        _Move(place, branch, old, new, why, descriptor, step).run()


def _not_moved(branch: str, why: str) -> GitFailed:
    return GitFailed(f"branch {branch!r} was not moved: {why}", hint="nothing was changed")


class _Move:
    """One landing on a checked-out branch, while the repository's landing lock is held."""

    def __init__(
        self,
        place: GitPlaces,
        branch: str,
        old: str,
        new: str,
        why: str,
        descriptor: int,
        step: Callable[[str], None],
    ) -> None:
        self._place, self._branch, self._old, self._new = place, branch, old, new
        self._why, self._descriptor, self._step = why, descriptor, step
        self._index = place.own / INDEX
        self._note = LandingNote(branch, old, new, str(place.own), str(place.work_tree))
        self._touched = landing_files(place.git_dir, old, new)
        self._variables = {
            "GIT_DIR": str(place.own),
            "GIT_COMMON_DIR": str(place.git_dir),
            "GIT_WORK_TREE": str(place.work_tree),
            "GIT_INDEX_FILE": str(self._index),
        }

    def run(self) -> None:
        git_dir = self._place.git_dir
        write_note(git_dir, self._note)
        self._step("noted")
        self._take_lock()
        has_begun = False
        refs: subprocess.Popen[str] | None = None
        try:
            self._step("locked")
            self._check()
            self._step("checked")
            refs = self._prepare()
            self._step("prepared")
            has_begun = True
            self._git("read-tree", "-m", "-u", "--no-recurse-submodules", self._old, self._new)
            self._step("files")
            self._index.replace(self._place.own / "index")
            self._step("index")
            self._commit(refs)
            self._step("ref")
        except BaseException:
            if refs is not None and refs.poll() is None:
                # The end of its orders makes it drop what it has prepared.
                refs.communicate()
            if has_begun:
                roll_back(git_dir, self._note, self._descriptor)
            release(git_dir, self._note)
            raise
        release(git_dir, self._note)
        self._step("unlocked")

    def _take_lock(self) -> None:
        self._index.unlink(missing_ok=True)
        self._index.write_bytes(MARK)
        try:
            # Taken and marked in one step.
            os.link(self._index, self._place.own / "index.lock")
        except FileExistsError:
            drop_note(self._place.git_dir)
            raise Refused(
                f"another git is at work in {self._place.work_tree}, or was killed there",
                hint=f"try again; if no git is running there, delete {self._place.own / 'index.lock'}",
            ) from None
        finally:
            self._index.unlink(missing_ok=True)

    def _check(self) -> None:
        place = self._place
        if head_and_branch(place)[1] != self._branch:
            raise Refused(f"{self._branch} is no longer checked out in {place.work_tree}", hint="land again")
        check_tip(place.git_dir, self._branch, self._old)
        refuse_unfinished(place)
        # With its time: git checks the content of files that are not older than the index.
        if (place.own / "index").exists():
            shutil.copy2(place.own / "index", self._index)
        self._run("update-index", "-q", "--refresh")
        refuse_overwriting(place, self._touched, self._changed())
        done = self._run("read-tree", "-n", "-m", "-u", "--no-recurse-submodules", self._old, self._new)
        if done.returncode:
            raise Refused(
                f"{place.work_tree} cannot take the new files: {reason(done)}",
                hint="commit or stash what is changed there",
            )

    def _changed(self) -> set[str]:
        """The tracked files that are changed or staged, by a git with the user's filters, and the refreshed index."""
        names = ("--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
        staged = self._git("diff-index", "--cached", *names, self._old, "--")
        return {path for path in (staged + self._git("diff-files", *names)).split("\0") if path}

    def _prepare(self) -> subprocess.Popen[str]:
        variables = {key: value for key, value in self._variables.items() if key != "GIT_INDEX_FILE"}
        refs = converse(
            self._place.work_tree, "update-ref", "-m", self._why, "--stdin",
            variables=variables, keep_open=(self._descriptor,),
        )  # fmt: skip
        orders = f"start\nupdate refs/heads/{self._branch} {self._new} {self._old}\nprepare\n"
        if _answers(refs, orders, 2)[-1:] != ["prepare: ok\n"]:
            _, error = refs.communicate()
            raise _not_moved(self._branch, what_stopped(error))
        return refs

    def _commit(self, refs: subprocess.Popen[str]) -> None:
        if _answers(refs, "commit\n", 1) != ["commit: ok\n"]:
            _, error = refs.communicate()
            raise _not_moved(self._branch, what_stopped(error))
        refs.communicate()

    def _git(self, *arguments: str) -> str:
        done = self._run(*arguments)
        if done.returncode:
            raise _not_moved(self._branch, reason(done))
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # A file watcher that git starts would inherit the lock and hold it forever.
        return run(
            self._place.work_tree, "-c", "core.fsmonitor=false", *arguments,
            variables=self._variables, keep_open=(self._descriptor,), trusted=True,
        )  # fmt: skip


def _answers(git: subprocess.Popen[str], orders: str, count: int) -> list[str]:
    """What git answers to orders, line by line; fewer lines if it ends."""
    if git.stdin is None or git.stdout is None:
        return []
    try:
        git.stdin.write(orders)
        git.stdin.flush()
        return [git.stdout.readline() for _ in range(count)]
    except BrokenPipeError:
        return []
