"""Reads the events of `codex exec --json`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from fleet_tui.programs.event_wording import (
    error_message,
    is_quota,
    reasoning,
    relative,
    retry,
    shell_command,
    shortened,
    tool_outcome,
)
from fleet_tui.programs.events import (
    DeniedCall,
    EventContext,
    EventItem,
    OutputText,
    StateChange,
    TextStyle,
    TokenUsage,
    TurnEnd,
    session_id,
)
from fleet_tui.programs.json_values import JsonObject, array, difference, integer, string, table

_READ_ONLY = re.compile(r"read-only file system", re.IGNORECASE)
"""The error of a change that the sandbox of Codex refuses. No event reports the refusal."""


def read(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    kind = string(event.get("type"))
    if kind == "thread.started":
        yield from session_id(event.get("thread_id"))
    elif kind == "turn.started":
        yield StateChange("working")
    elif kind in ("item.started", "item.completed"):
        yield StateChange("working")
        yield from _item(table(event.get("item")), context, is_over=kind == "item.completed")
    elif kind == "error":
        yield from _error(string(event.get("message")))
    elif kind == "turn.completed":
        yield _usage(table(event.get("usage")))
        yield TurnEnd(is_error=False)
    elif kind == "turn.failed":
        text = error_message(string(table(event.get("error")).get("message")))
        yield TurnEnd(True, text, is_limited=is_quota(text))


def _error(text: str) -> Iterator[EventItem]:
    found = re.match(r"Reconnecting\.\.\. (\d{1,9})/(\d{1,9})(?: \((.*)\))?", text, re.DOTALL)
    if found is None:
        # The same message comes again as the reason for the failed turn.
        return
    reason = found[3] or "connection lost"
    yield from retry(
        "rate limit" if is_quota(reason) else error_message(reason), int(found[1]), int(found[2])
    )


def _item(item: JsonObject, context: EventContext, *, is_over: bool) -> Iterator[EventItem]:
    kind = string(item.get("type"))
    failed = item.get("status") in ("failed", "declined")
    if kind in ("command_execution", "mcp_tool_call"):
        known = context.call_ended(item.get("id"))
        if not known:
            yield _call(kind, item)
        if not is_over:
            context.call_started(item.get("id"), kind)
        elif kind == "command_execution":
            yield from _outcome(item, failed=failed)
            output = string(item.get("aggregated_output"))
            if item.get("status") == "declined" or (failed and _READ_ONLY.search(output)):
                yield DeniedCall(_call(kind, item).text)
        else:
            error = item.get("error")
            text = string(table(error).get("message")) or string(error)
            yield from tool_outcome("", text, failed=failed or bool(error))
    elif is_over:
        yield from _said(kind, item, context)


def _call(kind: str, item: JsonObject) -> OutputText:
    if kind == "command_execution":
        return shell_command(_unwrapped(string(item.get("command"))))
    return OutputText(f"{string(item.get('server'))} {string(item.get('tool'))}".strip(), "command")


def _unwrapped(command: str) -> str:
    """The command without the shell that Codex wraps around it."""
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    is_wrapped = len(parts) == 3 and parts[0].endswith("sh") and parts[1] in ("-lc", "-c")
    return parts[2] if is_wrapped else command


def _outcome(item: JsonObject, *, failed: bool) -> Iterator[OutputText]:
    output, code = string(item.get("aggregated_output")), integer(item.get("exit_code"))
    yield from tool_outcome("Bash", output, failed=False)
    if failed:
        yield OutputText(f"  exit code {code}" if code is not None else f"  {item.get('status')}", "error")


def _said(kind: str, item: JsonObject, context: EventContext) -> Iterator[EventItem]:
    if kind == "agent_message" and string(item.get("text")).strip():
        yield OutputText(string(item.get("text")).strip())
    elif kind == "reasoning":
        yield from reasoning(string(item.get("text")))
    elif kind == "file_change":
        words = {"add": "write", "delete": "remove"}
        for change in map(table, array(item.get("changes"))):
            word = words.get(string(change.get("kind")), "edit")
            style: TextStyle = "error" if item.get("status") in ("failed", "declined") else "command"
            said = f"{word} {relative(string(change.get('path')), context)}"
            yield OutputText(said, style)
            if item.get("status") == "declined":
                yield DeniedCall(said)
    elif kind == "web_search":
        yield OutputText(shortened(f"searched for {string(item.get('query'))}"), "command")
    elif kind == "todo_list":
        items = [table(one) for one in array(item.get("items"))]
        done = sum(one.get("completed") is True for one in items)
        yield OutputText(f"{done} of {len(items)} steps done", "dim")
    elif kind == "error":
        # Warnings come as such items, too. An error that ends the turn comes as `turn.failed`.
        yield OutputText(error_message(string(item.get("message"))), "dim")


def _usage(usage: JsonObject) -> TokenUsage:
    return TokenUsage(
        difference(usage.get("input_tokens"), usage.get("cached_input_tokens")),
        integer(usage.get("cached_input_tokens")),
        integer(usage.get("output_tokens")),
    )
