"""Reads Gemini CLI's `--output-format stream-json`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleet_tui.programs.event_wording import SHELLS, error_message, is_quota, tool_call, tool_outcome
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
from fleet_tui.programs.json_values import JsonObject, difference, integer, string, table


def read(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    kind = string(event.get("type"))
    if kind == "init":
        context.model = string(event.get("model"))
        yield from session_id(event.get("session_id"))
        yield StateChange("working")
    elif kind == "message" and event.get("role") == "assistant":
        yield StateChange("working")
        yield OutputText(string(event.get("content")), is_open=event.get("delta") is True)
    elif kind == "tool_use":
        name = string(event.get("tool_name"))
        context.call_started(event.get("tool_id"), name)
        yield tool_call(name, table(event.get("parameters")), context)
    elif kind == "tool_result":
        yield from _outcome(event, context)
    elif kind == "error":
        style: TextStyle = "dim" if event.get("severity") == "warning" else "error"
        yield OutputText(error_message(string(event.get("message"))), style)
    elif kind == "result":
        yield _usage(table(event.get("stats")))
        text = error_message(string(table(event.get("error")).get("message")))
        failed = event.get("status") != "success"
        yield TurnEnd(failed, text if failed else "", is_limited=failed and is_quota(text))


def _outcome(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    name = context.call_ended(event.get("tool_id"))
    failed = event.get("status") == "error"
    error = string(table(event.get("error")).get("message"))
    text = string(event.get("output")) or error
    failed_command = re.search(r"Command exited with code: [1-9]", text) is not None
    yield from tool_outcome(name, text, failed=failed or (name in SHELLS and failed_command))
    if failed and re.search(r"denied by policy", text, re.IGNORECASE):
        yield DeniedCall(name or "a tool")


def _usage(stats: JsonObject) -> TokenUsage:
    models = {
        name: integer(table(one).get("total_tokens")) or 0 for name, one in table(stats.get("models")).items()
    }
    return TokenUsage(
        difference(stats.get("input_tokens"), stats.get("cached")),
        integer(stats.get("cached")),
        integer(stats.get("output_tokens")),
        model=max(models, key=lambda name: models[name]) if any(models.values()) else None,
    )


def read_error(line: str) -> Iterator[EventItem]:
    """A line of standard error. Gemini CLI reports its retries only there."""
    found = re.match(r"Attempt (\d+) failed with status (\d+)", line)
    if found:
        reason = "rate limit" if found[2] == "429" else f"error {found[2]}"
        yield StateChange("limited", f"{reason} · retry {found[1]}")
