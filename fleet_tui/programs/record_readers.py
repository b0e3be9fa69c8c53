"""Registry of the programs whose records can be read, by the name that a profile gives in `spending.reader`.

Records are found by the folder that a conversation was held in, and every agent has a worktree of its own. Malformed
content is skipped: the formats belong to the programs and change with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from fleet_tui.programs.claude import records as claude
from fleet_tui.programs.codex import records as codex
from fleet_tui.programs.gemini import records as gemini
from fleet_tui.programs.json_values import JsonObject
from fleet_tui.programs.opencode import records as opencode
from fleet_tui.programs.qwen import records as qwen
from fleet_tui.programs.records import Conversation, Record


class RecordReader(Protocol):
    """How one program's records are read. Each program's module `records` is one."""

    COMPANIONS: tuple[str, ...]
    """Suffixes of files beside a record that change in its place."""
    CALL_MARK: bytes
    """Bytes in every line that has a tool call; empty if lines of the record cannot be read one by one."""

    def conversations(
        self, environment: Mapping[str, str], worktree: str, since: float
    ) -> list[Conversation]:
        """The conversations held in a folder that were written to since a moment."""
        ...

    def watched(self, environment: Mapping[str, str], worktree: str) -> list[Path]:
        """Files and folders that change when another conversation begins."""
        ...

    def read(self, record: Record) -> None:
        """Add what was written since the last read."""
        ...

    def tool_calls(self, entry: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
        """The tool calls in one line: tool, arguments and call id."""
        ...


def environment(profile: Mapping[str, str], agent: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide where a program keeps its records: the process's, its profile's, then the agent's."""
    return {**os.environ, **profile, **agent}


def place(worktree: str) -> str:
    """The worktree's path as the program sees it."""
    return os.path.realpath(worktree)


RECORD_READERS: Mapping[str, RecordReader] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "qwen": qwen,
}
