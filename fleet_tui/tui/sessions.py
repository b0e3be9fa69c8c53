"""Panes attached to their agents' holders, all on the loop of the dashboard.

Nothing here ever waits: connecting is tried again by a timer, what a holder does not take yet is kept, and what it
sends is taken when it is there. A screen server may be replaced at any moment; the pane is attached again and
nothing typed meanwhile is lost. Knows nothing of Textual's widgets but that they are painted.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from rich.color import Color
from rich.terminal_theme import TerminalTheme
from textual.screen import Screen
from textual.widget import Widget

from fleet_tui import paths, wire
from fleet_tui.errors import HolderGone
from fleet_tui.holder import is_held, read_holder
from fleet_tui.inputs import KeyEvent, MouseEvent
from fleet_tui.models import Agent
from fleet_tui.session import Session, View, final_view
from fleet_tui.tui.driver import host_of
from fleet_tui.tui.paint import FixedStyles, Styles, paint_rows

TYPING_RATE, SHOWN_RATE, CROWDED_RATE = 60.0, 30.0, 15.0
CROWD = 7
"""So many panes side by side get fewer frames each."""
AT_ONCE = 2
"""Panes that are painted in one go: nine of them, all of whose rows have changed, take more than a frame of time."""
BEHIND_A_DIALOG = 0.25
"""Seconds between frames while another screen is on top; each is painted twice then."""
RETRY_SECONDS, RETRY_LIMIT = 0.02, 0.5
UNSENT_LIMIT = 1000
OUT_LIMIT = 16 << 20
"""Bytes that may wait for a holder that does not read; then it is given up and attached to anew."""
PASTE_BYTES = wire.LIMIT - 4096
"""A message has a limit; a paste that is longer goes in parts."""

Answered = Callable[[wire.Message], None]


class Source(Protocol):
    """Where an agent's run lives; a `Fleet` is one."""

    def run_folder(self, agent: Agent) -> Path: ...


class Listener(Protocol):
    """Who is told what a session brings."""

    def frame_came(self, changed: set[int]) -> None:
        """The view has changed, and is whole."""

    def note_came(self, kind: str, title: str, text: str) -> None: ...

    def session_joined(self) -> None:
        """Attached, for the first time or again."""

    def session_ended(self) -> None:
        """The program is no more; the view is its last screen."""


class LoopSession(Session):
    """A session that never waits: what cannot be sent at once is sent when the holder reads."""

    def __init__(
        self, connection: socket.socket, name: str, hear: Answered, lost: Callable[[], None]
    ) -> None:
        super().__init__(connection, name)
        connection.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._hear = hear
        self._lost = lost
        self._out = bytearray()
        self._is_closed = False
        self._loop.add_reader(connection.fileno(), self._readable)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self.fileno())
        self._loop.remove_writer(self.fileno())
        super().close()

    def send(self, kind: str, /, **fields: Any) -> None:
        if self._is_closed:
            return
        was_empty = not self._out
        self._out += wire.pack(kind, **fields)
        if was_empty:
            self._flush()
            if self._out and not self._is_closed:
                self._loop.add_writer(self.fileno(), self._flush)
        elif len(self._out) > OUT_LIMIT:
            self._lose()

    def _flush(self) -> None:
        try:
            while self._out:
                sent = self._socket.send(self._out)
                del self._out[:sent]
        except BlockingIOError:
            return
        except OSError:
            self._lose()
            return
        self._loop.remove_writer(self.fileno())

    def _readable(self) -> None:
        try:
            messages = self.receive()
        except (HolderGone, wire.WireError):
            self._lose()
            return
        for message in messages:
            if self._is_closed:
                return
            self._hear(message)

    def _lose(self) -> None:
        if not self._is_closed:
            self.close()
            self._loop.call_soon(self._lost)


