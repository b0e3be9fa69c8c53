"""The first screen, shown while there is no agent: what was found here, and the keys that start something."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line, LineView, clean, column, fit

WIDTH = 68
LEAST = (30, 10)
"""Columns and rows of the smallest terminal that fits a list and a pane."""
_LETTERS = {
    "f": "000 011 100 111 100 100 100 100",
    "l": "0 1 1 1 1 1 1 1",
    "e": "0000 0000 0000 0110 1001 1111 1000 0111",
    "t": "000 010 010 111 010 010 010 011",
}
_BLOCKS = {"00": " ", "10": "▀", "01": "▄", "11": "█"}
_SIGNS = (("◌", "primary"), ("●", "primary"), ("◆", "bold warning"), ("✓", "success"), ("○", "muted"))


def wordmark(word: str = "fleet") -> list[str]:
    """The logo in half blocks, two rows of dots per line."""
    dots = [_LETTERS[letter].split() for letter in word]
    rows = ["".join(f"{letter[y]}00" for letter in dots) for y in range(8)]
    return [
        "".join(_BLOCKS[a + b] for a, b in zip(rows[y], rows[y + 1], strict=True)) for y in range(0, 8, 2)
    ]


class Welcome(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._place: ProjectInfo | None = None
        self._keys: dict[str, str] = {}

    def show(self, place: ProjectInfo | None, keys: dict[str, str]) -> None:
        """`keys` are the chords of new, fan-out, demo, init and quit."""
        self._place, self._keys = place, keys
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        signs = tuple(part for sign in _SIGNS for part in (sign, ("  ", "")))
        card: list[Line] = [
            *(((line, ""),) for line in wordmark()),
            (),
            (*signs, ("many agents, one screen", "muted")),
            (),
            (),
            *self._choices(),
            (),
            (),
        ]
        card += self._found()
        for less in (_without_logo, _single_spaced, _unspaced):
            if len(card) > height:
                card = less(card)
        left = max(0, (width - WIDTH) // 2)
        above = max(0, (height - len(card)) // 2)
        return [()] * above + [fit(((" " * left, ""), *line), width) for line in card]

    def _choices(self) -> list[Line]:
        if self._place is None:
            return [(("checking this folder …", "muted"),)]
        rows: list[Line] = []
        if self._place.problem:
            first, *rest = textwrap.wrap(clean(self._place.problem), WIDTH - 2) or [""]
            rows.append((("! ", "bold warning"), (first, "")))
            rows += [((f"  {line}", ""),) for line in rest]
            advice = self._place.advice or "open fleet-tui inside a git repository"
            rows.append(((f"  {clean(advice)}", "muted"),))
            if self._place.can_prepare:
                says = "create a git repository with an empty commit"
                rows += [(), self._choice("begin", "Start here", says)]
        else:
            rows += [self._choice("new", "New agent", "one prompt, one agent, its own worktree"), ()]
            rows += [self._choice("fan-out", "Fan-out", "one prompt, several agents, keep the best"), ()]
            if not self._place.has_config:
                rows += [self._choice("init", "Set up", "write .aifleet/config.toml for this project"), ()]
        demo = ("Demo", "nine scripted agents, no account needed")
        return [*rows, *([()] if self._place.problem else []), self._choice("demo", *demo)]

    def _choice(self, action: str, name: str, says: str) -> Line:
        chip = (f" {self._keys.get(action, ' ')} ", CHIP_HERE)
        return (chip, ("  ", ""), *fit(((name, "bold"),), 14), (says, "muted"))

    def _found(self) -> list[Line]:
        place = self._place
        if place is None:
            return []
        lines: list[Line] = [(("Found here ", "muted"), ("─" * (WIDTH - 11), "rule")), ()]
        if not place.problem:
            rest = f", {place.uncommitted} files not committed" if place.uncommitted else ""
            lines.append(_fact(True, place.name, f"git repository, on {place.branch}{rest}"))
        lines += [
            _fact(True, one.name, one.version or one.path)
            if one.path
            else _fact(False, one.name, "not installed;", one.install)
            for one in place.programs[:6]
        ]
        if not any(program.path for program in place.programs):
            lines += [
                (),
                (
                    ("! ", "bold warning"),
                    ("no agent program is installed", ""),
                    ("; any command works too", "muted"),
                ),
            ]
        return lines


def _without_logo(card: list[Line]) -> list[Line]:
    return card[len(wordmark()) + 1 :]


def _single_spaced(card: list[Line]) -> list[Line]:
    return [line for line, before in zip(card, [(), *card], strict=False) if line or before]


def _unspaced(card: list[Line]) -> list[Line]:
    return [line for line in card if line]


def _fact(is_there: bool, name: str, says: str, command: str = "") -> Line:
    sign = ("✓", "success") if is_there else ("–", "faint")
    return (
        sign,
        (" ", ""),
        *column(((clean(name), ""),), 11),
        (clean(says), "muted"),
        (f" {clean(command)}" if command else "", ""),
    )


class TooSmall(LineView):
    """Shown in a terminal that is too small."""

    def lines(self, width: int, height: int) -> Sequence[Line]:
        said = [f"{width}×{height} is too small", f"it needs {LEAST[0]}×{LEAST[1]}", "agents keep running"]
        above = max(0, (height - len(said)) // 2)
        roles = ("bold", "", "muted")
        return [()] * above + [
            fit(((" " * max(0, (width - len(line)) // 2), ""), (line, role)), width)
            for line, role in zip(said, roles, strict=True)
        ]
