"""What checkpoints are called, and which of them led to the newest."""

from __future__ import annotations

import pytest

from fleet_tui.faces.timeline import checkpoint_title, left_behind
from fleet_tui.work import Checkpoint, CheckpointKind

pytestmark = pytest.mark.pure


def one(
    number: int, kind: CheckpointKind = CheckpointKind.TURN, note: str = "", turn: int = 0, restored: int = 0
) -> Checkpoint:
    return Checkpoint("a", number, "c", "t", kind, 1.0, note, turn, restored)


def test_a_title_is_one_line() -> None:
    assert checkpoint_title(one(1, note="Do\nit  now\x1b[31m", turn=3)).startswith("turn 3  Do it now")
    assert "\x1b" not in checkpoint_title(one(1, note="\x1b[31m"))
    assert checkpoint_title(one(1)) == "turn"
    assert checkpoint_title(one(1, CheckpointKind.NAMED, "good")) == "you: good"
    assert checkpoint_title(one(4, CheckpointKind.RESTORED, restored=2)) == "restored 2"
    assert checkpoint_title(one(4, CheckpointKind.RESTORED)) == "restored the start"


def test_what_came_between_a_checkpoint_and_its_restoration_is_left_behind() -> None:
    restored = one(4, CheckpointKind.RESTORED, restored=1)
    made = [one(0, CheckpointKind.START), one(1), one(2), one(3, CheckpointKind.SAVED, restored=1), restored]

    assert left_behind(made[:4]) == frozenset()
    assert left_behind(made) == {2, 3}
    assert left_behind([*made, one(5)]) == {2, 3}
    again = [*made, one(5), one(6, CheckpointKind.RESTORED, restored=3)]
    assert left_behind(again) == {4, 5}, "what was left behind was brought back"
    assert left_behind([]) == frozenset()
