"""What the user and the project have configured, and where each value came from.

`Config` is the one table of settings: every field carries its key, its kind, its scope and one line of
documentation, and loading, validation, trust, `get`, `set_value`, `entries` and the manual are all driven by it. Files are read
with tomllib and edited with tomlkit, both imported only when there is a file, because every command pays
for this module. How an agent program is started does not live here, see `profiles`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from fleet_tui import bounded_files, paths
from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.names import is_pattern
from fleet_tui.values import dataclass, field, fields, replace

if TYPE_CHECKING:
    from fleet_tui.policy import Mode, Policy, Rule

PERMISSION_MODES = ("ask", "edits", "all")
TYPES = ("rails", "node", "python", "generic", "minimal")
APPROVE_MODES = ("off", "shadow", "on")
NOTIFY_EVENTS = ("blocked", "done", "error", "limited")
TERMINAL_WAYS = ("auto", "osc9", "osc777", "bell", "off")
DEFAULT = "default"
"""The origin of a value that no file sets."""

INCLUDE_FILE = ".worktreeinclude"
"""In a project's root: patterns, as in a .gitignore, of files that every worktree gets a copy of."""
MAX_BYTES = 256 << 10
"""Of a configuration."""
MAX_INCLUDE_BYTES = 64 << 10
MAX_DOTS = 100
"""In one line of a configuration: each level of a dotted key is looked up from the top."""
MAX_WARNINGS = 20
MAX_FOLDER_BYTES = 80
"""Of a project's name in the path of its worktrees; most filesystems allow 255 for a folder, and we add to it."""

_EDIT_HINT = "fix it or run: fleet config --edit"


class Unfit(Exception):
    """A value is not of its key's kind; the text, if any, says where in it and what is wrong."""


class Kind(NamedTuple):
    """What values a key takes: in a TOML file, and as text on the command line."""

    expected: str
    """In words, after 'must be'."""
    from_toml: Callable[[Any], object]
    """The value as `Config` holds it; raises `Unfit`."""
    from_text: Callable[[str], object]
    """The text as a TOML value; raises `Unfit`."""


