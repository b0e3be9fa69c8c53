"""Checkpoints: all files of a worktree that are not ignored, as a commit under a hidden ref of the repository.

Making one changes neither index, HEAD nor files. Git works on an index of ours in the scratch folder, writes new objects
to the repository, and runs no program that a configuration names. The parent is HEAD, so that the agent's commits stay as
long as the checkpoint; earlier checkpoints are no parents, so that each can be dropped alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import GitPlaces, plain_output, run_plain
from fleet_tui.git.program import ask, query
from fleet_tui.git.rescue import PLAIN
from fleet_tui.git.scratch import ScratchObjects
from fleet_tui.git.snapshot import Snapshot, exclusive, snapshot_by
from fleet_tui.work import CheckpointKind

REFS = "refs/fleet/checkpoints"
SECONDS = 1800.0
"""Timeout for bringing back the files of a large checkpoint."""
_SIGNATURE = ("fleet", "fleet@localhost")
_IN_PROGRESS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick or revert",
}
_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(contents)%00%00"
_POINTER = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class CheckpointCommit:
    """A checkpoint as the repository has it."""

    number: int
    commit: str
    tree: str
    kind: CheckpointKind
    at: float
    note: str = ""
    turn: int = 0
    restored: int = 0


@dataclass(frozen=True, slots=True)
class BroughtFiles:
    """What bringing a worktree's files to a tree has done."""

    changed: tuple[str, ...]
    pointers: tuple[str, ...] = ()
    """Files of Git LFS that are only pointers now: the checkpoint has no more of them."""
    submodules: tuple[str, ...] = ()
    """Submodules that the checkpoint has at another commit; they are left as they are."""


def files_tree(place: GitPlaces, scratch: ScratchObjects, key: str) -> Snapshot:
    """The tree of a worktree's files, with its objects in the repository. `key` names our index of the worktree."""
    index = scratch.index(f"checkpoint-{key}")
    with exclusive(index) as held:
        return snapshot_by(place, {}, index, keep_open=[held])


def head_of(place: GitPlaces) -> str:
    """The commit of HEAD; empty if there is none."""
    return run_plain(place, "rev-parse", "--verify", "--quiet", "HEAD").stdout.strip()


def tree_of(git_dir: Path, commit: str) -> str:
    """The tree of a commit. Raises GitFailed if the repository does not have it."""
    return query(git_dir, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}").strip()


def subject_of(git_dir: Path, commit: str) -> str:
    """The first line of a commit's message; empty if the repository does not have it."""
    done = ask(git_dir, "log", "-1", "--no-show-signature", "--format=%s", "--end-of-options", commit)
    return done.stdout.strip() if done.returncode == 0 else ""


def save_checkpoint(
    place: GitPlaces, agent: str, *, number: int, tree: str, kind: CheckpointKind, note: str = "", turn: int = 0,
    restored: int = 0,
) -> CheckpointCommit:  # fmt: skip
    """Write a tree as the checkpoint of that number. Raises GitFailed if there is one already."""
    now = time.time()
    message = f"Checkpoint {number}: {kind}\n\n{note}\n\nAt: {now}\nKind: {kind}\nTurn: {turn}\nRestored: {restored}"
    head = head_of(place)
    name, mail = _SIGNATURE
    variables = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", name), ("EMAIL", mail))
    }
    parents = ["-p", head] if head else []
    commit = plain_output(place, "commit-tree", tree, *parents, variables=variables, stdin=message).strip()
    query(place.git_dir, "update-ref", "--no-deref", _ref(agent, number), commit, "0" * len(commit))
    return CheckpointCommit(number, commit, tree, kind, now, note, turn, restored)


def checkpoint_commits(git_dir: Path, agent: str) -> list[CheckpointCommit]:
    """The checkpoints of an agent in the repository, oldest first."""
    text = query(git_dir, "for-each-ref", f"--format={_FORMAT}", f"{REFS}/{agent}/")
    found = []
    for entry in text.split("\0\0"):
        ref, _, rest = entry.lstrip("\n").partition("\0")
        number = ref.rpartition("/")[2]
        fields = rest.split("\0", 2)
        if number.isdecimal() and len(fields) == 3 and fields[1]:
            found.append(_parsed(int(number), *fields))
    return sorted(found, key=lambda one: one.number)


