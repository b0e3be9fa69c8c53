"""Profile files: the tables of a TOML document, checked and turned into a `Profile`.

A value of the wrong type is refused with the file, the key and what is expected. A key that means nothing is listed in
`Profile.problems`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from fleet_tui.errors import UsageError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import PERMISSION_MODES, Status
from fleet_tui.programs.hook_values import HookValue
from fleet_tui.programs.input_box import FRAMES, BoxRule
from fleet_tui.programs.interaction_rules import InteractionRules
from fleet_tui.programs.profile import EventPort, Profile
from fleet_tui.programs.prompt_text import TextRule
from fleet_tui.programs.status_rules import KINDS, SCREEN_LINES, StatusRule

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
"""Names of profiles, and of files that a profile writes into a run's folder."""
DEFAULT_SCHEMA = "opencode"
"""Schema of an event server whose profile names none: profiles were written before there was a choice."""


class _ProfileTable:
    """One table of a profile, read key by key. A wrong type raises with the file, the key and what is expected."""

    def __init__(self, data: object, where: str, prefix: str = "") -> None:
        self._where, self._prefix = where, prefix
        self._asked: set[str] = set()
        self._below: dict[str, _ProfileTable] = {}
        if not isinstance(data, dict):
            raise self._wrong(prefix.rstrip("."), "a table")
        self._data = cast("dict[str, object]", data)

    def _wrong(self, key: str, expected: str) -> UsageError:
        return UsageError(f"{self._where}: {key} must be {expected}", hint="fix the file or remove it")

    def _get(self, key: str, default: object) -> object:
        self._asked.add(key)
        return self._data.get(key, default)

    def unknown(self) -> Iterator[str]:
        """The keys that were never read, as messages. Call it after reading all known keys."""
        for key in self._data:
            if key not in self._asked:
                import difflib

                close = difflib.get_close_matches(key, self._asked, n=1)
                meant = f" (did you mean {close[0]}?)" if close else ""
                yield f"{self._where}: there is no key {self._prefix}{key}{meant}"
        for below in self._below.values():
            yield from below.unknown()

    def table(self, key: str) -> _ProfileTable:
        if key not in self._below:
            self._below[key] = _ProfileTable(self._get(key, {}), self._where, f"{self._prefix}{key}.")
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

    def tables(self, key: str) -> list[_ProfileTable]:
        value = self._get(key, [])
        if not isinstance(value, list):
            raise self._wrong(self._prefix + key, f"written as [[{self._prefix}{key}]]")
        found = {
            f"{key}.{number}": _ProfileTable(item, self._where, f"{self._prefix}{key}.{number}.")
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
        """All keys, for a table that takes any."""
        self._asked |= self._data.keys()
        return list(self._data)

    def amount(self, key: str) -> float:
        value = self._get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise self._wrong(self._prefix + key, "a number of at least 0")
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
        """File contents by name. Names that could lead out of the folder are refused."""
        found = self.variables(key)
        for name in found:
            if not NAME.fullmatch(name):
                raise self._wrong(
                    f'{self._prefix}{key}."{name}"', "named by letters, digits and . _ + - alone"
                )
        return found

    def variables(self, key: str) -> Mapping[str, str]:
        table = self.table(key)
        return {name: table.text(name) for name in table.names()}


def parse_profile(name: str, data: dict[str, Any], where: str) -> Profile:
    top = _ProfileTable(data, where)
    start, permission, session = top.table("start"), top.table("permission"), top.table("session")
    environment, inject, spending = top.table("environment"), top.table("inject"), top.table("spending")
    mode_env, headless = permission.table("env"), top.table("headless")
    own_modes = headless.table("permission")
    found = Profile(
        name=name,
        program=top.text("program"),
        install_hint=top.text("install_hint"),
        rank=top.number("rank", 99),
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
        session_markers=environment.texts("markers"),
        unset_env=environment.texts("unset"),
        env=environment.variables("set"),
        inject_args=inject.texts("args"),
        inject_unless=inject.texts("unless"),
        inject_files=inject.files("files"),
        rules=_interaction_rules(top),
        version_args=top.texts("version"),
        headless_stream=headless.text("stream", _stream_readers(headless)),
        headless_argv=headless.texts("argv"),
        headless_resume=headless.texts("resume"),
        headless_modes={mode: own_modes.texts(mode) for mode in PERMISSION_MODES if own_modes.has(mode)},
        prompt_on_stdin=headless.truth("prompt_on_stdin"),
        event_port=_event_port(top.table("status").table("stream")),
    )
    problems = tuple(top.unknown())
    return replace(found, problems=problems) if problems else found


def _stream_readers(headless: _ProfileTable) -> tuple[str, ...]:
    if not headless.text("stream"):
        return ("",)
    from fleet_tui.programs import event_readers

    return ("", *event_readers.EVENT_READERS)


def _event_port(table: _ProfileTable) -> EventPort | None:
    if table.is_empty:
        return None
    return EventPort(
        path=table.text("path"),
        args=table.texts("args"),
        user=table.text("user"),
        password=table.text("password"),
        catch_up=table.variables("catch_up"),
        schema=table.text("schema", _server_schemas()) if table.has("schema") else DEFAULT_SCHEMA,
    )


def _server_schemas() -> tuple[str, ...]:
    from fleet_tui.programs import server_schemas

    return tuple(server_schemas.SERVER_SCHEMAS)


def _interaction_rules(top: _ProfileTable) -> InteractionRules:
    status, answer, prompt = top.table("status"), top.table("answer"), top.table("prompt")
    hooks = top.table("hooks")
    defaults = InteractionRules()
    sources = {name: _rules(status, name) for name in ("title", "screen", "hook", "event", "report")}
    return InteractionRules(
        quiet_is_idle=status.truth("quiet_is_idle"),
        ready=status.pattern("ready"),
        reports=status.truth("reports"),
        idle_interrupts=status.truth("idle_interrupts"),
        **sources,
        session_hooks=_hook_values(hooks, "session"),
        prompt_hooks=_hook_values(hooks, "prompt"),
        allow=answer.pattern("allow", defaults.allow),
        deny=answer.pattern("deny", defaults.deny),
        deny_key=answer.text("deny_key", ("", "escape")),
        free=answer.pattern("free"),
        decisions=answer.variables("decisions"),
        settle=prompt.amount("settle") or defaults.settle,
        confirm=prompt.amount("confirm") or defaults.confirm,
        box=_box(top.table("input")),
        texts=tuple(_text_rule(table) for table in prompt.tables("text")),
        interrupted=prompt.pattern("interrupted"),
    )


def _hook_values(hooks: _ProfileTable, name: str) -> tuple[HookValue, ...]:
    return tuple(HookValue(_where(table), table.text("path")) for table in hooks.tables(name))


def _where(table: _ProfileTable) -> Mapping[str, str]:
    where = table.table("where")
    return {path: where.pattern(path) for path in where.names()}


def _box(table: _ProfileTable) -> BoxRule | None:
    """None without an `[input]` table."""
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
        hints=_colors(table),
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


def _colors(box: _ProfileTable) -> tuple[str, ...]:
    found = box.texts("hints")
    for color in found:
        if not re.fullmatch("[0-9a-f]{6}", color):
            raise UsageError(f"input.hints: {color!r} is not a color", hint="write for example 6c7086")
    return found


def _text_rule(table: _ProfileTable) -> TextRule:
    return TextRule(
        match=table.pattern("match"),
        command=table.truth("command"),
        before=table.text("before"),
        after=table.text("after"),
        note=table.text("note"),
        argv=table.truth("argv"),
    )


def _rules(status: _ProfileTable, source: str) -> tuple[StatusRule, ...]:
    is_seen = source in ("title", "screen", "report")
    return tuple(_rule(table, is_seen=is_seen) for table in status.tables(source))


def _rule(table: _ProfileTable, *, is_seen: bool) -> StatusRule:
    """Titles, screens and reports are matched by a pattern, hooks and events by their values."""
    return StatusRule(
        name=table.text("name"),
        status=Status(table.text("status", [str(status) for status in Status if not status.has_ended])),
        kind=table.text("kind", ("", *KINDS)),
        match=table.pattern("match") if is_seen else "",
        where=_where(table),
        text=table.text("text"),
        reset="" if is_seen else table.pattern("reset"),
        request={} if is_seen else _permission_request(table),
        lines=table.number("lines", SCREEN_LINES),
        over=table.texts("over"),
        keeps=table.texts("keeps"),
        interrupts=table.truth("interrupts"),
        from_helpers=table.truth("from_helpers"),
        has_pointer=table.truth("pointer"),
        buttons=table.texts("buttons"),
        has_letters=table.truth("letters"),
    )


def _permission_request(rule: _ProfileTable) -> Mapping[str, str]:
    """Earlier versions call it `wish`."""
    table = rule.table("request" if rule.has("request") else "wish")
    return {name: table.text(name) for name in ("command", "reason", "touches") if table.has(name)}