def _string(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise Unfit
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Unfit
    return tuple(_string(item) for item in value)


def _path(value: object) -> Path | None:
    text = _string(value)
    try:
        return Path(text).expanduser() if text else None
    except RuntimeError as error:  # there is no user of the name after ~
        raise Unfit from error


def _flags(value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        return _strings(value)
    try:
        return tuple(shlex.split(_string(value)))
    except ValueError as error:
        raise Unfit from error


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise Unfit
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise Unfit
    return float(value)


def _permission(value: object) -> str:
    if value not in PERMISSION_MODES:
        raise Unfit
    return str(value)


def _mode(value: object) -> str:
    if value not in APPROVE_MODES:
        raise Unfit
    return str(value)


def _rules(value: object) -> tuple[Rule, ...]:
    from fleet_tui.policy import Malformed, rules_of

    try:
        return rules_of(value)
    except Malformed as error:
        raise Unfit(str(error)) from error


def _terminal(value: object) -> str:
    if value not in TERMINAL_WAYS:
        raise Unfit
    return str(value)


def _events(value: object) -> tuple[str, ...]:
    names = _strings(value)
    if not set(names) <= set(NOTIFY_EVENTS):
        raise Unfit
    return names


def _no_text(_text: str) -> object:
    raise Unfit


def _color(value: object) -> str:
    if isinstance(value, bool):
        return "auto" if value else "never"
    if value not in ("auto", "always", "never"):
        raise Unfit
    return str(value)


def _color_text(text: str) -> object:
    return text if text in ("auto", "always", "never") else _boolean_text(text)


def _boolean_text(text: str) -> bool:
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise Unfit


def _number_text(number: Callable[[str], object]) -> Callable[[str], object]:
    def parse(text: str) -> object:
        try:
            return number(text.strip())
        except ValueError as error:
            raise Unfit from error

    return parse


def _seconds_text(text: str) -> object:
    number = float(text)
    return int(number) if number.is_integer() else number


def _strings_text(text: str) -> list[str]:
    """A TOML array, or one string that stands for a list of itself."""
    if not text.lstrip().startswith("["):
        return [text] if text.strip() else []
    import tomllib

    try:
        return list(_strings(tomllib.loads(f"value = {text}")["value"]))
    except (ValueError, RecursionError) as error:
        raise Unfit from error


STRING = Kind("a string", _string, str)
STRINGS = Kind("a list of strings", _strings, _strings_text)
PATH = Kind("a path as a string", _path, str)
FLAGS = Kind("command-line flags as one string, with balanced quotes", _flags, str)
BOOLEAN = Kind("true or false", _boolean, _boolean_text)
COUNT = Kind("a whole number, 0 or more", _count, _number_text(int))
SECONDS = Kind("a number of seconds, 0 or more", _seconds, _number_text(_seconds_text))
PERMISSION = Kind('"ask", "edits" or "all"', _permission, str)
MODE = Kind('"off", "shadow" or "on"', _mode, str)
RULES = Kind("a list of tables, each written as [[approve.rules]] in the file", _rules, _no_text)
EVENTS = Kind('a list of "blocked", "done", "error", "limited"', _events, _strings_text)
TERMINAL = Kind('"auto", "osc9", "osc777", "bell" or "off"', _terminal, str)
COLOR = Kind('"auto", "always", "never", true or false', _color, _color_text)
TABLE = Kind("a table of strings", _string, str)


class Scope(NamedTuple):
    """Whose file may set a key. A repository is written by strangers, so a key that does harm needs trust first."""

    name: Literal["user", "project", "lower", "trusted"]
    verb: str = ""
    """What a project asks for by it, where that takes the user's trust."""
    harmless: tuple[object, ...] = ("", (), None)
    """Values that need no trust all the same."""


USER = Scope("user")
"""Counts only in the user's file."""
PROJECT = Scope("project")
LOWER = Scope("lower")
"""A project may choose less than the user, never more."""
RUN = Scope("trusted", "run")
START = Scope("trusted", "start")
START_WITH = Scope("trusted", "start", ())
"""Also what is empty: the user's own flags may be what keeps agents from acting."""
SET = Scope("trusted", "set", ())
"""Also what is empty: an empty PATH is the current folder."""
COPY = Scope("trusted", "copy")
WRITE = Scope("trusted", "write")
ALLOW = Scope("trusted", "allow", ((), "ask"))
VERBS: Mapping[str, str] = {
    "run": "in every new worktree, before the agent",
    "start": "this instead of your own choice",
    "set": "in every agent's environment",
    "copy": "from your main worktree",
    "write": "worktrees into this folder",
    "allow": "without asking you",
}
"""The verbs of all scopes that need trust, in the order of the harm they can do, and what each means."""


def _key(key: str, kind: Kind, default: object, doc: str, scope: Scope = PROJECT) -> Any:
    return field(default=default, metadata={"key": key, "kind": kind, "doc": doc, "scope": scope})


def _table(key: str, doc: str, scope: Scope = PROJECT) -> Any:
    return field(default_factory=dict, metadata={"key": key, "kind": TABLE, "doc": doc, "scope": scope})


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be configured; the project's file wins over the user's, and both over defaults."""

    project_name: str = _key(
        "project.name", STRING, "", "What the project is called; its folder's name by default"
    )
    worktree_root: Path | None = _key(
        "project.worktree_root", PATH, None, "The folder for this project's worktrees", WRITE
    )
    agent_default: str = _key(
        "agent.default", STRING, "claude", "The profile or program that agents run", START
    )
    claude_flags: tuple[str, ...] = _key(
        "agent.claude_flags", FLAGS, (), "Extra flags for claude, and for claude alone", START_WITH
    )
    permission_mode: str = _key(
        "agent.permission_mode",
        PERMISSION,
        "ask",
        "What agents do without asking: ask (nothing), edits (change files), all (everything)",
        ALLOW,
    )
    credential_files: tuple[str, ...] = _key(
        "setup.credential_files",
        STRINGS,
        (),
        "Files that git ignores and every worktree needs a copy of",
        COPY,
    )
    setup_commands: tuple[str, ...] = _key(
        "setup.commands", STRINGS, (), "Shell commands to run in a new worktree before the agent starts", RUN
    )
    quick: bool = _key("setup.quick", BOOLEAN, False, "Skip the setup commands, as --quick does")
    tmux_prefix: str = _key("tmux.prefix", STRING, "ai_", "Accepted and unused: agents do not run in tmux")
    default_agent: str = _key(
        "defaults.agent", STRING, "", "The agent where no agent.default is written; for the user's file", USER
    )
    worktree_base: Path | None = _key(
        "defaults.worktree_base",
        PATH,
        None,
        "Worktrees go to <worktree_base>/<project>; for the user's file",
        USER,
    )
    color: str = _key("ui.color", COLOR, "auto", "Whether the command line prints in colour")
    log_lines: int = _key("ui.log_lines", COUNT, 50, "How many lines `fleet logs` shows")
    check_on_startup: bool = _key(
        "updates.check_on_startup",
        BOOLEAN,
        False,
        "Accepted and unused: only `fleet update` looks for updates",
        USER,
    )
    check_interval_hours: int = _key(
        "updates.check_interval_hours", COUNT, 24, "Accepted and unused, as updates.check_on_startup", USER
    )
    parallel_checkouts: int = _key(
        "fleet.parallel_checkouts", COUNT, 0, "Worktrees checked out at once; 0 chooses by the machine", USER
    )
    stop_grace: float = _key(
        "fleet.stop_grace", SECONDS, 5.0, "Seconds a program gets to end by itself before it is killed", LOWER
    )
    transcript_mb: int = _key("fleet.transcript_mb", COUNT, 64, "Megabytes of output kept of one agent", USER)
    transcript_total_mb: int = _key(
        "fleet.transcript_total_mb", COUNT, 2048, "Megabytes of output kept of all agents", USER
    )
    trash_days: int = _key(
        "fleet.trash_days", COUNT, 14, "Days that removed worktrees can be brought back", USER
    )
    trash_mb: int = _key("fleet.trash_mb", COUNT, 5120, "Megabytes of removed worktrees that are kept", USER)
    scrollback: int = _key(
        "fleet.scrollback", COUNT, 10000, "Lines of scrollback in an agent's screen", LOWER
    )
    env: Mapping[str, str] = _table("env", "Extra environment variables of every agent", SET)

    approve_mode: Mode = _key(
        "approve.mode", MODE, "off", "Whether the rules below are off, only watched (shadow), or on", ALLOW
    )
    approve_rules: tuple[Rule, ...] = _key(
        "approve.rules",
        RULES,
        (),
        "What agents may do without asking; the user's denials first, then the project's rules, then the user's",
        ALLOW,
    )

    notify_on: tuple[str, ...] = _key(
        "notify.on", EVENTS, NOTIFY_EVENTS, "Which changes of an agent the dashboard tells of", USER
    )
    notify_terminal: str = _key(
        "notify.terminal",
        TERMINAL,
        "auto",
        "How the terminal is told: osc9, osc777, bell, off, or what it knows",
        USER,
    )
    notify_command: tuple[str, ...] = _key(
        "notify.command",
        STRINGS,
        (),
        "A program and its arguments, with {title} and {text}; for the user's file",
        USER,
    )
    notify_profiles: tuple[str, ...] = _key(
        "notify.profiles", STRINGS, (), "Patterns of profiles to tell of; !pattern mutes", USER
    )
    notify_batches: tuple[str, ...] = _key(
        "notify.batches", STRINGS, (), "Patterns of batches to tell of; !pattern mutes", USER
    )

    theme: str = _key("ui.theme", STRING, "fleet-dark", "The dashboard's theme")
    layout: int = _key("ui.layout", COUNT, 0, "How many panes the dashboard shows; 0 chooses by the terminal")
    motion: bool = _key("ui.motion", BOOLEAN, True, "Whether the marks of working agents move")
    keys: Mapping[str, tuple[str, ...]] = _table("keys", "Keys of the dashboard, by the name of the action")

    include: tuple[str, ...] = ()
    """The lines of the project's include file, where they were asked for and are trusted."""
    user_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """The user's part of `keys`: a project's may be such that no dashboard could be opened with them."""
    untrusted: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What the project's files ask for and the user has not trusted: not a part of the values above."""

    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    """For each key that a file sets, the path of that file."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What the files say that nothing understands; never a reason to fail."""

    @property
    def approve(self) -> Policy:
        """What agents may do without asking."""
        from fleet_tui.policy import Policy

        return Policy(self.approve_mode, self.approve_rules)

    @property
    def policy(self) -> dict[str, Any]:
        """The same as plain data for a run; nothing, and nothing is loaded for it, while the rules are off."""
        return self.approve.to_plain() if self.approve_mode != "off" else {}


class Key(NamedTuple):
    """One row of the table of settings."""

    key: str
    field: str
    kind: Kind
    default: object
    doc: str
    scope: Scope


class Entry(NamedTuple):
    """One setting with its value and the file it came from."""

    key: str
    value: object
    origin: str


_DEFAULTS = Config()

KEYS: Mapping[str, Key] = {
    row.metadata["key"]: Key(
        row.metadata["key"],
        row.name,
        row.metadata["kind"],
        getattr(_DEFAULTS, row.name),
        row.metadata["doc"],
        row.metadata["scope"],
    )
    for row in fields(Config)
    if row.metadata
}

_SECTIONS = frozenset(key.partition(".")[0] for key in KEYS)


# ── reading ──


def load(project: Path | None, *, trusted: bool | None = None, include: bool = False) -> Config:
    """The configuration of a project, or of the user alone.

    What a project asks for by a key that needs trust counts only if the user has trusted it, and is in `untrusted`
    otherwise; `trusted` says so without looking it up. What its rules deny, or want asked, counts in any case.
    """
    user_file = paths.user_config()
    warnings: list[str] = []
    user = dict(_settings(read(user_file), user_file, warnings))
    own = OwnFiles()
    if project is not None:
        try:
            own = own_files(project, user, warnings, include=include)
        except FleetError as error:
            if trusted is not False:
                raise
            warnings.append(error.message)
    missing = _missing(project, own.parts) if trusted is None else {} if trusted else own.parts
    config = _merged(
        user, _restricted(own, missing), user_file, paths.project_config(project) if project else user_file
    )
    if "approve.mode" in missing and own.settings["approve.mode"] == "on":
        config = _only_restricting(config, own)
    config = replace(
        config,
        include=own.include if INCLUDE_FILE not in missing else (),
        untrusted=missing if trusted is None else {},
        warnings=tuple(warnings),
    )
    return _with_fallbacks(config, project)


def _missing(project: Path | None, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of it the user has not trusted."""
    if not parts or project is None:
        return {}
    # Most projects ask for nothing, and then nothing is loaded for it.
    from fleet_tui import trust_store

    return trust_store.missing(project, parts)


def _merged(
    user: Mapping[str, object], own: Mapping[str, object], user_file: Path, project_file: Path
) -> Config:
    values: dict[str, object] = {}
    env: dict[str, str] = {}
    keys: dict[str, tuple[str, ...]] = {}
    rules: tuple[Rule, ...] = ()
    origins: dict[str, str] = {}
    for file, settings in ((user_file, user), (project_file, own)):
        for key, value in settings.items():
            origins[key] = str(file)
            if key.startswith("env."):
                env[key.removeprefix("env.")] = str(value)
            elif key.startswith("keys."):
                keys[key.removeprefix("keys.")] = cast("tuple[str, ...]", value)
            elif key == "approve.rules":
                rules = _before(cast("tuple[Rule, ...]", value), rules)
            else:
                values[KEYS[key].field] = value
    users = {
        key.removeprefix("keys."): cast("tuple[str, ...]", chords)
        for key, chords in user.items()
        if key.startswith("keys.")
    }
    return Config(**values, env=env, keys=keys, approve_rules=rules, user_keys=users, origins=origins)  # type: ignore[arg-type]  # each value was converted by the kind of its field


def _before(project: tuple[Rule, ...], user: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Both, the project's first; but what the user denies no project allows."""
    denied = tuple(rule for rule in user if rule.decision == "deny")
    return (*denied, *project, *(rule for rule in user if rule.decision != "deny"))


def _with_fallbacks(config: Config, project: Path | None) -> Config:
    origins = dict(config.origins)
    if config.default_agent and "agent.default" not in origins:
        config = replace(config, agent_default=config.default_agent)
        origins["agent.default"] = origins["defaults.agent"]
    if project is not None and not config.project_name:
        config = replace(config, project_name=project.name)
    return replace(config, origins=origins)


# ── what a project may say ──


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """What a project's files say."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """By key and converted, without those that are the user's alone."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """What needs trust, as it is written."""
    include: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Keys that are the user's alone."""
    text: str = ""
    """Of the configuration."""


def asked_by(project: Path, *, include: bool = True) -> OwnFiles:
    """What a project's files say, and what of it needs trust."""
    user_file = paths.user_config()
    user = dict(_settings(read(user_file), user_file, []))
    return own_files(project, user, [], include=include)


def own_files(
    project: Path, user: Mapping[str, object], warnings: list[str], *, include: bool, text: str | None = None
) -> OwnFiles:
    """Sort what a project's files say by whose it is to say; `text` stands for what its configuration holds."""
    file = paths.project_config(project)
    text = (_text(file, inside=project) or "") if text is None else text
    document = _parse(text, file) if text else {}
    settings: dict[str, object] = {}
    refused: list[str] = []
    for key, value in _settings(document, file, warnings, is_project=True):
        row = KEYS[_row_key(key)]
        if row.scope is USER:
            refused.append(key)
            warnings.append(f"{file}: {key} counts only in {paths.user_config()}")
            continue
        limit = user.get(key, row.default)
        if row.scope is LOWER and cast("float", value) > cast("float", limit):
            refused.append(key)
            warnings.append(f"{file}: {key} can only be lowered, from {limit:g}")
            continue
        settings[key] = value
    parts = {key: _written(document, key) for key in settings if _needs_trust(key, settings, user)}
    lines = read_include(project) if include else ()
    if lines:
        parts[INCLUDE_FILE] = list(lines)
    return OwnFiles(settings, parts, lines, tuple(refused), text)


def _row_key(key: str) -> str:
    section = key.partition(".")[0]
    return section if section in ("env", "keys") else key


def _written(document: Mapping[str, Any], key: str) -> object:
    section, _, name = key.partition(".")
    return document[section][name]


def _needs_trust(key: str, settings: Mapping[str, object], user: Mapping[str, object]) -> bool:
    """Whether a project changes by it what the user has, and for the worse."""
    scope, value = KEYS[_row_key(key)].scope, settings[key]
    if scope.name != "trusted" or value in scope.harmless or value == _users(key, user):
        return False
    if key == "approve.rules":
        return _has_allow(value)
    if key == "approve.mode" and APPROVE_MODES.index(str(value)) > APPROVE_MODES.index(
        str(_users(key, user))
    ):
        # Watching does nothing; and where no rule allows anything, agents can only come to ask more.
        rules = (settings.get("approve.rules"), user.get("approve.rules"))
        return value == "on" and any(map(_has_allow, rules))
    return True


def _users(key: str, user: Mapping[str, object]) -> object:
    """What the user has without the project."""
    if key == "agent.default":
        return user.get(key) or user.get("defaults.agent") or KEYS[key].default
    return user.get(key, None if key.startswith("env.") else KEYS[key].default)


def _has_allow(rules: object) -> bool:
    return any(rule.decision == "allow" for rule in cast("tuple[Rule, ...]", rules or ()))


def _restricted(own: OwnFiles, missing: Mapping[str, Any]) -> dict[str, object]:
    """What a project may say while these parts are not trusted; what it denies or wants asked stays."""
    found = {key: value for key, value in own.settings.items() if key not in missing}
    if "approve.rules" in missing:
        rules = own.settings["approve.rules"]
        found["approve.rules"] = _restricting(cast("tuple[Rule, ...]", rules))
    return found


def _restricting(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.decision != "allow")


def _only_restricting(config: Config, own: OwnFiles) -> Config:
    """The project's rules in force as it wants them, though the user's are not: so nothing is allowed by either."""
    rules = cast("tuple[Rule, ...]", own.settings.get("approve.rules") or ())
    if not _restricting(rules):
        return config
    return replace(config, approve_mode="on", approve_rules=_restricting(config.approve_rules))


def read(file: Path, *, inside: Path | None = None) -> dict[str, Any]:
    """The file as TOML, or nothing where there is no file; one of a repository must lie inside it."""
    text = _text(file, inside=inside)
    return {} if text is None else _parse(text, file)


def _text(file: Path, *, inside: Path | None = None, limit: int = MAX_BYTES) -> str | None:
    try:
        return bounded_files.read(file, inside=inside, limit=limit).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not valid UTF-8 at byte {error.start}", hint=_EDIT_HINT) from error
    except OSError as error:
        raise FleetError(
            f"cannot read {file}: {error.strerror}", hint="check the file and its permissions"
        ) from error


def read_include(project: Path) -> tuple[str, ...]:
    """The patterns of a project's include file, without comments and empty lines."""
    text = _text(project / INCLUDE_FILE, inside=project, limit=MAX_INCLUDE_BYTES) or ""
    entries = map(str.strip, text.splitlines())
    return tuple(
        entry for entry in entries if entry.strip("!/") and not entry.startswith("#") and "\0" not in entry
    )


def _parse(text: str, file: Path) -> dict[str, Any]:
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise UsageError(f"{file}:{number}: more than {MAX_DOTS} dots in one line", hint=_EDIT_HINT)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{file}: values are nested too deeply", hint=_EDIT_HINT) from error
    except ValueError as error:
        raise _syntax_error(file, text, str(error)) from error


def _syntax_error(file: Path, text: str, message: str) -> UsageError:
    lines = text.rstrip("\n").split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    found = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if found:
        message = message[: found.start()]
        if found[1]:
            line, column = int(found[1]), int(found[2])
    return UsageError(f"{file}:{line}:{column}: {message}", hint=_EDIT_HINT)


def _settings(
    document: dict[str, Any], file: Path, warnings: list[str], *, is_project: bool = False
) -> Iterator[tuple[str, object]]:
    """Each known key of a document with its value converted; unknown keys become warnings."""
    for section, content in document.items():
        if section not in _SECTIONS:
            _warn_unknown(section, file, warnings)
        elif not isinstance(content, dict):
            raise UsageError(f"{file}: {section} must be a table, written as [{section}]", hint=_EDIT_HINT)
        elif section == "env":
            yield from ((f"env.{name}", _variable(name, value, file)) for name, value in content.items())
        elif section == "keys":
            for name, value in content.items():
                try:
                    yield f"keys.{name}", _chords(name, value, file)
                except UsageError as error:
                    # A repository must not keep its users out of the dashboard.
                    if not is_project:
                        raise
                    warnings.append(error.message)
        else:
            for name, value in content.items():
                if (key := f"{section}.{name}") in KEYS:
                    yield key, _converted(key, value, file)
                    warnings += _rule_warnings(value, file) if key == "approve.rules" else ()
                else:
                    _warn_unknown(key, file, warnings)


def _warn_unknown(key: str, file: Path, warnings: list[str]) -> None:
    """The first of them in words; looking for what each may have meant takes its time."""
    if len(warnings) < MAX_WARNINGS:
        warnings.append(_unknown(key, file))
    elif len(warnings) == MAX_WARNINGS:
        warnings.append(f"{file}: more keys that are unknown")


def _rule_warnings(rules: list[dict[str, Any]], file: Path) -> Iterator[str]:
    from fleet_tui.policy import unknown_keys

    for number, rule in enumerate(rules, 1):
        for name in unknown_keys(rule):
            yield f"{file}: unknown key {name!r} in approve.rules[{number}], so that rule only asks"


def _converted(key: str, value: object, file: Path) -> object:
    kind = KEYS[key].kind
    try:
        return kind.from_toml(value)
    except Unfit as error:
        wrong = str(error) or f" must be {kind.expected}, not {_shown(value)}"
        raise UsageError(f"{file}: {key}{wrong}", hint=_EDIT_HINT) from error


def _variable(name: str, value: object, file: Path) -> str:
    problem = _variable_problem(name)
    if problem:
        raise UsageError(f"{file}: env.{_printable(name)} {problem}", hint=_EDIT_HINT)
    if isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64
    ):
        return str(value)
    if not isinstance(value, str) or "\0" in value:
        raise UsageError(
            f"{file}: env.{_printable(name)} must be a string, not {_shown(value)}", hint=_EDIT_HINT
        )
    return value


def _chords(action: str, value: object, file: Path) -> tuple[str, ...]:
    """One key or several for an action of the dashboard; which actions there are is the dashboard's business."""
    chords = (value,) if isinstance(value, str) else value
    if not isinstance(chords, list | tuple) or not all(isinstance(chord, str) for chord in chords):
        raise UsageError(
            f"{file}: keys.{_printable(action)} must be a key or a list of keys, not {_shown(value)}",
            hint=_EDIT_HINT,
        )
    return tuple(chords)


def _variable_problem(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        return "is not a name for an environment variable"
    if name.startswith("FLEET_"):
        return "is reserved: FLEET_* variables are set for each agent"
    return ""


def _printable(name: str) -> str:
    return name if name.isprintable() and len(name) <= 60 else ascii(name)[:60]


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of more than 4300 digits
        return f"such a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def text_of(value: object) -> str:
    """A value as a config file would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(text_of(item) for item in value) + "]"
    if hasattr(value, "to_plain"):
        return text_of(value.to_plain())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {text_of(item)}" for name, item in value.items()) + "}"
    if value is None:
        return '""'
    return str(value) if isinstance(value, int | float) else f'"{value}"'


def _unknown(key: str, file: Path | None = None) -> str:
    near = _nearest(key)
    return (
        (f"{file}: " if file else "") + f"unknown key {key!r}" + (f", did you mean {near!r}?" if near else "")
    )


def _nearest(key: str) -> str:
    if len(key) > 80:
        return ""
    import difflib

    return next(iter(difflib.get_close_matches(key, KEYS, n=1, cutoff=0.7)), "")


# ── asking ──


def entries(config: Config) -> list[Entry]:
    """Every setting in the order of the table; the environment by variable."""
    found = [
        Entry(row.key, getattr(config, row.field), config.origins.get(row.key, DEFAULT))
        for row in KEYS.values()
        if row.kind is not TABLE
    ]
    for name, value in config.env.items():
        found.append(Entry(f"env.{name}", value, config.origins.get(f"env.{name}", DEFAULT)))
    for action, chords in config.keys.items():
        found.append(Entry(f"keys.{action}", chords, config.origins.get(f"keys.{action}", DEFAULT)))
    return found


def get(config: Config, key: str) -> object:
    section, _, name = key.partition(".")
    if section == "env" and name:
        if name not in config.env:
            raise NotFound(f"{key} is not set", hint=f"set it with: fleet config set {key} VALUE")
        return config.env[name]
    if section == "keys" and name:
        if name not in config.keys:
            raise NotFound(f"{key} is not set", hint="fleet keys shows the keys in use")
        return config.keys[name]
    return getattr(config, _row(key).field)


def _row(key: str) -> Key:
    if key not in KEYS:
        raise UsageError(_unknown(key), hint="fleet config lists all keys")
    return KEYS[key]


def worktrees(config: Config, project: Path) -> Path:
    """The folder for a project's worktrees: the project's choice, else the user's, else ours."""
    if config.worktree_root is not None:
        return project / config.worktree_root
    name = Path(config.project_name).name
    name = project.name if name in ("", "..") else name
    name = _folder_name(name)
    if config.worktree_base is not None:
        return project / config.worktree_base / name
    return paths.worktrees(project, name)


def _folder_name(name: str) -> str:
    """The name as one of a folder that can be made, and shown in one line."""
    plain = "".join(char if char.isprintable() else "_" for char in name)
    return plain.encode()[:MAX_FOLDER_BYTES].decode("utf-8", "ignore")


def validate(project: Path) -> list[str]:
    """What is wrong with a project's configuration, in words; empty when all is well."""
    try:
        config = load(project, trusted=True)
    except FleetError as error:
        return [error.message]
    found = [*config.warnings, *_rule_problems(config)]
    found += [
        f"setup.credential_files: {name} {problem}"
        for name in config.credential_files
        if (problem := _credential_problem(name, project))
    ]
    return found + _agent_problems(config) + _folder_problems(worktrees(config, project))


def _credential_problem(name: str, project: Path) -> str:
    if ".." in Path(name).parts or not (project / name).is_relative_to(project):
        return "lies outside the repository, and is not copied"
    return "" if is_pattern(name) or (project / name).exists() else f"does not exist in {project}"


def _rule_problems(config: Config) -> list[str]:
    if not config.approve_rules:
        return []
    from fleet_tui.policy import problems

    return problems(config.approve_rules)


def _agent_problems(config: Config) -> list[str]:
    import shutil

    name = config.agent_default
    ours = Path(__file__).parent / "data" / "profiles"
    has_profile = name == Path(name).name and any(
        (folder / f"{name}.toml").is_file() for folder in (ours, paths.user_profiles())
    )
    if has_profile or (name and shutil.which(Path(name).expanduser())):
        return []
    return [f"agent.default: no profile or program {name!r}"]


def _folder_problems(folder: Path) -> list[str]:
    existing = folder
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        return [f"worktrees cannot be made in {folder}: {existing} is not a folder"]
    if not os.access(existing, os.W_OK | os.X_OK):
        return [f"worktrees cannot be made in {folder}: {existing} is not writable"]
    return []


# ── writing ──


def set_value(file: Path, key: str, text: str, *, inside: Path | None = None) -> None:
    """Set one key in a file, keeping its comments and layout; the file is made where there is none.

    With `inside`, the file must lie in that folder after all links are followed.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    value = value_from_text(key, text)
    source = _text(file, inside=inside) or ""
    before = _parse(source, file)
    section, _, name = key.partition(".")
    try:
        document = tomlkit.parse(source)
        if section not in document:
            document[section] = tomlkit.table()
        table = document[section]
        if not hasattr(table, "keys"):
            raise UsageError(f"{file}: {section} must be a table, written as [{section}]", hint=_EDIT_HINT)
        table[name] = value
        edited = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise UsageError(f"{file}: {key} cannot be set: {error}", hint=_EDIT_HINT) from error
    before.setdefault(section, {})[name] = value
    if _parse(edited, file) != before:
        raise FleetError(
            f"{file}: {key} cannot be set without disturbing other keys", hint="run: fleet config --edit"
        )
    write(file, edited.encode(), inside=inside)


def value_from_text(key: str, text: str) -> object:
    """The text as a TOML value of the key's kind, checked as loading would check it."""
    section, _, name = key.partition(".")
    if section == "env" and name:
        problem = _variable_problem(name)
        if problem or "\0" in text:
            raise UsageError(f"{key} {problem or 'must not contain a NUL byte'}")
        return text
    if section == "keys" and name:
        try:
            return _strings_text(text)
        except Unfit as error:
            raise UsageError(f"{key} must be a key or a list of keys, not {_shown(text)}") from error
    row = _row(key)
    if row.kind is TABLE:
        raise UsageError(f"{key} is a table", hint=f"set one entry of it, as in {key}.NAME")
    try:
        value = row.kind.from_text(text)
        row.kind.from_toml(value)
        text.encode()
    except (Unfit, UnicodeEncodeError) as error:
        raise UsageError(f"{key} must be {row.kind.expected}, not {_shown(text)}") from error
    return value


def write(file: Path, content: bytes, *, new: bool = False, inside: Path | None = None) -> None:
    """Replace a file in one step, keeping its mode; with `new`, only where there is none (FileExistsError).

    With `inside`, nothing is written through a link that leads out of that folder (PermissionError).
    """
    if inside is not None:
        bounded_files.check_inside(file, inside)
    target = file.resolve() if file.is_symlink() else file
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    # Made by open rather than by tempfile, so that a new file gets the mode the user's umask asks for.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if target.exists():
                os.fchmod(descriptor, target.stat().st_mode & 0o777)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        if new:
            os.link(temporary, target)
        else:
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
