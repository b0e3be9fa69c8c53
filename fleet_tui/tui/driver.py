"""The dashboard's hold on the host terminal: what it sends as events, what we write without ever waiting for it.

Stock Textual loses keys (Alt+Enter, Ctrl+H, Alt+digits), takes a paste with an ESC in it for typing and answers of
the terminal for letters, waits for a host that does not read, and leaves the terminal as it is on SIGTERM. This
driver cuts the host's bytes with our own tokenizer, and puts the key as the host sent it on each of Textual's key
events, so that a pane can pass it on. `HostedApp` is the part of an app that belongs to it. Nothing here knows panes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from rich.console import RenderableType
from textual import constants, events, messages
from textual.app import App
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import REPLACED_KEYS, _character_to_key, key_to_character
from textual.message import Message
from textual.screen import Screen

from fleet_tui.errors import UsageError
from fleet_tui.hostkeys import ESCAPE_SECONDS, Focus, Key, Mouse, Paste, Reply, Token, Tokenizer
from fleet_tui.inputs import KeyEvent, MouseEvent

READ_SIZE = 65536
LEAVE_SECONDS = 1.0
"""What a host that does not read gets to take the last bytes."""
PATIENCE_SECONDS = 0.5
"""How long one key may hold up the next."""
BACKLOG = 1 << 18
"""Bytes that may wait for the host before whole frames are dropped."""

KITTY = "\x1b[=5u\x1b[?u"
"""Tell chords apart and name the key of a US layout (flags 1|4), and say whether you do."""
ASK_CLUSTERS, USE_CLUSTERS, LEAVE_CLUSTERS = "\x1b[?2027$p", "\x1b[?2027h", "\x1b[?2027l"
"""Whether the host draws a cluster of code points as one character of the width it should have."""
HIDE_CURSOR = "\x1b[?25l"
DEFAULT_SHAPE = "\x1b[0 q"

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
_TYPED = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f"}
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)

ReturnType = TypeVar("ReturnType")


class HostReplied(Message):
    """An answer of the host terminal to a query (colours, version, kitty flags); never typed text."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self.raw = raw


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────


def textual_key(event: KeyEvent) -> tuple[str, str | None]:
    """Key and character as Textual names them. A chord on another layout is that of the US key, as shortcuts are."""
    is_chord = event.ctrl or event.alt or event.super
    name = event.key
    if name.startswith("kp_"):
        name = _character_to_key(event.text) if event.text and not is_chord else name.removeprefix("kp_")
    elif len(name) == 1:
        name = _character_to_key((event.base or name) if is_chord else (event.text or name))
    elif not name:
        name = event.text
    # A letter typed with shift is another letter, unless it is part of a chord.
    shift = event.shift and (is_chord or not event.text or name == "space")
    held = (("alt", event.alt), ("ctrl", event.ctrl), ("shift", shift), ("super", event.super))
    modifiers = [modifier for modifier, is_held in held if is_held]
    character = None if is_chord else event.text or (None if modifiers else _TYPED.get(name))
    return "+".join([*modifiers, name]), character


def key_message(event: KeyEvent) -> events.Key:
    """Textual's event for a key, carrying the key as the host sent it."""
    message = events.Key(*textual_key(event))
    # Not a subclass: Textual names the handler after the class.
    message.host = event  # type: ignore[attr-defined] # its instances have a dictionary
    return message


def host_key(message: events.Key) -> KeyEvent:
    """The key in an event; made up from its name when no host was involved (tests, the browser)."""
    found = getattr(message, "host", None)
    return found if isinstance(found, KeyEvent) else named_key(message.key, message.character)


def named_key(name: str, character: str | None) -> KeyEvent:
    """The key that Textual calls so."""
    *modifiers, key = name.split("+") if name != "+" else ["+"]
    shift, alt, ctrl, super_ = (modifier in modifiers for modifier in ("shift", "alt", "ctrl", "super"))
    if key == "@" and ctrl:
        key = "space"
    typed = key_to_character(REPLACED_KEYS.get(key, key)) if len(key) > 1 and key != "space" else None
    # Unicode has names such as DELETE too, for control characters.
    if typed is not None and typed.isprintable():
        key = typed
    text = character or ""
    if ctrl or alt or super_ or not text.isprintable():
        text = ""
    if len(key) == 1 and key.lower() != key and len(key.lower()) == 1:
        key, shift = key.lower(), True
    return KeyEvent(key, text, shift=shift, alt=alt, ctrl=ctrl, super=super_)


# ── the driver ──────────────────────────────────────────────────────────────────────────────────────────────────


