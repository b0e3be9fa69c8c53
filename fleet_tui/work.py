"""Nouns of what agents have made: changed files, hunks, comments, checks, conflicts, checkpoints, landings, requests.

Pure data, as in `models`, which has the agents themselves. A *tree* is a git tree: all files of a worktree at one
moment, uncommitted ones included. One file, because these words are read together: each is short, and has no behavior.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from fleet_tui.fast_dataclasses import dataclass, field

DiffKind = Literal["added", "modified", "deleted", "renamed", "mode changed", "type changed"]
Side = Literal["old", "new"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that differs between two trees."""

    path: str
    kind: DiffKind
    old_path: str = ""
    """Its path before; empty unless it was renamed."""
    old_mode: str = ""
    """As git writes it: 100644. Empty for an added file."""
    new_mode: str = ""
    """Empty for a deleted file."""
    old_blob: str = ""
    """The object with its content before; empty for an added file."""
    new_blob: str = ""
    added: int = 0
    """Lines."""
    removed: int = 0
    is_binary: bool = False
    is_uncommitted: bool = False
    """Its content on the disk is in no commit of the agent."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What an agent has changed since a commit, or how one agent's files differ from another's."""

    agent: str
    """The id."""
    against: str
    """What it is compared with, in a user's words: a branch, a commit, an agent."""
    old: str
    """The commit or tree before."""
    new: str
    """The tree of the agent's files now."""
    files: tuple[ChangedFile, ...]
    left_out: tuple[str, ...] = ()
    """Untracked files that are too large to be read."""

    @property
    def added(self) -> int:
        return sum(one.added for one in self.files)

    @property
    def removed(self) -> int:
        return sum(one.removed for one in self.files)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk."""

    sign: Literal[" ", "-", "+"]
    text: str
    """Without its newline; a carriage return before that stays."""
    old: int = 0
    """Its number in the old file; 0 for an added line."""
    new: int = 0
    has_no_end: bool = False
    """It is the last line of its file, and no newline ends it."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that changed, with the unchanged ones around them."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str
    """The function or class that git names for it."""
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The lines that differ in one file."""

    file: ChangedFile
    hunks: tuple[Hunk, ...]
    """Empty for a binary file, and where only the mode or the path differs."""
    old_size: int = 0
    """Bytes."""
    new_size: int = 0
    is_cut: bool = False
    """Lines are left out, because the file is too large."""


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """What the user wrote on lines of an agent's work."""

    id: str
    agent: str
    path: str
    side: Side
    first: int
    """The first line that it is about, in the file of its side."""
    last: int
    quoted: tuple[str, ...]
    """Those lines as they were."""
    text: str
    created_at: float
    round: int = 0
    """Comments are sent in rounds; 0 is not sent yet."""
    sent_at: float | None = None
    receipt: str = ""
    """Of the prompt that it was sent with."""
    handled_at: float | None = None
    """When the lines were first seen changed after it was sent."""
    against: str = ""
    """What the agent was compared with, for the lines of the old side; empty for its base."""
    receipt_state: str = ""
    """How far the prompt got that it was sent with: a `ReceiptState`."""
    is_changed: bool = False
    """The lines are no longer in the file, so their numbers are those of before."""

    @property
    def is_sent(self) -> bool:
        """A prompt with it is on its way or has arrived: it is not sent again, and no longer reworded."""
        return self.round > 0 and self.receipt_state != "refused"


class CheckState(StrEnum):
    """How a run of the project's check ended, or that it has not."""

    WAITING = "waiting"
    """For other checks to end."""
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    """The command ended with another code than 0."""
    TIMED_OUT = "timed out"
    NOT_STARTED = "not started"
    """The command could not be started."""
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One run of the project's check command on an agent's work."""

    id: str
    agent: str
    command: str
    tree: str
    """The files that it ran on."""
    onto: str
    """The commit that they were merged with first; empty if it ran in the agent's worktree."""
    state: CheckState
    started_at: float
    ended_at: float | None = None
    exit_code: int | None = None
    summary: str = ""
    """What it printed at its end: "214 passed, 3 skipped"."""
    after: str = ""
    """The files when it had ended, if only the check itself can have changed them; empty if that is not known."""
    note: str = ""
    """Why it was cancelled or did not start, or which files changed while it ran."""

    @property
    def is_over(self) -> bool:
        return self.state not in {CheckState.WAITING, CheckState.RUNNING}

    def counts_for(self, tree: str) -> bool:
        """Whether it says something about these files: they are those that it ran on."""
        return bool(tree) and tree in {self.tree, self.after}

    @property
    def is_green(self) -> bool:
        return self.state is CheckState.PASSED


