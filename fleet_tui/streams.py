"""What agent programs tell in their headless modes: one JSON event a line, read into words, states and numbers.

Pure: each reader takes one event of one program's dialect, and a memory of the calls it has seen, to what a person
is to read and what the fleet is to know. Events and fields that nobody has met before are passed over. Nothing here
prints, runs or waits.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from fleet_tui.values import dataclass, field, fields, replace

Event = Mapping[str, Any]
Style = Literal["plain", "dim", "command", "error"]

OUTPUT_LINES = 10
"""Of what a command has printed, in the terminal; the model has seen all of it."""
LINE_LIMIT = 400
CALL_LIMIT = 10_000
COUNT_LIMIT = 10**15
LAST_TIME = 2**32
"""Seconds since the epoch up to which a time can be shown anywhere."""

SHELLS = {"Bash", "bash", "run_shell_command", "shell", "exec_command"}
WRITERS = {"Write", "write", "write_file"}
EDITORS = {"Edit", "MultiEdit", "NotebookEdit", "edit", "replace", "patch", "apply_patch", "multiedit"}
SUBJECTS = (
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
)
"""Where a call says what it is about, the most telling first."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words for the terminal."""

    text: str
    style: Style = "plain"
    is_open: bool = False
    """More of the same follows, on the same line."""


