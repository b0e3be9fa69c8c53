"""Retention of raw output: the size of all agents' segments, and eviction beyond the user's limit."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from fleet_tui.holder.transcript.segments import Segment, list_segments


def total_size(agents_folder: Path) -> int:
    """Total bytes of all agents' raw output."""
    return sum(segment.size for agent in _agents(agents_folder) for segment in agent.segments)


def evict(agents_folder: Path, cap: int, keep: Collection[str]) -> list[Path]:
    """Delete segments until all fit the cap, starting with the agents that ended first.

    Agents whose id is in `keep` (the live ones) are left alone, as are files other than segments.
    """
    agents = _agents(agents_folder)
    excess = sum(segment.size for agent in agents for segment in agent.segments) - cap
    deleted: list[Path] = []
    for agent in sorted(
        (agent for agent in agents if agent.id not in keep), key=lambda agent: agent.last_output
    ):
        for segment in agent.segments:
            if excess <= 0:
                return deleted
            try:
                segment.path.unlink()
            except OSError:
                continue
            excess -= segment.size
            deleted.append(segment.path)
    return deleted


class _Output(NamedTuple):
    """All raw output of one agent, oldest run first."""

    id: str
    segments: list[Segment]
    last_output: float


def _agents(agents_folder: Path) -> list[_Output]:
    found = []
    for agent_id, folder in _folders(agents_folder):
        runs = sorted(_folders(folder), key=lambda run: (len(run[0]), run[0]))
        output = [segment for _, run in runs for segment in list_segments(run)]
        if output:
            found.append(_Output(agent_id, output, max(_modified(segment.path) for segment in output)))
    return found


def _folders(parent: Path) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield entry.name, Path(entry.path)
    except OSError:
        return


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
