"""The grid of panes: frames around live terminals, as many as the layout has places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Container

from fleet_tui.faces.live import LiveData
from fleet_tui.faces.wording import word
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import Agent
from fleet_tui.tui.panes.live_panes import LivePanes
from fleet_tui.tui.panes.pane import Pane
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import CHIP_HERE, CHIP_QUIET, Line, clean, key
from fleet_tui.tui.widgets.row_lines import conflict_mark, since
from fleet_tui.tui.widgets.statuses import ROLES, glyph, needs

LAYOUTS = (1, 2, 4, 6, 9)
SHAPES = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2), 6: (3, 2), 9: (3, 3)}
"""Columns and rows for a number of panes."""
COLUMN_LEAST = 50
"""Three panes are arranged two and one if each of the two gets this many columns; else in a column."""
EDGE_CELLS = 6
"""Cells of a frame's width that its title cannot use."""
READABLE_ROWS = 5
"""A pane with fewer rows names the zoom key."""
SIDE_BY_SIDE = 3.0
"""Two panes are side by side when the grid is this many times wider than high."""


@dataclass(frozen=True, slots=True)
class PaneLook:
    """What the frames show besides their agents."""

    selected: str = ""
    typing: str = ""
    """The agent that keys go to; empty in the list."""
    pinned: frozenset[str] = frozenset()
    bells: frozenset[str] = frozenset()
    now: float = 0.0
    tick: int | None = None
    moving: frozenset[str] = frozenset()
    is_covered: bool = False
    """A dialog covers the panes: their own colors would show through its scrim."""
    keys: tuple[str, str, str, str] = ("ctrl+q", "ctrl+]", "a", "z")
    """The chords of leave, leader, answer and zoom."""
    live: LiveData = field(default_factory=LiveData)


class PaneFrame(Frame):
    """One agent's terminal in a frame with its name and status."""

    def __init__(self, panes: LivePanes, number: int) -> None:
        super().__init__(classes="pane")
        self.pane = Pane(panes)
        self.number = number
        self._panes = panes
        self._word: Line = ()

    def compose(self) -> ComposeResult:
        yield self.pane

    def show(self, agent: Agent, look: PaneLook) -> None:
        self.pane.agent = agent
        self.pane.digit = self.number
        is_typing = look.typing == agent.id
        if is_typing and self._panes.shows_check(agent.id):
            # Keys are meant for the agent.
            self.show_check(None)
        self.set_class(look.selected == agent.id and not look.typing, "here")
        self.set_class(is_typing, "typing")
        self.set_class(bool(look.typing) and not is_typing, "quiet")
        self.pane.is_covered = look.is_covered
        self.pane.is_quiet = look.is_covered or (bool(look.typing) and not is_typing)
        self.edge_line = "━" if is_typing else "─"
        self._entitle(agent, look)
        self.foot(*self._hints(agent, look, is_typing=is_typing))

    @property
    def is_check(self) -> bool:
        """Whether it shows the agent's check."""
        return self.pane.agent is not None and self._panes.shows_check(self.pane.agent.id)

    def show_check(self, screen: tuple[Path, Path] | None) -> None:
        """Show the agent's check, which has its screen there, instead of the agent; None shows the agent again."""
        if self.pane.agent is not None:
            self._panes.set_check(self.pane.agent.id, screen)
            self.pane.reconnect()

    def _entitle(self, agent: Agent, look: PaneLook) -> None:
        """What matters least leaves first: the true size, the profile, the age, the word; the name stays, unless it is too
        long for a wide pane."""
        who, how = self._who(agent, look), self._how(agent, look)
        brief, size = who[:-1], self._true_size()
        shorter = [(who, how), (brief, how), (brief, how[:-1]), (brief, ())]
        self._word = how[:-1]
        self.title(who, (*size, *how), *(shorter if size else shorter[1:]))

    def _title_for(self, width: int) -> tuple[Line, Line]:
        who, how = super()._title_for(width)
        return who, how or (self._word if width + EDGE_CELLS >= COLUMN_LEAST else ())

    def _who(self, agent: Agent, look: PaneLook) -> Line:
        is_moving = look.tick is not None and agent.id in look.moving
        mark, role = glyph(agent, tick=look.tick if is_moving else None)
        if look.typing and look.typing != agent.id and not needs(agent):
            role = "muted"
        pin = (("▪ ", "faint"),) if agent.id in look.pinned else ()
        profile = clean(agent.profile.rsplit("/", 1)[-1])
        return (
            (f"{self.number} ", "faint"),
            *pin,
            (mark, role),
            (" ", ""),
            (clean(agent.name), "bold foreground"),
            (f"  {profile}", "muted"),
            *(((" ", ""), (" CHECK ", CHIP_QUIET)) if self._panes.shows_check(agent.id) else ()),
        )

    def _how(self, agent: Agent, look: PaneLook) -> Line:
        role = ROLES[agent.status]
        if look.typing and look.typing != agent.id and not needs(agent):
            role = "muted"
        bell = (("♪ ", "bold foreground"),) if agent.id in look.bells else ()
        mark = conflict_mark(agent, look.live)
        return (
            *mark,
            *((("  ", ""),) if mark else ()),
            *bell,
            (word(agent), role),
            (f" {since(agent, look.now)}", "muted"),
        )

    def _true_size(self) -> Line:
        size = self.pane.true_size
        return ((f"{size[0]}×{size[1]}  ", "muted"),) if size else ()

    def _hints(self, agent: Agent, look: PaneLook, *, is_typing: bool) -> tuple[Line, Line]:
        leave, leader, answer, zoom = look.keys
        if self.pane.is_copying:
            # Its keys are in the footer.
            return ((" COPY ", CHIP_HERE),), ()
        if is_typing:
            chip = (" ENDED ", CHIP_QUIET) if agent.has_ended else (" TYPING ", CHIP_HERE)
            return (chip,), (*key(leave, "list"), ("  ", ""), *key(leader, "more"))
        if needs(agent) and not look.typing:
            return (), key(answer, "answer")
        if look.selected == agent.id and not look.typing and 0 < self.pane.size.height < READABLE_ROWS:
            return (), key(zoom, "zoom")
        return (), ()


