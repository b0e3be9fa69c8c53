"""The live terminal of one agent: the widget inside a pane's frame.

Shows the screen that the agent's holder serves, sends it what is typed in typing mode, and posts messages about what
happened. The border, the title and the modes belong to its container. It is one file because typing, painting, size
and focus depend on the same few facts; the mouse, scrolling back, the crop and connecting are parts of their own.

Use::

    pane = Pane(panes)                            # `LivePanes(fleet)`, one for all panes of a dashboard
    pane.agent = agent                            # shows it; a newer copy of the same run only updates it
    pane.focus(); pane.is_typing = True           # TYPING: every key but the two chords goes to the agent
    other.is_quiet = True                         # readable, dimmed, while another pane is typed into

While typing, a pane takes each key the moment Textual dispatches it, so that a key goes where it was pressed:
the leave chord posts `LeaveAsked` and every later key belongs to the list; the leader posts `LeaderPressed` and the
next key comes as `Led` (the leader pressed twice goes to the agent).
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any, Self

from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from fleet_tui.holder.size_owner import PANE_FLOOR
from fleet_tui.models import Agent
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.terminal.view import View
from fleet_tui.text import one_line
from fleet_tui.tui.driver import host_of
from fleet_tui.tui.panes.canvas import PaneCanvas
from fleet_tui.tui.panes.chords import PaneKeys
from fleet_tui.tui.panes.connection import PaneConnection
from fleet_tui.tui.panes.crop import Crop
from fleet_tui.tui.panes.live_panes import LivePanes
from fleet_tui.tui.panes.mouse import PaneMouse
from fleet_tui.tui.panes.scrolling import PaneScrolling

SETTLE_SECONDS = 0.3
"""A layout must hold this long before the program is resized."""
SHAPES = {"block": 2, "underline": 4, "bar": 6}
"""As DECSCUSR numbers the steady ones; one less blinks."""


class PaneMessage(Message):
    """Something that happened in a pane."""

    def __init__(self, pane: Pane) -> None:
        super().__init__()
        self.pane = pane

    @property
    def control(self) -> Pane:
        return self.pane


class Pane(Widget, can_focus=True, inherit_bindings=False):
    """The inside of a pane. Give it no border, padding or tint: it paints its own lines."""

    ALLOW_SELECT = False

    agent: reactive[Agent | None] = reactive(None, repaint=False, init=False)
    is_typing: reactive[bool] = reactive(False, repaint=False, init=False)
    """Keys go to the agent. Set by the screen, together with the focus."""
    is_quiet: reactive[bool] = reactive(False, repaint=False, init=False)
    """Another pane is typed into: this one's text is dimmed."""
    is_covered: reactive[bool] = reactive(False, repaint=False, init=False)
    """A dialog is on top; its scrim covers this pane."""
    digit: reactive[int] = reactive(0, repaint=False, init=False)
    """The key that jumps here, 0 for none; shown by the frame."""

    class LeaveAsked(PaneMessage):
        """The leave chord was pressed: set `is_typing` to False."""

    class LeaderPressed(PaneMessage):
        """The leader was pressed: show what may follow. The next key comes as `Led`."""

    class Led(PaneMessage):
        """The key after the leader, as Textual names it; 'escape' and unknown ones too."""

        def __init__(self, pane: Pane, key: str, character: str | None) -> None:
            super().__init__(pane)
            self.key = key
            self.character = character

    class Clicked(PaneMessage):
        """The pane was clicked while it was not typed into."""

        def __init__(self, pane: Pane, button: int, chain: int) -> None:
            super().__init__(pane)
            self.button = button
            self.chain = chain
            """2 for a double click."""

    class BellRang(PaneMessage):
        """The program rang the bell."""

    class Notified(PaneMessage):
        """The program asks for a notification."""

        def __init__(self, pane: Pane, title: str, text: str) -> None:
            super().__init__(pane)
            self.title = title
            self.text = text

    class TitleChanged(PaneMessage):
        """The program named its window; the text is free of control characters."""

        def __init__(self, pane: Pane, title: str) -> None:
            super().__init__(pane)
            self.title = title

    class ScreenResized(PaneMessage):
        """The agent's screen changed its size, or its crop: see `true_size`."""

    class Ended(PaneMessage):
        """The program has ended; the pane shows its last screen."""

    class Copied(PaneMessage):
        """Text went to the host's clipboard."""

        def __init__(self, pane: Pane, text: str) -> None:
            super().__init__(pane)
            self.text = text

    class CopyModeChanged(PaneMessage):
        """Copy mode began or ended (`is_copying`), or a selection in it (`is_selecting`)."""

    def __init__(self, panes: LivePanes, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._panes = panes
        self.keys = PaneKeys(self)
        self.connection: PaneConnection | None = None
        self.canvas = PaneCanvas(self, panes.styles)
        self.crop = Crop()
        self.pointer = PaneMouse(self)
        self.scrolling = PaneScrolling(self)
        self._had_focus = False
        self._laid_out = Size()
        """The size that everything in it was last fitted to."""
        self._sent_size: tuple[int, int] = (0, 0)
        self._settling: Timer | None = None
        self._title = ""
        self._shape: tuple[int, int, bool] = (0, 0, False)

    # ── what it shows ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def view(self) -> View:
        """The agent's screen, as last seen."""
        return self.connection.view if self.connection is not None else View()

    @property
    def true_size(self) -> tuple[int, int] | None:
        """Columns and rows of the agent's screen while the pane shows only a part of it; else None."""
        cols, rows, is_cropped = self._shape
        return (cols, rows) if is_cropped else None

    @property
    def is_copying(self) -> bool:
        """Copy mode: the pane takes keys to move, search, select and copy."""
        return self.scrolling.has_cursor

    @property
    def is_selecting(self) -> bool:
        """Copy mode has the beginning of a selection."""
        return self.scrolling.is_selecting

    @property
    def is_scrolled(self) -> bool:
        """It shows the scrollback instead of the screen."""
        return self.scrolling.shown is not None

    def watch_agent(self, before: Agent | None, agent: Agent | None) -> None:
        if _run_of(before) != _run_of(agent):
            self.reconnect()
        elif self.connection is None or not self.connection.view.rows:
            self.repaint_all()

    def reconnect(self) -> None:
        """Connect to what it shows now."""
        self.disconnect()
        agent = self.agent
        self.connection = self._panes.connection(agent, self) if agent is not None else None
        self._title, self._shape = "", (0, 0, False)
        self.scrolling.leave()
        self._panes.reconcile_soon()
        self.repaint_all()

    def on_mount(self) -> None:
        self.app.screen_change_signal.subscribe(self, self._screen_changed)
        self.canvas.follow_theme()
        self._panes.add(self, self)

    def on_unmount(self) -> None:
        self._panes.remove(self)
        self._hide_cursor()

    def on_show(self) -> None:
        self._panes.reconcile_soon()

    def on_hide(self) -> None:
        self._panes.reconcile_soon()
        if self.app.mouse_captured is self:
            self.release_mouse()

    def _screen_changed(self, _screen: Screen[Any]) -> None:
        self._panes.reconcile_soon()
        self.place_cursor()

    @property
    def wants_rate(self) -> bool:
        return self.is_typing

    @property
    def is_visible(self) -> bool:
        """Whether it shows an agent that can be seen now: behind a dialog it can, behind a full screen it cannot."""
        if self.agent is None or not self.is_attached or not self.size:
            return False
        above = list(takewhile(lambda screen: screen is not self.screen, reversed(self.app.screen_stack)))
        if not all(screen.is_modal for screen in above):
            return False
        return all(node.display for node in self.ancestors_with_self if isinstance(node, Widget))

    def connect(self, rate: float) -> None:
        if self.connection is None or self.agent is None:
            return
        self.connection.open(rate)
        if not self.agent.has_ended:
            self.connection.resume()
        if self.size != self._laid_out:
            # Textual may lose a Resize as it does a Show.
            self._fit()

    def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def connected(self) -> None:
        self._sent_size = (0, 0)
        self._settle()
        if self._had_focus and self.connection is not None:
            self.connection.focus(True)

    def program_ended(self) -> None:
        self._note_shape()
        self.repaint_all()
        self.place_cursor()
        self.post_message(self.Ended(self))

    def note_received(self, kind: str, title: str, text: str) -> None:
        if kind == "bell":
            self.post_message(self.BellRang(self))
        else:
            self.post_message(self.Notified(self, one_line(title), one_line(text)))

    def frame_received(self, changed: set[int]) -> None:
        self._note_shape()
        self._note_title()
        if self.is_scrolled:
            return
        is_moved = self._follow_cursor()
        self.place_cursor()
        if is_moved or not self.canvas.is_fitted:
            self.repaint_all()
        else:
            self._repaint({y - self.crop.top for y in changed})

    def _note_title(self) -> None:
        title = one_line(self.view.title)
        if title != self._title:
            self._title = title
            self.post_message(self.TitleChanged(self, title))

    def _note_shape(self) -> None:
        view = self.view
        is_cropped = view.cols > self.size.width or view.rows > self.size.height
        shape = (view.cols, view.rows, is_cropped)
        if shape != self._shape:
            self._shape = shape
            self.post_message(self.ScreenResized(self))

    def _follow_cursor(self) -> bool:
        return self.crop.follow(self.view, *self.size)

    # ── size ────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_resize(self) -> None:
        self._fit()
        self._panes.reconcile_soon()

    def _fit(self) -> None:
        """Fit what is shown to the size that it has now."""
        self._laid_out = self.size
        self.canvas.clear()
        self.scrolling.resize(*self.size)
        self._follow_cursor()
        self._note_shape()
        self.repaint_all()
        self.place_cursor()
        self._settle()

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_SECONDS, self._send_size)

    def _send_size(self) -> None:
        self._settling = None
        width, height = self.size
        size = (max(width, PANE_FLOOR[0]), max(height, PANE_FLOOR[1]))
        if self.connection is None or not width or not height or size == self._sent_size:
            return
        if self.connection.is_connected:
            self._sent_size = size
            self.connection.resize(*size)

    # ── painting ────────────────────────────────────────────────────────────────────────────────────────────────

    def watch_is_quiet(self) -> None:
        self.repaint_all()

    def watch_is_covered(self) -> None:
        self.repaint_all()

    def repaint_all(self) -> None:
        self._repaint(set(range(self.size.height)))

    def _repaint(self, rows: set[int]) -> None:
        if self.canvas.invalidate(rows) and self.is_mounted:
            self._panes.repaint.request(self, self)

    def take_rows_to_paint(self) -> set[int]:
        return self.canvas.take_unpainted()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render without Textual's line styles, which would replace the program's own colors."""
        strips = self.canvas.strips()
        width = self.size.width
        if crop.x == 0 and crop.width == width:
            return strips if crop.height == len(strips) else strips[crop.y : crop.bottom]
        return [row.crop(crop.x, crop.right) for row in strips[crop.y : crop.bottom]]

    def render_line(self, y: int) -> Strip:
        strips = self.canvas.strips()
        return strips[y] if 0 <= y < len(strips) else Strip.blank(self.size.width)

    def place_cursor(self) -> None:
        """Show the cursor where keys land, and nowhere else."""
        if not self.is_typing or not self.is_mounted:
            return
        x, y, is_visible, shape, is_blinking = self.view.cursor
        at = Offset(min(x - self.crop.left, self.size.width - 1), y - self.crop.top)
        is_inside = self.size.region.contains_point(at) and not self.is_scrolled
        self._repaint(self.canvas.move_cursor(at.y))
        host = host_of(self.app)
        if is_visible and is_inside and self.screen.is_active and self._is_live:
            place = self.content_region.offset + at
            self.app.cursor_position = place
            if host is not None:
                host.show_cursor(place.x, place.y, SHAPES.get(shape, 2) - is_blinking)
        elif host is not None:
            host.hide_cursor()

    @property
    def _is_live(self) -> bool:
        return self.connection is not None and bool(self.view.rows) and not self.connection.has_ended

    def _hide_cursor(self) -> None:
        self._repaint(self.canvas.move_cursor(-1))
        host = host_of(self.app)
        if host is not None and self.is_typing:
            host.hide_cursor()

    # ── typing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def watch_is_typing(self, _before: bool, is_typing: bool) -> None:
        self.keys.reset()
        self._panes.reconcile_soon()
        if is_typing:
            self.place_cursor()
        else:
            self.scrolling.leave()
            host = host_of(self.app)
            self._repaint(self.canvas.move_cursor(-1))
            if host is not None:
                host.hide_cursor()
        self._send_focus()

    def on_focus(self) -> None:
        self._send_focus()

    def blur(self) -> Self:
        """Keep the focus when Textual hides a typed-to pane because the terminal is too small for a moment."""
        return self if self.keys.are_taken else super().blur()

    def on_blur(self) -> None:
        self.keys.forget_leader()
        self._send_focus()

    def _send_focus(self) -> None:
        has_focus = self.is_typing and self.is_attached and self.screen.focused is self
        if has_focus != self._had_focus:
            self._had_focus = has_focus
            if self.connection is not None:
                self.connection.focus(has_focus)

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Take every key while typing, even those with a priority binding."""
        return self.keys.are_consumed(character)

    def takes_at_once(self, event: events.Key | events.Paste) -> bool:
        """Whether the event only goes to the agent, so that the next key need not wait for its effect."""
        return self.keys.only_reaches_agent(event)

    def focus_on_click(self) -> bool:
        """Never: only the dashboard moves the focus."""
        return False

    def _forward_event(self, event: events.Event) -> None:
        """Take keys and pastes as the app dispatches them: a queued key would outlive a change of mode."""
        if self.keys.are_taken and isinstance(event, events.Key | events.Paste):
            event._set_forwarded()
            self._send_focus()
            if isinstance(event, events.Key):
                self.keys.press(event)
            else:
                self.keys.paste(event.text)
            return
        super()._forward_event(event)

    def send_keys(self, *keys: KeyEvent) -> None:
        """Type into the agent."""
        if self.connection is not None:
            self.connection.keys(*keys)
            self._panes.priority.sent()

    def send_paste(self, text: str) -> None:
        """Paste into the agent, whole."""
        if self.connection is not None and text:
            self.connection.paste(text)

    def send_mouse(self, event: MouseEvent) -> None:
        """Send a mouse event to the agent."""
        if self.connection is not None:
            self.connection.mouse(event)

    # ── mouse ───────────────────────────────────────────────────────────────────────────────────────────────────

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.pointer.down(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.pointer.up(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.pointer.move(event)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if not self.is_typing and not self.pointer.has_dragged:
            self.post_message(self.Clicked(self, event.button, event.chain))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.pointer.wheel(event, "scroll_up", 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.pointer.wheel(event, "scroll_down", -1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self.pointer.wheel(event, "scroll_left", 0)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self.pointer.wheel(event, "scroll_right", 0)

    # ── scrollback ──────────────────────────────────────────────────────────────────────────────────────────────

    def show_present(self) -> None:
        """Paint the screen again, after the scrollback."""
        self._follow_cursor()
        self.repaint_all()
        self.place_cursor()

    def copy_to_clipboard(self, text: str) -> None:
        if text:
            self.app.copy_to_clipboard(text)
            self.post_message(self.Copied(self, text))


def _run_of(agent: Agent | None) -> tuple[str, int] | None:
    return (agent.id, agent.run) if agent is not None else None
