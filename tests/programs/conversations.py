"""Recorded conversations of the real programs, laid where each program would have written them.

Every answer in them took 312 tokens sent anew, 2000 found in the cache and 42 answered.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from fleet_tui.programs.records import parse_time
from tests.places import RECORDINGS

FOLDER = RECORDINGS / "conversations"
BEFORE = parse_time("2026-11-17T18:40:00Z")
"""A moment before any of them."""


def text(name: str, worktree: str) -> str:
    return (FOLDER / name).read_text().replace("{worktree}", worktree)


def lay(name: str, home: Path, worktree: str, *, variant: str = "") -> Path:
    """A recording of that program as a file in the home; returns the file."""
    file = _PLACES[name](home, worktree)
    file.parent.mkdir(parents=True, exist_ok=True)
    if name == "opencode":
        with closing(sqlite3.connect(file)) as db:
            db.executescript(text("opencode.sql", worktree))
        return file
    file.write_text(text(f"{variant or name}.jsonl", worktree))
    return file


def _claude(home: Path, worktree: str) -> Path:
    folder = re.sub("[^a-zA-Z0-9]", "-", worktree)
    return home / ".claude" / "projects" / folder / "705a3c86-45ec-401d-a925-c6a5a26a0a20.jsonl"


def _codex(home: Path, worktree: str) -> Path:
    name = f"rollout-2026-11-17T18-55-26-{hashlib.md5(worktree.encode()).hexdigest()}.jsonl"
    return home / ".codex" / "sessions" / "2026" / "11" / "17" / name


def _gemini(home: Path, worktree: str) -> Path:
    own = home / ".gemini"
    own.mkdir(exist_ok=True)
    (own / "projects.json").write_text(json.dumps({"projects": {worktree: "work"}}))
    return own / "tmp" / "work" / "chats" / "session-2026-11-17T18-55-8ff76069.jsonl"


def _qwen(home: Path, worktree: str) -> Path:
    folder = re.sub("[^a-zA-Z0-9]", "-", worktree)
    return home / ".qwen" / "projects" / folder / "chats" / "eb1e3227-b986-4740-8749-76221f848448.jsonl"


def _opencode(home: Path, worktree: str) -> Path:
    return home / ".local" / "share" / "opencode" / "opencode.db"


_PLACES: dict[str, Callable[[Path, str], Path]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "qwen": _qwen,
}


def touch(file: Path) -> None:
    """Move a file's modification time by more than the resolution of any clock."""
    at = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(at, at))
