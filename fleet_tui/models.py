"""Nouns of the fleet as frozen data: agents, statuses, evidence, receipts, trash, spending, trust requests.

One file, because nearly every room speaks in these words, and one import costs less at start-up than ten. No I/O, no
clock and no logic beyond what a value knows about itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal

from fleet_tui.fast_dataclasses import asdict, dataclass, field, known


class Status(StrEnum):
    """What an agent is doing, or how it ended."""

    SETUP = "setup"
    """Its worktree is being created, or the project's setup commands run in its terminal."""
    STARTING = "starting"
    """The program was started and has printed nothing yet."""
    WORKING = "working"
    BLOCKED = "blocked"
    """It waits for the user; `status_detail` says for what kind of answer."""
    IDLE = "idle"
    DONE = "done"
    """Idle, and the user has not looked at it since."""
    LIMITED = "limited"
    """A rate limit or quota stops it for now."""
    ERROR = "error"
    """It runs and reports that its last turn failed."""
    UNKNOWN = "unknown"
    """It runs, and no source tells its status."""
    EXITED = "exited"
    """The program ended by itself."""
    FAILED = "failed"
    """It failed to start; `status_detail` says why."""
    STOPPED = "stopped"
    """Ended on request; worktree and branch are kept."""
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

NoticeKind = Literal["blocked", "error", "limited", "done"]
"""The event that a notice is about; `notify.on` turns each on or off."""
NOTICE_KINDS: tuple[NoticeKind, ...] = ("blocked", "error", "limited", "done")
"""The most urgent first."""
EvidenceSource = Literal[
    "osc7501", "hook", "event", "title", "screen", "silence", "output", "exit", "launcher", "reconcile"
]
REPORT: Final = "osc7501"
"""The source of what a program reports about itself, by an escape sequence of this number."""
LaunchStage = Literal["worktree", "files", "setup", "starting", "failed"]
"""The stages of a launch. `files` only carries notes on copied files."""
CANCELLED = "cancelled"
"""The reason of a receipt whose prompt the user withdrew: a refusal that is no failure."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run takes from the configuration, carried whole from there to the holder.

    A new option of runs is a field here and a field or property of the same name in `config.settings.Config`. The
    names are also keys of the launch requests in the store, which other versions read.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    """Extra environment variables."""
    permission_mode: str = "ask"
    policy: Mapping[str, Any] = field(default_factory=dict)
    """The permission rules in force, as plain data; empty while they are off."""
    scrollback: int = 10_000
    """Lines."""
    transcript_cap: int = 64 << 20
    """Bytes."""
    nice: int = 0
    """Nice value of the program and of what it starts."""
    checkpoint_automatic: bool = False

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> RunSettings:
        """Read settings that this or another version has written; an absent or null one has its default."""
        return cls(**{name: value for name, value in known(cls, values).items() if value is not None})


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """What a blocked agent asks permission for, as far as its program reports it."""

    command: str = ""
    """The command line as it would be run."""
    reason: str = ""
    """The program's own explanation."""
    touches: str = ""
    """The file that the request is about."""

    @classmethod
    def from_plain(cls, values: object) -> PermissionRequest:
        """Read what this or another version has written; unknown names and values that are not text are ignored."""
        found = known(cls, values) if isinstance(values, Mapping) else {}
        return cls(**{name: said for name, said in found.items() if isinstance(said, str)})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why an agent has its status: the source that decided it, and what it reported."""

    source: str
    """An `EvidenceSource`; a holder of another version may report others."""
    text: str = ""
    at: float = 0.0
    rule: str = ""
    """The rule that matched."""
    choices: tuple[tuple[str, str], ...] = ()
    """For blocked: number and label of each answer that can be given."""
    takes_words: bool = False
    """For blocked: whether one of the choices takes free text."""
    request: PermissionRequest = PermissionRequest()
    """For blocked: what the agent asks permission for. Logs, messages and the store call it `wish`."""

    def to_plain(self) -> dict[str, Any]:
        """As plain data for event logs and messages, which have a time of their own."""
        return {
            "source": self.source,
            "text": self.text,
            "rule": self.rule,
            "choices": [list(choice) for choice in self.choices],
            "takes_words": self.takes_words,
            "wish": asdict(self.request),
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], at: float = 0.0) -> Evidence:
        """Read what any version has written; anything unreadable is left out."""
        choices = values.get("choices")
        pairs = choices if isinstance(choices, list) else []
        return cls(
            str(values.get("source", "")),
            str(values.get("text", "")),
            at,
            str(values.get("rule", "")),
            tuple((str(one[0]), str(one[1])) for one in pairs if isinstance(one, list) and len(one) == 2),
            values.get("takes_words") is True,
            PermissionRequest.from_plain(values.get("wish")),
        )


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
    """The number of the program's start: revive and restart add one."""
    status_detail: str = ""
    evidence: Evidence | None = None
    status_since: float = 0.0
    """Since when it has had this status."""
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
    """The worktree's folder in the trash while the agent is killed; empty otherwise."""
    port_base: int = 0
    branch_made: bool = True
    """Whether the branch was created for this agent; only such a branch may be deleted with it."""
    lost_output: int = 0
    """Bytes of output that could not be stored, because the disk was full."""

    @property
    def has_ended(self) -> bool:
        return self.status.has_ended

    @property
    def has_worktree(self) -> bool:
        """Whether its status implies a worktree."""
        return self.status not in {Status.KILLED, Status.FAILED, Status.SETUP}


