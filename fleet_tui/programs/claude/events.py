"""Reads Claude Code's `--output-format stream-json`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from fleet_tui.programs.event_wording import (
    indented,
    is_quota,
    reasoning,
    retry,
    shortened,
    tool_call,
    tool_outcome,
)
from fleet_tui.programs.events import (
    DeniedCall,
    EventContext,
    EventItem,
    OutputText,
    ReadEvent,
    StateChange,
    TokenUsage,
    TurnEnd,
    session_id,
)
from fleet_tui.programs.json_values import JsonObject, array, decimal, integer, string, sum_of, table

_LAST_TIME = 2**32
"""Seconds since the epoch; platforms cannot format every later time."""


def read(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    reader = _READERS.get(string(event.get("type")))
    if reader is not None:
        yield from reader(event, context)


def _system(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    kind = event.get("subtype")
    if kind == "init":
        context.model = string(event.get("model"))
        yield from session_id(event.get("session_id"))
        mode = string(event.get("permissionMode")) or string(event.get("permission_mode"))
        yield OutputText(" · ".join(filter(None, (context.model, mode))), "dim")
        yield StateChange("working")
    elif kind == "api_retry":
        reason = shortened(string(event.get("error")).replace("_", " ")) or "error"
        delay = integer(event.get("retry_delay_ms"))
        yield from retry(
            reason, event.get("attempt"), event.get("max_retries"), None if delay is None else delay / 1000
        )
    elif kind == "compact_boundary":
        yield OutputText("the conversation was compacted", "dim")


def _limit(event: JsonObject, _: EventContext) -> Iterator[EventItem]:
    info = table(event.get("rate_limit_info"))
    resets = integer(info.get("resetsAt"))
    if info.get("status") == "rejected":
        known = resets is not None and resets < _LAST_TIME
        when = f"resets {time.strftime('%H:%M', time.localtime(resets))}" if known else "reset time unknown"
        yield OutputText(f"usage limit · {when}", "dim")
        yield StateChange("limited", when)


def _assistant(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    message = table(event.get("message"))
    is_own = not event.get("parent_tool_use_id")
    yield StateChange("working")
    for block in map(table, array(message.get("content"))):
        for said in _block(block, context, is_error=event.get("is_api_error_message") is True):
            yield said if is_own else OutputText(indented(said.text.splitlines()), "dim")
    usage = table(message.get("usage"))
    taken = sum_of(
        usage.get("input_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cache_creation_input_tokens"),
    )
    if is_own and taken:
        yield TokenUsage(context_tokens=taken, model=string(message.get("model")) or None)


def _block(block: JsonObject, context: EventContext, *, is_error: bool) -> Iterator[OutputText]:
    kind = block.get("type")
    if kind == "text" and string(block.get("text")).strip():
        yield OutputText(string(block.get("text")).strip(), "error" if is_error else "plain")
    elif kind == "thinking":
        yield from reasoning(string(block.get("thinking")))
    elif kind == "tool_use":
        name = string(block.get("name"))
        context.call_started(block.get("id"), name)
        yield tool_call(name, table(block.get("input")), context)


def _user(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    for block in map(table, array(table(event.get("message")).get("content"))):
        if block.get("type") == "tool_result":
            name = context.call_ended(block.get("tool_use_id"))
            text = _output(block.get("content"))
            if not event.get("parent_tool_use_id"):
                yield from tool_outcome(name, text, failed=block.get("is_error") is True)


def _output(content: Any) -> str:
    if isinstance(content, str):
        return "" if content == "(Bash completed with no output)" else content
    return "\n".join(string(table(part).get("text")) for part in array(content))


def _result(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    yield _total(event, context)
    for denial in map(table, array(event.get("permission_denials"))):
        said = tool_call(string(denial.get("tool_name")), table(denial.get("tool_input")), context)
        yield DeniedCall(said.text)
    failed = event.get("is_error") is True
    text = ""
    if failed:
        text = string(event.get("result")) or string(table(event.get("error")).get("message"))
        text = text or " ".join(map(string, array(event.get("errors")))) or string(event.get("subtype"))
    limited = failed and (event.get("api_error_status") == 429 or is_quota(text))
    yield TurnEnd(failed, text, integer(event.get("num_turns")), limited)


def _total(event: JsonObject, context: EventContext) -> TokenUsage:
    by_model = {name: table(one) for name, one in table(event.get("modelUsage")).items()}
    cost = decimal(event.get("total_cost_usd"))
    if by_model:
        main = by_model.get(context.model) or next(iter(by_model.values()))
        ones = list(by_model.values())
        return TokenUsage(
            sum_of(*(one.get(key) for one in ones for key in ("inputTokens", "cacheCreationInputTokens"))),
            sum_of(*(one.get("cacheReadInputTokens") for one in ones)),
            sum_of(*(one.get("outputTokens") for one in ones)),
            cost,
            context_limit=integer(main.get("contextWindow")),
        )
    usage = table(event.get("usage"))
    return TokenUsage(
        sum_of(usage.get("input_tokens"), usage.get("cache_creation_input_tokens")),
        integer(usage.get("cache_read_input_tokens")),
        integer(usage.get("output_tokens")),
        cost,
    )


_READERS: Mapping[str, ReadEvent] = {
    "system": _system,
    "assistant": _assistant,
    "user": _user,
    "result": _result,
    "rate_limit_event": _limit,
}
