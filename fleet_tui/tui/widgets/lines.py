"""Lines of text with roles, and the widget that shows them: the base of everything the dashboard draws itself.

A line is a tuple of (text, role) parts; `RoleStyles` turns roles into the current theme's styles. Painting whole lines costs
a fraction of what composed widgets do, and only rows that differ are painted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from fleet_tui.text import block, flat, one_line
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary

TextPart = tuple[str, str]
Line = tuple[TextPart, ...]
"""Text and its role, such as ("working", "primary"); a role may carry bold, reverse or a background: "bold accent on sel"."""

ROLE_VARIABLES = {
    "primary": "text-primary",
    "secondary": "text-secondary",
    "accent": "text-accent",
    "success": "text-success",
    "warning": "text-warning",
    "error": "text-error",
    "bar": "accent",
    "code-value": "text-warning",
    "code-string": "text-success",
}
"""Text takes the readable variant of a role; other roles are variables of the same name."""

CHIP_YOU = "bold reverse warning"
CHIP_HERE = "bold reverse accent"
CHIP_QUIET = "bold reverse muted"
FAINTEST = 0.35
"""The strength of the oldest step, for themes that name steps instead of mixing colors."""
QUIET = 0.6
"""The opacity of the list while keys go to an agent."""


class RoleStyles:
    """The styles of all roles in one theme."""

    def __init__(self, variables: Mapping[str, str], *, is_ansi: bool) -> None:
        self._variables = variables
        self._is_ansi = is_ansi
        self._styles: dict[tuple[str, Style, bool], Style] = {}

    def __call__(self, role: str, below: Style, *, quiet: bool = False) -> Style:
        """The style of a role over a background."""
        key = (role, below, quiet)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = below + self._style(role, quiet=quiet and "warning" not in role)
        return style

    def _style(self, role: str, *, quiet: bool) -> Style:
        foreground, _, background = f" {role}".partition(" on ")
        words = foreground.split()
        flags = {"bold", "reverse", "italic", "underline"} & set(words)
        names = [word for word in words if word not in flags and not word.endswith("%")]
        strength = next((int(word[:-1]) / 100 for word in words if word.endswith("%")), 1.0)
        return Style(
            color=self._color(
                names[0] if names else "foreground", strength * (QUIET if quiet else 1.0)
            ).rich_color,
            bgcolor=self._color(background, 1.0).rich_color if background and not self._is_ansi else None,
            bold="bold" in flags or None,
            reverse="reverse" in flags or None,
            italic="italic" in flags or None,
            underline="underline" in flags or None,
            dim=(quiet and self._is_ansi) or None,
        )

    def _color(self, role: str, strength: float) -> Color:
        name = ROLE_VARIABLES.get(role, role)
        value = self._variables.get(name, "") or self._variables["foreground"]
        color = Color.parse(value if not value.startswith("auto") else self._variables["foreground"])
        if strength >= 1.0 or self._is_ansi:
            return color
        steps = self._variables.get(f"{name}-past", "").split()
        if steps:
            place = int((strength - FAINTEST) / (1 - FAINTEST) * len(steps))
            return Color.parse(steps[max(0, place)])
        return Color.parse(self._variables["background"]).blend(color, strength)


def length(line: Iterable[TextPart]) -> int:
    return sum(cell_len(text) for text, _ in line)


def fit(line: Sequence[TextPart], width: int, *, right: bool = False, fill: str = "") -> Line:
    """Fit the line to exactly that many cells: cut with an ellipsis, or padded."""
    width = max(0, width)
    size = length(line)
    if size <= width:
        pad = (" " * (width - size), fill)
        return (pad, *line) if right else (*line, pad)
    if width == 0:
        return ()
    kept: list[TextPart] = []
    room = width - 1
    for text, role in line:
        cells = cell_len(text)
        if cells <= room:
            kept.append((text, role))
            room -= cells
            continue
        kept.append((set_cell_size(text, room).rstrip() + "…", role))
        room -= cell_len(kept[-1][0]) - 1
        break
    return (*kept, (" " * room, fill)) if room > 0 else tuple(kept)


def column(line: Sequence[TextPart], width: int, *, fill: str = "") -> Line:
    """Fit the line to that many cells; the last one stays blank, so that the next column is not touched."""
    return (*fit(line, width - 1, fill=fill), (" ", fill))


def cut_line(line: Sequence[TextPart], width: int) -> Line:
    """Cut the line to at most that many cells, with an ellipsis."""
    return fit(line, min(width, length(line)))


def both_ends(left: Sequence[TextPart], right: Sequence[TextPart], width: int, *, gap: int = 1) -> Line:
    """Join left and right with the free space between them; the left is cut."""
    return (*fit(left, width - length(right) - gap), (" " * gap, ""), *right)


def key(chord: str, label: str) -> Line:
    """A key and its label, as footers and borders show it."""
    return ((chord, "bold accent"), (f" {label}", "muted"))


def keys(*entries: tuple[str, str]) -> Line:
    """Several keys in a row."""
    parts: list[TextPart] = []
    for entry in entries:
        parts += [*([("  ", "")] if parts else []), *key(*entry)]
    return tuple(parts)


clean = one_line
"""Sanitizes untrusted text; every widget shows such text with it."""


def wrap(text: str, width: int, most: int) -> list[str]:
    """Wrap the text to lines of `width` cells, between words, or within words that are too long. The last of at most `most`
    lines has the rest, whatever its length."""
    found: list[str] = []
    while len(found) < most - 1 and cell_len(text) > width:
        head = set_cell_size(text, width).rstrip()
        if not text.startswith(head):
            # Half of a wide character is replaced by a blank.
            head = head[:-1]
        blank = head.rfind(" ") if text[len(head) : len(head) + 1] not in ("", " ") else -1
        # Text without blanks is broken anywhere.
        head = head[:blank] if blank > len(head) // 2 else head
        found.append(head)
        text = text[len(head) :].lstrip()
    return [*found, text]


def strip(
    line: Iterable[TextPart], ink: RoleStyles, width: int, below: Style, *, quiet: bool = False
) -> Strip:
    segments = [Segment(flat(text), ink(role, below, quiet=quiet)) for text, role in line if text]
    return Strip(segments).adjust_cell_length(width, below)


def content(line: Iterable[TextPart]) -> Content:
    """Convert the line for places that Textual draws, such as border titles."""
    return Content.assemble(*((block(text), _markup(role)) for text, role in line if text))


def _markup(role: str) -> str:
    foreground, _, background = f" {role or 'foreground'}".partition(" on ")
    words = [
        word
        if word in ("bold", "reverse", "italic", "underline") or word.endswith("%")
        else f"${ROLE_VARIABLES.get(word, word)}"
        for word in foreground.split()
    ]
    return " ".join([*words, *(["on", f"${background}"] if background else [])])


def edge(
    left: Sequence[TextPart], right: Sequence[TextPart], width: int, *, line: str = "─"
) -> Content | None:
    """A border title that fills its side: left and right with the border's own line between them."""
    if not left and not right:
        return None
    if not right:
        return content(cut_line(left, width))
    if not left:
        return content(right)
    room = width - length(right) - 3
    if length(left) > room:
        left = fit(left, max(1, room))
    rest = width - length(left) - length(right) - 2
    return Content.assemble(content(left), " ", line * max(1, rest), " ", content(right))


