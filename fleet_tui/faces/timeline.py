"""Show checkpoints the same way in every face: glyphs and titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet_tui.text import one_line
from fleet_tui.work import Checkpoint, CheckpointKind

GLYPHS: Mapping[CheckpointKind, str] = {
    CheckpointKind.START: "□",
    CheckpointKind.TURN: "○",
    CheckpointKind.NAMED: "◉",
    CheckpointKind.SAVED: "○",
    CheckpointKind.RESTORED: "↺",
}


def checkpoint_title(one: Checkpoint) -> str:
    """What a checkpoint is, in one line: the turn and its prompt, the user's name for it, what was restored."""
    turn = f"turn {one.turn}" if one.turn else "turn"
    said = one_line(one.note)
    match one.kind:
        case CheckpointKind.START:
            return "start"
        case CheckpointKind.TURN:
            return f"{turn}  {said}".rstrip()
        case CheckpointKind.NAMED:
            return f"you: {said}" if said else "you"
        case CheckpointKind.SAVED:
            return f"before {one.restored} was restored"
        case CheckpointKind.RESTORED:
            return f"restored {one.restored}" if one.restored else "restored the start"


def left_behind(checkpoints: Sequence[Checkpoint]) -> frozenset[int]:
    """The checkpoints that did not lead to the newest one, because an earlier one was restored after them."""
    before: dict[int, int] = {}
    last = 0
    for one in checkpoints:
        before[one.number] = one.restored if one.kind is CheckpointKind.RESTORED else last
        last = one.number
    leading = set[int]()
    while last and last not in leading:
        leading.add(last)
        last = before.get(last, 0)
    return frozenset(one.number for one in checkpoints if one.number and one.number not in leading)