def _parsed(number: int, commit: str, tree: str, message: str) -> CheckpointCommit:
    """A checkpoint from its commit. Anybody may have written it, so all of it may be missing or wrong."""
    body, _, trailer = message.rstrip("\n").rpartition("\n\n")
    values = dict(line.partition(": ")[::2] for line in trailer.split("\n"))
    try:
        kind, at = CheckpointKind(values.get("Kind", "")), float(values.get("At", ""))
        turn, restored = int(values.get("Turn", "0")), int(values.get("Restored", "0"))
    except ValueError:
        return CheckpointCommit(number, commit, tree, CheckpointKind.NAMED, 0.0)
    note = body.partition("\n\n")[2].strip("\n")
    return CheckpointCommit(number, commit, tree, kind, at, note, turn, restored)


def drop_checkpoints(git_dir: Path, agent: str, numbers: Sequence[int]) -> None:
    """Delete the refs of these checkpoints; git deletes what nothing else needs when it collects garbage."""
    lines = "".join(f"delete {_ref(agent, number)}\n" for number in numbers)
    query(git_dir, "update-ref", "--no-deref", "--stdin", stdin=lines)


def operation_in_progress(place: GitPlaces) -> str:
    """What the worktree is in the middle of: merge, rebase, cherry-pick or revert; empty for nothing."""
    return next((name for file, name in _IN_PROGRESS.items() if os.path.lexists(place.own / file)), "")


# ── bringing files back ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Change:
    """A path that differs between two trees."""

    letter: str
    mode: str
    """Its new mode; the old one if it is deleted."""
    path: str


def in_the_way(place: GitPlaces, old: str, new: str, left_out: Sequence[str] = ()) -> list[str]:
    """The files that are in no checkpoint and where bringing the files from one tree to another would write.

    These are ignored files, and what a snapshot leaves out.
    """
    changes = _changes(place, old, new)
    leaves = {one.path for one in changes if one.letter in "DT" and one.mode != "160000"}
    found: dict[str, None] = {}
    for change in changes:
        if change.letter != "A":
            continue
        if apart := next((one for one in left_out if one.endswith("/") and change.path.startswith(one)), ""):
            found[apart] = None
        else:
            found |= dict.fromkeys(_blocking(place.work_tree, change.path, leaves))
    return list(found)


def _blocking(folder: Path, path: str, leaves: set[str]) -> list[str]:
    """The files that keep this path from being written, without those that leave."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        part = "/".join(parts[:count])
        where = folder / part
        if not os.path.lexists(where):
            return []
        if not where.is_dir() or where.is_symlink():
            return [] if part in leaves else [part]
    return [name for name in _files_below(folder, path) if name not in leaves]


def _files_below(folder: Path, path: str) -> list[str]:
    found = []
    for parent, folders, names in os.walk(folder / path):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        found += [str((Path(parent) / name).relative_to(folder)) for name in (*names, *links)]
    return found


def bring_files(place: GitPlaces, scratch: ScratchObjects, key: str, old: str, new: str) -> BroughtFiles:
    """Bring a worktree's files from the tree that `files_tree` has just found to another tree.

    Git replaces only files that are still as in the old tree; otherwise GitFailed is raised, and nothing is changed.
    If this is interrupted, files of both trees are there, and doing it again from a new `files_tree` finishes it. The
    worktree's own index is not touched.
    """
    index = scratch.index(f"checkpoint-{key}")
    changes = _changes(place, old, new)
    with exclusive(index) as held:
        plain_output(
            place, *PLAIN, "read-tree", "-m", "-u", old, new,
            variables={"GIT_INDEX_FILE": str(index)}, seconds=SECONDS, keep_open=[held],
        )  # fmt: skip
    written = [one.path for one in changes if one.letter != "D" and one.mode.startswith("100")]
    return BroughtFiles(
        tuple(one.path for one in changes if one.mode != "160000"),
        tuple(path for path in written if _is_pointer(place.work_tree / path)),
        tuple(one.path for one in changes if one.mode == "160000"),
    )


def _changes(place: GitPlaces, old: str, new: str) -> list[_Change]:
    text = query(place.git_dir, "diff-tree", "-r", "--raw", "--no-renames", "-z", old, new)
    fields = text.split("\0")
    found = []
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        before, after, _, _, letter = meta.removeprefix(":").split(" ")
        found.append(_Change(letter[0], before if letter[0] == "D" else after, path))
    return found


def _is_pointer(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_POINTER)) == _POINTER
    except OSError:
        return False


def _ref(agent: str, number: int) -> str:
    return f"{REFS}/{agent}/{number}"
