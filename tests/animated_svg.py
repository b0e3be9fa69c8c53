"""A terminal session as an animated SVG: text that stays sharp at any size, in a file that browsers and forges play.

Equal rows are stored once. A row of the picture is an element that is visible for as long as the row stayed as it was, so a
frame in which little changes costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar
from xml.sax.saxutils import escape

from fleet_tui.terminal.cells import TRUECOLOR, Attribute, Row, Style

CELL, LINE = 8.43, 18
FONT = 14
MARGIN = 12
BAR = 30
"""Height of the bar with the title, and of the one with the caption."""
LAST = 2.5
"""Seconds for which the last frame stays before all begins again."""
_BASIC = (
    "#15181e", "#d1484f", "#5fa04e", "#c7922b", "#4b83d9", "#9a63c4", "#3fa3a8", "#c9ced6",
    "#5c6370", "#e8737a", "#86c676", "#e5b95c", "#7ba9ec", "#b98be0", "#6cc7cc", "#f2f4f8",
)  # fmt: skip

Shown = TypeVar("Shown")
RowKey = tuple[tuple[str, Style | None, int], ...]


@dataclass
class Recording:
    """Frames of a terminal, each with its time and the caption below it."""

    cols: int
    rows: int
    background: str
    foreground: str
    muted: str
    accent: str
    frames: list[tuple[float, tuple[RowKey, ...], str]] = field(default_factory=list)

    def add(self, at: float, rows: Sequence[Row], caption: str) -> None:
        """Add what the terminal shows at this time; nothing if it is what it showed before."""
        shown = tuple(tuple(row) for row in rows)
        if not self.frames or self.frames[-1][1:] != (shown, caption):
            self.frames.append((at, shown, caption))

    def svg(self, title: str) -> str:
        """The animated picture."""
        end = self.frames[-1][0] + LAST
        width, height = self.cols * CELL + 2 * MARGIN, self.rows * LINE + 2 * BAR + MARGIN
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="{FONT}" '
            'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace">',
            f"<title>{escape(title)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{self.background}"/>',
            *(
                f'<circle cx="{20 + 18 * place}" cy="15" r="6" fill="{color}"/>'
                for place, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
            ),
            f'<text x="{width / 2:.0f}" y="20" text-anchor="middle" fill="{self.muted}">{escape(title)}</text>',
        ]
        names: dict[RowKey, str] = {}
        drawn: list[str] = []
        for y in range(self.rows):
            for row, begin, until in self._spans(y, end):
                if row:
                    name = names.setdefault(row, f"r{len(names)}")
                    drawn.append(
                        f'<use href="#{name}" x="{MARGIN}" y="{BAR + y * LINE}"{_during(begin, until, end)}'
                    )
        parts.append("<defs>")
        parts += [f'<g id="{name}">{self._row(row)}</g>' for row, name in names.items()]
        parts.append("</defs>")
        parts += [one + "</use>" for one in drawn]
        for caption, begin, until in self._captions(end):
            if caption:
                keys, _, says = caption.partition("  ")
                text = (
                    f'<tspan fill="{self.accent}" font-weight="bold">{escape(keys)}</tspan>  {escape(says)}'
                )
                place = f'x="{width / 2:.0f}" y="{height - 14}" text-anchor="middle" font-size="{FONT + 2}"'
                parts.append(
                    f'<text {place} xml:space="preserve" fill="{self.foreground}"{_during(begin, until, end)}{text}</text>'
                )
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _spans(self, y: int, end: float) -> list[tuple[RowKey, float, float]]:
        """What a row shows, from when until when."""
        return _merged([(rows[y] if y < len(rows) else (), at) for at, rows, _ in self.frames], end)

    def _captions(self, end: float) -> list[tuple[str, float, float]]:
        return _merged([(caption, at) for at, _, caption in self.frames], end)

    def _row(self, row: RowKey) -> str:
        fills, texts = [], []
        x = 0
        for text, style, cells in row:
            color, back, extra = self._look(style)
            at, wide = x * CELL, cells * CELL
            x += cells
            if back != self.background:
                fills.append(f'<rect x="{at:.1f}" width="{wide:.1f}" height="{LINE}" fill="{back}"/>')
            if text.strip():
                # Fonts differ in width, and every cell has to stay where it is.
                lead = len(text) - len(text.lstrip(" "))
                shown = text.strip(" ")
                at += lead * CELL
                length = len(shown) * CELL if cells == len(text) else wide
                fit = f' textLength="{length:.1f}"' if len(shown) > 1 else ""
                texts.append(
                    f'<text x="{at:.1f}" y="13"{fit} fill="{color}"{extra} xml:space="preserve">{escape(shown)}</text>'
                )
        return "".join(fills + texts)

    def _look(self, style: Style | None) -> tuple[str, str, str]:
        """Foreground, background and other attributes of a style."""
        if style is None:
            return self.foreground, self.background, ""
        front, back = self._color(style[0], self.foreground), self._color(style[1], self.background)
        bits = style[2]
        if bits & Attribute.INVERSE:
            front, back = back, front
        extra = ' font-weight="bold"' if bits & Attribute.BOLD else ""
        extra += ' font-style="italic"' if bits & Attribute.ITALIC else ""
        extra += ' opacity=".6"' if bits & Attribute.FAINT else ""
        return front, back, extra

    @staticmethod
    def _color(value: int, default: str) -> str:
        if value < 0:
            return default
        if value & TRUECOLOR:
            return f"#{value & 0xFFFFFF:06x}"
        if value < 16:
            return _BASIC[value]
        if value >= 232:
            level = 8 + (value - 232) * 10
            return f"#{level:02x}{level:02x}{level:02x}"
        steps = (0, 95, 135, 175, 215, 255)
        value -= 16
        return f"#{steps[value // 36]:02x}{steps[value // 6 % 6]:02x}{steps[value % 6]:02x}"


def _merged(shown: list[tuple[Shown, float]], end: float) -> list[tuple[Shown, float, float]]:
    starts = [shown[0], *(after for before, after in pairwise(shown) if after[0] != before[0])]
    return [
        (value, begin, starts[place + 1][1] if place + 1 < len(starts) else end)
        for place, (value, begin) in enumerate(starts)
    ]


def _during(begin: float, until: float, end: float) -> str:
    """The rest of an opening tag, and an animation that shows its element during this time."""
    if begin <= 0 and until >= end:
        return ">"
    times, values = [f"{max(begin, 0) / end:.4f}"], ["visible"]
    if begin > 0:
        times, values = ["0", *times], ["hidden", *values]
    if until < end:
        times, values = [*times, f"{until / end:.4f}"], [*values, "hidden"]
    return (
        f' visibility="hidden"><animate attributeName="visibility" values="{";".join(values)}" '
        f'keyTimes="{";".join(times)}" dur="{end:.2f}s" calcMode="discrete" repeatCount="indefinite"/>'
    )
