"""The table of settings: each is a field of `Config`, with its key, kind, authority and documentation.

Loading, validation, trust and `fleet config` are driven by this table. A new setting is a field here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fleet_tui import paths
from fleet_tui.config.kinds import (
    BOOLEAN,
    COLOR,
    COUNT,
    EVENTS,
    FLAGS,
    MODE,
    NICE,
    NOTIFY_EVENTS,
    PATH,
    PERMISSION,
    RULES,
    SECONDS,
    STRATEGY,
    STRING,
    STRINGS,
    TABLE,
    TERMINAL,
    THEME,
    ValueKind,
)
from fleet_tui.errors import UsageError
from fleet_tui.fast_dataclasses import dataclass, field, fields
from fleet_tui.models import RunSettings

if TYPE_CHECKING:
    from fleet_tui.landings import Strategy
    from fleet_tui.permissions.policy import Policy
    from fleet_tui.permissions.rules import Mode, PermissionRule

DEFAULT = "default"
"""The origin of a value that no file sets."""

INCLUDE_FILE = ".worktreeinclude"
"""In a project's root: patterns, as in a .gitignore, of files to copy into every worktree."""
MAX_FOLDER_BYTES = 80
"""Of a project's name in the path of its worktrees. Most filesystems allow 255 bytes, and a suffix is added to it."""


class Authority(NamedTuple):
    """Whose file may set a key. Strangers write repositories, so a project's harmful keys need the user's trust."""

    name: Literal["user", "project", "lower", "higher", "trusted"]
    verb: str = ""
    """What the project asks to do, if that needs trust."""
    harmless: tuple[object, ...] = ("", (), None)
    """Values that need no trust."""


USER = Authority("user")
"""Ignored in a project's file."""
PROJECT = Authority("project")
LOWER = Authority("lower")
"""A project may set a lower value than the user's, not a higher one."""
HIGHER = Authority("higher")
"""A project may set a higher value than the user's, not a lower one."""
RUN = Authority("trusted", "run")
CHECK = Authority("trusted", "check")
START = Authority("trusted", "start")
START_WITH = Authority("trusted", "start", ())
"""Empty needs trust too: it removes the user's own flags, which may be what restrains agents."""
SET = Authority("trusted", "set", ())
"""Empty needs trust too: an empty PATH means the current folder."""
COPY = Authority("trusted", "copy")
WRITE = Authority("trusted", "write")
ALLOW = Authority("trusted", "allow", ((), "ask"))
PART_EFFECTS: Mapping[str, str] = {
    "run": "in every new worktree, before the agent",
    "check": "agents' work with this command",
    "start": "this instead of your own choice",
    "set": "in every agent's environment",
    "copy": "from your main worktree",
    "write": "worktrees into this folder",
    "allow": "without asking you",
}
"""What a project can ask to do, most harmful first, with an explanation."""


def _key(key: str, kind: ValueKind, default: object, doc: str, authority: Authority = PROJECT) -> Any:
    return field(default=default, metadata={"key": key, "kind": kind, "doc": doc, "authority": authority})


