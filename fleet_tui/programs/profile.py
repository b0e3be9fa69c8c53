"""Profile of a program: how it is started, prompted and resumed, and how its status is known. Data alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.programs.interaction_rules import InteractionRules


@dataclass(frozen=True, slots=True)
class EventPort:
    """A port on which a program serves its own events."""

    path: str
    args: tuple[str, ...] = ()
    """Arguments that make it listen; `{port}` is the port."""
    user: str = ""
    password: str = ""
    """The variable that takes the password. Without one, other users of the machine could use the port."""
    catch_up: Mapping[str, str] = field(default_factory=dict)
    """For what was asked or begun before the connection: path → the event type that each answer is read as."""
    schema: str = ""
    """The schema of its events, by name in `server_schemas`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How to run one kind of program."""

    name: str
    program: str
    """A name to look up on PATH, a path, or `$NAME` of an environment variable that holds either."""
    args: tuple[str, ...] = ()
    argv_prompt: tuple[str, ...] = ("{prompt}",)
    """The end of the command line when there is a prompt."""
    argv_bare: tuple[str, ...] = ()
    """The end of the command line when there is none."""
    prompt_delivery: Literal["argv", "paste"] = "argv"
    paste_prefixes: tuple[str, ...] = ()
    """Prompts that start with one of these would be read as options, so they are pasted."""
    model_flag: tuple[str, ...] = ()
    permission_modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    permission_env: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    permission_decided_by: tuple[str, ...] = ()
    """Flags that decide permissions by themselves. If the user sets one, the mode's flags are left out."""
    permission_note: str = ""
    """What the permission modes cannot do for this program."""
    takes_claude_flags: bool = False
    session: Literal["mint", "capture", "none"] = "none"
    """The conversation's id: chosen by fleet, captured from the program's records, or there is none."""
    argv_session: tuple[str, ...] = ()
    argv_resume: tuple[str, ...] = ()
    argv_resume_last: tuple[str, ...] = ()
    """Continues the latest conversation in the worktree if the id is not known."""
    argv_fork: tuple[str, ...] = ()
    """Continues a copy of a known conversation in the current folder."""
    spending_reader: str = ""
    """The reader of the program's records; empty if there is none."""
    context_limit: int = 0
    """The size of the context in tokens, if neither the records nor `spending_limits` has it; 0 if unknown."""
    spending_limits: Mapping[str, int] = field(default_factory=dict)
    spending_prices: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Per model: US dollars per million input, cached and output tokens."""
    session_markers: tuple[str, ...] = ()
    """Variables that agent programs set for their own children. They are removed for every program."""
    unset_env: tuple[str, ...] = ()
    """More variables to remove: those that this program sets for its own children."""
    env: Mapping[str, str] = field(default_factory=dict)
    inject_args: tuple[str, ...] = ()
    """Arguments of every start that make the program report to its holder; `{folder}` is the run's folder."""
    inject_unless: tuple[str, ...] = ()
    """Flags of the user's own that rule out `inject_args`."""
    inject_files: Mapping[str, str] = field(default_factory=dict)
    """Files written into the run's folder before the start; `{hook}` is the command that reports to the holder."""
    rules: InteractionRules = field(default_factory=InteractionRules)
    version_args: tuple[str, ...] = ("--version",)
    install_hint: str = ""
    rank: int = 99
    """The place among installed programs in the dashboard; equal ones are sorted by name."""
    headless_stream: str = ""
    """The reader of its events; empty if it has no headless mode."""
    headless_argv: tuple[str, ...] = ()
    """The arguments; `{permission}` and `{model}` stand for whole flags."""
    headless_resume: tuple[str, ...] = ()
    headless_modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Permission flags that differ from those of the interactive program."""
    prompt_on_stdin: bool = False
    """Whether a headless run reads its prompt from standard input."""
    event_port: EventPort | None = None
    problems: tuple[str, ...] = ()
    """Unknown keys of its file, as messages."""

    @property
    def captures_session(self) -> bool:
        """Whether the program chooses the conversation's id, and its records contain the id."""
        return self.session == "capture" and bool(self.spending_reader)
