"""The nouns of the fleet, as frozen data; no I/O and no clock."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from fleet_tui.values import dataclass, field, known


class Status(StrEnum):
    """What an agent is doing, or how it ended."""

    SETUP = "setup"
    """Its worktree is being made, or the project's setup commands run in its terminal."""
    STARTING = "starting"
    """The program has been started and has not shown anything yet."""
    WORKING = "working"
    BLOCKED = "blocked"
    """It waits for a person; `status_detail` says for what kind of answer."""
    IDLE = "idle"
    DONE = "done"
    """Idle, and nobody has looked since."""
    LIMITED = "limited"
    """A rate limit or quota holds it up."""
    ERROR = "error"
    """It runs, and says that its last turn failed."""
    UNKNOWN = "unknown"
    """It runs, and nothing says what it does."""
    EXITED = "exited"
    """The program ended by itself."""
    FAILED = "failed"
    """It never got going; `status_detail` says why."""
    STOPPED = "stopped"
    """Ended on request; worktree and branch stay."""
    KILLED = "killed"
    """Ended on request; the worktree is in the trash."""
    LOST = "lost"
    """Its holder is gone without a record of the end."""
    INTERRUPTED = "interrupted"
    """A reboot or shutdown ended it."""

    @property
    def has_ended(self) -> bool:
        return self in ENDED


