"""Nouns of landings: what one would do, how far it is, what has landed, and what stopped it.

Pure data, as in `work`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.work import ChangedFile, CheckRun, Conflict, ConflictingFile, PullRequest

Strategy = Literal["merge", "squash", "rebase", "pr"]
STRATEGIES: tuple[Strategy, ...] = ("merge", "squash", "rebase", "pr")
StepKind = Literal["commit", "bring in", "check", "build", "update", "push", "tidy"]
StepState = Literal["running", "done", "failed"]
ObstacleKind = Literal[
    "nothing", "conflict", "in the way", "unfinished", "hook", "check", "branch", "stopped", "other"
]  # fmt: skip


class LandingState(StrEnum):
    """How far a landing got."""

    BEGUN = "begun"
    LANDED = "landed"
    PUSHED = "pushed"
    """Its branch was pushed for a pull request."""
    FAILED = "failed"
    """Nothing was changed."""
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Landing:
    """An agent's work brought onto a branch of its repository."""

    id: str
    project: str
    agent: str
    into: str
    """The branch."""
    strategy: Strategy
    old: str
    """The branch's commit before."""
    new: str
    """Its commit after."""
    head: str
    """The agent's commit that was landed."""
    state: LandingState
    at: float
    message: str = ""
    reason: str = ""
    """Why it failed."""
    undone_at: float | None = None


@dataclass(frozen=True, slots=True)
class CommitLine:
    """A commit as a list shows it."""

    commit: str
    subject: str
    author: str
    at: float


@dataclass(frozen=True, slots=True)
class LandingObstacle:
    """What stops a landing before anything of it has happened."""

    kind: ObstacleKind
    message: str
    hint: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LandingStep:
    """One numbered step of a landing, with what it found."""

    kind: StepKind
    title: str
    note: str = ""
    """A few words beside the title."""
    lines: tuple[str, ...] = ()
    """Below the title; one that begins with "✓ " says that something was tried and is right."""
    is_blocked: bool = False
    """It would stop here."""


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """What landing one agent will do, found out without changing anything."""

    agent: str
    """The id."""
    name: str
    profile: str
    into: str
    """The branch that it lands on; empty if that is not clear."""
    strategy: Strategy
    old: str
    """The branch's commit now; in a train, what it will be after the agents before."""
    head: str
    """The agent's last commit."""
    steps: tuple[LandingStep, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    """What the branch will get."""
    uncommitted: tuple[ChangedFile, ...] = ()
    left_out: tuple[str, ...] = ()
    """Untracked files that are not landed: large ones, and other repositories in the worktree."""
    message: str = ""
    message_of: str = ""
    """What the message is of: "the one commit". Empty if nothing that the user can word is made."""
    commits: tuple[CommitLine, ...] = ()
    """The agent's commits, newest first."""
    moved: tuple[CommitLine, ...] = ()
    """What the branch got since the agent's work branched off, newest first."""
    conflicts: tuple[ConflictingFile, ...] = ()
    give_back: str = ""
    """The prompt that gives a conflict back to the agent."""
    others: tuple[Conflict, ...] = ()
    """Other agents whose work would not merge after this."""
    check_command: str = ""
    """Empty if none is configured, or it was left out."""
    check: CheckRun | None = None
    """The last run on the same files, if there was one."""
    hooks: tuple[str, ...] = ()
    is_signed: bool = False
    folder: str = ""
    """The worktree that has the branch checked out; empty if none has."""
    dirty: tuple[str, ...] = ()
    """Changed files of that worktree, which stay as they are."""
    pushes_to: str = ""
    """For a pull request: where the branch goes, and with what the request is opened."""
    tidies: bool = True
    deletes_branch: bool = False
    warnings: tuple[str, ...] = ()
    obstacles: tuple[LandingObstacle, ...] = ()
    tree: str = ""
    """The agent's files, uncommitted ones included. A landing that is given it lands no others."""

    @property
    def can_land(self) -> bool:
        return not self.obstacles

    @property
    def added(self) -> int:
        return sum(one.added for one in self.files)

    @property
    def removed(self) -> int:
        return sum(one.removed for one in self.files)


@dataclass(frozen=True, slots=True)
class LandingProgress:
    """How far one agent's landing is."""

    agent: str
    step: StepKind
    state: StepState
    text: str = ""
    """What it found, or why it failed; while a check runs, the last line of its output."""


@dataclass(frozen=True, slots=True)
class LandingReport:
    """The outcome of landing one or several agents, in their order."""

    landings: tuple[Landing, ...]
    """Those that have landed, or whose branches were pushed for a pull request."""
    requests: tuple[PullRequest, ...] = ()
    """The pull requests of the branches that were pushed."""
    stopped: LandingObstacle | None = None
    """What stopped the rest; nothing of the agent that it stopped was changed."""
    agent: str = ""
    """The id of the agent that was stopped."""
    conflicts: tuple[ConflictingFile, ...] = ()
    give_back: str = ""
    check: CheckRun | None = None
    """The run that was not green."""
    output: tuple[str, ...] = ()
    """The last lines that it printed."""
    untried: tuple[str, ...] = ()
    """The ids of the agents behind it."""
    notes: tuple[str, ...] = ()
    """What differs from what was planned, and warnings."""