@dataclass(frozen=True, slots=True)
class State:
    """What the program does now."""

    state: Literal["working", "limited"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent in this run so far; None is not known."""

    input_tokens: int | None = None
    """Sent, and not found in the provider's cache."""
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    context_tokens: int | None = None
    context_limit: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What one step has taken, to be added to those before."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Session:
    """The program's id of the conversation."""

    id: str


@dataclass(frozen=True, slots=True)
class Denied:
    """Something was not permitted, and nobody is there to ask."""

    what: str


@dataclass(frozen=True, slots=True)
class Result:
    """The turn is over."""

    is_error: bool
    text: str = ""
    """What went wrong."""
    turns: int | None = None
    is_limited: bool = False
    """It went wrong because a quota is used up."""


Item = Said | State | Usage | Step | Session | Denied | Result


@dataclass(slots=True)
class Memory:
    """What a reader has to know of earlier events."""

    folder: str = ""
    """Where the program works: paths in it are told from there."""
    calls: dict[str, str] = field(default_factory=dict)
    """A call's id → the name of its tool, until it has been answered."""
    model: str = ""

    def began(self, call: object, name: str) -> None:
        if isinstance(call, str) and len(self.calls) < CALL_LIMIT:
            self.calls[call] = name

    def ended(self, call: object) -> str:
        return self.calls.pop(call, "") if isinstance(call, str) else ""


Reader = Callable[[Event, Memory], Iterator[Item]]


SPENT = ("input_tokens", "cached_tokens", "output_tokens", "cost")


def total(before: Usage, item: Usage | Step) -> Usage:
    """What is known after one more report."""
    usage = item.usage if isinstance(item, Step) else item
    known = {one.name: getattr(usage, one.name) for one in fields(usage)}
    known = {name: value for name, value in known.items() if value is not None}
    if isinstance(item, Step):
        known |= {name: known[name] + (getattr(before, name) or 0) for name in SPENT if name in known}
    return replace(before, **known)


def less(usage: Usage, before: Usage) -> Usage:
    """What is left of it when something has been counted before."""
    left = {name: max(0, getattr(usage, name) - (getattr(before, name) or 0))
            for name in SPENT if getattr(usage, name) is not None}  # fmt: skip
    return replace(usage, **left)


# ── reading what may be anything ────────────────────────────────────────────────────────────────────────────────


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    amount = _money(value)
    return None if amount is None else int(amount)


def _money(value: Any) -> float | None:
    """A number that can have been counted: JSON may hold any, infinity among them."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < COUNT_LIMIT else None


def _sum(*values: Any) -> int | None:
    known = [number for number in map(_number, values) if number is not None]
    return sum(known) if known else None


def _less(whole: Any, part: Any) -> int | None:
    number = _number(whole)
    return None if number is None else max(0, number - (_number(part) or 0))


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────────────


def _thought(text: str) -> Iterator[Said]:
    line = " ".join(text.split())
    if line:
        yield Said(f"… {_cut(line, 100)}", "dim")


def _cut(text: str, limit: int = LINE_LIMIT) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _place(path: str, memory: Memory) -> str:
    return path.removeprefix(memory.folder.rstrip("/") + "/") if memory.folder else path


def _call(name: str, arguments: Mapping[str, Any], memory: Memory) -> Said:
    """A tool as it is called."""
    subject = next((_text(arguments.get(key)) for key in SUBJECTS if _text(arguments.get(key))), "")
    if name in SHELLS:
        return _command(_text(arguments.get("command")) or _text(arguments.get("cmd")))
    if name in WRITERS:
        return Said(f"write {_place(subject, memory)}", "command")
    if name in EDITORS:
        return Said(f"edit {_place(subject, memory)}", "command")
    return Said(_cut(f"{name} {_place(' '.join(subject.split()), memory)}".rstrip()), "command")


def _command(line: str) -> Said:
    return Said("$ " + line.strip().replace("\n", "\n  "), "command")


def _outcome(name: str, text: str, *, failed: bool) -> Iterator[Said]:
    """How a call went: of what succeeded, only a command's output says anything."""
    lines = text.strip("\n").splitlines()
    if failed:
        yield Said(_indented(lines[:OUTPUT_LINES] or ["failed"]), "error")
    elif name in SHELLS and lines:
        more = len(lines) - OUTPUT_LINES
        shown = lines if more <= 1 else [*lines[:OUTPUT_LINES], f"… {more} more lines"]
        yield Said(_indented(shown), "dim")


def _indented(lines: list[str]) -> str:
    return "\n".join("  " + _cut(line) for line in lines)


def _retry(reason: str, attempt: Any, most: Any = None, seconds: float | None = None) -> Iterator[Item]:
    words = f"retry {_number(attempt) or ''}".rstrip() + (f" of {_number(most)}" if _number(most) else "")
    text = f"{reason} · {words}" + (f" in {seconds:.0f} s" if seconds else "")
    yield Said(text, "dim")
    yield State("limited", text)


def _message(text: str) -> str:
    """The words of an error that came as JSON, or as they are."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        inner = _table(json.loads(found[0])) if found else {}
    except (ValueError, RecursionError):
        inner = {}
    error = inner.get("error", inner)
    return _text(_table(error).get("message")) or text


def _is_quota(text: str) -> bool:
    return bool(re.search(r"usage limit|quota|rate limit|\b429\b", text, re.IGNORECASE))


# ── claude, and qwen, which speaks alike ────────────────────────────────────────────────────────────────────────


def claude(event: Event, memory: Memory) -> Iterator[Item]:
    reader = _CLAUDE.get(_text(event.get("type")))
    if reader is not None:
        yield from reader(event, memory)


def _claude_system(event: Event, memory: Memory) -> Iterator[Item]:
    kind = event.get("subtype")
    if kind == "init":
        memory.model = _text(event.get("model"))
        yield from _session(event.get("session_id"))
        mode = _text(event.get("permissionMode")) or _text(event.get("permission_mode"))
        yield Said(" · ".join(filter(None, (memory.model, mode))), "dim")
        yield State("working")
    elif kind == "api_retry":
        reason = _cut(_text(event.get("error")).replace("_", " ")) or "error"
        delay = _number(event.get("retry_delay_ms"))
        yield from _retry(
            reason, event.get("attempt"), event.get("max_retries"), None if delay is None else delay / 1000
        )
    elif kind == "compact_boundary":
        yield Said("the conversation was compacted", "dim")


def _session(value: Any) -> Iterator[Item]:
    if isinstance(value, str) and value:
        yield Session(value)


def _claude_limit(event: Event, _: Memory) -> Iterator[Item]:
    info = _table(event.get("rate_limit_info"))
    resets = _number(info.get("resetsAt"))
    if info.get("status") == "rejected":
        known = resets is not None and resets < LAST_TIME
        when = f"resets {time.strftime('%H:%M', time.localtime(resets))}" if known else "no time is given"
        yield Said(f"usage limit · {when}", "dim")
        yield State("limited", when)


def _claude_assistant(event: Event, memory: Memory) -> Iterator[Item]:
    message = _table(event.get("message"))
    is_own = not event.get("parent_tool_use_id")
    yield State("working")
    for block in map(_table, _list(message.get("content"))):
        for said in _claude_block(block, memory, is_error=event.get("is_api_error_message") is True):
            yield said if is_own else Said(_indented(said.text.splitlines()), "dim")
    usage = _table(message.get("usage"))
    taken = _sum(
        usage.get("input_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cache_creation_input_tokens"),
    )
    if is_own and taken:
        yield Usage(context_tokens=taken, model=_text(message.get("model")) or None)


def _claude_block(block: Mapping[str, Any], memory: Memory, *, is_error: bool) -> Iterator[Said]:
    kind = block.get("type")
    if kind == "text" and _text(block.get("text")).strip():
        yield Said(_text(block.get("text")).strip(), "error" if is_error else "plain")
    elif kind == "thinking":
        yield from _thought(_text(block.get("thinking")))
    elif kind == "tool_use":
        name = _text(block.get("name"))
        memory.began(block.get("id"), name)
        yield _call(name, _table(block.get("input")), memory)


def _claude_user(event: Event, memory: Memory) -> Iterator[Item]:
    for block in map(_table, _list(_table(event.get("message")).get("content"))):
        if block.get("type") == "tool_result":
            name = memory.ended(block.get("tool_use_id"))
            text = _claude_output(block.get("content"))
            if not event.get("parent_tool_use_id"):
                yield from _outcome(name, text, failed=block.get("is_error") is True)


def _claude_output(content: Any) -> str:
    if isinstance(content, str):
        return "" if content == "(Bash completed with no output)" else content
    return "\n".join(_text(_table(part).get("text")) for part in _list(content))


def _claude_result(event: Event, memory: Memory) -> Iterator[Item]:
    yield _claude_total(event, memory)
    for denial in map(_table, _list(event.get("permission_denials"))):
        said = _call(_text(denial.get("tool_name")), _table(denial.get("tool_input")), memory)
        yield Denied(said.text)
    failed = event.get("is_error") is True
    text = ""
    if failed:
        text = _text(event.get("result")) or _text(_table(event.get("error")).get("message"))
        text = text or " ".join(map(_text, _list(event.get("errors")))) or _text(event.get("subtype"))
    limited = failed and (event.get("api_error_status") == 429 or _is_quota(text))
    yield Result(failed, text, _number(event.get("num_turns")), limited)


def _claude_total(event: Event, memory: Memory) -> Usage:
    by_model = {name: _table(one) for name, one in _table(event.get("modelUsage")).items()}
    cost = _money(event.get("total_cost_usd"))
    if by_model:
        main = by_model.get(memory.model) or next(iter(by_model.values()))
        ones = list(by_model.values())
        return Usage(
            _sum(*(one.get(key) for one in ones for key in ("inputTokens", "cacheCreationInputTokens"))),
            _sum(*(one.get("cacheReadInputTokens") for one in ones)),
            _sum(*(one.get("outputTokens") for one in ones)),
            cost,
            context_limit=_number(main.get("contextWindow")),
        )
    usage = _table(event.get("usage"))
    return Usage(
        _sum(usage.get("input_tokens"), usage.get("cache_creation_input_tokens")),
        _number(usage.get("cache_read_input_tokens")),
        _number(usage.get("output_tokens")),
        cost,
    )


_CLAUDE: Mapping[str, Reader] = {
    "system": _claude_system,
    "assistant": _claude_assistant,
    "user": _claude_user,
    "result": _claude_result,
    "rate_limit_event": _claude_limit,
}


def qwen(event: Event, memory: Memory) -> Iterator[Item]:
    for item in claude(event, memory):
        if isinstance(item, Usage) and item.input_tokens is not None:
            # What it calls input has the cached part in it.
            yield replace(item, input_tokens=_less(item.input_tokens, item.cached_tokens))
        elif isinstance(item, Said) and item.text.startswith("[API Error:"):
            yield replace(item, style="error")
        else:
            yield item


# ── codex ───────────────────────────────────────────────────────────────────────────────────────────────────────


_READ_ONLY = re.compile(r"read-only file system", re.IGNORECASE)
"""How codex's sandbox refuses a change: no event tells of it."""


def codex(event: Event, memory: Memory) -> Iterator[Item]:
    kind = _text(event.get("type"))
    if kind == "thread.started":
        yield from _session(event.get("thread_id"))
    elif kind == "turn.started":
        yield State("working")
    elif kind in ("item.started", "item.completed"):
        yield State("working")
        yield from _codex_item(_table(event.get("item")), memory, is_over=kind == "item.completed")
    elif kind == "error":
        yield from _codex_error(_text(event.get("message")))
    elif kind == "turn.completed":
        yield _codex_usage(_table(event.get("usage")))
        yield Result(is_error=False)
    elif kind == "turn.failed":
        text = _message(_text(_table(event.get("error")).get("message")))
        yield Result(True, text, is_limited=_is_quota(text))


def _codex_error(text: str) -> Iterator[Item]:
    found = re.match(r"Reconnecting\.\.\. (\d{1,9})/(\d{1,9})(?: \((.*)\))?", text, re.DOTALL)
    if found is None:
        # It comes again, as the reason why the turn has failed.
        return
    reason = found[3] or "connection lost"
    yield from _retry("rate limit" if _is_quota(reason) else _message(reason), int(found[1]), int(found[2]))


def _codex_item(item: Mapping[str, Any], memory: Memory, *, is_over: bool) -> Iterator[Item]:
    kind = _text(item.get("type"))
    failed = item.get("status") in ("failed", "declined")
    if kind in ("command_execution", "mcp_tool_call"):
        known = memory.ended(item.get("id"))
        if not known:
            yield _codex_call(kind, item)
        if not is_over:
            memory.began(item.get("id"), kind)
        elif kind == "command_execution":
            yield from _codex_outcome(item, failed=failed)
            output = _text(item.get("aggregated_output"))
            if item.get("status") == "declined" or (failed and _READ_ONLY.search(output)):
                yield Denied(_codex_call(kind, item).text)
        else:
            error = item.get("error")
            text = _text(_table(error).get("message")) or _text(error)
            yield from _outcome("", text, failed=failed or bool(error))
    elif is_over:
        yield from _codex_said(kind, item, memory)


def _codex_call(kind: str, item: Mapping[str, Any]) -> Said:
    if kind == "command_execution":
        return _command(_unwrapped(_text(item.get("command"))))
    return Said(f"{_text(item.get('server'))} {_text(item.get('tool'))}".strip(), "command")


def _unwrapped(command: str) -> str:
    """Without the shell that codex puts around every command."""
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    is_wrapped = len(parts) == 3 and parts[0].endswith("sh") and parts[1] in ("-lc", "-c")
    return parts[2] if is_wrapped else command


def _codex_outcome(item: Mapping[str, Any], *, failed: bool) -> Iterator[Said]:
    output, code = _text(item.get("aggregated_output")), _number(item.get("exit_code"))
    yield from _outcome("Bash", output, failed=False)
    if failed:
        yield Said(f"  exit code {code}" if code is not None else f"  {item.get('status')}", "error")


def _codex_said(kind: str, item: Mapping[str, Any], memory: Memory) -> Iterator[Item]:
    if kind == "agent_message" and _text(item.get("text")).strip():
        yield Said(_text(item.get("text")).strip())
    elif kind == "reasoning":
        yield from _thought(_text(item.get("text")))
    elif kind == "file_change":
        words = {"add": "write", "delete": "remove"}
        for change in map(_table, _list(item.get("changes"))):
            word = words.get(_text(change.get("kind")), "edit")
            style: Style = "error" if item.get("status") in ("failed", "declined") else "command"
            said = f"{word} {_place(_text(change.get('path')), memory)}"
            yield Said(said, style)
            if item.get("status") == "declined":
                yield Denied(said)
    elif kind == "web_search":
        yield Said(_cut(f"searched for {_text(item.get('query'))}"), "command")
    elif kind == "todo_list":
        items = [_table(one) for one in _list(item.get("items"))]
        done = sum(one.get("completed") is True for one in items)
        yield Said(f"{done} of {len(items)} steps done", "dim")
    elif kind == "error":
        # Warnings, too, come as such items; what ends the turn comes as its failure.
        yield Said(_message(_text(item.get("message"))), "dim")


def _codex_usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        _less(usage.get("input_tokens"), usage.get("cached_input_tokens")),
        _number(usage.get("cached_input_tokens")),
        _number(usage.get("output_tokens")),
    )


