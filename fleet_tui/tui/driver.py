"""The driver for the host terminal: reads what it sends as events, writes without blocking, restores it at the end.

Stock Textual loses keys (Alt+Enter, Ctrl+H, Alt+digits), parses a paste that contains ESC as typed keys and some replies
of the terminal as letters, blocks on a host that does not read, and does not restore the terminal on SIGTERM. This driver
cuts the host's bytes with our own tokenizer and attaches the key as the host sent it to each of Textual's key events,
so that a pane can pass it on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from textual import constants, events, messages
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from fleet_tui.errors import UsageError
from fleet_tui.terminal.host_input import (
    ESCAPE_SECONDS,
    Focus,
    HostKey,
    HostReply,
    Mouse,
    Paste,
    Token,
    Tokenizer,
)
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.tui.host_keys import key_message, text_key
from fleet_tui.tui.host_output import HostOutput

READ_SIZE = 65536
LEAVE_SECONDS = 1.0
"""How long the driver waits at the end for a host that does not read."""
SWITCH_SECONDS = 0.001
"""How long the thread that reads the host waits for the interpreter lock; Python's default is 5 ms."""
BACKLOG = 1 << 18
"""Bytes buffered for the host before whole frames are dropped."""

KITTY = "\x1b[=5u\x1b[?u"
"""Ask for disambiguated chords and US-layout keys (kitty flags 1|4), and query whether they are on."""
ASK_CLUSTERS, USE_CLUSTERS, LEAVE_CLUSTERS = "\x1b[?2027$p", "\x1b[?2027h", "\x1b[?2027l"
"""Query, set and reset mode 2027: grapheme clusters have their own width."""
HIDE_CURSOR = "\x1b[?25l"
DEFAULT_SHAPE = "\x1b[0 q"
HOST_CURSOR_COLOR = "\x1b]112\x1b\\"