class PaneSession:
    """One pane's attachment to one run of an agent, made again whenever it breaks while the agent lives."""

    def __init__(self, folder: Path, lock: Path, name: str, listener: Listener) -> None:
        self._folder = folder
        self._lock = lock
        self._name = name
        self._listener = listener
        self._session: LoopSession | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._delay = RETRY_SECONDS
        self._rate = 0.0
        self._changed: set[int] = set()
        self._is_partial = False
        self._unsent: list[tuple[str, dict[str, Any]]] = []
        self._answers: dict[int, Answered] = {}
        self._asked = 0
        self._is_open = False
        self._loading: asyncio.Future[View | None] | None = None
        self.has_ended = False
        self.view = View()
        """The screen as last seen; it stays while there is no connection."""

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def is_connected(self) -> bool:
        return self._session is not None

    @property
    def is_whole(self) -> bool:
        """The view is not in the middle of a frame that comes in parts."""
        return not self._is_partial

    # coming and going

    def open(self, rate: float) -> None:
        """Attach, at so many frames a second, or change their number."""
        if self._is_open:
            self._set_rate(rate)
            return
        self._is_open, self._rate = True, rate
        self._attempt()

    def _set_rate(self, rate: float) -> None:
        if rate != self._rate:
            self._rate = rate
            self._send_now("view", rate=rate)

    def close(self) -> None:
        """Detach; the view stays."""
        self._is_open = False
        self._drop()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _drop(self) -> None:
        session, self._session = self._session, None
        self._answers.clear()
        self._changed.clear()
        if self._is_partial:
            self.view, self._is_partial = View(), False
        if session is not None:
            session.close()

    def _attempt(self) -> None:
        self._retry = None
        if not self._is_open or self.has_ended:
            return
        try:
            connection = self._connect()
        except OSError:
            self._try_again()
            return
        self._session = LoopSession(connection, self._name, self._hear, self._lose)
        self._session.send("hello", v=wire.VERSION, kind="pane", cols=0, rows=0, rate=self._rate)

    def _connect(self) -> socket.socket:
        holder = read_holder(self._folder)
        if holder is None:
            raise FileNotFoundError
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            connection.connect(holder.socket)
        except OSError:
            connection.close()
            raise
        return connection

    def _try_again(self) -> None:
        if not is_held(self._lock):
            self._find_end()
            return
        self._retry = asyncio.get_running_loop().call_later(self._delay, self._attempt)
        self._delay = min(self._delay * 1.5, RETRY_LIMIT)

    def _lose(self) -> None:
        self._drop()
        if self._is_open and not self.has_ended:
            self._try_again()

    def _find_end(self) -> None:
        """Nobody holds the agent: show how its screen was left."""
        if self._loading is not None:
            return
        loop = asyncio.get_running_loop()
        self._loading = loop.run_in_executor(None, final_view, self._folder)
        self._loading.add_done_callback(self._take_end)

    def _take_end(self, loading: asyncio.Future[View | None]) -> None:
        self._loading = None
        if loading.cancelled() or not self._is_open:
            return
        view = loading.result()
        if view is not None:
            self.view = view
        self._end()

    def _end(self) -> None:
        if not self.has_ended:
            self.has_ended = True
            self._drop()
            self._unsent.clear()
            self._listener.session_ended()

    # what comes

    def _hear(self, message: wire.Message) -> None:
        kind = message["t"]
        if kind == "frame":
            self._take_frame(message)
        elif kind == "answer":
            answered = self._answers.pop(message.get("id", 0), None)
            if answered is not None:
                answered(message)
        elif kind == "note":
            self._listener.note_came(str(message["kind"]), str(message["title"]), str(message["text"]))
        elif kind == "welcome":
            self._join()
        elif kind == "exit":
            self._end()

    def _take_frame(self, message: wire.Message) -> None:
        self._changed |= message["changed"]
        self._is_partial = bool(message["more"])
        if self._is_partial:
            return
        changed, self._changed = self._changed, set()
        if self._session is not None:
            self.view = self._session.view
        self._listener.frame_came(changed)

    def _join(self) -> None:
        self._delay = RETRY_SECONDS
        unsent, self._unsent = self._unsent, []
        self._listener.session_joined()
        for kind, fields in unsent:
            self._send_now(kind, **fields)

    # what goes

    def _send_now(self, kind: str, /, **fields: Any) -> bool:
        if self._session is None:
            return False
        self._session.send(kind, **fields)
        return True

    def _send(self, kind: str, /, **fields: Any) -> None:
        """Send now, or as soon as there is a screen server again."""
        if self.has_ended or self._send_now(kind, **fields):
            return
        if len(self._unsent) < UNSENT_LIMIT:
            self._unsent.append((kind, fields))

    def keys(self, *events: KeyEvent) -> None:
        self._send("key", events=[event.to_wire() for event in events])

    def paste(self, text: str) -> None:
        for part in _parts(text):
            self._send("paste", text=part)

    def mouse(self, event: MouseEvent) -> None:
        self._send_now("mouse", event=event.to_wire())

    def focus(self, is_on: bool) -> None:
        self._send_now("focus", on=is_on)

    def resize(self, cols: int, rows: int) -> None:
        self._send_now("resize", cols=cols, rows=rows)

    def ask(self, kind: str, answered: Answered, /, **fields: Any) -> None:
        """Send a request; its answer, if one comes before the connection breaks, goes to the callback."""
        self._asked += 1
        self._answers[self._asked] = answered
        if not self._send_now(kind, id=self._asked, **fields):
            del self._answers[self._asked]


