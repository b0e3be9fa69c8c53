"""Reads Qwen Code's `--output-format stream-json`: Claude Code's events with two differences."""

from __future__ import annotations

from collections.abc import Iterator

from fleet_tui.fast_dataclasses import replace
from fleet_tui.programs.claude import events as claude
from fleet_tui.programs.events import EventContext, EventItem, OutputText, TokenUsage
from fleet_tui.programs.json_values import JsonObject, difference


def read(event: JsonObject, context: EventContext) -> Iterator[EventItem]:
    for item in claude.read(event, context):
        if isinstance(item, TokenUsage) and item.input_tokens is not None:
            # Qwen Code counts cached tokens as input, too.
            yield replace(item, input_tokens=difference(item.input_tokens, item.cached_tokens))
        elif isinstance(item, OutputText) and item.text.startswith("[API Error:"):
            yield replace(item, style="error")
        else:
            yield item