class HostOutput:
    """Bytes for the host terminal: gathered, and written without waiting. Only for the thread of the loop."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._shared = descriptor
        self._descriptor = self._open(descriptor)
        self._pending = bytearray()
        self._is_waiting = False
        self._is_flush_due = False
        self._when_drained: list[Callable[[], None]] = []
        self.is_held = False
        """More belongs to what was written: a flush has to wait."""
        self.is_gone = False

    @staticmethod
    def _open(descriptor: int) -> int:
        """The terminal opened anew: not to wait is a property of the open file, which the shell shares."""
        try:
            return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            os.set_blocking(descriptor, False)
            return descriptor

    @property
    def backlog(self) -> int:
        """Bytes that the host has not taken."""
        return len(self._pending)

    def write(self, text: str) -> None:
        if self.is_gone:
            return
        self._pending += text.encode("utf-8", "replace")
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush_later)

    def _flush_later(self) -> None:
        self._is_flush_due = False
        self.flush()

    def flush(self) -> None:
        if self.is_held:
            return
        while self._pending and not self.is_gone:
            try:
                written = os.write(self._descriptor, self._pending)
            except BlockingIOError:
                break
            except OSError:
                self.is_gone = True
                self._pending.clear()
                break
            del self._pending[:written]
        self._wait_for_host(bool(self._pending))
        if not self._pending:
            due, self._when_drained = self._when_drained, []
            for callback in due:
                callback()

    def _wait_for_host(self, is_needed: bool) -> None:
        if is_needed == self._is_waiting:
            return
        self._is_waiting = is_needed
        if is_needed:
            self._loop.add_writer(self._descriptor, self.flush)
        else:
            self._loop.remove_writer(self._descriptor)

    def when_drained(self, callback: Callable[[], None]) -> None:
        if callback not in self._when_drained:
            self._when_drained.append(callback)

    def drop(self) -> None:
        """Give up what waits; a sequence that is cut in the middle is cancelled."""
        if self._pending:
            self._pending[:] = b"\x18"

    def drain(self, seconds: float) -> None:
        """Wait for the host, but not for ever."""
        deadline = time.monotonic() + seconds
        self.flush()
        while self._pending and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left)
            self.flush()

    def close(self) -> None:
        self._wait_for_host(False)
        self._pending.clear()
        if self._descriptor == self._shared:
            os.set_blocking(self._descriptor, True)
        else:
            os.close(self._descriptor)


class FleetDriver(LinuxDriver):
    """The host terminal of the dashboard."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._thread = threading.get_ident()
        self._output: HostOutput | None = None
        self._has_left = False
        self._pointer = (-1, -1)
        self.draws_clusters = False
        """The host says that it gives clusters of code points the width that they should have."""
        self.cursor = ""
        """What puts the hardware cursor where keys land; empty while it is hidden."""

    # output

    @property
    def is_behind(self) -> bool:
        """The host has not taken what it was sent: more would only pile up."""
        return self._output is not None and self._output.backlog > 0

    @property
    def is_stalled(self) -> bool:
        """So much waits for the host that frames are better dropped."""
        return self._output is not None and self._output.backlog > BACKLOG

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call once the host has taken everything."""
        if self._output is not None:
            self._output.when_drained(callback)

    def write(self, data: str) -> None:
        """Nothing after the terminal was left: a widget that goes then may still want its cursor hidden."""
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
        """What is written inside goes out together: a host that shows it meanwhile shows all of it or nothing."""
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
        """Put the cursor into a cell, in a shape as DECSCUSR numbers them."""
        self._set_cursor(f"\x1b[{shape} q\x1b[{y + 1};{x + 1}H\x1b[?25h")

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
            # Set on the entry that Textual has pushed, so that its own pop undoes it.
            self.write(KITTY)
        self.write(ASK_CLUSTERS)
        self.flush()

    def _listen_to_signals(self) -> None:
        """On the loop rather than between any two bytecodes, where a frame may be half written."""
        for number in _ENDING_SIGNALS:
            self._loop.add_signal_handler(number, self._end, number)
        self._loop.add_signal_handler(signal.SIGTSTP, self._pause)
        signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def _pause(self) -> None:
        """Stop, as any program does on SIGTSTP, but with the terminal in order meanwhile."""
        self.suspend_application_mode()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._must_signal_resume = True
        self.resume_application_mode()
        self._app.refresh(layout=True)

    def _end(self, number: int) -> None:
        self._app.exit(return_code=128 + number)

    def _get_terminal_size(self) -> tuple[int, int]:
        """The terminal's own, whatever COLUMNS says: that is often left over from another one."""
        try:
            width, height = os.get_terminal_size(self._file.fileno() if self._file is not None else 1)
        except OSError:
            width, height = 0, 0
        return (width, height) if width and height else super()._get_terminal_size()

    def _query_in_band_window_resize(self) -> None:
        """Never: it would switch the mouse to pixels, which nothing switches off again."""

    def stop_application_mode(self) -> None:
        output = self._output
        if output is None:
            return
        output.drain(LEAVE_SECONDS)
        output.drop()
        if self.draws_clusters:
            self.write(LEAVE_CLUSTERS)
        self.write(DEFAULT_SHAPE)
        super().stop_application_mode()
        self._has_left = True
        output.drain(LEAVE_SECONDS)

    def close(self) -> None:
        # Whoever has the terminal meanwhile, an editor perhaps, is stopped together with us.
        self._loop.remove_signal_handler(signal.SIGTSTP)
        if self._output is not None:
            self._output.drain(LEAVE_SECONDS)
            self._output.close()
            self._output = None
        super().close()

    # input

    def run_input_thread(self) -> None:
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
        """The terminal is gone; nobody will ever press a key to end this."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end, signal.SIGHUP)

    def _take(self, tokens: list[Token]) -> None:
        for token in tokens:
            match token:
                case Key(event):
                    self._press(event)
                case Mouse(event):
                    self._point(event)
                case Paste(text):
                    self.process_message(events.Paste(text.replace("\0", "")))
                case Focus(is_on):
                    self.process_message(events.AppFocus() if is_on else events.AppBlur())
                case Reply(raw):
                    self._hear(raw)

    def _press(self, event: KeyEvent) -> None:
        if event.action == "release":
            return
        if len(event.text) > 1 and not event.key and not isinstance(self._app, HostedApp):
            for character in event.text:
                self.process_message(_typed_text(character))
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

    def _hear(self, raw: bytes) -> None:
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
    """The host terminal, where the app has one: not in tests without a terminal, and not in the browser."""
    driver = app._driver
    return driver if isinstance(driver, FleetDriver) else None


def _typed_text(text: str) -> events.Key:
    return key_message(named_key(_character_to_key(text), text) if len(text) == 1 else KeyEvent("", text))


def takes_at_once(widget: object, event: events.Key | events.Paste) -> bool:
    """Whether a widget says that nothing can come of an event that would change where the next one belongs."""
    asked: Callable[[events.Key | events.Paste], bool] | None = getattr(widget, "takes_at_once", None)
    return asked is not None and asked(event)


# ── the app's part ──────────────────────────────────────────────────────────────────────────────────────────────


class HostedApp(App[ReturnType]):
    """An app on our driver.

    A key is handed out when the one before it has been dealt with, so that it goes where it was pressed: what
    follows Enter goes to the agent that Enter was for. Text typed at once stays whole for a widget that takes
    text. A host that does not read costs only frames.
    """

    def __init__(self, **options: Any) -> None:
        # An explicit class would beat the driver of textual-serve.
        if not os.environ.get("TEXTUAL_DRIVER"):
            options.setdefault("driver_class", FleetDriver)
        super().__init__(**options)
        self._typed: deque[events.Key | events.Paste] = deque()
        self._turn = 0
        self._patience: asyncio.TimerHandle | None = None
        """Runs while an event is being dealt with."""
        self._is_stale = False

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed.append(event)
            await self._hand_out()
            return
        await super().on_event(event)

    async def _hand_out(self) -> None:
        while self._typed and self._patience is None:
            event = self._one_key(self._typed.popleft())
            target = self.focused or self.screen
            is_taken = takes_at_once(target, event)
            await super().on_event(event)
            if not is_taken:
                self._wait_for(target)

    def _one_key(self, event: events.Key | events.Paste) -> events.Key | events.Paste:
        """The event, or only the first character of it where nobody wants the text whole."""
        text = event.character or "" if isinstance(event, events.Key) else ""
        focused = self.focused
        if len(text) < 2 or (focused is not None and focused.check_consume_key("", text)):
            return event
        rest = text[1:]
        self._typed.appendleft(_typed_text(rest))
        return _typed_text(text[:1])

    def _wait_for(self, target: DOMNode) -> None:
        """Hold what is typed until all who may handle an event have: the way it bubbles, then the app itself."""
        self._turn += 1
        self._patience = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._go_on, self._turn)
        # Twice the app: what its own handler puts off, such as a change of focus, comes behind the first.
        self._pass_on([*target.ancestors_with_self, self], self._turn)

    def _pass_on(self, nodes: list[DOMNode], turn: int) -> None:
        while nodes:
            if nodes.pop(0).call_later(self._pass_on, nodes, turn):
                return
        self._go_on(turn)

    def _go_on(self, turn: int) -> None:
        if turn == self._turn and self._patience is not None:
            self._patience.cancel()
            self._patience = None
            if self._typed:
                self.call_next(self._hand_out)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        host = host_of(self)
        if host is None or renderable is None:
            super()._display(screen, renderable)
            return
        if host.is_stalled:
            self._is_stale = True
            host.when_drained(self._repaint)
            return
        with host.one_write():
            if host.cursor:
                host.write(HIDE_CURSOR)
            super()._display(screen, renderable)
            host.write(host.cursor)

    def _repaint(self) -> None:
        if self._is_stale:
            self._is_stale = False
            self.refresh()