ENDED = frozenset(
    {Status.EXITED, Status.FAILED, Status.STOPPED, Status.KILLED, Status.LOST, Status.INTERRUPTED}
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a blocked agent asks to be allowed, as far as it says."""

    command: str = ""
    """As it would be run."""
    reason: str = ""
    """Why, in its own words."""
    touches: str = ""
    """The file that it is about."""

    @classmethod
    def from_plain(cls, values: object) -> Wish:
        """Also of what another version has written: what is no text of a known name is passed over."""
        found = known(cls, values) if isinstance(values, Mapping) else {}
        return cls(**{name: said for name, said in found.items() if isinstance(said, str)})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why an agent has the status it has."""

    source: str
    """Who said it: osc7501, hook, event, title, screen, silence, output, exit, launcher, reconcile."""
    text: str = ""
    at: float = 0.0
    rule: str = ""
    """The sign by which the source was understood."""
    choices: tuple[tuple[str, str], ...] = ()
    """For blocked: number and label of each answer that can be given."""
    takes_words: bool = False
    """For blocked: whether one of the choices takes words of one's own."""
    wish: Wish = Wish()


@dataclass(frozen=True, slots=True)
class Agent:
    """One run of a profile in one worktree and one pseudo-terminal."""

    id: str
    name: str
    project: str
    """The repository's main folder (or the bare repository itself)."""
    branch: str
    base: str
    """The commit that the branch started from."""
    worktree: str
    batch: str
    profile: str
    argv: tuple[str, ...]
    prompt: str
    status: Status
    created_at: float
    run: int = 1
    """How often its program was started: revive and restart add one."""
    status_detail: str = ""
    evidence: Evidence | None = None
    status_since: float = 0.0
    """When it came to have this status."""
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    pid: int | None = None
    keeper_pid: int | None = None
    machine: str = ""
    boot_id: str = ""
    session_id: str = ""
    """The program's own conversation id, where it has one."""
    title: str = ""
    trash: str = ""
    """Where the worktree waits while the agent is killed; empty otherwise."""
    port_base: int = 0
    branch_made: bool = True
    """Whether the branch was made for this agent; only such a branch may be deleted with it."""
    lost_output: int = 0
    """Bytes that its program printed and that could not be kept: no space was left."""

    @property
    def has_ended(self) -> bool:
        return self.status.has_ended

    @property
    def has_worktree(self) -> bool:
        """Whether there has to be one, by what is known of it."""
        return self.status not in {Status.KILLED, Status.FAILED, Status.SETUP}


@dataclass(frozen=True, slots=True)
class Batch:
    """Agents that were started together."""

    id: str
    project: str
    created_at: float
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file or folder that git ignores; a folder's path ends with a slash."""

    path: str
    size: int
    packed: int = 0
    """Bytes that it takes in an archive, where each of many small files takes a kilobyte."""


KEPT_IGNORED = 20 << 20
"""Bytes of the archive of ignored files, smallest first, of a worktree that leaves the trash before its time."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a worktree in the trash holds besides commits."""

    size: int = 0
    uncommitted: tuple[str, ...] = ()
    """Changed and untracked files, which a ref keeps when it leaves the trash."""
    ignored: tuple[Ignored, ...] = ()
    """What no ref keeps, smallest first."""
    obstacles: tuple[tuple[str, str], ...] = ()
    """Why it cannot leave the trash, each with what to do about it."""
    saved: str = ""
    """The ref that keeps its work while it is being deleted."""

    @property
    def kept(self) -> tuple[Ignored, ...]:
        """The ignored files that an archive keeps when it leaves the trash before its time."""
        total, kept = 0, []
        for one in self.ignored:
            total += max(one.size, one.packed)
            if total > KEPT_IGNORED:
                break
            kept.append(one)
        return tuple(kept)

    @property
    def too_large(self) -> tuple[Ignored, ...]:
        """The ignored files that no archive keeps."""
        return self.ignored[len(self.kept) :]


@dataclass(frozen=True, slots=True)
class InTrash:
    """A killed agent with what waits in the trash for it."""

    agent: Agent
    contents: Contents
    goes_at: float
    """When its time is over."""
    is_over: bool
    """Whether it goes before that, with the next tidying: the trash is larger than its limit."""


@dataclass(frozen=True, slots=True)
class Trash:
    """What waits in the trash, and how that compares to the user's limits."""

    items: tuple[InTrash, ...]
    size: int
    """Bytes of all projects' worktrees in the trash."""
    limit: int


@dataclass(frozen=True, slots=True)
class Base:
    """What a branch can start from."""

    name: str
    """Of a branch or tag, or as it was asked for; empty for a detached HEAD."""
    commit: str
    subject: str = ""
    at: float = 0.0
    """When it was committed."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that an agent did or said, at its moment."""

    at: float
    verb: str
    """A tool, the first word of a report, or the status that it came to."""
    object: str = ""
    status: Status | None = None
    """Where the verb is one."""


class ReceiptState(StrEnum):
    """How far a prompt got, and what became of its turn."""

    QUEUED = "queued"
    """Not typed yet; the reason says what it waits for."""
    ASIDE = "aside"
    """A draft is being set aside for it. Never told."""
    TYPING = "typing"
    """Its text is being typed."""
    PASTED = "pasted"
    """Its text was read, and its Enter follows. Never told."""
    TYPED = "typed"
    """Submitted. With a reason: nothing more will be heard of it, for its program does not tell."""
    ACCEPTED = "accepted"
    """The program has taken it, and its turn goes on."""
    ANSWERED = "answered"
    """Its turn came to its end."""
    FAILED = "failed"
    """Its turn ended in the error that the reason names."""
    INTERRUPTED = "interrupted"
    """Its turn was broken off."""
    UNKNOWN = "unknown"
    """It was delivered, and the end of its turn was not seen."""
    REFUSED = "refused"
    """The program has not taken it; the reason says why."""


OVER = frozenset(
    {
        ReceiptState.ANSWERED,
        ReceiptState.FAILED,
        ReceiptState.INTERRUPTED,
        ReceiptState.UNKNOWN,
        ReceiptState.REFUSED,
    }
)
"""States that nothing follows."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """How far a prompt got on its way into an agent."""

    id: str
    agent: str
    text: str
    state: str
    """A `ReceiptState`, or what a holder of another version calls it."""
    reason: str = ""
    """What it waits for, why it was refused or failed, or why nothing more is to be heard of it."""
    at: float = 0.0
    note: str = ""
    """What was done to the text."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be heard of it."""
        return self.state in OVER or (self.state == ReceiptState.TYPED and bool(self.reason))


@dataclass(frozen=True, slots=True)
class Prompted:
    """What became of the prompts of a living agent."""

    queued: int = 0
    """How many wait for it."""
    last: str = ""
    """The state of the newest one."""
    reason: str = ""
    waits: str = ""
    """What the first of those that wait is waiting for."""

    def hindrance(self, status: Status) -> str:
        """What prompts wait for, where an agent's status does not say so already."""
        return self.waits if self.queued and status in _TYPED_TO else ""


_TYPED_TO = frozenset({Status.IDLE, Status.DONE, Status.ERROR, Status.UNKNOWN})
"""What would be expected to take a prompt."""


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU and memory of one agent's whole process tree."""

    cpu: float = 0.0
    """Percent of one core over the last interval."""
    memory: int = 0
    """Bytes; shared pages counted once per process group where the system tells."""
    processes: int = 0
    cpu_history: tuple[float, ...] = field(default=(), compare=False)
    memory_history: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Spending:
    """What an agent's conversations have taken so far, by its program's own records."""

    input_tokens: int = 0
    """Sent, and not found in the provider's cache."""
    cached_tokens: int = 0
    """Sent, and found there."""
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None where nobody says."""
    context_tokens: int | None = None
    """How much of the conversation the model was given last."""
    context_limit: int | None = None
    model: str = ""
    at: float = 0.0
    """When it was spent last."""
    cost_before: float = 0.0
    """The part of the cost that was known before the day on which it was spent last."""

    @property
    def context(self) -> float | None:
        """How full the conversation is, in percent."""
        if self.context_tokens is None or not self.context_limit:
            return None
        return 100.0 * self.context_tokens / self.context_limit


@dataclass(frozen=True, slots=True)
class FleetState:
    """All that a face shows, read from the store in one transaction."""

    agents: tuple[Agent, ...]
    batches: tuple[Batch, ...]
    journal_id: int = 0
    prompts: Mapping[str, Prompted] = field(default_factory=dict)
    """Of those living agents that were given any, by their id."""
    damaged: tuple[str, ...] = ()
    """Names of the agents whose records cannot be read."""


@dataclass(frozen=True, slots=True)
class AskedLine:
    """One value that a project asks for."""

    verb: str
    text: str
    """As it is written, with what cannot be seen made visible."""
    means: str = ""
    is_alarming: bool = False
    number: int = 0
    """Its line in the file; 0 where it was not found."""
    change: str = ""
    """Asked again: + for what is new, − for what is gone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """All that a project's files ask for, as one question."""

    project: str
    name: str
    file: str
    lines: tuple[AskedLine, ...]
    """By verb; those that were trusted before are left out."""
    count: int
    """Of all values that would be trusted."""
    same: int
    """How many were trusted before."""
    restrictions: tuple[tuple[str, str], ...]
    """Rules that deny or ask, each by its decision: they count in any case."""
    refused: tuple[tuple[str, int], ...]
    """Keys that no project can set, with their lines."""
    digest: str
    parts: Mapping[str, object]
    """What is trusted when this is."""
    text: str
    """Of the files, for reading them whole."""
