"""Wording of headless events: tool calls, their results, retries and errors as text for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fleet_tui.programs.events import EventContext, EventItem, OutputText, StateChange
from fleet_tui.programs.json_values import JsonObject, integer, parsed, string, table
from fleet_tui.text import cut

OUTPUT_LINES = 10
"""Lines of a command's output that the terminal shows; the model has seen all of them."""
LINE_LIMIT = 400

SHELLS = {"Bash", "bash", "run_shell_command", "shell", "exec_command"}
_WRITERS = {"Write", "write", "write_file"}
_EDITORS = {"Edit", "MultiEdit", "NotebookEdit", "edit", "replace", "patch", "apply_patch", "multiedit"}
_SUBJECTS = (
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
"""Arguments that say what a call is about, the most specific first."""


def reasoning(text: str) -> Iterator[OutputText]:
    line = " ".join(text.split())
    if line:
        yield OutputText(f"… {shortened(line, 100)}", "dim")


def shortened(text: str, limit: int = LINE_LIMIT) -> str:
    """The text within the length of a line of the terminal."""
    return cut(text, limit)


def relative(path: str, context: EventContext) -> str:
    """A path as seen from the program's working directory."""
    return path.removeprefix(context.folder.rstrip("/") + "/") if context.folder else path


def tool_call(name: str, arguments: JsonObject, context: EventContext) -> OutputText:
    subject = next((string(arguments.get(key)) for key in _SUBJECTS if string(arguments.get(key))), "")
    if name in SHELLS:
        return shell_command(string(arguments.get("command")) or string(arguments.get("cmd")))
    if name in _WRITERS:
        return OutputText(f"write {relative(subject, context)}", "command")
    if name in _EDITORS:
        return OutputText(f"edit {relative(subject, context)}", "command")
    return OutputText(shortened(f"{name} {relative(' '.join(subject.split()), context)}".rstrip()), "command")


def shell_command(line: str) -> OutputText:
    return OutputText("$ " + line.strip().replace("\n", "\n  "), "command")


def tool_outcome(name: str, text: str, *, failed: bool) -> Iterator[OutputText]:
    """The result of a call: the output of commands, and the text of anything that failed."""
    lines = text.strip("\n").splitlines()
    if failed:
        yield OutputText(indented(lines[:OUTPUT_LINES] or ["failed"]), "error")
    elif name in SHELLS and lines:
        more = len(lines) - OUTPUT_LINES
        shown = lines if more <= 1 else [*lines[:OUTPUT_LINES], f"… {more} more lines"]
        yield OutputText(indented(shown), "dim")


def indented(lines: list[str]) -> str:
    return "\n".join("  " + shortened(line) for line in lines)


def retry(reason: str, attempt: Any, most: Any = None, seconds: float | None = None) -> Iterator[EventItem]:
    words = f"retry {integer(attempt) or ''}".rstrip() + (f" of {integer(most)}" if integer(most) else "")
    text = f"{reason} · {words}" + (f" in {seconds:.0f} s" if seconds else "")
    yield OutputText(text, "dim")
    yield StateChange("limited", text)


def error_message(text: str) -> str:
    """The message inside an error that came as JSON; the text itself if there is none."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    inner = parsed(found[0]) if found else {}
    return string(table(inner.get("error", inner)).get("message")) or text


def is_quota(text: str) -> bool:
    return bool(re.search(r"usage limit|quota|rate limit|\b429\b", text, re.IGNORECASE))
