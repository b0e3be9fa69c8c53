"""The display of a run: feed the emulator at whole frames, and hand each viewer the frames it is due."""

from __future__ import annotations

from collections.abc import Iterator

from fleet_tui.holder.frames import Frames, Viewer
from fleet_tui.holder.server.pty import READ_SIZE
from fleet_tui.terminal.emulator import Screen

HOLD_SECONDS = 0.15
"""How long synchronized output may delay a frame."""
REDRAW_BEGINS, REDRAW_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"
QUIET_SECONDS = 0.8
"""After this long without output the scrollback is compressed, which takes half a millisecond for a thousand lines."""


class ScreenDisplay:
    """The emulated screen and the frames cut from it."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.frames = Frames(screen)
        self._held_since: float | None = None
        self._is_compressed = True

    def feed(self, data: bytes, now: float, viewers: list[Viewer]) -> None:
        """Feed output, and look at the screen between two redraws in it: only there is it whole."""
        for viewer in viewers:
            viewer.output_came(now)
        # Nearly all output has no such sequence, and a single byte is found much faster.
        end = data.rfind(REDRAW_ENDS) + len(REDRAW_ENDS) if viewers and b"?" in data else 0
        if end >= len(REDRAW_ENDS) and data.find(REDRAW_BEGINS, end) >= 0:
            self._held_since = None
            if self._is_to_look(data, now, viewers):
                self.screen.feed(data[:end])
                data = data[end:]
                self.frames.fed()
                self.frames.look()
        self.screen.feed(data)
        self.frames.fed()
        self._is_compressed = False

    def _is_to_look(self, data: bytes, now: float, viewers: list[Viewer]) -> bool:
        """After a full read more output follows, with an equally good moment; wait for that until a frame is due."""
        if len(data) < READ_SIZE:
            return True
        due = self.frames.due(viewers, is_held=False)
        return due is not None and due <= now

    def compress_if_quiet(self, now: float, last_output: float) -> None:
        if not self._is_compressed and now - last_output > QUIET_SECONDS:
            self._is_compressed = True
            self.screen.compress()

    def is_held(self, now: float) -> bool:
        """Whether synchronized output holds frames back: the program is in the middle of a redraw."""
        if not self.screen.is_holding:
            self._held_since = None
            return False
        if self._held_since is None:
            self._held_since = now
        return now - self._held_since < HOLD_SECONDS

    def due(self, now: float, viewers: list[Viewer]) -> float | None:
        """When the next frame has to go out; None while no viewer is waiting for one."""
        if not viewers:
            return None
        is_held = self.is_held(now)
        due = self.frames.due(viewers, is_held=is_held)
        if not is_held or self._held_since is None:
            return due
        released = self._held_since + HOLD_SECONDS
        return released if due is None else min(due, released)

    def messages(self, viewer: Viewer, now: float, *, is_held: bool, last: bool) -> Iterator[bytes]:
        """The messages this viewer is due now; `last` sends what there is regardless of its rate."""
        if last or self.frames.is_due(viewer, now, is_held=is_held):
            if not is_held:
                self.frames.look()
            yield from self.frames.changes(viewer, now)
