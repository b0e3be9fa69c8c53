"""How each agent program is started, prompted and resumed, and the environment it gets.

A profile is data: a TOML file beside this module, overridden key by key by the user's file of the same name,
both on top of `generic.toml`. A new program needs a file, not Python. Nothing here starts a process.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from fleet_tui import bounded_files, paths
from fleet_tui.config import PERMISSION_MODES, Config
from fleet_tui.errors import FleetError, NotFound, Refused, UsageError
from fleet_tui.input_box import FRAMES, BoxRule
from fleet_tui.models import Status
from fleet_tui.prompt_text import TextRule, prepared, refusal_at_start
from fleet_tui.signals import KINDS, SCREEN_LINES, Rule, Signals
from fleet_tui.values import dataclass, field, replace

BASE = "generic"
ARGUMENT_LIMIT = 128 * 1024 - 1
"""Bytes of one argument: Linux refuses 32 pages and more, counting the NUL at the end."""

SESSION_MARKERS = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_PID",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
    }
)
"""What an outer agent tells its own children; exact names, for the user's logins begin alike."""

HOST_TERMINAL = frozenset({"STY", "VTE_VERSION", "COLUMNS", "LINES"})
HOST_TERMINAL_PREFIXES = ("TMUX", "ZELLIJ", "TERM_PROGRAM", "KITTY_", "GHOSTTY_", "WEZTERM_")

_FOLDER = Path(__file__).parent / "data" / "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SESSION = re.compile(r"[^\s-]\S*")


@dataclass(frozen=True, slots=True)
class Stream:
    """A port of its own on which a program tells what it does."""

    path: str
    args: tuple[str, ...] = ()
    """How it is told to listen; `{port}` is the port."""
    user: str = ""
    password: str = ""
    """The variable that protects the port; others on the machine could listen and speak otherwise."""
    catch_up: Mapping[str, str] = field(default_factory=dict)
    """What was asked or begun before anybody listened: path → the event that each is told as."""


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
    """A prompt that starts so would be read as an option; it is pasted instead."""
    model_flag: tuple[str, ...] = ()
    permission_modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    permission_env: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    permission_decided_by: tuple[str, ...] = ()
    """Flags that settle permissions by themselves; ours are left out beside them."""
    permission_note: str = ""
    """What the permission modes do not do for this program."""
    takes_claude_flags: bool = False
    session: Literal["mint", "capture", "none"] = "none"
    """Who chooses the conversation's id: we do, the program does, or there is none."""
    argv_session: tuple[str, ...] = ()
    argv_resume: tuple[str, ...] = ()
    argv_resume_last: tuple[str, ...] = ()
    """Continues the latest conversation in the worktree, where the id is not known."""
    argv_fork: tuple[str, ...] = ()
    """Continues a copy of a known conversation, in the folder that it is started in."""
    spending_reader: str = ""
    """Whose records tell what was spent; empty where nobody's do."""
    context_limit: int = 0
    """Tokens, where neither the records nor `spending_limits` say so; 0 where it is not known."""
    spending_limits: Mapping[str, int] = field(default_factory=dict)
    spending_prices: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Per model: what a million tokens cost that are sent, found in the cache, answered, in US dollars."""
    unset_env: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    inject_args: tuple[str, ...] = ()
    """Given on every start, for what the program is to tell its holder; `{folder}` is the run's own folder."""
    inject_unless: tuple[str, ...] = ()
    """Flags of the user's own beside which ours are left out."""
    inject_files: Mapping[str, str] = field(default_factory=dict)
    """Written into the run's folder before the start; `{hook}` is the command that tells the holder."""
    signals: Signals = field(default_factory=Signals)
    version_args: tuple[str, ...] = ("--version",)
    install_hint: str = ""
    headless_stream: str = ""
    """How its events are read; empty where it has no headless mode."""
    headless_argv: tuple[str, ...] = ()
    """What follows the program; `{permission}` and `{model}` stand for whole flags."""
    headless_resume: tuple[str, ...] = ()
    headless_modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Permission flags where they differ from those of the interactive program."""
    prompt_on_stdin: bool = False
    """Whether a headless run reads its prompt from standard input."""
    stream: Stream | None = None
    problems: tuple[str, ...] = ()
    """Keys of its file that mean nothing, in words."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to execute, and what to type once it waits for input."""

    argv: tuple[str, ...]
    """The first is an absolute path."""
    pasted_prompt: str = ""
    """The prompt, where it cannot go on the command line; empty otherwise."""


