"""A timeline made by hand, as in the design, and a worker that answers from it."""

from __future__ import annotations

from typing import Any

from fleet_tui.fast_dataclasses import replace
from fleet_tui.work import (
    Checkpoint,
    CheckpointKind,
    CheckRun,
    CheckState,
    Diff,
    FileDiff,
    RestoredFiles,
    Timeline,
)
from tests.tui import fleet_states
from tests.tui.dashboard_app import StillWorker
from tests.tui.review_states import AGENT, SESSION, TEXTS, changed, hunks_of

MINUTE = 60.0
TURN, NAMED, SAVED, RESTORED = (
    CheckpointKind.TURN,
    CheckpointKind.NAMED,
    CheckpointKind.SAVED,
    CheckpointKind.RESTORED,
)


def _one(number: int, kind: CheckpointKind, ago: float, note: str = "", **values: Any) -> Checkpoint:
    files = values.get("files", ())
    return Checkpoint(
        AGENT, number, f"c{number}", f"tree{number}", kind, fleet_states.NOW - ago * MINUTE, note,
        **{"changed": len(files), **values},
    )  # fmt: skip


CHECKPOINTS = (
    _one(0, CheckpointKind.START, 12),
    _one(1, TURN, 10, "Try a JWT library", turn=1, added=41, removed=2, files=("src/auth/jwt.py", "pyproject.toml")),
    _one(2, RESTORED, 9, restored=0, files=("src/auth/jwt.py",), removed=41),
    _one(3, TURN, 8, "Sign instead of store", turn=2, added=24, removed=10, files=(SESSION, "src/auth/signer.py")),
    _one(4, TURN, 6, "Use typed claims", turn=3, added=64, files=("src/auth/claims.py",)),
    _one(5, NAMED, 5, "before the rename"),
    _one(6, TURN, 3, "Tests for the claims", turn=4, added=12, files=("tests/auth/test_claims.py",)),
    _one(
        7, TURN, 1, "Refresh path too", turn=5, added=18, removed=4, files=(SESSION, "tests/auth/test_session.py"), left_out=("dump.sql",)
    ),
)  # fmt: skip


def _check(state: CheckState, summary: str) -> CheckRun:
    return CheckRun("r", AGENT, "make test", "", "", state, 1.0, 2.0, 0, summary)


NOW_FILES = Diff(AGENT, "checkpoint 7", "tree7", "now", (changed(SESSION, "a\n", "a\nb\nc\n"),))
TIMELINE = Timeline(
    AGENT,
    CHECKPOINTS,
    NOW_FILES,
    (
        (3, _check(CheckState.PASSED, "209 passed")),
        (4, _check(CheckState.FAILED, "types 1")),
        (6, _check(CheckState.PASSED, "214 passed")),
    ),
    "e41c0d2 Bump pytest",
    14,
)


def _lines(paths: tuple[str, ...], old: str, new: str) -> tuple[Diff, tuple[FileDiff, ...]]:
    files = tuple(changed(path, *TEXTS[path]) for path in paths)
    diffs = tuple(FileDiff(one, hunks_of(*TEXTS[one.path])) for one in files)
    return Diff(AGENT, old, old, new, files), diffs


class TimelineWorker(StillWorker):
    """Answers from the timeline above, and changes it."""

    def __init__(self, timeline: Timeline = TIMELINE) -> None:
        super().__init__()
        self.timeline = timeline

    async def call(self, verb: str, *arguments: Any, on_step: Any = None, **options: Any) -> Any:
        family, _, name = verb.partition(".")
        if family != "checkpoints":
            return await super().call(verb, *arguments, on_step=on_step, **options)
        self.asked.append((verb, *arguments, options))
        await self.answers.wait()
        return getattr(self, f"_{name}")(*arguments[1:], **options)

    def _timeline(self) -> Timeline:
        return self.timeline

    def _lines(self, number: int, *, against: str) -> tuple[Diff, tuple[FileDiff, ...]]:
        paths: tuple[str, ...] = (
            (SESSION, "tests/auth/test_session.py") if number == 7 else ("src/auth/claims.py",)
        )
        if number == 5 and not against:
            paths = ()
        return _lines(paths, against or "before", str(number))

    def _restore(self, number: int, *, force: bool) -> RestoredFiles:
        one = next(one for one in self.timeline.checkpoints if one.number == number)
        made = _one(8, RESTORED, 0, restored=number, files=(SESSION,))
        self._add(made)
        return RestoredFiles(one, 7, 2, submodules=("lib",))

    def _make(self) -> tuple[Checkpoint, bool]:
        made = _one(8, NAMED, 0, files=(SESSION,))
        self._add(made)
        return made, True

    def _rename(self, number: int, note: str) -> Checkpoint:
        found = {one.number: one for one in self.timeline.checkpoints}
        found[number] = replace(found[number], note=note, kind=NAMED)
        self.timeline = replace(self.timeline, checkpoints=tuple(found.values()))
        return found[number]

    def _add(self, one: Checkpoint) -> None:
        self.timeline = replace(self.timeline, checkpoints=(*self.timeline.checkpoints, one), now=None)