# ── gemini ──────────────────────────────────────────────────────────────────────────────────────────────────────


def gemini(event: Event, memory: Memory) -> Iterator[Item]:
    kind = _text(event.get("type"))
    if kind == "init":
        memory.model = _text(event.get("model"))
        yield from _session(event.get("session_id"))
        yield State("working")
    elif kind == "message" and event.get("role") == "assistant":
        yield State("working")
        yield Said(_text(event.get("content")), is_open=event.get("delta") is True)
    elif kind == "tool_use":
        name = _text(event.get("tool_name"))
        memory.began(event.get("tool_id"), name)
        yield _call(name, _table(event.get("parameters")), memory)
    elif kind == "tool_result":
        yield from _gemini_outcome(event, memory)
    elif kind == "error":
        style: Style = "dim" if event.get("severity") == "warning" else "error"
        yield Said(_message(_text(event.get("message"))), style)
    elif kind == "result":
        yield _gemini_usage(_table(event.get("stats")))
        text = _message(_text(_table(event.get("error")).get("message")))
        failed = event.get("status") != "success"
        yield Result(failed, text if failed else "", is_limited=failed and _is_quota(text))


def _gemini_outcome(event: Event, memory: Memory) -> Iterator[Item]:
    name = memory.ended(event.get("tool_id"))
    failed = event.get("status") == "error"
    error = _text(_table(event.get("error")).get("message"))
    text = _text(event.get("output")) or error
    failed_command = re.search(r"Command exited with code: [1-9]", text) is not None
    yield from _outcome(name, text, failed=failed or (name in SHELLS and failed_command))
    if failed and re.search(r"denied by policy", text, re.IGNORECASE):
        yield Denied(name or "a tool")