class PaneGrid(Container):
    """A grid of frames; each keeps its place while its agent stays."""

    def __init__(self, panes: LivePanes, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._panes = panes
        self._frames: list[PaneFrame] = []
        self._shape = (0, 0, 0)

    def show(self, agents: Sequence[Agent], look: PaneLook) -> None:
        """Show these agents, in this order. Frames are created when first needed, and hidden rather than removed."""
        while len(self._frames) < len(agents):
            frame = PaneFrame(self._panes, len(self._frames) + 1)
            self._frames.append(frame)
            self.mount(frame)
        for frame, agent in zip(self._frames, agents, strict=False):
            frame.display = True
            frame.show(agent, look)
        for frame in self._frames[len(agents) :]:
            if frame.display:
                frame.display = False
                frame.pane.agent = None
        self._arrange(len(agents))
        self._panes.reconcile_soon()

    def frame_of(self, agent: str) -> PaneFrame | None:
        return next(
            (frame for frame in self.frames if frame.pane.agent is not None and frame.pane.agent.id == agent),
            None,
        )

    @property
    def frames(self) -> Iterable[PaneFrame]:
        return [frame for frame in self._frames if frame.display]

    def _arrange(self, count: int) -> None:
        columns, rows = shape(count, self.size.width, self.size.height)
        if (columns, rows, count) == self._shape:
            return
        self._shape = (columns, rows, count)
        self.styles.grid_size_columns = columns
        self.styles.grid_size_rows = rows
        for place, frame in enumerate(self._frames[:count], start=1):
            # The last one takes the unused places.
            frame.styles.column_span = columns - (count - 1) % columns if place == count else 1

    def on_resize(self) -> None:
        self._arrange(sum(1 for _ in self.frames))


def shape(count: int, width: int, height: int) -> tuple[int, int]:
    """Return columns and rows for that number of panes; no row is empty."""
    places = next((size for size in (1, 2, 3, 4, 6, 9) if size >= count), 9)
    if places == 3 and width >= 2 * COLUMN_LEAST:
        return 2, 2
    if places == 2 and height and width / height >= SIDE_BY_SIDE and width >= 160:
        return 2, 1
    return SHAPES[places]


def follow(agents: Sequence[Agent], selected: str, places: int, pinned: Sequence[Agent]) -> list[Agent]:
    """Return the agents to show: the pinned ones, listed or not, then the page of the list with the selected one."""
    fixed = list(pinned[:places])
    is_elsewhere = any(agent.id == selected for agent in agents if agent not in fixed)
    if is_elsewhere and len(fixed) == places:
        fixed = fixed[:-1]
    free = places - len(fixed)
    others = [agent for agent in agents if agent not in fixed]
    if not free or not others:
        return fixed
    place = next((index for index, agent in enumerate(others) if agent.id == selected), 0)
    first = place // free * free
    first = max(0, min(first, len(others) - free))
    return fixed + others[first : first + free]
