"""Log of permission decisions: one line of JSON per tool use, also in shadow mode.

Holders write it, so writing never fails the caller and imports nothing later. The command line reads it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fleet_tui.fast_dataclasses import asdict, dataclass
from fleet_tui.permissions.policy import Decision
from fleet_tui.permissions.rules import DECISIONS, Mode
from fleet_tui.permissions.tool_use import ToolUse

LIMIT = 8 * 1024 * 1024
"""Bytes after which the log is rotated to `.old`, replacing the one before."""


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """One tool use, and what was or would have been decided."""

    at: float
    agent: str
    tool: str
    what: str
    decision: str
    rule: str
    why: str
    mode: str
    """`on`: the decision took effect; `shadow`: it was only logged."""


def record(file: Path, agent: str, request: ToolUse, decision: Decision, mode: Mode, at: float) -> bool:
    """Append one line. Returns False on failure, which no caller treats as an error."""
    entry = LoggedDecision(
        at, agent, request.tool, request.what, decision.decision, decision.rule, decision.why, mode
    )
    line = json.dumps(asdict(entry)).encode() + b"\n"
    try:
        _append(file, line)
    except OSError:
        return False
    return True


def _append(file: Path, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(file, flags, 0o600)
    try:
        os.write(descriptor, line)  # one write: several holders append to this file
        written = os.fstat(descriptor)
        # Another holder may have rotated it meanwhile.
        if written.st_size > LIMIT and os.path.samestat(written, file.stat()):
            file.replace(file.with_name(file.name + ".old"))
    finally:
        os.close(descriptor)


def entries(file: Path) -> list[LoggedDecision]:
    """All readable entries, oldest first."""
    return [*_read(file.with_name(file.name + ".old")), *_read(file)]


def _read(file: Path) -> Iterator[LoggedDecision]:
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        # A full disk truncates lines.
        try:
            found = json.loads(line)
            yield LoggedDecision(
                float(found["at"]), *(str(found[name]) for name in LoggedDecision.__slots__ if name != "at")
            )
        except (ValueError, KeyError, TypeError):
            continue


def totals(decisions: Iterable[LoggedDecision]) -> str:
    """A summary: allowed 3, asked 1, denied 0; would have …"""
    counts = Counter((one.mode, one.decision) for one in decisions)
    words = {"allow": "allowed", "ask": "asked", "deny": "denied"}

    def said(mode: str, before: str) -> str:
        if not any(counts[mode, decision] for decision in DECISIONS):
            return ""
        return before + ", ".join(f"{words[decision]} {counts[mode, decision]}" for decision in DECISIONS)

    return "; ".join(filter(None, (said("on", ""), said("shadow", "would have "))))
