"""A frame whose right edge can be dragged, to resize the list."""

from __future__ import annotations

from textual import events
from textual.message import Message

from fleet_tui.tui.widgets.frame import Frame


class SideFrame(Frame):
    class Dragged(Message):
        """The edge was dragged to this width."""

        def __init__(self, width: int) -> None:
            super().__init__()
            self.width = width

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.screen_x == self.region.right - 1:
            event.stop()
            self.capture_mouse()

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is self:
            self.post_message(self.Dragged(round(event.screen_x) - self.region.x + 1))
