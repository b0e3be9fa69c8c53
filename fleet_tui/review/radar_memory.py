"""What the radar remembers of a repository between its checks: outcomes of merges, and since when there is a conflict.

A file in the cache: without it, everything is merged again, and conflicts are as old as the check that finds them.
Several processes may write it; the last one wins.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fleet_tui import paths
from fleet_tui.system import files

MOST = 5000
"""Outcomes beside those in use: agents may go back to what they had."""
_LIMIT = 32 << 20
FORMAT = 1

PairOfCommits = tuple[str, str]
MergeOutcome = tuple[str, ...] | None
"""The files that conflict, none if the two merge; None if they have no commit in common."""


class RadarMemory:
    def __init__(self, git_dir: Path) -> None:
        import hashlib

        self._name = hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16] + ".json"
        self._stamp: tuple[int, int] | None = None
        self._outcomes: dict[str, MergeOutcome] = {}
        self._since: dict[str, float] = {}
        self._is_changed = False

    @property
    def _file(self) -> Path:
        """Its folder is made again if somebody has cleaned the cache."""
        return paths.private(paths.cache() / "radar") / self._name

    def read(self) -> None:
        """Take what another process has written since."""
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            file = self._file
            found = file.stat()
            stamp = (found.st_mtime_ns, found.st_ino)
            if stamp == self._stamp:
                return
            values = json.loads(files.read(file, limit=_LIMIT))
            if values["format"] != FORMAT:
                return
            outcomes = {str(key): _outcome(value) for key, value in values["outcomes"].items()}
            since = {str(key): float(value) for key, value in values["since"].items()}
            self._outcomes = outcomes | self._outcomes
            self._since = since
            self._stamp = stamp

    def write(self) -> None:
        """Keep what has come, if anything has; a full disk costs only time."""
        if not self._is_changed:
            return
        self._is_changed = False
        values = {"format": FORMAT, "since": self._since, "outcomes": self._outcomes}
        with contextlib.suppress(OSError):
            file = self._file
            files.replace(file, json.dumps(values, separators=(",", ":")).encode())
            found = file.stat()
            self._stamp = (found.st_mtime_ns, found.st_ino)

    def knows(self, pair: PairOfCommits) -> bool:
        return " ".join(sorted(pair)) in self._outcomes

    def outcome(self, pair: PairOfCommits) -> MergeOutcome:
        return self._outcomes[" ".join(sorted(pair))]

    def learn(self, found: Mapping[PairOfCommits, MergeOutcome]) -> None:
        for pair, outcome in found.items():
            self._outcomes[" ".join(sorted(pair))] = outcome
            self._is_changed = True

    def forget_all_but(self, used: Iterable[PairOfCommits]) -> None:
        """Forget the oldest outcomes, if there are too many, but none of those in use."""
        if len(self._outcomes) <= MOST:
            return
        kept = {key: self._outcomes[key] for key in (" ".join(sorted(pair)) for pair in used)}
        if len(self._outcomes) > len(kept) + MOST:
            others = [one for one in self._outcomes.items() if one[0] not in kept]
            self._outcomes = dict(others[-MOST // 2 :]) | kept
            self._is_changed = True

    def since(self, there: Iterable[tuple[str, str]], now: float) -> dict[tuple[str, str], float]:
        """Since when each of these conflicts is there, by its two sides; conflicts that are not named are over."""
        found = {pair: self._since.get(" ".join(pair), now) for pair in there}
        kept = {" ".join(pair): at for pair, at in found.items()}
        if kept != self._since:
            self._since, self._is_changed = kept, True
        return found


def _outcome(value: object) -> MergeOutcome:
    if value is None:
        return None
    if not isinstance(value, list):
        raise TypeError("not a list of files")
    return tuple(map(str, value))
