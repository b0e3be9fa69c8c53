"""Whether the dialog on a screen is about a request that a program has told of in another way; in doubt it is not.

Whoever answers by what is shown must never allow something else: a dialog counts from the line across that begins it
to its choices, and a command has to stand there from its first to its last line, with nothing beside it but its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from fleet_tui.models import Wish
from fleet_tui.signals import flat

LEAST_TAIL = 200
"""How much of a command has to be seen, without its blanks, where the dialog is higher than the screen."""

_ACROSS = re.compile(r"\s*(?P<corner>[╭┌┏╔╰└┗╚]?)[─━═]{8,}[╮┐┓╗╯┘┛╝]?\s*")
_BOTTOMS = "╰└┗╚"
_FIRST_CHOICE = re.compile(r"\W*1[.)] \S")
_AROUND_A_PATH = "\"'`“”‘’()[]<>,:;?!"


def is_shown(wish: Wish, lines: Sequence[str]) -> bool:
    """Whether the dialog at the bottom of these lines is certainly about this."""
    end = max((row for row, line in enumerate(lines) if _FIRST_CHOICE.match(flat([line]))), default=0)
    rules = [(row, found) for row, line in enumerate(lines[:end]) if (found := _ACROSS.fullmatch(line))]
    if not rules:
        return bool(wish.command) and _is_tail(wish, [flat([line]) for line in lines[:end]])
    start, rule = rules[-1]
    if rule["corner"] and rule["corner"] in _BOTTOMS:
        # What it ends is not the dialog, and where that begins is not known.
        return False
    dialog = [flat([line]) for line in lines[start + 1 : end]]
    return _has_command(wish, dialog) if wish.command else _has_path(wish.touches, dialog)


def _has_command(wish: Wish, dialog: Sequence[str]) -> bool:
    starts = [row for row, line in enumerate(dialog) if line and not (row and dialog[row - 1])]
    blocks = [block for start in starts for block in _blocks(dialog[start:])]
    return any(
        _squeezed(block) == _squeezed([text]) and re.fullmatch(_pattern(block), text)
        for text in _as_written(wish)
        for block in blocks
    )


def _is_tail(wish: Wish, lines: Sequence[str]) -> bool:
    """Whether all that the screen has of a higher dialog, down to the end of a paragraph, is the end of the command."""
    return any(
        len(seen) >= LEAST_TAIL
        and _squeezed([text]).endswith(seen)
        and re.search(rf"{_pattern(block)}\Z", text)
        for text in _as_written(wish)
        for block in _blocks(lines)
        if (seen := _squeezed(block))
    )


def _as_written(wish: Wish) -> tuple[str, ...]:
    """How a dialog may put it, without frames and doubled blanks."""
    command, reason = flat([wish.command]), flat([wish.reason])
    return (command, f"$ {command}", *([f"{command} {reason}"] if reason else []))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines from the first on to the end of each paragraph."""
    for row, line in enumerate(lines, start=1):
        if line and not (row < len(lines) and lines[row]):
            yield [one for one in lines[:row] if one]


def _squeezed(lines: Iterable[str]) -> str:
    return "".join("".join(line.split()) for line in lines)


def _pattern(block: Iterable[str]) -> str:
    """Blanks count, but for where a line is broken: there one may have been, or none."""
    return r"\s*".join(r"\s".join(re.escape(word) for word in line.split()) for line in block)


def _has_path(path: str, dialog: Sequence[str]) -> bool:
    """Whether the dialog names it, and no other file of that name."""
    wanted = PurePath(path).parts
    named = [PurePath(word.strip(_AROUND_A_PATH)).parts for line in dialog for word in line.split()]
    alike = [parts for parts in named if parts and wanted and parts[-1] == wanted[-1]]
    return bool(alike) and all(wanted[-len(parts) :] == parts for parts in alike)
