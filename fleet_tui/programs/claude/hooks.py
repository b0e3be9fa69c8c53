"""Hooks of Claude Code, and of the programs that have copied its format: the conversation's id and prompts taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui.programs.json_values import at_path


def session_started(payload: Mapping[str, Any]) -> str:
    """The id of the conversation that a hook reports as started; empty for any other hook."""
    session = at_path(payload, "session_id")
    is_start = at_path(payload, "hook_event_name") == "SessionStart"
    return session if is_start and isinstance(session, str) else ""


def prompt_taken(payload: Mapping[str, Any]) -> str | None:
    """The text of the prompt that a hook reports as submitted; None for any other hook."""
    prompt = at_path(payload, "prompt")
    is_prompt = at_path(payload, "hook_event_name") == "UserPromptSubmit"
    return prompt if is_prompt and isinstance(prompt, str) else None
