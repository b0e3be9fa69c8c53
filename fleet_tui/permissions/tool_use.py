"""Tool use: what an agent asks permission for, and which commands and paths it is about.

Rules name tools, not programs, so the few tools that are read in a way of their own are one list for all programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.text import flat

PERSONAL = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools that ask the user a question: no rule can answer it."""
WHAT_LIMIT = 400

_PATCH = "apply_patch"
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.*)$", re.MULTILINE)
COMMAND_KEYS = ("command", "cmd")
_PATH_KEY = re.compile(r"(?:path|file|dir|directory|folder|cwd|root)s?$", re.IGNORECASE)
_TEXT_KEYS = frozenset(
    {"content", "old_string", "new_string", "new_source", "description", "prompt", "query", "url", "text"}
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that an agent asks permission for, as its hook reports it."""

    tool: str
    input: Mapping[str, Any]
    cwd: str
    """The program's current folder, possibly outside the worktree."""
    worktree: str = ""
    """The agent's worktree; `cwd` if empty."""

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], worktree: str = "") -> ToolUse:
        """Read the JSON that a program gives to its PermissionRequest hook."""
        tool, given, cwd = payload.get("tool_name"), payload.get("tool_input"), payload.get("cwd")
        return cls(
            tool if isinstance(tool, str) else "",
            given if isinstance(given, Mapping) else {},
            cwd if isinstance(cwd, str) and cwd else worktree,
            worktree,
        )

    @property
    def command(self) -> str | tuple[str, ...] | None:
        """The command line, or program and arguments; None for a tool that runs no command."""
        if self.tool == _PATCH:
            return None
        for key in COMMAND_KEYS:
            found = self.input.get(key)
            if isinstance(found, str):
                return found
            if isinstance(found, list | tuple) and found and all(isinstance(one, str) for one in found):
                return tuple(found)
        return None

    @property
    def what(self) -> str:
        """One line for the user: the command, or the paths, or all arguments."""
        command = self.command
        if command is not None:
            text = command if isinstance(command, str) else " ".join(command)
        else:
            paths = list(paths_of(self))
            text = (
                " ".join(paths) if paths else ", ".join(f"{key}={value}" for key, value in self.input.items())
            )
        return flat(text)[:WHAT_LIMIT]


def paths_of(request: ToolUse) -> Iterator[str]:
    """Every path that the tool names as one, and every value of an unknown key that looks like one."""
    if request.tool == _PATCH:
        yield from _patched(request.input)
        return
    yield from path_values(request.input)
    pattern = request.input.get("pattern")
    if request.tool == "Glob" and isinstance(pattern, str):
        yield pattern
    if request.tool in ("Glob", "Grep", "LS") and "path" not in request.input:
        yield "."


def _patched(given: Mapping[str, Any]) -> Iterator[str]:
    for text in _strings(given):
        yield from (path.strip() for path in _PATCHED.findall(text))


def path_values(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, str):
        is_elsewhere = value.startswith(("/", "~")) or ".." in value.split("/")
        if _PATH_KEY.search(key) or (is_elsewhere and "\n" not in value and key not in _TEXT_KEYS):
            yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from path_values(one, str(name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from path_values(one, key)


def texts_of(value: object) -> list[str]:
    """Every text that could be a path, under any key."""
    return [text for text in _strings(value) if text and len(text) < 4096 and "\n" not in text]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
