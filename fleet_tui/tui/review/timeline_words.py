"""What a timeline compares, and its words: names of checkpoints, counts, and what it says where there is nothing."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.faces.timeline import checkpoint_title
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.quantities import counted
from fleet_tui.tui.widgets.lines import Line, keys
from fleet_tui.work import Checkpoint, Diff

NO_CHECKPOINTS: tuple[Line, ...] = (
    (),
    (("  No checkpoint yet; one is made when", ""),),
    (("  a turn has changed files.", ""),),
    (),
    (("  ", ""), *keys(("c", "make one now"))),
)


@dataclass(frozen=True, slots=True)
class ComparedStates:
    """What the right side compares: a checkpoint with another one, the start, or its files now."""

    number: int
    against: str


def name_of(one: Checkpoint) -> str:
    """A checkpoint in a word or two."""
    return checkpoint_title(one).partition("  ")[0]


def counts_of(diff: Diff) -> Line:
    added: Line = ((f"+{diff.added} ", "success"),) if diff.added else ()
    removed: Line = ((f"−{diff.removed} ", "error"),) if diff.removed else ()
    return (*added, *removed, ("  ", ""), (counted(len(diff.files), "file"), "muted"))


def without_changes(diff: Diff, shown: ComparedStates) -> Sequence[Line]:
    if diff.files:
        return ()
    said = "nothing has changed since then" if shown.against == "now" else "both have the same files"
    return (), ((f"  {said}", "muted"),)
