"""The log of what was decided about agents' requests: one line of JSON each, also where the policy only watches.

Written from inside the holders, so writing never fails its caller and imports nothing later; read by the command line.
What is allowed is `policy`'s business.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from fleet_tui.policy import DECISIONS, Mode, Request, Verdict
from fleet_tui.values import asdict, dataclass

LIMIT = 8 * 1024 * 1024
"""Bytes after which the log is put aside as `.old`, over the one before."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One request and what was, or would have been, decided."""

    at: float
    agent: str
    tool: str
    what: str
    decision: str
    rule: str
    why: str
    mode: str
    """`on`: it was done; `shadow`: it was only thought."""


def record(file: Path, agent: str, request: Request, verdict: Verdict, mode: Mode, at: float) -> bool:
    """Append one line; False where that did not work, which is nobody's reason to stop."""
    entry = Approval(at, agent, request.tool, request.what, verdict.decision, verdict.rule, verdict.why, mode)
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
        os.write(descriptor, line)  # in one piece: several holders write to this file
        written = os.fstat(descriptor)
        # Another holder may have seen it full, too, and put a fresh one in its place.
        if written.st_size > LIMIT and os.path.samestat(written, file.stat()):
            file.replace(file.with_name(file.name + ".old"))
    finally:
        os.close(descriptor)


def entries(file: Path) -> list[Approval]:
    """All of the log that can be read, oldest first; no log is an empty one."""
    return [*_read(file.with_name(file.name + ".old")), *_read(file)]


def _read(file: Path) -> Iterator[Approval]:
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        # A line that was cut when the disk was full says nothing.
        try:
            found = json.loads(line)
            yield Approval(
                float(found["at"]), *(str(found[name]) for name in Approval.__slots__ if name != "at")
            )
        except (ValueError, KeyError, TypeError):
            continue


def totals(approvals: Iterable[Approval]) -> str:
    """In words: what was decided, and what would have been."""
    counts = Counter((one.mode, one.decision) for one in approvals)
    words = {"allow": "allowed", "ask": "asked", "deny": "denied"}

    def said(mode: str, before: str) -> str:
        if not any(counts[mode, decision] for decision in DECISIONS):
            return ""
        return before + ", ".join(f"{words[decision]} {counts[mode, decision]}" for decision in DECISIONS)

    return "; ".join(filter(None, (said("on", ""), said("shadow", "would have "))))
