"""A number field with a label, changed by arrow keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.widgets.lines import Line, LineView


class Stepper(LineView, can_focus=True):
    """Changed with left and right, minus and plus, or by typing the number."""

    class Changed(Message):
        def __init__(self, stepper: Stepper) -> None:
            super().__init__()
            self.stepper = stepper

    def __init__(
        self,
        value: int,
        *,
        least: int = 0,
        most: int,
        label: str = "",
        bar: int = 0,
        note: str = "",
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.value = value
        self.label = label
        self.note = note
        self._least, self._most, self._bar = least, most, bar
        self._is_written = False
        """The last key was a digit: the next one continues the number."""

    def lines(self, width: int, height: int) -> Sequence[Line]:
        number = "bold accent" if self.has_focus else "bold" if self.value else "faint"
        edge = ("▌", "bar") if self.has_focus else (" ", "")
        line: list[tuple[str, str]] = [edge, ("− ", "faint"), (str(self.value), number), (" +", "faint")]
        if self.label:
            name = self.label.rsplit("/", 1)[-1]
            line.append((f"  {name[:10]:<10} ", "" if self.value else "muted"))
            shown = min(self.value, self._bar)
            line += [("■" * shown, "accent"), ("·" * (self._bar - shown), "faint")]
        if self.note:
            line.append((f"  {self.note}", "warning" if self.value else "muted"))
        return [tuple(line)]

    def set(self, value: int) -> None:
        value = max(self._least, min(self._most, value))
        if value != self.value:
            self.value = value
            self.post_message(self.Changed(self))
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("left", "minus", "h"):
            self.set(self.value - 1)
        elif event.key in ("right", "plus", "equals_sign", "l"):
            self.set(self.value + 1)
        elif event.character and event.character.isdigit():
            self._write(int(event.character))
        else:
            return
        self._is_written = bool(event.character and event.character.isdigit())
        event.stop()
        event.prevent_default()

    def _write(self, digit: int) -> None:
        longer = self.value * 10 + digit
        self.set(longer if self._is_written and longer <= self._most else digit)

    def on_click(self, event: events.Click) -> None:
        self.set(self.value + (-1 if event.x <= 2 else 1))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._is_written = False
        self.redraw()