# ── loading ──


def names() -> list[str]:
    """The profiles that can be started by name: ours and the user's."""
    found = {file.stem for folder in (_FOLDER, paths.user_profiles()) for file in folder.glob("*.toml")}
    return sorted(name for name in found if name != BASE and _NAME.fullmatch(name) and _files(name))


def load(name: str) -> Profile:
    """The profile of that name, or one made up for a program that has none."""
    if _NAME.fullmatch(name) and _files(name):
        return _profile(name, _merged(name), str(_files(name)[-1]))
    program = _found(name, os.environ.get("PATH"))
    if not program:
        _refuse_unexecutable(name)
        raise NotFound(
            f"no profile or program {name!r}",
            hint="install it, add its folder to PATH, or choose from " + ", ".join(names()),
        )
    data = _merged(BASE) | {"program": program}
    return _profile(Path(name).name, data, f"{_FOLDER / BASE}.toml")


def _refuse_unexecutable(name: str) -> None:
    """A file that is there is not to be installed."""
    if "/" not in name or "\0" in name:
        return
    file = os.path.expanduser(name)  # noqa: PTH111  # Path.expanduser raises for an unknown user
    if os.path.isdir(file):  # noqa: PTH112  # a name that is no path at all is no folder either
        raise NotFound(f"{name} is a folder, not a program", hint="name the program in it")
    if os.path.exists(file):  # noqa: PTH110  # as above
        raise NotFound(f"{name} is not executable", hint="if it is a program: chmod +x")


def _files(name: str) -> list[Path]:
    files = (_FOLDER / f"{name}.toml", paths.user_profiles() / f"{name}.toml")
    return [file for file in files if file.is_file()]


