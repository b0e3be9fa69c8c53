"""One agent's terminal, live: what is inside a pane's frame.

Shows the screen that the agent's holder serves, sends it what is typed while the screen has put it in typing mode,
and tells by messages what happened. The border, the title and the modes belong to whoever contains it. It knows no
screen, no app and no store. It is long because a terminal is one thing to the person at it: what is typed, pointed
at, painted and sized all depends on the same few facts (typed into, scrolled back, shown, cropped).

Use::

    sessions = Sessions(fleet)                    # one for all panes of a dashboard
    pane = Pane(sessions)
    pane.agent = agent                            # shows it; a newer copy of the same run only updates it
    pane.focus(); pane.is_typing = True           # TYPING: every key but the two chords goes to the agent
    other.is_quiet = True                         # readable, dimmed, while somebody else is typed into

While typing, a pane takes each key the moment Textual hands it out, so that a key goes where it was pressed:
the leave chord posts `LeaveAsked` and every later key counts as pressed in the list; the leader posts
`LeaderPressed` and the next key comes as `Led` (the leader itself, pressed twice, goes to the agent).
"""

from __future__ import annotations

from typing import Any, Self

from textual import events
from textual.color import Color
from textual.geometry import Offset, Region
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from fleet_tui.inputs import KeyEvent, MouseButton, MouseEvent, MouseKind
from fleet_tui.models import Agent, Status
from fleet_tui.session import View
from fleet_tui.sizes import PANE_FLOOR
from fleet_tui.text import one_line
from fleet_tui.tui.driver import host_key, host_of
from fleet_tui.tui.paint import Styles, marked, strip
from fleet_tui.tui.sessions import PaneSession, Sessions
from fleet_tui.tui.widgets.copy_mode import Row
from fleet_tui.tui.widgets.look_back import LookBack

LEAVE_KEYS = frozenset({"ctrl+q", "f12"})
LEADER_KEYS = frozenset({"ctrl+right_square_bracket", "f11"})
SETTLE_SECONDS = 0.3
"""How long a layout has to hold before the program is told its size."""
WHEEL_ROWS = 3
COPY_LIMIT = 100_000
"""Characters; hosts refuse clipboards of much more."""
SHAPES = {"block": 2, "underline": 4, "bar": 6}
"""As DECSCUSR numbers the steady ones; one less blinks."""