def _gemini_usage(stats: Mapping[str, Any]) -> Usage:
    models = {
        name: _number(_table(one).get("total_tokens")) or 0
        for name, one in _table(stats.get("models")).items()
    }
    return Usage(
        _less(stats.get("input_tokens"), stats.get("cached")),
        _number(stats.get("cached")),
        _number(stats.get("output_tokens")),
        model=max(models, key=lambda name: models[name]) if any(models.values()) else None,
    )


# ── opencode ────────────────────────────────────────────────────────────────────────────────────────────────────


def opencode(event: Event, memory: Memory) -> Iterator[Item]:
    kind, part = _text(event.get("type")), _table(event.get("part"))
    yield from _session(event.get("sessionID"))
    if kind == "step_start":
        yield State("working")
    elif kind == "text" and _text(part.get("text")).strip():
        yield Said(_text(part.get("text")).strip())
    elif kind == "reasoning":
        yield from _thought(_text(part.get("text")))
    elif kind == "tool_use":
        yield from _opencode_tool(_text(part.get("tool")), _table(part.get("state")), memory)
    elif kind == "step_finish":
        yield _opencode_usage(part)
        if part.get("reason") == "stop":
            yield Result(is_error=False)
    elif kind == "error":
        error = _table(event.get("error"))
        text = _text(_table(error.get("data")).get("message")) or _text(error.get("name")) or "it failed"
        yield Result(True, text, is_limited=_is_quota(text))


