"""A number field, changed by arrow keys, plus and minus, digits or the mouse."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.widgets.lines import Line, LineView

_STEPS = {"left": -1, "minus": -1, "right": 1, "plus": 1, "equals_sign": 1}


def step_of(event: events.Key) -> int:
    """How much a key changes a number; 0 if it does not."""
    return _STEPS.get(event.key, 0)


def stepper_line(value: int, *, is_here: bool) -> Line:
    """The number between minus and plus; a bar marks the row that has the keyboard."""
    number = "bold accent" if is_here else "bold" if value else "faint"
    edge = ("▌", "bar") if is_here else (" ", "")
    return edge, ("− ", "faint"), (str(value), number), (" +", "faint")


class Digits:
    """Digits typed one after another make one number."""

    def __init__(self) -> None:
        self._is_written = False
        """The last key was a digit: the next one continues the number."""

    def take(self, value: int, digit: int, most: int) -> int:
        longer = value * 10 + digit
        is_longer = self._is_written and longer <= most
        self._is_written = True
        return longer if is_longer else digit

    def forget(self) -> None:
        self._is_written = False


class Stepper(LineView, can_focus=True):
    """Changed with left and right, minus and plus, or by typing the number."""

    class Changed(Message):
        def __init__(self, stepper: Stepper) -> None:
            super().__init__()
            self.stepper = stepper

    def __init__(self, value: int, *, least: int = 0, most: int, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.value = value
        self._least, self._most = least, most
        self._digits = Digits()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return [stepper_line(self.value, is_here=self.has_focus)]

    def set(self, value: int) -> None:
        value = max(self._least, min(self._most, value))
        if value != self.value:
            self.value = value
            self.post_message(self.Changed(self))
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        step = step_of(event) or {"h": -1, "l": 1}.get(event.key, 0)
        if step:
            self._digits.forget()
            self.set(self.value + step)
        elif event.character and event.character.isdecimal():
            self.set(self._digits.take(self.value, int(event.character), self._most))
        else:
            self._digits.forget()
            return
        event.stop()
        event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        self.set(self.value + (-1 if event.x <= 2 else 1))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._digits.forget()
        self.redraw()
