"""Draw comments as blocks of lines: who said it on which lines, the text, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.quantities import age
from fleet_tui.text import block
from fleet_tui.tui.widgets.lines import Line, TextPart, cut_line, keys, wrap
from fleet_tui.work import ReviewComment

MOST_LINES = 40
"""Lines of one comment's text."""
GROUND = " on note-bg"
_STATES = {
    "queued": "queued until it is idle",
    "typed": "typed",
    "accepted": "accepted",
    "answered": "answered",
    "refused": "refused, not sent",
}
"""Words for the state of the prompt that a round was sent with."""


def lines_for(comment: ReviewComment, width: int, unsent: int, now: float) -> list[Line]:
    """The block of a comment. `unsent` is the number of comments that wait to be sent, this one included."""
    bar: TextPart = ("┃ ", ("muted" if comment.is_sent else "accent") + GROUND)
    room = max(8, width - 3)
    role = "muted" if comment.handled_at is not None else "foreground"
    head: list[Line] = [_head(comment, now)]
    text: list[Line] = [((part, role + GROUND),) for part in text_lines(comment.text, room)]
    foot: list[Line] = []
    if not comment.is_sent:
        others = unsent - 1
        send = "send" if not others else f"send with {others} other{'s' if others > 1 else ''}"
        foot = [_on_ground(keys(("↵", "edit"), ("D", "delete"), ("C", send)))]
    return [(bar, *cut_line(line, room)) for line in (*head, *text, *foot)]


def text_lines(text: str, width: int, most: int = MOST_LINES) -> list[str]:
    """The text wrapped to the width; its own line breaks stay."""
    found = [part for line in block(text).split("\n") for part in wrap(line, width, most)]
    if len(found) > most:
        return [*found[: most - 1], f"… {len(found) - most + 1} more lines"]
    return found


def where(comment: ReviewComment) -> str:
    """The lines that it is about, in words."""
    return (
        f"line {comment.last}"
        if comment.first == comment.last
        else f"lines {comment.first} to {comment.last}"
    )


def _head(comment: ReviewComment, now: float) -> Line:
    said = f" on {where(comment)}"
    if not comment.is_sent:
        was = ", which changed since" if comment.is_changed else ""
        refused = ", refused, not sent" if comment.round else ", not sent"
        return (("you", f"bold{GROUND}"), (f"{said}{was}{refused}", f"muted{GROUND}"))
    when = f"{age(max(0.0, now - comment.sent_at))} ago" if comment.sent_at is not None else "sent"
    facts = [f"{said}, round {comment.round}", when]
    if comment.handled_at is not None:
        # The fact comes first, as the end of the line is what is cut.
        done: Line = (("✓ ", f"success{GROUND}"), ("changed since  you", f"muted{GROUND}"))
        return (*done, (", ".join(facts), f"muted{GROUND}"))
    state = _STATES.get(comment.receipt_state, "")
    return (("you", f"bold{GROUND}"), (", ".join([*facts, *([state] if state else [])]), f"muted{GROUND}"))


def _on_ground(line: Sequence[TextPart]) -> Line:
    return tuple((text, (role or "foreground") + GROUND) for text, role in line)
