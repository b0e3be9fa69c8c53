"""A field for the number of agents of each profile: one row per profile, in a list that scrolls and filters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events
from textual.message import Message

from fleet_tui.fleet.profiles import AgentProgram
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.profile_field import how_to_install
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, column, cut_line, fit, length
from fleet_tui.tui.widgets.stepper import Digits, step_of, stepper_line

BAR = 6
NAME_WIDTH, MOST_NAME_WIDTH = 10, 18
HEAD_LINES = 1
"""Lines above the rows: the filter, and how much it hides."""


class ProfileMix(LineView, can_focus=True):
    """Up and down select a row; left, right, minus, plus and digits change its number; letters filter."""

    class Changed(Message):
        """The user changed a number."""

    def __init__(self, profiles: Sequence[AgentProgram], count: int, *, most: int, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._profiles = list(profiles)
        self._most = most
        self._counts = {self._first: count}
        self._wanted = ""
        self._selected = 0
        self._top = 0
        self._digits = Digits()

    # ── numbers ─────────────────────────────────────────────────────────────────────────────

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """The profiles to run with their numbers, hidden ones included, in the order of the list."""
        names = [program.name for program in self._profiles]
        return tuple((name, self._counts[name]) for name in names if self._counts.get(name))

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    @property
    def _first(self) -> str:
        return self._profiles[0].name if self._profiles else ""

    @property
    def is_chosen(self) -> bool:
        """Whether a profile other than the first is to run."""
        return [name for name, _ in self.counts] not in ([], [self._first])

    def set_total(self, count: int) -> None:
        """The first profile takes what the others leave; if they leave nothing, it takes all."""
        others = {name: number for name, number in self._counts.items() if name != self._first}
        if sum(others.values()) >= count:
            others = {}
        self._counts = {self._first: count - sum(others.values()), **others}
        self.redraw()

    def set_counts(self, counts: Sequence[tuple[str, int]]) -> None:
        known = {program.name for program in self._profiles}
        self._profiles += [AgentProgram(name, name) for name, _ in counts if name not in known]
        self._counts = dict(counts)
        self.redraw()

    def take(self, profiles: Sequence[AgentProgram]) -> None:
        """Show these profiles. What the user has chosen among the old ones stays."""
        chosen = {name for name, _ in self.counts}
        is_untouched = not self.is_chosen
        known = {program.name for program in profiles}
        gone = [one for one in self._profiles if one.name in chosen and one.name not in known]
        total = self.total
        self._profiles = [*profiles, *([] if is_untouched else gone)]
        if is_untouched:
            self._counts = {self._first: total}
        self._select(self._selected)

    def set(self, name: str, number: int) -> None:
        number = max(0, min(self._most, number))
        if number != self._counts.get(name, 0):
            self._counts[name] = number
            self.post_message(self.Changed())
        self.redraw()

    # ── drawing ─────────────────────────────────────────────────────────────────────────────

    @property
    def found(self) -> list[AgentProgram]:
        """The profiles that match the filter."""
        words = self._wanted.split()
        return [one for one in self._profiles if all(word in one.name.lower() for word in words)]

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = self.found
        room = max(1, height - HEAD_LINES)
        self._top = max(0, min(self._top, len(found) - room))
        shown = found[self._top : self._top + room]
        widest = max((cell_len(_shown(one)) for one in self._profiles), default=0)
        names = min(MOST_NAME_WIDTH, max(NAME_WIDTH, widest)) + 3
        rows = [self._row(one, place, names, width) for place, one in enumerate(shown, self._top)]
        if not found:
            rows = [((" no profile matches", "muted"),)]
        return [self._head(found, room, width), *rows]

    def _head(self, found: Sequence[AgentProgram], room: int, width: int) -> Line:
        above, below = self._top, max(0, len(found) - room - self._top)
        visible = {one.name for one in found[above : above + room]}
        hidden = [f"{clean(name)} {number}" for name, number in self.counts if name not in visible]
        also = f"also {', '.join(hidden)}" if hidden else ""
        if self._wanted:
            typed: Line = ((" filter ", "muted"), (self._wanted, "bold accent"), ("▏", "accent"))
            right = cut_line(
                ((also, "warning"),) if also else (("backspace", "faint"),), width - length(typed) - 1
            )
            return both_ends(typed, right, width)
        said: Line = ((f" {counted(len(self._profiles), 'profile')}; type to filter", "faint"),)
        more = " ".join([*([f"▴ {above}"] if above else []), *([f"▾ {below} more"] if below else [])])
        arrows: Line = ((f"  {more}" if also else more, "muted"),)
        return both_ends(said, (*cut_line(((also, ""),), width - length(arrows) - 1), *arrows), width)

    def _row(self, program: AgentProgram, place: int, names: int, width: int) -> Line:
        is_here = self.has_focus and place == self._selected
        number = self._counts.get(program.name, 0)
        note = how_to_install(program)
        bar = min(number, BAR)
        return fit(
            (
                *stepper_line(number, is_here=is_here),
                *column(((f"  {_shown(program)}", "bold" if is_here else "" if number else "muted"),), names),
                ("■" * bar, "accent"),
                ("·" * (BAR - bar), "faint"),
                (f"  {note}" if note else "", "warning" if number else "muted"),
            ),
            width,
        )

    # ── keys and the mouse ──────────────────────────────────────────────────────────────────

    def on_key(self, event: events.Key) -> None:
        moves = {"up": -1, "down": 1, "pageup": 1 - self.size.height, "pagedown": self.size.height - 1}
        found = self.found
        if event.key in moves:
            self._select(self._selected + moves[event.key])
        elif event.key == "backspace" and self._wanted:
            self._filter(self._wanted[:-1])
        elif event.key == "escape" and self._wanted:
            self._filter("")
        elif event.character and event.character.isalpha():
            self._filter(self._wanted + event.character.lower())
        elif found and self._step(found[self._selected].name, event):
            pass
        else:
            return
        event.stop()
        event.prevent_default()

    def _step(self, name: str, event: events.Key) -> bool:
        number = self._counts.get(name, 0)
        step = step_of(event)
        if step:
            self._digits.forget()
            self.set(name, number + step)
        elif event.character and event.character.isdecimal():
            self.set(name, self._digits.take(number, int(event.character), self._most))
        return bool(step) or bool(event.character and event.character.isdecimal())

    def _filter(self, text: str) -> None:
        self._wanted = text
        self._top = 0
        self._select(0)

    def _select(self, place: int) -> None:
        self._digits.forget()
        self._selected = max(0, min(len(self.found) - 1, place))
        room = max(1, self.size.height - HEAD_LINES)
        self._top = max(self._selected - room + 1, min(self._top, self._selected))
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        place, found = self._top + event.y - HEAD_LINES, self.found
        if event.y >= HEAD_LINES and place < len(found):
            self._select(place)
            name = found[place].name
            self.set(name, self._counts.get(name, 0) + (-1 if event.x <= 2 else 1))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-1)

    def _scroll(self, step: int) -> None:
        self._top = max(0, self._top + step)
        self.redraw()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._digits.forget()
        self.redraw()


def _shown(program: AgentProgram) -> str:
    return clean(program.name).rsplit("/", 1)[-1]
