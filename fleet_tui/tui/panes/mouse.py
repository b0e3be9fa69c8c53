"""Mouse of a pane: events for a program that asked for them, selection and scrolling for one that did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from fleet_tui.terminal.input_events import KeyEvent, MouseButton, MouseEvent, MouseKind

if TYPE_CHECKING:
    from fleet_tui.tui.panes.pane import Pane

WHEEL_ROWS = 3

_BUTTONS: dict[int, MouseButton] = {0: "", 1: "left", 2: "middle", 3: "right"}


class PaneMouse:
    """The pointer over one pane: what is pressed, dragged and turned."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self._pressed: MouseButton = ""
        self._drag_from: tuple[int, int] | None = None
        self._pointer = (-1, -1)
        self.has_dragged = False
        """Since the button went down; the click that follows is the end of a drag."""

    @property
    def is_dragging(self) -> bool:
        return self._drag_from is not None

    @property
    def _goes_to_program(self) -> bool:
        """The program asked for the mouse and is being typed into."""
        pane = self._pane
        return pane.is_typing and bool(pane.view.mouse) and not pane.is_scrolled

    def down(self, event: events.MouseDown) -> None:
        self._pane.capture_mouse()
        self.has_dragged = False
        if self._goes_to_program and not event.shift:
            self._pressed = _BUTTONS.get(event.button, "")
            self._send("press", event, self._pressed)
        elif event.button == 1 and self._pane.view.rows:
            self._drag_from = (event.x, event.y)

    def up(self, event: events.MouseUp) -> None:
        self._pane.release_mouse()
        if self._pressed:
            self._send("release", event, self._pressed)
            self._pressed = ""
            return
        self._drag_from = None
        if self.has_dragged:
            self._pane.scrolling.end_drag()

    def move(self, event: events.MouseMove) -> None:
        if self._pressed or (self._goes_to_program and self._pane.view.mouse == "any"):
            at = (event.x, event.y)
            if at != self._pointer:
                self._pointer = at
                self._send("move", event, self._pressed)
        elif self._drag_from is not None and self._pane.scrolling.drag(self._drag_from, event.x, event.y):
            self.has_dragged = True

    def wheel(self, event: events.MouseEvent, kind: MouseKind, direction: int) -> None:
        """Turn the wheel; direction is 1 for older rows, -1 for newer ones, 0 for sideways."""
        event.stop()
        pane, view = self._pane, self._pane.view
        if self._goes_to_program and not event.shift:
            self._send(kind, event, "")
        elif not direction:
            return
        elif pane.is_typing and not pane.is_scrolled and view.is_alternate and view.scrolls_alternate:
            pane.send_keys(*[KeyEvent("up" if direction > 0 else "down")] * WHEEL_ROWS)
        else:
            pane.scrolling.scroll(direction * WHEEL_ROWS)

    def _send(self, kind: MouseKind, event: events.MouseEvent, button: MouseButton) -> None:
        pane, view = self._pane, self._pane.view
        if not view.rows:
            return
        # A drag goes on beyond the edges, and its end must reach the program.
        x = max(0, min(event.x + pane.crop.left, view.cols - 1))
        y = max(0, min(event.y + pane.crop.top, view.rows - 1))
        pane.send_mouse(MouseEvent(kind, x, y, button, event.shift, event.meta, event.ctrl))