def _merged(name: str, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """A profile's data on top of what it extends."""
    if name in seen:
        raise UsageError(f"profile {name!r} extends itself", hint="remove the circle of extends")
    documents = [_read(file) for file in _files(name)]
    if not documents:
        raise NotFound(f"there is no profile {name!r} to extend", hint="choose from " + ", ".join(names()))
    own: dict[str, Any] = {}
    for document in documents:
        own = _overlaid(own, document)
    if name == BASE:
        return own
    parent = own.pop("extends", BASE)
    if not isinstance(parent, str):
        raise UsageError(f"profile {name!r}: extends must be a string")
    return _overlaid(_merged(parent, (*seen, name)), own)


def _overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables as one; the upper wins key by key."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _overlaid(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _read(file: Path) -> dict[str, Any]:
    try:
        return _parsed(bounded_files.read(file))
    except OSError as error:
        raise FleetError(f"cannot read {file}: {error.strerror}", hint="check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {error}", hint="fix the file or remove it") from error


@functools.lru_cache(maxsize=64)
def _parsed(text: bytes) -> dict[str, Any]:
    """Known by its text: profiles are asked for again and again, and hardly ever change. Not to be written to."""
    import tomllib

    return tomllib.loads(text.decode("utf-8-sig"))


class _Table:
    """One table of a profile, read by type; a wrong type names the file, the key and what is expected."""

    def __init__(self, data: object, where: str, prefix: str = "") -> None:
        self._where, self._prefix = where, prefix
        self._asked: set[str] = set()
        self._below: dict[str, _Table] = {}
        if not isinstance(data, dict):
            raise self._wrong(prefix.rstrip("."), "a table")
        self._data = cast("dict[str, object]", data)

    def _wrong(self, key: str, expected: str) -> UsageError:
        return UsageError(f"{self._where}: {key} must be {expected}", hint="fix the file or remove it")

    def _get(self, key: str, default: object) -> object:
        self._asked.add(key)
        return self._data.get(key, default)

    def unknown(self) -> Iterator[str]:
        """Once all has been read: the keys that nobody asked for, in words."""
        for key in self._data:
            if key not in self._asked:
                import difflib

                close = difflib.get_close_matches(key, self._asked, n=1)
                meant = f" (did you mean {close[0]}?)" if close else ""
                yield f"{self._where}: there is no key {self._prefix}{key}{meant}"
        for below in self._below.values():
            yield from below.unknown()

    def table(self, key: str) -> _Table:
        if key not in self._below:
            self._below[key] = _Table(self._get(key, {}), self._where, f"{self._prefix}{key}.")
        return self._below[key]

    def text(self, key: str, choices: Sequence[str] = ()) -> str:
        value = self._get(key, "")
        if not isinstance(value, str) or "\0" in value:
            raise self._wrong(self._prefix + key, "a string")
        if choices and value not in choices:
            raise self._wrong(self._prefix + key, "one of " + ", ".join(choices))
        return value

    def has(self, key: str) -> bool:
        return key in self._data

    def tables(self, key: str) -> list[_Table]:
        value = self._get(key, [])
        if not isinstance(value, list):
            raise self._wrong(self._prefix + key, f"written as [[{self._prefix}{key}]]")
        found = {
            f"{key}.{number}": _Table(item, self._where, f"{self._prefix}{key}.{number}.")
            for number, item in enumerate(value, start=1)
        }
        self._below |= found
        return list(found.values())

    def number(self, key: str, default: int) -> int:
        value = self._get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._wrong(self._prefix + key, "a whole number over 0")
        return value

    def pattern(self, key: str, default: str = "") -> str:
        value = self.text(key) or default
        try:
            re.compile(value)
        except re.error as error:
            raise self._wrong(self._prefix + key, f"a regular expression ({error})") from error
        return value

    def truth(self, key: str) -> bool:
        value = self._get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(self._prefix + key, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._get(key, [])
        if not isinstance(value, list) or not all(
            isinstance(item, str) and "\0" not in item for item in value
        ):
            raise self._wrong(self._prefix + key, "a list of strings")
        return tuple(value)

    @property
    def is_empty(self) -> bool:
        return not self._data

    def names(self) -> list[str]:
        """All keys, where any will do."""
        self._asked |= self._data.keys()
        return list(self._data)

    def amount(self, key: str) -> float:
        value = self._get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self._wrong(self._prefix + key, "a number")
        return value

    def amounts(self, key: str) -> Mapping[str, int]:
        table = self.table(key)
        return {name: int(table.amount(name)) for name in table.names()}

    def prices(self, key: str) -> Mapping[str, tuple[float, float, float]]:
        table = self.table(key)
        models = {name: table.table(name) for name in table.names()}
        return {
            name: (model.amount("input"), model.amount("cached"), model.amount("output"))
            for name, model in models.items()
        }

    def files(self, key: str) -> Mapping[str, str]:
        """Contents by name; a name never leads out of the folder that the files are written into."""
        found = self.variables(key)
        for name in found:
            if not _NAME.fullmatch(name):
                raise self._wrong(
                    f'{self._prefix}{key}."{name}"', "named by letters, digits and . _ + - alone"
                )
        return found

    def variables(self, key: str) -> Mapping[str, str]:
        table = self.table(key)
        return {name: table.text(name) for name in table.names()}


def _profile(name: str, data: dict[str, Any], where: str) -> Profile:
    top = _Table(data, where)
    start, permission, session = top.table("start"), top.table("permission"), top.table("session")
    environment, inject, spending = top.table("environment"), top.table("inject"), top.table("spending")
    mode_env, headless = permission.table("env"), top.table("headless")
    own_modes = headless.table("permission")
    found = Profile(
        name=name,
        program=top.text("program"),
        install_hint=top.text("install_hint"),
        takes_claude_flags=top.truth("takes_claude_flags"),
        args=start.texts("args"),
        argv_prompt=start.texts("prompt"),
        argv_bare=start.texts("bare"),
        model_flag=start.texts("model"),
        prompt_delivery=cast("Literal['argv', 'paste']", start.text("delivery", ("argv", "paste"))),
        paste_prefixes=start.texts("paste_prefixes"),
        permission_modes={mode: permission.texts(mode) for mode in PERMISSION_MODES},
        permission_env={mode: mode_env.variables(mode) for mode in PERMISSION_MODES},
        permission_decided_by=permission.texts("decided_by"),
        permission_note=permission.text("note"),
        session=cast("Literal['mint', 'capture', 'none']", session.text("kind", ("mint", "capture", "none"))),
        argv_session=session.texts("start"),
        argv_resume=session.texts("resume"),
        argv_resume_last=session.texts("resume_last"),
        argv_fork=session.texts("fork"),
        spending_reader=spending.text("reader"),
        context_limit=int(spending.amount("context_limit")),
        spending_limits=spending.amounts("limits"),
        spending_prices=spending.prices("prices"),
        unset_env=environment.texts("unset"),
        env=environment.variables("set"),
        inject_args=inject.texts("args"),
        inject_unless=inject.texts("unless"),
        inject_files=inject.files("files"),
        signals=_signals(top.table("status"), top.table("answer"), top.table("prompt"), top.table("input")),
        version_args=top.texts("version"),
        headless_stream=headless.text("stream", _stream_readers(headless)),
        headless_argv=headless.texts("argv"),
        headless_resume=headless.texts("resume"),
        headless_modes={mode: own_modes.texts(mode) for mode in PERMISSION_MODES if own_modes.has(mode)},
        prompt_on_stdin=headless.truth("prompt_on_stdin"),
        stream=_stream(top.table("status").table("stream")),
    )
    problems = tuple(top.unknown())
    return replace(found, problems=problems) if problems else found


def _stream_readers(headless: _Table) -> tuple[str, ...]:
    if not headless.text("stream"):
        return ("",)
    from fleet_tui import streams

    return ("", *streams.READERS)


def _stream(table: _Table) -> Stream | None:
    if table.is_empty:
        return None
    return Stream(
        path=table.text("path"),
        args=table.texts("args"),
        user=table.text("user"),
        password=table.text("password"),
        catch_up=table.variables("catch_up"),
    )


def _signals(status: _Table, answer: _Table, prompt: _Table, box: _Table) -> Signals:
    defaults = Signals()
    sources = {name: _rules(status, name) for name in ("title", "screen", "hook", "event", "report")}
    return Signals(
        quiet_is_idle=status.truth("quiet_is_idle"),
        ready=status.pattern("ready"),
        reports=status.truth("reports"),
        idle_interrupts=status.truth("idle_interrupts"),
        **sources,
        allow=answer.pattern("allow", defaults.allow),
        deny=answer.pattern("deny", defaults.deny),
        deny_key=answer.text("deny_key", ("", "escape")),
        free=answer.pattern("free"),
        decisions=answer.variables("decisions"),
        settle=prompt.amount("settle") or defaults.settle,
        confirm=prompt.amount("confirm") or defaults.confirm,
        box=_box(box),
        texts=tuple(_text_rule(table) for table in prompt.tables("text")),
        interrupted=prompt.pattern("interrupted"),
    )


def _box(table: _Table) -> BoxRule | None:
    """A box is known once its frame is."""
    if table.is_empty:
        return None
    return BoxRule(
        frame=table.text("frame", FRAMES),
        prefixes=table.texts("prefixes"),
        column=int(table.amount("column")),
        top=table.text("top"),
        bottom=table.text("bottom"),
        modes=table.texts("modes"),
        visible=table.truth("visible"),
        faint=table.truth("faint"),
        hints=_colours(table),
        placeholder=table.pattern("placeholder"),
        footer=int(table.amount("footer")),
        pasted=table.pattern("pasted"),
        clear=table.text("clear"),
        set_aside=table.text("set_aside"),
        set_aside_unless=table.pattern("set_aside_unless"),
        set_aside_only=table.pattern("set_aside_only"),
        restore=table.text("restore"),
        restores_itself=table.truth("restores_itself"),
    )


def _colours(box: _Table) -> tuple[str, ...]:
    found = box.texts("hints")
    for colour in found:
        if not re.fullmatch("[0-9a-f]{6}", colour):
            raise UsageError(f"input.hints: {colour!r} is no colour", hint="write for example 6c7086")
    return found


def _text_rule(table: _Table) -> TextRule:
    return TextRule(
        match=table.pattern("match"),
        command=table.truth("command"),
        before=table.text("before"),
        after=table.text("after"),
        note=table.text("note"),
        argv=table.truth("argv"),
    )


def _rules(status: _Table, source: str) -> tuple[Rule, ...]:
    is_seen = source in ("title", "screen", "report")
    return tuple(_rule(table, is_seen=is_seen) for table in status.tables(source))


def _rule(table: _Table, *, is_seen: bool) -> Rule:
    """What a program shows is matched by a pattern, what it sends by the values in it."""
    where = table.table("where")
    return Rule(
        name=table.text("name"),
        status=Status(table.text("status", [str(status) for status in Status if not status.has_ended])),
        kind=table.text("kind", ("", *KINDS)),
        match=table.pattern("match") if is_seen else "",
        where={path: where.pattern(path) for path in where.names()},
        text=table.text("text"),
        reset="" if is_seen else table.pattern("reset"),
        wish={} if is_seen else _wish(table.table("wish")),
        lines=table.number("lines", SCREEN_LINES),
        over=table.texts("over"),
        keeps=table.texts("keeps"),
        interrupts=table.truth("interrupts"),
        from_helpers=table.truth("from_helpers"),
        has_pointer=table.truth("pointer"),
        buttons=table.texts("buttons"),
        has_letters=table.truth("letters"),
    )


def _wish(table: _Table) -> Mapping[str, str]:
    return {name: table.text(name) for name in ("command", "reason", "touches") if table.has(name)}


# ── starting ──


def program_path(profile: Profile, search_path: str | None = None) -> str:
    """The absolute path of a profile's program, looked up as a shell would."""
    program = profile.program
    if program.startswith("$"):
        program = os.environ.get(program[1:], "") or "/bin/sh"
    if not program:
        raise UsageError(
            f"profile {profile.name!r} names no program",
            hint=next(iter(profile.problems), "give a program instead of the profile's name"),
        )
    found = _found(program, os.environ.get("PATH") if search_path is None else search_path)
    if not found:
        _refuse_unexecutable(program)
        hint = (
            f"install it with: {profile.install_hint}" if profile.install_hint else "add its folder to PATH"
        )
        raise NotFound(f"{profile.name}: there is no program {program!r} on PATH", hint=hint)
    return found


def _found(program: str, search_path: str | None) -> str:
    import shutil

    if not program or "\0" in program:
        return ""
    expanded = os.path.expanduser(program) if program.startswith("~") else program  # noqa: PTH111  # Path.expanduser raises for an unknown user
    # Not resolved: programs that are links are often told apart by the name they are called by.
    found = shutil.which(expanded, path=search_path)
    return os.path.abspath(found) if found else ""  # noqa: PTH100  # Path.resolve would follow links


def command(
    profile: Profile,
    *,
    prompt: str,
    config: Config,
    session_id: str,
    resume: bool = False,
    fork_of: str = "",
    worktree: str = "",
    model: str = "",
    folder: str = "",
    headless: bool = False,
) -> Command:
    """The full command line of one run; the prompt is one argument of it, whatever it contains.

    `folder` is the run's own; without it nothing is injected.
    """
    _check_prompt(prompt)
    _check_session(session_id)
    _check_session(fork_of)
    if headless:
        return _headless(profile, prompt, config, session_id, resume=resume, model=model)
    head = (
        program_path(profile, config.env.get("PATH")),
        *(
            _fork_flags(profile, fork_of, session_id, worktree)
            if fork_of
            else _session_flags(profile, session_id, resume=resume)
        ),
        *_injected(profile, config, folder),
        *profile.args,
        *_permission_flags(profile, config),
        *_filled(profile.model_flag if model else (), "{model}", model),
    )
    if prompt and _goes_on_command_line(profile, prompt):
        _check_first(profile, refusal_at_start(prompt, profile.signals.texts))
        return Command((*head, *_filled(profile.argv_prompt, "{prompt}", prompt)))
    pasted = prepared(prompt, profile.signals.texts)
    _check_first(profile, pasted.refusal if prompt else "")
    return Command((*head, *profile.argv_bare), pasted_prompt=pasted.text if prompt else "")


def _check_first(profile: Profile, refusal: str) -> None:
    """Nothing runs as a command that was meant for the model."""
    if refusal:
        raise Refused(
            f"{profile.name} cannot be started with this prompt: {refusal}",
            hint='start it without one, then: fleet prompt NAME "…" --command',
        )


def _headless(
    profile: Profile, prompt: str, config: Config, session_id: str, *, resume: bool, model: str
) -> Command:
    """Our runner around the program's headless mode."""
    check_headless(profile)
    if not prompt.strip():
        raise UsageError("a headless agent needs a prompt", hint="give it with -p")
    if len(os.fsencode(prompt)) > ARGUMENT_LIMIT:
        raise UsageError(
            f"a headless agent's prompt has at most {ARGUMENT_LIMIT} bytes",
            hint="put it in a file and name the file",
        )
    if resume and not session_id:
        raise Refused("its conversation is not known", hint="start over with --fresh")
    flags = {
        "{permission}": _permission_flags(profile, config, profile.headless_modes),
        "{model}": _filled(profile.model_flag if model else (), "{model}", model),
    }
    argv = [program_path(profile, config.env.get("PATH"))]
    for part in profile.headless_resume if resume else profile.headless_argv:
        argv += flags[part] if part in flags else _filled([part], "{session}", session_id)
    given = ("--stdin", prompt) if profile.prompt_on_stdin else ()
    # Without -P, Python would load modules from the worktree.
    runner = (sys.executable, "-P", "-m", "fleet_tui.headless", profile.headless_stream, *given, "--")
    return Command((*runner, *_filled(argv, "{prompt}", prompt)))


def check_headless(profile: Profile) -> None:
    if not profile.headless_stream:
        known = ", ".join(name for name in names() if load(name).headless_stream)
        raise UsageError(
            f"{profile.name} has no headless mode", hint=f"leave out --headless, or choose from {known}"
        )


def headless_warning(profile: Profile, config: Config) -> str:
    """What a headless run of this program will not do, in one line; empty where nothing is to be said."""
    written = config.claude_flags if profile.takes_claude_flags else ()
    if config.permission_mode != "ask" or _is_decided(profile, written):
        return ""
    return (
        f"headless agents cannot ask; with permission_mode ask {profile.name} may not change files: "
        "fleet config set agent.permission_mode edits"
    )


def _check_prompt(prompt: str) -> None:
    if "\0" in prompt:
        raise UsageError("a prompt cannot contain NUL bytes", hint="remove them")
    try:
        os.fsencode(prompt)
    except UnicodeEncodeError as error:
        raise UsageError("the prompt is not valid Unicode text", hint="save it as UTF-8") from error


def _check_session(session_id: str) -> None:
    """An id is what some program has told; on a command line it must not be an option."""
    if session_id and not _SESSION.fullmatch(session_id):
        raise Refused(
            f"{session_id!r:.60} is not the id of a conversation", hint="start over with fleet revive --fresh"
        )


def _goes_on_command_line(profile: Profile, prompt: str) -> bool:
    if profile.prompt_delivery == "paste" or prompt.startswith(profile.paste_prefixes):
        return False
    if not any("{prompt}" in part for part in profile.argv_prompt):
        return False
    longest = max(len(os.fsencode(part)) for part in _filled(profile.argv_prompt, "{prompt}", prompt))
    return longest <= ARGUMENT_LIMIT


def _session_flags(profile: Profile, session_id: str, *, resume: bool) -> tuple[str, ...]:
    if resume:
        known = bool(session_id and profile.argv_resume)
        return _filled(profile.argv_resume if known else profile.argv_resume_last, "{session}", session_id)
    if profile.session == "mint" and session_id:
        return _filled(profile.argv_session, "{session}", session_id)
    return ()


def _injected(profile: Profile, config: Config, folder: str) -> tuple[str, ...]:
    written = config.claude_flags if profile.takes_claude_flags else ()
    if not folder or any(flag.partition("=")[0] in profile.inject_unless for flag in written):
        return ()
    return _filled(profile.inject_args, "{folder}", folder)


def injected_files(profile: Profile, hook: str) -> dict[str, str]:
    """What is written into a run's folder before its program starts, by name."""
    quoted = shlex.quote(hook)
    return {
        # Inside of JSON or TOML, and there read by a shell.
        name: content.replace("{hook}", json.dumps(quoted)[1:-1])
        for name, content in profile.inject_files.items()
    }


def check_fork(profile: Profile) -> None:
    """Refuse what the program has no way of doing."""
    if not profile.argv_fork:
        raise Refused(
            f"{profile.name} cannot go on with a copy of a conversation",
            hint=f"the profile {profile.name!r} has no [session] fork; fleet create starts a new conversation",
        )


def _fork_flags(profile: Profile, fork_of: str, session_id: str, worktree: str) -> tuple[str, ...]:
    flags = _filled(profile.argv_fork, "{session}", fork_of)
    return _filled(_filled(flags, "{new_session}", session_id), "{worktree}", worktree)


def new_session(profile: Profile) -> str:
    """An id for a new conversation, where it is ours to choose."""
    import uuid

    return str(uuid.uuid4()) if profile.session == "mint" else ""


def captures(profile: Profile) -> bool:
    """Whether the program chooses the id, and its records tell which."""
    return profile.session == "capture" and bool(profile.spending_reader)


def _permission_flags(
    profile: Profile, config: Config, instead: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[str, ...]:
    written = config.claude_flags if profile.takes_claude_flags else ()
    if _is_decided(profile, written):
        return written
    modes = {**profile.permission_modes, **(instead or {})}
    return (*modes.get(config.permission_mode, ()), *written)


def _is_decided(profile: Profile, flags: Sequence[str]) -> bool:
    """Whether the user's own flags settle what is permitted."""
    return any(flag.partition("=")[0] in profile.permission_decided_by for flag in flags)


def _filled(template: Sequence[str], placeholder: str, value: str) -> tuple[str, ...]:
    """The template with its placeholder replaced; never a format string, for prompts contain braces."""
    return tuple(part.replace(placeholder, value) for part in template)


def environment(
    profile: Profile,
    base: Mapping[str, str],
    *,
    agent_id: str,
    socket: str,
    folder: str,
    port_base: int,
    extra: Mapping[str, str] | None = None,
    permission_mode: str = "ask",
) -> dict[str, str]:
    """The environment of an agent: the user's own, without the marks of whatever started us."""
    kept = {name: value for name, value in base.items() if not _is_foreign(name, profile)}
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        **profile.env,
        **profile.permission_env.get(permission_mode, {}),
        **{name: value for name, value in (extra or {}).items() if not name.startswith("FLEET_")},
        "FLEET_AGENT_ID": agent_id,
        "FLEET_SOCKET": socket,
        "FLEET_FOLDER": folder,
        "FLEET_PORT_BASE": str(port_base),
    }


def _is_foreign(name: str, profile: Profile) -> bool:
    return (
        name in SESSION_MARKERS
        or name in HOST_TERMINAL
        or name in profile.unset_env
        or name.startswith(HOST_TERMINAL_PREFIXES)
        or name.startswith("FLEET_")
    )