def _table(key: str, doc: str, authority: Authority = PROJECT) -> Any:
    return field(
        default_factory=dict, metadata={"key": key, "kind": TABLE, "doc": doc, "authority": authority}
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. The project's file overrides the user's, and both override the defaults."""

    project_name: str = _key("project.name", STRING, "", "The project's name; its folder's name by default")
    worktree_root: Path | None = _key(
        "project.worktree_root", PATH, None, "The folder for this project's worktrees", WRITE
    )
    agent_default: str = _key(
        "agent.default", STRING, "claude", "The profile or program that agents run", START
    )
    claude_flags: tuple[str, ...] = _key(
        "agent.claude_flags", FLAGS, (), "Extra flags for claude; not passed to other programs", START_WITH
    )
    permission_mode: str = _key(
        "agent.permission_mode",
        PERMISSION,
        "ask",
        "What agents may do without asking: ask (nothing), edits (change files), all (everything)",
        ALLOW,
    )
    credential_files: tuple[str, ...] = _key(
        "setup.credential_files",
        STRINGS,
        (),
        "Ignored files to copy into every worktree, such as .env",
        COPY,
    )
    setup_commands: tuple[str, ...] = _key(
        "setup.commands", STRINGS, (), "Shell commands to run in a new worktree before the agent starts", RUN
    )
    quick: bool = _key("setup.quick", BOOLEAN, False, "Skip the setup commands, like --quick")
    tmux_prefix: str = _key("tmux.prefix", STRING, "ai_", "No effect: agents do not run in tmux")
    default_agent: str = _key("defaults.agent", STRING, "", "The agent if agent.default is not set", USER)
    worktree_base: Path | None = _key(
        "defaults.worktree_base",
        PATH,
        None,
        "Worktrees go to <worktree_base>/<project>",
        USER,
    )
    color: str = _key("ui.color", COLOR, "auto", "Print the command line's output in color")
    log_lines: int = _key("ui.log_lines", COUNT, 50, "Lines that `fleet logs` shows")
    check_on_startup: bool = _key(
        "updates.check_on_startup",
        BOOLEAN,
        False,
        "No effect: only `fleet update` looks for updates",
        USER,
    )
    check_interval_hours: int = _key(
        "updates.check_interval_hours", COUNT, 24, "No effect, like updates.check_on_startup", USER
    )
    parallel_checkouts: int = _key(
        "fleet.parallel_checkouts",
        COUNT,
        0,
        "Worktrees to check out in parallel; 0 decides by the machine",
        USER,
    )
    stop_grace: float = _key(
        "fleet.stop_grace", SECONDS, 5.0, "Seconds a program has to exit before it is killed", LOWER
    )
    transcript_mb: int = _key("fleet.transcript_mb", COUNT, 64, "Megabytes of output to keep per agent", USER)
    transcript_total_mb: int = _key(
        "fleet.transcript_total_mb", COUNT, 2048, "Megabytes of output to keep in total", USER
    )
    trash_days: int = _key("fleet.trash_days", COUNT, 14, "Days to keep removed worktrees in the trash", USER)
    trash_mb: int = _key(
        "fleet.trash_mb", COUNT, 5120, "Megabytes of removed worktrees to keep in the trash", USER
    )
    spare_count: int = _key(
        "spares.count",
        COUNT,
        1,
        "Worktrees to make in advance for each project that agents were started in today; 0 for none",
        USER,
    )
    checkpoint_automatic: bool = _key(
        "checkpoint.automatic",
        BOOLEAN,
        True,
        "Make a checkpoint when an agent's turn has changed files",
        USER,
    )
    checkpoint_days: int = _key(
        "checkpoint.days", COUNT, 14, "Days to keep checkpoints that have no name", USER
    )
    checkpoint_most: int = _key(
        "checkpoint.most", COUNT, 200, "Checkpoints to keep per agent once they are a day old", USER
    )
    scrollback: int = _key("fleet.scrollback", COUNT, 10000, "Lines of scrollback per agent", LOWER)
    nice: int = _key(
        "limits.nice",
        NICE,
        5,
        "Nice value of agents' programs, so that they yield to other work: 0 (as important) to 19",
        HIGHER,
    )
    pr_draft: bool = _key("land.pr_draft", BOOLEAN, False, "Open pull requests as drafts")
    pr_rounds: int = _key(
        "land.pr_rounds",
        COUNT,
        3,
        "How many times the failed checks of a pull request go back to its agent",
        LOWER,
    )
    strategy: Strategy = _key(
        "land.strategy",
        STRATEGY,
        "merge",
        "How an agent's work is landed: merge, squash (one commit), rebase or pr (a pull request)",
    )
    tidies: bool = _key(
        "land.tidy",
        BOOLEAN,
        True,
        "After landing, stop the agent, move its worktree to the trash and delete its merged branch",
    )
    check: str = _key(
        "land.check", STRING, "", "A shell command that checks an agent's work, such as make test", CHECK
    )
    check_minutes: int = _key(
        "land.check_minutes", COUNT, 15, "Minutes that a check may take; 0 for no limit"
    )
    checks_at_once: int = _key("land.checks_at_once", COUNT, 2, "Checks to run at the same time", USER)
    env: Mapping[str, str] = _table("env", "Extra environment variables for every agent", SET)

    approve_mode: Mode = _key(
        "approve.mode",
        MODE,
        "off",
        "Permission rules: off, shadow (only log what they would decide), or on",
        ALLOW,
    )
    approve_rules: tuple[PermissionRule, ...] = _key(
        "approve.rules",
        RULES,
        (),
        "Permission rules. The user's denials apply first, then the project's rules, then the user's",
        ALLOW,
    )

    notify_on: tuple[str, ...] = _key(
        "notify.on", EVENTS, NOTIFY_EVENTS, "Status changes that the dashboard notifies about", USER
    )
    notify_terminal: str = _key(
        "notify.terminal",
        TERMINAL,
        "auto",
        "How to notify through the terminal: osc9, osc777, bell, off, or auto for what it supports",
        USER,
    )
    notify_command: tuple[str, ...] = _key(
        "notify.command",
        STRINGS,
        (),
        "A command to run for each notification, with {title} and {text}",
        USER,
    )
    notify_profiles: tuple[str, ...] = _key(
        "notify.profiles", STRINGS, (), "Patterns of profiles to notify about; !pattern mutes", USER
    )
    notify_batches: tuple[str, ...] = _key(
        "notify.batches", STRINGS, (), "Patterns of batches to notify about; !pattern mutes", USER
    )

    theme: str = _key("ui.theme", THEME, "fleet-dark", "The dashboard's theme")
    layout: int = _key("ui.layout", COUNT, 0, "Panes in the dashboard; 0 decides by the terminal's size")
    motion: bool = _key("ui.motion", BOOLEAN, True, "Animate the marks of working agents")
    keys: Mapping[str, tuple[str, ...]] = _table("keys", "Key bindings of the dashboard, by action")

    include: tuple[str, ...] = ()
    """The trusted lines of the project's include file, if loading was asked for them."""
    user_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """The user's part of `keys`, for when the project's bindings are unusable."""
    untrusted: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What the project's files ask for and the user has not trusted. The values above leave it out."""

    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    """For each key that a file sets, the path of that file."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """Unknown or ignored parts of the files. A warning never makes a command fail."""

    @property
    def run(self) -> RunSettings:
        """What a run takes from these settings, matched by name."""
        return RunSettings(**{one.name: getattr(self, one.name) for one in fields(RunSettings)})

    @property
    def transcript_cap(self) -> int:
        """`transcript_mb` in bytes."""
        return self.transcript_mb << 20

    @property
    def approve(self) -> Policy:
        """The permission rules."""
        from fleet_tui.permissions.policy import Policy

        return Policy(self.approve_mode, self.approve_rules)

    @property
    def policy(self) -> dict[str, Any]:
        """The permission rules as plain data; empty while they are off, and then their module is not imported."""
        return self.approve.to_plain() if self.approve_mode != "off" else {}


class Setting(NamedTuple):
    """A row of the table of settings."""

    key: str
    field: str
    kind: ValueKind
    default: object
    doc: str
    authority: Authority


_DEFAULTS = Config()

KEYS: Mapping[str, Setting] = {
    row.metadata["key"]: Setting(
        row.metadata["key"],
        row.name,
        row.metadata["kind"],
        getattr(_DEFAULTS, row.name),
        row.metadata["doc"],
        row.metadata["authority"],
    )
    for row in fields(Config)
    if row.metadata
}


def unknown(key: str, file: Path | None = None) -> str:
    """The message about an unknown key, with suggestions."""
    *others, last = ["", *map(repr, nearest(key))]
    near = f"{', '.join(others[1:])} or {last}" if len(others) > 1 else last
    return (
        (f"{file}: " if file else "") + f"unknown key {key!r}" + (f", did you mean {near}?" if near else "")
    )


def nearest(key: str) -> list[str]:
    """The keys that the user may have meant: those of a section, with a similar spelling, or with a similar last part."""
    if len(key) > 80:
        return []
    if of_section := [one for one in KEYS if one.startswith(f"{key}.")]:
        return of_section[:3]
    import difflib

    close = difflib.get_close_matches(key, KEYS, n=3, cutoff=0.7)
    if close:
        return close
    name = key.rpartition(".")[2]
    alike = difflib.get_close_matches(name, {one.rpartition(".")[2] for one in KEYS}, n=3, cutoff=0.8)
    return [one for one in KEYS if one.rpartition(".")[2] in alike][:3]


def row_key(key: str) -> str:
    """The key of a setting's row: each variable and each key binding belongs to the row of its table."""
    section = key.partition(".")[0]
    return section if section in ("env", "keys") else key


def row_of(key: str) -> Setting:
    """The table's row for a key, or a usage error."""
    if key not in KEYS:
        raise UsageError(unknown(key), hint="fleet config lists all keys")
    return KEYS[key]


def worktrees(config: Config, project: Path) -> Path:
    """The folder for a project's worktrees: the project's choice, else the user's, else the default."""
    if config.worktree_root is not None:
        return project / config.worktree_root
    name = Path(config.project_name).name
    name = project.name if name in ("", "..") else name
    name = _folder_name(name)
    if config.worktree_base is not None:
        return project / config.worktree_base / name
    return paths.worktrees(project, name)


def _folder_name(name: str) -> str:
    """The project's name as a folder name: printable and short enough."""
    plain = "".join(char if char.isprintable() else "_" for char in name)
    return plain.encode()[:MAX_FOLDER_BYTES].decode("utf-8", "ignore")