def _parts(text: str) -> list[str]:
    """The text in pieces that each fit a message; nearly always one."""
    if len(text) * 4 <= PASTE_BYTES:
        return [text]
    data = text.encode("utf-8", "replace")
    parts = []
    while data:
        end = min(PASTE_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        parts.append(data[:end].decode("utf-8", "replace"))
        data = data[end:]
    return parts


# ── all panes of a dashboard ────────────────────────────────────────────────────────────────────────────────────


class Viewer(Protocol):
    """A pane, as far as frames and painting are concerned."""

    @property
    def wants_rate(self) -> bool:
        """It is typed into."""

    def set_rate(self, rate: float) -> None: ...

    def take_rows_to_paint(self) -> set[int]: ...


class Sessions:
    """What all panes of one dashboard share: how often each is painted, and their styles."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.styles = Styles()
        self.quiet_styles = Styles(is_dim=True)
        self._covered: tuple[Color, TerminalTheme, Styles] | None = None
        self._shown: dict[Widget, Viewer] = {}
        self._waiting: dict[Widget, Viewer] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._painted_at = 0.0

    def session(self, agent: Agent, listener: Listener) -> PaneSession:
        return PaneSession(self._source.run_folder(agent), paths.lock(agent.id), agent.name, listener)

    def covered_styles(self, foreground: Color, palette: TerminalTheme) -> Styles:
        """For panes behind a dialog, in the colours of the present theme."""
        if self._covered is None or self._covered[:2] != (foreground, palette):
            self._covered = (foreground, palette, FixedStyles(foreground, palette))
        return self._covered[2]

    # how often

    def show(self, pane: Widget, viewer: Viewer) -> None:
        """A pane is visible; also when its rate may have to change."""
        self._shown[pane] = viewer
        self._set_rates()

    def hide(self, pane: Widget) -> None:
        self._waiting.pop(pane, None)
        if self._shown.pop(pane, None) is not None:
            self._set_rates()

    @property
    def shown_rate(self) -> float:
        return CROWDED_RATE if len(self._shown) >= CROWD else SHOWN_RATE

    def _set_rates(self) -> None:
        for viewer in self._shown.values():
            viewer.set_rate(TYPING_RATE if viewer.wants_rate else self.shown_rate)

    # painting

    def paint(self, pane: Widget, viewer: Viewer) -> None:
        """Rows of a pane have changed: painted at once where keys land, else together with other panes' soon."""
        self._waiting[pane] = viewer
        if viewer.wants_rate and pane.is_attached and pane.screen.is_active:
            self._paint({pane: viewer})
        elif self._timer is None:
            is_covered = pane.is_attached and not pane.screen.is_active
            interval = BEHIND_A_DIALOG if is_covered else 1.0 / self.shown_rate
            delay = max(0.0, self._painted_at + interval - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._paint_waiting)

    def _paint_waiting(self) -> None:
        self._timer = None
        self._painted_at = time.monotonic()
        self._paint_in_turns(list(self._waiting))

    def _paint_in_turns(self, panes: list[Widget]) -> None:
        """A few at a time: whatever a key does must not wait for all of them."""
        self._paint({pane: self._waiting[pane] for pane in panes[:AT_ONCE] if pane in self._waiting})
        if panes[AT_ONCE:]:
            asyncio.get_running_loop().call_soon(self._paint_in_turns, panes[AT_ONCE:])

    def _paint(self, panes: dict[Widget, Viewer]) -> None:
        by_screen: dict[Screen[object], list[tuple[Widget, set[int]]]] = {}
        for pane, viewer in panes.items():
            if not pane.is_attached:
                self._waiting.pop(pane, None)
                continue
            host = host_of(pane.app)
            if host is not None and host.is_behind:
                host.when_drained(self._paint_waiting)
                return
            self._waiting.pop(pane, None)
            by_screen.setdefault(pane.screen, []).append((pane, viewer.take_rows_to_paint()))
        for screen, changed in by_screen.items():
            paint_rows(screen, changed)