_BUTTONS: dict[int, MouseButton] = {0: "", 1: "left", 2: "middle", 3: "right"}


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
    """A dialog is on top, and its scrim over this."""
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
        """The pane was clicked while not typed into (or while somebody scrolled back in it)."""

        def __init__(self, pane: Pane, button: int, chain: int) -> None:
            super().__init__(pane)
            self.button = button
            self.chain = chain
            """2 for a double click."""

    class BellRang(PaneMessage):
        """The program rang the bell."""

    class Notified(PaneMessage):
        """The program wants its person told something."""

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
        """The agent's screen has another size now, or is cropped now: `true_size` says which."""

    class Ended(PaneMessage):
        """The program has ended; the pane shows its last screen."""

    class Copied(PaneMessage):
        """Text went to the host's clipboard."""

        def __init__(self, pane: Pane, text: str) -> None:
            super().__init__(pane)
            self.text = text

    class CopyModeChanged(PaneMessage):
        """Copy mode began or ended (`is_copying`), or a selection in it (`is_selecting`)."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._sessions = sessions
        self.leave_keys = LEAVE_KEYS
        """As Textual names keys; the app may set others."""
        self.leader_keys = LEADER_KEYS
        self._session: PaneSession | None = None
        self._is_shown = False
        self._strips: list[Strip] = []
        self._stale: set[int] = set()
        """Rows of the pane whose strips are out of date."""
        self._unpainted: set[int] = set()
        """Rows of the pane that Textual has not been told to paint."""
        self._left, self._top = 0, 0
        """The cell of the agent's screen that is at the pane's top left."""
        self._cursor_row = -1
        """The row in which a cursor is drawn, where the host has none of its own."""
        self._back: LookBack | None = None
        self._focus_before: Widget | None = None
        self._has_taken_focus = False
        self._is_leaving = False
        self._is_led = False
        self._had_focus = False
        self._pressed: MouseButton = ""
        self._drag_from: tuple[int, int] | None = None
        self._has_dragged = False
        self._pointer = (-1, -1)
        self._told_size: tuple[int, int] = (0, 0)
        self._settling: Timer | None = None
        self._title = ""
        self._shape: tuple[int, int, bool] = (0, 0, False)

    # ── what it shows ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def view(self) -> View:
        """The agent's screen, as last seen."""
        return self._session.view if self._session is not None else View()

    @property
    def title(self) -> str:
        """What the program calls its window."""
        return self._title

    @property
    def true_size(self) -> tuple[int, int] | None:
        """Columns and rows of the agent's screen while the pane can show only a part of it; else None."""
        cols, rows, is_cropped = self._shape
        return (cols, rows) if is_cropped else None

    @property
    def is_copying(self) -> bool:
        """Copy mode: the pane takes keys to move, search, select and copy."""
        return self._back is not None and self._back.mode.has_cursor

    @property
    def is_selecting(self) -> bool:
        """Copy mode has the beginning of a selection."""
        return self._back is not None and self._back.mode.anchor is not None

    @property
    def is_scrolled(self) -> bool:
        """It shows the past."""
        return self._back is not None

    def connect(self, sessions: Sessions) -> None:
        """Use other sessions from now on."""
        self._part()
        self._sessions = sessions
        self._join()

    def watch_agent(self, before: Agent | None, agent: Agent | None) -> None:
        if _run_of(before) == _run_of(agent):
            if self._session is None or not self._session.view.rows:
                self._repaint_all()
            return
        self._part()
        self._session = None
        self._title, self._shape = "", (0, 0, False)
        self.return_to_present()
        self._join()
        self._repaint_all()

    def _join(self) -> None:
        if self.agent is None or not self.is_mounted:
            return
        if self._session is None:
            self._session = self._sessions.session(self.agent, self)
        if self._is_shown:
            self._sessions.show(self, self)

    def _part(self) -> None:
        self._sessions.hide(self)
        if self._session is not None:
            self._session.close()

    def on_mount(self) -> None:
        self.app.screen_change_signal.subscribe(self, self._screen_changed)
        self._join()

    def on_unmount(self) -> None:
        self._part()
        self._hide_cursor()

    def on_show(self) -> None:
        self._is_shown = True
        self._join()

    def on_hide(self) -> None:
        self._is_shown = False
        self._part()
        if self.app.mouse_captured is self:
            self.release_mouse()

    def _screen_changed(self, _screen: Screen[Any]) -> None:
        """Behind another screen nothing is painted; behind a dialog it still is."""
        top = self.app.screen
        if self.is_attached and (top is self.screen or (top.is_modal and self.screen.is_current)):
            self._join()
        else:
            self._part()
        self._place_cursor()

    # as a viewer of sessions

    @property
    def wants_rate(self) -> bool:
        return self.is_typing

    def set_rate(self, rate: float) -> None:
        if self._session is not None:
            self._session.open(rate)

    def session_joined(self) -> None:
        self._told_size = (0, 0)
        self._settle()
        if self._had_focus and self._session is not None:
            self._session.focus(True)

    def session_ended(self) -> None:
        self._note_shape()
        self._repaint_all()
        self._place_cursor()
        self.post_message(self.Ended(self))

    def note_came(self, kind: str, title: str, text: str) -> None:
        if kind == "bell":
            self.post_message(self.BellRang(self))
        else:
            self.post_message(self.Notified(self, one_line(title), one_line(text)))

    def frame_came(self, changed: set[int]) -> None:
        self._note_shape()
        self._note_title()
        if self._back is not None:
            return
        is_moved = self._follow_cursor()
        self._place_cursor()
        if is_moved or len(self._strips) != self.size.height:
            self._repaint_all()
        else:
            self._repaint({y - self._top for y in changed})

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
        """Move the crop no further than it takes to keep the cursor in it; True when it moved."""
        view, width, height = self.view, self.size.width, self.size.height
        x, y = view.cursor[:2]
        left, top = _window(self._left, x, width, view.cols), _window(self._top, y, height, view.rows)
        is_moved = (left, top) != (self._left, self._top)
        self._left, self._top = left, top
        return is_moved

    # ── size ────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_resize(self) -> None:
        self._strips = []
        if self._back is not None:
            self._back.resize(*self.size)
        self._follow_cursor()
        self._note_shape()
        self._repaint_all()
        self._place_cursor()
        self._settle()

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_SECONDS, self._tell_size)

    def _tell_size(self) -> None:
        self._settling = None
        width, height = self.size
        size = (max(width, PANE_FLOOR[0]), max(height, PANE_FLOOR[1]))
        if self._session is None or not width or not height or size == self._told_size:
            return
        if self._session.is_connected:
            self._told_size = size
            self._session.resize(*size)

    # ── painting ────────────────────────────────────────────────────────────────────────────────────────────────

    def watch_is_quiet(self) -> None:
        self._repaint_all()

    def watch_is_covered(self) -> None:
        self._repaint_all()

    def _repaint_all(self) -> None:
        self._repaint(set(range(self.size.height)))

    def _repaint(self, rows: set[int]) -> None:
        height = self.size.height
        rows = {y for y in rows if 0 <= y < height}
        self._stale |= rows
        self._unpainted |= rows
        if self._unpainted and self.is_mounted:
            self._sessions.paint(self, self)

    def take_rows_to_paint(self) -> set[int]:
        rows, self._unpainted = self._unpainted, set()
        return rows

    def render_lines(self, crop: Region) -> list[Strip]:
        """Bypasses Textual's styling of lines, which would replace the program's own colours."""
        strips = self._fresh_strips()
        width = self.size.width
        if crop.x == 0 and crop.width == width:
            return strips if crop.height == len(strips) else strips[crop.y : crop.bottom]
        return [row.crop(crop.x, crop.right) for row in strips[crop.y : crop.bottom]]

    def render_line(self, y: int) -> Strip:
        strips = self._fresh_strips()
        return strips[y] if 0 <= y < len(strips) else Strip.blank(self.size.width)

    def _fresh_strips(self) -> list[Strip]:
        height = self.size.height
        if len(self._strips) != height:
            self._strips = [Strip.blank(self.size.width)] * height
            self._stale = set(range(height))
        if self._stale and (self._session is None or self._session.is_whole):
            # A new list: the compositor may still hold the old one.
            strips = list(self._strips)
            for y in self._stale:
                if y < height:
                    strips[y] = self._row(y)
            self._strips, self._stale = strips, set()
        return self._strips

    def _row(self, y: int) -> Strip:
        if self._back is not None:
            return self._back.row(y, self._strip, self._sessions.styles)
        view = self.view
        if not view.rows:
            return self._placeholder_row(y)
        row = self._top + y
        made = self._strip(view.lines[row] if row < len(view.lines) else (), self._left)
        x, cursor_y, is_visible, *_ = view.cursor
        if self._draws_cursor and is_visible and cursor_y == row:
            made = marked(made, x - self._left, x - self._left + 1)
        return made

    def _strip(self, runs: Row, left: int) -> Strip:
        host = host_of(self.app)
        draws_clusters = host is None or host.draws_clusters
        styles = self._styles(is_quiet=self.is_quiet)
        return strip(runs, left, self.size.width, styles, draws_clusters=draws_clusters)

    def _styles(self, *, is_quiet: bool) -> Styles:
        if self.is_covered and not self.app.current_theme.ansi:
            foreground = Color.parse(self.app.theme_variables["foreground"]).rich_color
            return self._sessions.covered_styles(foreground, self.app.ansi_theme)
        return self._sessions.quiet_styles if is_quiet else self._sessions.styles

    def _placeholder_row(self, y: int) -> Strip:
        text = self._placeholder() if y == self.size.height // 2 else ""
        text = text[: self.size.width].center(self.size.width).rstrip()
        styles = self._styles(is_quiet=True)
        return strip([(text, None, len(text))], 0, self.size.width, styles, draws_clusters=False)

    def _placeholder(self) -> str:
        agent = self.agent
        if agent is None:
            return ""
        if not agent.has_ended and agent.status is Status.SETUP:
            # It may have no holder yet.
            return agent.status_detail or "setting up…"
        if agent.has_ended or (self._session is not None and self._session.has_ended):
            return "it left nothing on its screen"
        return "starting…"

    # the cursor

    @property
    def _draws_cursor(self) -> bool:
        return self.is_typing and host_of(self.app) is None

    def _place_cursor(self) -> None:
        """Where keys land, and nowhere else."""
        if not self.is_typing or not self.is_mounted:
            return
        x, y, is_visible, shape, is_blinking = self.view.cursor
        at = Offset(min(x - self._left, self.size.width - 1), y - self._top)
        is_inside = self.size.region.contains_point(at) and self._back is None
        self._draw_cursor(at.y)
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
        return self._session is not None and bool(self.view.rows) and not self._session.has_ended

    def _draw_cursor(self, row: int) -> None:
        if not self._draws_cursor:
            row = -1
        if row != self._cursor_row:
            rows, self._cursor_row = {self._cursor_row, row}, row
            self._repaint(rows)
        elif row >= 0:
            self._repaint({row})

    def _hide_cursor(self) -> None:
        self._draw_cursor(-1)
        host = host_of(self.app)
        if host is not None and self.is_typing:
            host.hide_cursor()

    # ── typing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def watch_is_typing(self, _before: bool, is_typing: bool) -> None:
        self._is_leaving = self._is_led = False
        if self._is_shown and self._session is not None:
            self._sessions.show(self, self)
        if is_typing:
            self._place_cursor()
        else:
            self.return_to_present()
            host = host_of(self.app)
            self._draw_cursor(-1)
            if host is not None:
                host.hide_cursor()
        self._tell_focus()

    def on_focus(self) -> None:
        self._tell_focus()

    def blur(self) -> Self:
        """Textual blurs what is hidden; in a terminal that is too small for a moment, keys stay where they go."""
        return self if self._takes_keys else super().blur()

    def on_blur(self) -> None:
        self._is_led = False
        self._tell_focus()

    def _tell_focus(self) -> None:
        has_focus = self.is_typing and self.is_attached and self.screen.focused is self
        if has_focus != self._had_focus:
            self._had_focus = has_focus
            if self._session is not None:
                self._session.focus(has_focus)

    @property
    def _takes_keys(self) -> bool:
        return (self.is_typing and not self._is_leaving) or self.is_copying

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Every key, even one that the app gives priority: while typing, chords are looked for in here."""
        if len(character or "") > 1 and (self._is_led or self.is_copying):
            # Text typed at once: here each character is a key of its own.
            return False
        return self._takes_keys

    def takes_at_once(self, event: events.Key | events.Paste) -> bool:
        """Whether this only goes to the agent, so that the next key need not wait for what comes of it."""
        if not self._takes_keys or self._is_led or self.is_copying:
            return False
        return isinstance(event, events.Paste) or event.key not in self.leave_keys | self.leader_keys

    def focus_on_click(self) -> bool:
        """Never: the focus is not to move by itself."""
        return False

    def _forward_event(self, event: events.Event) -> None:
        """Keys and pastes are taken here, as the app hands them out: in a queue they would outlive a change of mode."""
        if self._takes_keys and isinstance(event, events.Key | events.Paste):
            event._set_forwarded()
            self._tell_focus()
            if isinstance(event, events.Key):
                self._press(event)
            else:
                self._take_paste(event.text)
            return
        super()._forward_event(event)

    def _press(self, event: events.Key) -> None:
        if self._is_led:
            self._press_after_leader(event)
        elif event.key in self.leave_keys and self.is_typing:
            self._is_leaving = True
            self.post_message(self.LeaveAsked(self))
        elif event.key in self.leader_keys and self.is_typing:
            self._is_led = True
            self.post_message(self.LeaderPressed(self))
        elif self.is_copying:
            self._press_in_copy_mode(event)
        else:
            self.return_to_present()
            self.send_keys(host_key(event))

    def _press_after_leader(self, event: events.Key) -> None:
        self._is_led = False
        if event.key in self.leader_keys:
            self.send_keys(host_key(event))
        self.post_message(self.Led(self, event.key, event.character))

    def send_keys(self, *keys: KeyEvent) -> None:
        """Type into the agent."""
        if self._session is not None:
            self._session.keys(*keys)

    def send_paste(self, text: str) -> None:
        """Paste into the agent, whole."""
        if self._session is not None and text:
            self._session.paste(text)

    def _take_paste(self, text: str) -> None:
        if self.is_copying:
            return
        self.return_to_present()
        self.send_paste(text)

    # ── mouse ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _gives_mouse(self) -> bool:
        """The program asked for the mouse, and is being typed into."""
        return self.is_typing and bool(self.view.mouse) and self._back is None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self._has_dragged = False
        if self._gives_mouse and not event.shift:
            self._pressed = _BUTTONS.get(event.button, "")
            self._point("press", event, self._pressed)
        elif event.button == 1 and self.view.rows:
            self._drag_from = (event.x, event.y)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        if self._pressed:
            self._point("release", event, self._pressed)
            self._pressed = ""
        else:
            self._drop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._pressed or (self._gives_mouse and self.view.mouse == "any"):
            at = (event.x, event.y)
            if at != self._pointer:
                self._pointer = at
                self._point("move", event, self._pressed)
        elif self._drag_from is not None:
            self._drag(event)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if not self.is_typing and not self._has_dragged:
            self.post_message(self.Clicked(self, event.button, event.chain))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn_wheel(event, "scroll_up", 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn_wheel(event, "scroll_down", -1)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        self._turn_wheel(event, "scroll_left", 0)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        self._turn_wheel(event, "scroll_right", 0)

    def _turn_wheel(self, event: events.MouseEvent, kind: MouseKind, direction: int) -> None:
        event.stop()
        view = self.view
        if self._gives_mouse and not event.shift:
            self._point(kind, event, "")
        elif not direction:
            return
        elif self.is_typing and self._back is None and view.is_alternate and view.scrolls_alternate:
            self.send_keys(*[KeyEvent("up" if direction > 0 else "down")] * WHEEL_ROWS)
        else:
            self.scroll_back(direction * WHEEL_ROWS)

    def _point(self, kind: MouseKind, event: events.MouseEvent, button: MouseButton) -> None:
        view = self.view
        if self._session is None or not view.rows:
            return
        # A drag goes on beyond the edges, and must be seen to end.
        x = max(0, min(event.x + self._left, view.cols - 1))
        y = max(0, min(event.y + self._top, view.rows - 1))
        self._session.mouse(MouseEvent(kind, x, y, button, event.shift, event.meta, event.ctrl))

    def _drag(self, event: events.MouseEvent) -> None:
        """Select with the mouse what no program wants it for."""
        back = self._back or self._look_back(has_cursor=False)
        if back is not None and self._drag_from is not None:
            self._has_dragged = True
            back.drag(self._drag_from, event.x, event.y)
            self._repaint_all()

    def _drop(self) -> None:
        back, self._drag_from = self._back, None
        if not self._has_dragged or back is None or back.mode.has_cursor:
            return
        back.copy()
        back.mode.anchor = None
        if back.mode.is_at_end:
            self.return_to_present()
        else:
            self._repaint_all()

    # ── the past ────────────────────────────────────────────────────────────────────────────────────────────────

    def start_copying(self, *, search: bool = False) -> None:
        """Enter copy mode, with the search line open if asked. It has the focus until it is left."""
        back = self._back or self._look_back(has_cursor=True)
        if back is None:
            return
        if self.screen.focused is not self:
            self._focus_before, self._has_taken_focus = self.screen.focused, True
            self.screen.set_focus(self)
        back.mode.has_cursor = True
        if search:
            back.mode.prompt = ""
        self._repaint_all()
        self.post_message(self.CopyModeChanged(self))

    def scroll_back(self, rows: int) -> None:
        """Show older rows (or newer ones, when negative); typing, or reaching the end, returns to the present."""
        back = self._back or (self._look_back(has_cursor=False) if rows > 0 else None)
        if back is None:
            return
        back.mode.scroll(rows)
        if rows < 0 and back.mode.is_at_end and not back.mode.has_cursor and self._drag_from is None:
            self.return_to_present()
        else:
            self._repaint_all()

    def page_back(self, pages: int = 1) -> None:
        """The same by pages."""
        self.scroll_back(pages * max(1, self.size.height - 1))

    def _look_back(self, *, has_cursor: bool) -> LookBack | None:
        if self._session is None or not self.view.rows:
            return None
        self._back = LookBack(
            self._session,
            self.size,
            (self._left, self._top),
            has_cursor=has_cursor,
            changed=self._repaint_all,
            copied=self._to_clipboard,
            left=self.return_to_present,
        )
        self._place_cursor()
        return self._back

    def _press_in_copy_mode(self, event: events.Key) -> None:
        was_selecting = self.is_selecting
        if self._back is not None:
            self._back.press(event.key, event.character)
        if self.is_selecting != was_selecting:
            self.post_message(self.CopyModeChanged(self))
        self._repaint_all()

    def return_to_present(self) -> None:
        """Show the screen as it is now."""
        back, self._back = self._back, None
        if back is None:
            return
        self._follow_cursor()
        self._repaint_all()
        self._place_cursor()
        if back.mode.has_cursor:
            self._give_focus_back()
            self.post_message(self.CopyModeChanged(self))

    def _give_focus_back(self) -> None:
        before, had_taken = self._focus_before, self._has_taken_focus
        self._focus_before, self._has_taken_focus = None, False
        if had_taken and self.screen.focused is self:
            self.screen.set_focus(before)

    def _to_clipboard(self, text: str) -> None:
        if text:
            self.app.copy_to_clipboard(text[:COPY_LIMIT])
            self.post_message(self.Copied(self, text))


def _run_of(agent: Agent | None) -> tuple[str, int] | None:
    return (agent.id, agent.run) if agent is not None else None


def _window(start: int, at: int, size: int, total: int) -> int:
    start = min(max(start, at - size + 1), at)
    return max(0, min(start, total - size))