ConflictKind = Literal[
    "both changed", "both added", "deleted here", "deleted there", "renamed both ways", "binary", "mode",
    "submodule", "file and folder", "other",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ConflictPlace:
    """Lines of one file that both sides changed."""

    first: int
    """Lines of this side's file."""
    last: int
    function: str = ""
    before: tuple[str, ...] = ()
    """The lines that both started from."""
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConflictingFile:
    """A file that two sides cannot merge."""

    path: str
    kind: ConflictKind
    places: tuple[ConflictPlace, ...] = ()
    message: str = ""
    """Git's own words."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two agents, or an agent and its base branch, whose work does not merge."""

    agent: str
    """The id."""
    other: str
    """The other agent's id; empty for the base branch."""
    base: str
    """The name of the branch both would land on."""
    files: tuple[str, ...]
    """Empty if the two have no commit in common."""
    since: float

    def concerns(self, agent: str) -> bool:
        return agent in {self.agent, self.other}

    def seen_from(self, agent: str) -> Conflict:
        """The same with that one of the two agents first."""
        if not agent or agent != self.other:
            return self
        return Conflict(self.other, self.agent, self.base, self.files, self.since)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Files that two agents have both changed, and that merge as far as is known."""

    agent: str
    """The id."""
    other: str
    files: tuple[str, ...]

    def other_than(self, agent: str) -> str:
        """The id of the other agent; empty if the overlap is not one of this agent's."""
        return {self.agent: self.other, self.other: self.agent}.get(agent, "")


@dataclass(frozen=True, slots=True)
class ConflictReport:
    """What of the work of some projects' agents does not merge, and what does although several have touched it."""

    conflicts: tuple[Conflict, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    bases: Mapping[str, str] = field(default_factory=dict)
    """By project, the branch that its agents were merged with."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """By id, why an agent's work could not be read; it is not compared."""
    problem: str = ""
    """Why nothing was merged; the overlaps are there all the same."""
    without_base: frozenset[str] = frozenset()
    """The ids of agents that started from no commit of the base branch: they are compared with other agents only."""


class CheckpointKind(StrEnum):
    """Why a checkpoint was made."""

    START = "start"
    """The commit that the agent started from; not stored."""
    TURN = "turn"
    """A turn has changed files."""
    NAMED = "named"
    """The user asked for it."""
    SAVED = "saved"
    """What was there before a restore, or before a landing."""
    RESTORED = "restored"
    """The worktree was brought back to an earlier checkpoint."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved state of a worktree: a commit on a hidden ref."""

    agent: str
    number: int
    commit: str
    tree: str
    kind: CheckpointKind
    at: float
    note: str = ""
    """The user's words, or the prompt of the turn."""
    turn: int = 0
    restored: int = 0
    """For `restored`: the number of the checkpoint that was brought back."""
    added: int = 0
    """Lines, compared with the checkpoint before it, as are the next three."""
    removed: int = 0
    changed: int = 0
    """How many files."""
    files: tuple[str, ...] = ()
    """The first of them."""
    left_out: tuple[str, ...] = ()
    """What it does not hold: untracked files that are too large, what cannot be read, other repositories."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """An agent's checkpoints with what is shown beside them."""

    agent: str
    checkpoints: tuple[Checkpoint, ...]
    """Oldest first; the first is its start, unless the repository has lost that."""
    now: Diff | None = None
    """What has changed since the newest; None if the agent has no worktree."""
    checks: tuple[tuple[int, CheckRun], ...] = ()
    """The last check of the files of a checkpoint, by its number."""
    origin: str = ""
    """The commit that it started from, in words."""
    kept_days: int = 0


@dataclass(frozen=True, slots=True)
class RestoredFiles:
    """A worktree's files after they were brought back to a checkpoint."""

    checkpoint: Checkpoint
    """The one that was brought back."""
    saved: int
    """The number of the checkpoint that has the files as they were before."""
    changed: int
    """How many files were written or deleted."""
    pointers: tuple[str, ...] = ()
    """Files of Git LFS that are only pointers now."""
    submodules: tuple[str, ...] = ()
    """Submodules that were at another commit then; they are left as they are."""


RequestState = Literal["pushed", "open", "merged", "closed"]
RequestChecks = Literal["", "running", "passed", "failed"]
RequestReview = Literal["", "approved", "changes requested", "commented"]


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of an agent's branch, as last seen. GitLab calls it a merge request."""

    agent: str
    url: str
    """Its page; for a branch that is only pushed, the page on which a request can be opened by hand."""
    number: int
    """0 for a branch that is only pushed."""
    state: RequestState
    checks: RequestChecks
    """Failed only once all have ended; empty if there are none."""
    review: RequestReview
    rounds: int
    """How many times a failed check went back to the agent."""
    at: float
    head: str = ""
    """The commit that the checks are about."""
    failed: str = ""
    """The names of the checks that failed."""
    note: str = ""
    """Why no request was opened, or why it could not be seen since."""
    handled: str = ""
    """The last commit whose failed checks went back to the agent."""
    receipt: str = ""
    """Of the prompt that they went with."""


@dataclass(frozen=True, slots=True)
class MergedBranch:
    """An agent whose work is in another branch already, though fleet-tui did not land it."""

    agent: str
    into: str
    """The branch, or the pull request."""
    how: Literal["merged", "rebased", "squashed"]
    has_uncommitted: bool
    """Its worktree has changes that are in no commit."""