_MODE_REPORT = re.compile(rb"\x1b\[\?(\d+);(\d)\$y")
_BUTTONS = {"": 0, "left": 1, "middle": 2, "right": 3}
_MOUSE: dict[str, type[events.MouseEvent]] = {
    "press": events.MouseDown,
    "release": events.MouseUp,
    "move": events.MouseMove,
    "scroll_up": events.MouseScrollUp,
    "scroll_down": events.MouseScrollDown,
    "scroll_left": events.MouseScrollLeft,
    "scroll_right": events.MouseScrollRight,
}
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class HostReplied(Message):
    """A reply of the host terminal to a query (colors, version, kitty flags); never typed text."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self.raw = raw


class FleetDriver(LinuxDriver):
    """The host terminal of the dashboard."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._thread = threading.get_ident()
        self._output: HostOutput | None = None
        self._has_left = False
        self._pointer = (-1, -1)
        self.on_key: Callable[[], None] | None = None
        """Called at once, by the thread that reads the host, when a key arrives."""
        self.draws_clusters = False
        """The host supports mode 2027."""
        self.cursor = ""
        """The sequence that places the hardware cursor; empty while it is hidden."""
        self._cursor_color = ""
        """As #rrggbb; empty for the host's own color, which may be that of the background."""

    # output

    @property
    def is_behind(self) -> bool:
        """Output is still buffered: more would only pile up."""
        return self._output is not None and self._output.backlog > 0

    @property
    def is_stalled(self) -> bool:
        """So much is buffered that frames are dropped."""
        return self._output is not None and self._output.backlog > BACKLOG

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call once the host has taken everything."""
        if self._output is not None:
            self._output.when_drained(callback)

    def write(self, data: str) -> None:
        """No-op after the terminal was left: a widget that unmounts then may still hide its cursor."""
        if self._output is None or self._has_left:
            return
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.write, data)
            return
        self._output.write(data)

    def flush(self) -> None:
        if self._output is not None and threading.get_ident() == self._thread:
            self._output.flush()

    @contextlib.contextmanager
    def one_write(self) -> Iterator[None]:
        """Write everything inside at once, so that the host never shows a part of it."""
        output = self._output
        if output is not None:
            output.is_held = True
        try:
            yield
        finally:
            if output is not None:
                output.is_held = False
                output.flush()

    def show_cursor(self, x: int, y: int, shape: int) -> None:
        """Put the cursor into a cell, in a DECSCUSR shape."""
        self._set_cursor(f"\x1b[{shape} q\x1b[{y + 1};{x + 1}H\x1b[?25h")

    def color_cursor(self, color: str) -> None:
        """Give the cursor a color, or the host's own if the color is empty."""
        if color != self._cursor_color:
            self._cursor_color = color
            self.write(f"\x1b]12;{color}\x1b\\" if color else HOST_CURSOR_COLOR)

    def hide_cursor(self) -> None:
        self._set_cursor("")

    def _set_cursor(self, sequence: str) -> None:
        if sequence != self.cursor:
            self.cursor = sequence
            self.write(sequence or HIDE_CURSOR)

    # coming and going

    def start_application_mode(self) -> None:
        """Also runs again after a suspension."""
        if self._file is None:
            raise UsageError("the dashboard needs a terminal", hint="fleet list shows the agents without one")
        self._output = HostOutput(self._file.fileno(), asyncio.get_running_loop())
        self._has_left = False
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual has not annotated it
        self._listen_to_signals()
        if not constants.DISABLE_KITTY_KEY:
            # Changes the entry that Textual pushed, so that its pop undoes it.
            self.write(KITTY)
        color, self._cursor_color = self._cursor_color, ""
        self.color_cursor(color)
        self.write(ASK_CLUSTERS)
        self.flush()

    def _listen_to_signals(self) -> None:
        """Handle signals on the loop: between two bytecodes a frame may be half written."""
        for number in _ENDING_SIGNALS:
            self._loop.add_signal_handler(number, self._end, number)
        self._loop.add_signal_handler(signal.SIGTSTP, self._pause)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def _pause(self) -> None:
        """Stop on SIGTSTP, with the terminal restored meanwhile."""
        self.suspend_application_mode()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._must_signal_resume = True
        self.resume_application_mode()
        self._app.refresh(layout=True)

    def _end(self, number: int) -> None:
        self._app.exit(return_code=128 + number)

    def _get_terminal_size(self) -> tuple[int, int]:
        """Ask the terminal; COLUMNS is often left over from another one."""
        try:
            width, height = os.get_terminal_size(self._file.fileno() if self._file is not None else 1)
        except OSError:
            width, height = 0, 0
        return (width, height) if width and height else super()._get_terminal_size()

    def _query_in_band_window_resize(self) -> None:
        """No-op: it would switch the mouse to pixels permanently."""

    def stop_application_mode(self) -> None:
        output = self._output
        if output is None:
            return
        output.drain(LEAVE_SECONDS)
        output.drop()
        if self.draws_clusters:
            self.write(LEAVE_CLUSTERS)
        self.write(DEFAULT_SHAPE)
        if self._cursor_color:
            self.write(HOST_CURSOR_COLOR)
        super().stop_application_mode()
        self._has_left = True
        output.drain(LEAVE_SECONDS)

    def close(self) -> None:
        # A program that has the terminal meanwhile, such as an editor, is stopped together with us.
        self._loop.remove_signal_handler(signal.SIGTSTP)
        if self._output is not None:
            self._output.drain(LEAVE_SECONDS)
            self._output.close()
            self._output = None
        super().close()

    # input

    def run_input_thread(self) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        tokenizer = Tokenizer()
        deadline: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                wait = 0.1 if deadline is None else max(0.0, deadline - time.monotonic())
                if selector.select(wait):
                    data = self._read()
                    if not data:
                        self._lose_host()
                        return
                    self._take(tokenizer.feed(data))
                elif deadline is not None and time.monotonic() >= deadline:
                    self._take(tokenizer.flush())
                else:
                    continue
                deadline = time.monotonic() + ESCAPE_SECONDS if tokenizer.pending else None

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, READ_SIZE)
        except OSError:
            return b""

    def _lose_host(self) -> None:
        """The terminal is gone, so no key can end the dashboard: end it."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, signal.SIGHUP)

    def _take(self, tokens: list[Token]) -> None:
        if self.on_key is not None and any(isinstance(token, HostKey) for token in tokens):
            self.on_key()
        for token in tokens:
            match token:
                case HostKey(event):
                    self._press(event)
                case Mouse(event):
                    self._point(event)
                case Paste(text):
                    self.process_message(events.Paste(text.replace("\0", "")))
                case Focus(is_on):
                    self.process_message(events.AppFocus() if is_on else events.AppBlur())
                case HostReply(raw):
                    self._take_reply(raw)

    def _press(self, event: KeyEvent) -> None:
        if event.action == "release":
            return
        if len(event.text) > 1 and not event.key and not getattr(self._app, "takes_whole_text", False):
            for character in event.text:
                self.process_message(text_key(character))
            return
        self.process_message(key_message(event))

    def _point(self, event: MouseEvent) -> None:
        before, self._pointer = self._pointer, (event.x, event.y)
        if event.kind == "move" and before == self._pointer:
            return
        moved = (event.x - before[0], event.y - before[1]) if before != (-1, -1) else (0, 0)
        button = _BUTTONS[event.button]
        if event.kind in {"press", "release"} and not button:
            return
        self.process_message(
            _MOUSE[event.kind](
                None,
                event.x,
                event.y,
                *moved,
                button,
                event.shift,
                event.alt,
                event.ctrl,
                screen_x=event.x,
                screen_y=event.y,
            )
        )

    def _take_reply(self, raw: bytes) -> None:
        report = _MODE_REPORT.fullmatch(raw)
        if report is not None:
            # 0: the mode is not known, 4: it can never be on.
            is_known = report[2] not in {b"0", b"4"}
            if report[1] == b"2026" and is_known:
                self.process_message(messages.TerminalSupportsSynchronizedOutput())
            if report[1] == b"2027" and is_known:
                self.draws_clusters = True
                self.write(USE_CLUSTERS)
        self.send_message(HostReplied(raw))


def host_of(app: App[Any]) -> FleetDriver | None:
    """Return the driver of the app's host terminal; None in tests and in the browser."""
    driver = app._driver
    return driver if isinstance(driver, FleetDriver) else None