def _opencode_tool(name: str, state: Mapping[str, Any], memory: Memory) -> Iterator[Item]:
    said = _call(name, _table(state.get("input")), memory)
    yield said
    error = _text(state.get("error"))
    code = _number(_table(state.get("metadata")).get("exit"))
    output = _text(state.get("output"))
    yield from _outcome(name, error or ("" if output == "(no output)" else output), failed=bool(error))
    if code:
        yield Said(f"  exit code {code}", "error")
    if "rejected permission" in error or "denied" in error:
        yield Denied(said.text)


def _opencode_usage(part: Mapping[str, Any]) -> Step:
    tokens = _table(part.get("tokens"))
    cache = _table(tokens.get("cache"))
    return Step(
        Usage(
            _sum(tokens.get("input"), cache.get("write")),
            _number(cache.get("read")),
            _sum(tokens.get("output"), tokens.get("reasoning")),
            # It counts nothing where it does not know the price.
            _money(part.get("cost")) or None,
            context_tokens=_number(tokens.get("total")),
        )
    )


# ── all of them ─────────────────────────────────────────────────────────────────────────────────────────────────

READERS: Mapping[str, Reader] = {
    "claude": claude,
    "qwen": qwen,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
}
CUMULATIVE = frozenset({"codex"})
"""Those that count a conversation's earlier runs among what was spent."""


def complaint(stream: str, line: str) -> Iterator[Item]:
    """What a line on standard error tells beside its words: gemini speaks of its retries nowhere else."""
    found = re.match(r"Attempt (\d+) failed with status (\d+)", line) if stream == "gemini" else None
    if found:
        reason = "rate limit" if found[2] == "429" else f"error {found[2]}"
        yield State("limited", f"{reason} · retry {found[1]}")