class LineView(ErrorBoundary, Widget):
    """Shows the lines that `lines` returns for its size; `redraw` paints those that changed."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] = []
        self._drawn: list[Line] = []
        self.is_quiet = False

    def lines(self, width: int, height: int) -> Sequence[Line]:
        raise NotImplementedError

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width, viewport.height))

    def quieten(self, is_quiet: bool) -> None:
        """Fade while keys go elsewhere; what needs the user keeps full strength."""
        self.is_quiet = is_quiet
        self.redraw(everything=True)

    def redraw(self, *, everything: bool = False) -> None:
        """Compute the lines again and paint those that differ."""
        if not self.is_mounted or not self.size:
            return
        width, height = self.size
        lines = [*self.lines(width, height)[:height]]
        lines += [()] * (height - len(lines))
        ink, below = self.ink, Style(bgcolor=self.rich_style.bgcolor)
        if everything or len(lines) != len(self._drawn):
            self._strips = [strip(line, ink, width, below, quiet=self.is_quiet) for line in lines]
            self._drawn = lines
            self.refresh()
            return
        changed = [y for y, line in enumerate(lines) if line != self._drawn[y]]
        for y in changed:
            self._strips[y] = strip(lines[y], ink, width, below, quiet=self.is_quiet)
        self._drawn = lines
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    @property
    def ink(self) -> RoleStyles:
        return ink_of(self)

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.redraw(everything=True))

    def on_resize(self) -> None:
        self.redraw(everything=True)

    def render_line(self, y: int) -> Strip:
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)


_inks: dict[tuple[str, int], RoleStyles] = {}


def ink_of(widget: Widget) -> RoleStyles:
    """The ink of the current theme."""
    theme = widget.app.current_theme
    found = _inks.get((theme.name, id(theme)))
    if found is None:
        found = _inks[theme.name, id(theme)] = RoleStyles(widget.app.theme_variables, is_ansi=theme.ansi)
    return found