@dataclass(frozen=True, slots=True)
class Batch:
    """Agents that were started together."""

    id: str
    project: str
    created_at: float
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A branch, tag or commit that a new branch can start from."""

    name: str
    """The branch or tag, or the name that the user gave; empty for a detached HEAD."""
    commit: str
    subject: str = ""
    at: float = 0.0
    """When it was committed."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that an agent did or reported, with its time."""

    at: float
    verb: str
    """A tool, the first word of a report, or a new status."""
    object: str = ""
    status: Status | None = None
    """Set if the verb is a status."""


class ReceiptState(StrEnum):
    """How far a prompt got, and how its turn ended."""

    QUEUED = "queued"
    """Not typed yet; the reason says what it waits for."""
    ASIDE = "aside"
    """A draft is being set aside for it. Internal to the holder."""
    TYPING = "typing"
    """Its text is being typed."""
    PASTED = "pasted"
    """The program has read its text; Enter follows. Internal to the holder."""
    TYPED = "typed"
    """Submitted. With a reason, final: the program reports nothing about its turns."""
    ACCEPTED = "accepted"
    """The program has accepted it, and its turn is running."""
    ANSWERED = "answered"
    """Its turn ended normally."""
    FAILED = "failed"
    """Its turn ended in the error that the reason names."""
    INTERRUPTED = "interrupted"
    """Its turn was interrupted."""
    UNKNOWN = "unknown"
    """It was delivered, but the end of its turn was not seen."""
    REFUSED = "refused"
    """The program did not take it; the reason says why."""


FINAL_STATES = frozenset(
    {
        ReceiptState.ANSWERED,
        ReceiptState.FAILED,
        ReceiptState.INTERRUPTED,
        ReceiptState.UNKNOWN,
        ReceiptState.REFUSED,
    }
)
"""States of a receipt that never change again."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """How far a prompt got on its way into an agent."""

    id: str
    agent: str
    text: str
    state: str
    """A `ReceiptState`, or an unknown state from a holder of another version."""
    reason: str = ""
    """What it waits for, why it was refused or failed, or why its state is final."""
    at: float = 0.0
    note: str = ""
    """How the text was changed before it was typed."""

    @property
    def is_over(self) -> bool:
        """Whether its state is final."""
        return self.state in FINAL_STATES or (self.state == ReceiptState.TYPED and bool(self.reason))


@dataclass(frozen=True, slots=True)
class PromptSummary:
    """The prompts of a living agent: how many are queued, and how far the newest got."""

    queued: int = 0
    """How many are queued."""
    last: str = ""
    """The state of the newest one."""
    reason: str = ""
    waits: str = ""
    """What the first queued prompt waits for."""

    @property
    def is_refused(self) -> bool:
        """The newest prompt failed; one that the user cancelled did not."""
        return self.last == ReceiptState.REFUSED and self.reason != CANCELLED

    @property
    def is_under_way(self) -> bool:
        """A prompt is queued, or the newest one's turn is not known to have ended."""
        has_ended = self.last in FINAL_STATES or (self.last == ReceiptState.TYPED and bool(self.reason))
        return bool(self.queued) or (bool(self.last) and not has_ended)

    def unstated_wait(self, status: Status) -> str:
        """What the queued prompts wait for, unless the agent's status explains it."""
        return self.waits if self.queued and status in _TYPED_TO else ""


_TYPED_TO = frozenset({Status.IDLE, Status.DONE, Status.ERROR, Status.UNKNOWN})
"""Statuses in which an agent is expected to take a prompt."""


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU and memory of one agent's whole process tree."""

    cpu: float = 0.0
    """Percent of one core over the last interval."""
    memory: int = 0
    """Bytes; shared pages are counted once per process group where the system reports them."""
    processes: int = 0
    cpu_history: tuple[float, ...] = field(default=(), compare=False)
    memory_history: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and cost of an agent's conversations so far, by its program's own records."""

    input_tokens: int = 0
    """Sent, and not in the provider's cache."""
    cached_tokens: int = 0
    """Sent, and served from the provider's cache."""
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None if unknown."""
    context_tokens: int | None = None
    """Tokens of the conversation in the last request."""
    context_limit: int | None = None
    model: str = ""
    at: float = 0.0
    """The time of the last request."""
    cost_before: float = 0.0
    """The cost before the day of the last request."""

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
    prompts: Mapping[str, PromptSummary] = field(default_factory=dict)
    """By agent id, for living agents that were given prompts."""
    damaged: tuple[str, ...] = ()
    """Names of the agents whose rows are damaged."""


@dataclass(frozen=True, slots=True)
class TrustRequestLine:
    """One value that a project asks for."""

    verb: str
    text: str
    """As written in the file, with invisible characters made visible."""
    means: str = ""
    is_alarming: bool = False
    number: int = 0
    """Its line in the file; 0 if unknown."""
    change: str = ""
    """In a repeated request: + for a new value, − for a removed one."""


@dataclass(frozen=True, slots=True)
class TrustRequest:
    """Everything that a project's files ask for, as one question to the user."""

    project: str
    name: str
    file: str
    lines: tuple[TrustRequestLine, ...]
    """Sorted by verb, without values that are trusted already."""
    count: int
    """The number of all values that would be trusted."""
    same: int
    """How many of them are trusted already."""
    restrictions: tuple[tuple[str, str], ...]
    """Rules that deny or ask, each with its decision: they apply without trust."""
    refused: tuple[tuple[str, int], ...]
    """Keys that a project may not set, with their lines."""
    digest: str
    parts: Mapping[str, object]
    """What is recorded as trusted when the user agrees."""
    text: str
    """The whole text of the files, for the user to read."""


PERMISSION_MODES = ("ask", "edits", "all")
