"""Match a permission request from a hook or an event with the dialog on screen; False unless certain.

An answer given to what is shown must never allow something else. A dialog extends from its horizontal rule to its
choices, and must contain the command completely, with nothing beside it but its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from fleet_tui.models import PermissionRequest
from fleet_tui.programs.screen_text import unframed

LEAST_TAIL = 200
"""Characters of a command that must be visible, without whitespace, if the dialog is taller than the screen."""

_ACROSS = re.compile(r"\s*(?P<corner>[╭┌┏╔╰└┗╚]?)[─━═]{8,}[╮┐┓╗╯┘┛╝]?\s*")
_BOTTOMS = "╰└┗╚"
_FIRST_CHOICE = re.compile(r"\W*1[.)] \S")
_AROUND_A_PATH = "\"'`“”‘’()[]<>,:;?!"


def is_shown(request: PermissionRequest, lines: Sequence[str]) -> bool:
    """Whether the dialog at the bottom of these lines is certainly about this request."""
    end = max((row for row, line in enumerate(lines) if _FIRST_CHOICE.match(unframed([line]))), default=0)
    rules = [(row, found) for row, line in enumerate(lines[:end]) if (found := _ACROSS.fullmatch(line))]
    if not rules:
        return bool(request.command) and _is_tail(request, [unframed([line]) for line in lines[:end]])
    start, rule = rules[-1]
    if rule["corner"] and rule["corner"] in _BOTTOMS:
        # This rule closes another box; the top of the dialog is off screen.
        return False
    dialog = [unframed([line]) for line in lines[start + 1 : end]]
    return _has_command(request, dialog) if request.command else _has_path(request.touches, dialog)


def _has_command(request: PermissionRequest, dialog: Sequence[str]) -> bool:
    starts = [row for row, line in enumerate(dialog) if line and not (row and dialog[row - 1])]
    blocks = [block for start in starts for block in _blocks(dialog[start:])]
    return any(
        _squeezed(block) == _squeezed([text]) and re.fullmatch(_pattern(block), text)
        for text in _as_written(request)
        for block in blocks
    )


def _is_tail(request: PermissionRequest, lines: Sequence[str]) -> bool:
    """Whether the visible part of a taller dialog, up to the end of a paragraph, is the end of the command."""
    return any(
        len(seen) >= LEAST_TAIL
        and _squeezed([text]).endswith(seen)
        and re.search(rf"{_pattern(block)}\Z", text)
        for text in _as_written(request)
        for block in _blocks(lines)
        if (seen := _squeezed(block))
    )


def _as_written(request: PermissionRequest) -> tuple[str, ...]:
    """The command as a dialog may show it, without frames and repeated spaces."""
    command, reason = unframed([request.command]), unframed([request.reason])
    return (command, f"$ {command}", *([f"{command} {reason}"] if reason else []))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines from the first to the end of each paragraph."""
    for row, line in enumerate(lines, start=1):
        if line and not (row < len(lines) and lines[row]):
            yield [one for one in lines[:row] if one]


def _squeezed(lines: Iterable[str]) -> str:
    return "".join("".join(line.split()) for line in lines)


def _pattern(block: Iterable[str]) -> str:
    """Spaces must match, except where a line is wrapped: there may have been one or none."""
    return r"\s*".join(r"\s".join(re.escape(word) for word in line.split()) for line in block)


def _has_path(path: str, dialog: Sequence[str]) -> bool:
    """Whether the dialog names this path, and no other file of the same name."""
    wanted = PurePath(path).parts
    named = [PurePath(word.strip(_AROUND_A_PATH)).parts for line in dialog for word in line.split()]
    alike = [parts for parts in named if parts and wanted and parts[-1] == wanted[-1]]
    return bool(alike) and all(wanted[-len(parts) :] == parts for parts in alike)
