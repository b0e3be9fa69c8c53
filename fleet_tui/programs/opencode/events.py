"""Reads the events of `opencode run --format json`."""

from __future__ import annotations

from collections.abc import Iterator

from fleet_tui.programs.event_wording import is_quota, reasoning, tool_call, tool_outcome
from fleet_tui.programs.events import (
    DeniedCall,
    EventContext,
    EventItem,
    OutputText,
    StateChange,
    StepUsage,
    TokenUsage,
    TurnEnd,
    session_id,
)
from fleet_tui.programs.json_values import JsonObject, decimal, integer, string, sum_of, table


def read(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    kind, part = string(event.get("type")), table(event.get("part"))
    yield from session_id(event.get("sessionID"))
    if kind == "step_start":
        yield StateChange("working")
    elif kind == "text" and string(part.get("text")).strip():
        yield OutputText(string(part.get("text")).strip())
    elif kind == "reasoning":
        yield from reasoning(string(part.get("text")))
    elif kind == "tool_use":
        yield from _tool(string(part.get("tool")), table(part.get("state")), context)
    elif kind == "step_finish":
        yield _usage(part)
        if part.get("reason") == "stop":
            yield TurnEnd(is_error=False)
    elif kind == "error":
        error = table(event.get("error"))
        text = string(table(error.get("data")).get("message")) or string(error.get("name")) or "it failed"
        yield TurnEnd(True, text, is_limited=is_quota(text))


def _tool(name: str, state: JsonObject, context: EventContext) -> Iterator[EventItem]:
    said = tool_call(name, table(state.get("input")), context)
    yield said
    error = string(state.get("error"))
    code = integer(table(state.get("metadata")).get("exit"))
    output = string(state.get("output"))
    yield from tool_outcome(name, error or ("" if output == "(no output)" else output), failed=bool(error))
    if code:
        yield OutputText(f"  exit code {code}", "error")
    if "rejected permission" in error or "denied" in error:
        yield DeniedCall(said.text)


def _usage(part: JsonObject) -> StepUsage:
    tokens = table(part.get("tokens"))
    cache = table(tokens.get("cache"))
    return StepUsage(
        TokenUsage(
            sum_of(tokens.get("input"), cache.get("write")),
            integer(cache.get("read")),
            sum_of(tokens.get("output"), tokens.get("reasoning")),
            # OpenCode writes 0 if it does not know the price.
            decimal(part.get("cost")) or None,
            context_tokens=integer(tokens.get("total")),
        )
    )
