"""What agent programs write down about their conversations, read and never written.

One module per program knows where its records are and what a line of them says; all of them are looked up by the
folder that a conversation was held in, and an agent's worktree is nobody else's. What is malformed is passed over:
the formats are the programs' own and change with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from fleet_tui.records import claude, codex, gemini, opencode, qwen
from fleet_tui.records.record import MALFORMED, Conversation, Record

__all__ = ["MALFORMED", "READERS", "Conversation", "Reader", "Record"]


class Reader(Protocol):
    """How one program's records are read; each is a module."""

    COMPANIONS: tuple[str, ...]
    """Ends of the names of files beside a record that change instead of it."""

    def conversations(
        self, environment: Mapping[str, str], worktree: str, since: float
    ) -> list[Conversation]:
        """Those that were held in a folder and have begun or gone on since a moment."""
        ...

    def watched(self, environment: Mapping[str, str], worktree: str) -> list[Path]:
        """What changes when there is another conversation."""
        ...

    def read(self, record: Record) -> None:
        """Add what was written since it was last read."""
        ...


READERS: Mapping[str, Reader] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "qwen": qwen,
}
