"""Text of a program's screen as the fleet shows it: on one line without frames, bounded, without control characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fleet_tui.text import blanked, one_line

MAX_TEXT = 300
MAX_COMMAND = 4000

FRAME = re.compile(r"[\u2500-\u257f\u2580-\u259f]")
"""Characters that boxes and bars are drawn with."""


def unframed(lines: Iterable[str]) -> str:
    """Join lines without frames, so that a sentence reads the same at every width."""
    return " ".join(" ".join(FRAME.sub(" ", line) for line in lines).split())


def shown_line(text: str) -> str:
    """A text for a row: one line of bounded length without control characters."""
    return one_line(text[: MAX_TEXT * 4])[:MAX_TEXT]


def shown_command(command: str) -> str:
    """A command with its line breaks, without control characters; a very long one is cut and ends in `…`."""
    # Control characters become blanks: the command is searched on a screen, which does not show them.
    shown = "\n".join(map(blanked, command[:MAX_COMMAND].split("\n")))
    return shown.strip() + ("…" if len(command) > MAX_COMMAND else "")
