"""One agent on the whole host terminal: its screen painted, every key but a few chords sent to it.

Owns the host terminal while attached, and leaves it as it was found, however that ends. Knows an agent only by its
run's folder and lock; loads neither the emulator nor the UI toolkit, so that attaching is quick.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import time
import tty
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from fleet_tui import wire
from fleet_tui.errors import HolderGone, UsageError
from fleet_tui.holder import Exit, is_held, read_exit
from fleet_tui.hostkeys import ESCAPE_SECONDS, Focus, Key, Mouse, Paste, Token, Tokenizer
from fleet_tui.inputs import KeyEvent, MouseEvent
from fleet_tui.paint import Painter
from fleet_tui.session import Session
from fleet_tui.text import flat
from fleet_tui.values import dataclass

FRAME_RATE = 60.0
HINT_SECONDS = 2.0
SETTLE_SECONDS = 0.5
"""A program draws itself anew when it is attached to; that does not take the hint away."""
RECONNECT_SECONDS = 15.0
RETRY_SECONDS = 0.05
LEAVE_SECONDS = 0.5
"""What a host that does not read gets to take the last bytes."""
READ_SIZE = 16384
PASTE_BYTES = 1_000_000
"""A message has a limit; a paste that is longer goes in parts."""
UNSENT_LIMIT = 1000

ENTER = (
    "\x1b[?1049h"  # the alternate screen
    "\x1b[>5u"  # kitty keys: tell chords apart, and name the key of a US layout
    "\x1b[?2004h"  # bracketed paste
    "\x1b[?1004h"  # focus
    "\x1b[?1007s"  # remember whether the wheel makes arrow keys
    "\x1b[?7l"  # nothing wraps: each row is placed
    "\x1b[?25l\x1b[0m\x1b[2J"
)
LEAVE = (
    "\x1b[?2026l\x1b[0m"
    "\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l"
    "\x1b[?1007r\x1b[?1004l\x1b[?2004l\x1b[<u"
    "\x1b[?7h\x1b[0 q\x1b[?25h\x1b[?1049l"
)
CANCEL = "\x18"
"""Ends a sequence that was cut in the middle."""

LEADER_HINT = "Ctrl+] d detaches, Ctrl+] Ctrl+] sends it"
ENDING_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)

# The key that is d on a US layout, for hosts that do not tell: Cyrillic and Korean.
_DETACH_LETTERS = ("d", "в", "ㅇ")


@dataclass(frozen=True, slots=True)
class AttachOutcome:
    """How an attachment ended."""

    reason: Literal["detached", "ended", "hangup", "signal"]
    """detached: by the person; ended: the agent did; hangup: the host terminal is gone; signal: told to."""
    message: str = ""
    """One line for the person, printed already; empty when nobody is there to read it."""
    exit: Exit | None = None
    signal: int = 0


def attach(name: str, run_folder: Path, lock: Path, *, stdin: int = 0, stdout: int = 1) -> AttachOutcome:
    """Show the agent on the host terminal until one of them is gone or the person detaches.

    UsageError when there is no terminal, HolderGone when the agent does not run or its holder stays silent.
    """
    if not (os.isatty(stdin) and os.isatty(stdout)):
        raise UsageError(
            "attach needs a terminal",
            hint=f"fleet peek {name} shows the screen, fleet logs {name} the output",
        )
    host = HostTerminal(stdin, stdout)
    attachment = Attachment(name, run_folder, lock, host)
    with attachment, host:
        outcome = attachment.run()
    if outcome.message:
        with contextlib.suppress(OSError):
            os.write(stdout, f"{flat(outcome.message)}\n".encode())
    return outcome


# ── the host terminal ───────────────────────────────────────────────────────────────────────────────────────────


class HostTerminal:
    """The person's terminal: raw while entered, and written to without ever waiting for it."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self.stdin = stdin
        self._stdout = stdout
        self._found = termios.tcgetattr(stdin)
        self._out = -1
        self._unwritten = b""
        self._had_mouse = False
        self._wake_read, self._wake_write = -1, -1
        self._signals: list[int] = []
        self._handlers: dict[int, Any] = {}
        self.is_gone = False

    # entering and leaving

    def __enter__(self) -> HostTerminal:
        self._listen_to_signals()
        try:
            self._out = self._open()
            self.enter()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
        if self._out not in {-1, self._stdout}:
            os.close(self._out)
        elif self._out == self._stdout:
            os.set_blocking(self._stdout, True)
        self._forget_signals()

    def _open(self) -> int:
        """The terminal opened anew: not to wait is a property of the open file, which the shell shares."""
        try:
            return os.open(os.ttyname(self._stdout), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            os.set_blocking(self._stdout, False)
            return self._stdout

    def enter(self) -> None:
        self.make_raw()
        self._unwritten += ENTER.encode()
        self.flush()

    def make_raw(self) -> None:
        with contextlib.suppress(termios.error):
            tty.setraw(self.stdin, termios.TCSANOW)

    def leave(self) -> None:
        self._drain(LEAVE_SECONDS)
        cut = CANCEL if self._unwritten else ""
        self._unwritten = (cut + LEAVE).encode()
        self._drain(LEAVE_SECONDS)
        self._unwritten = b""
        # Waiting for output to be taken, as tcsetattr can, would be for ever when the host does not read.
        with contextlib.suppress(termios.error):
            if self._had_mouse:
                termios.tcflush(self.stdin, termios.TCIFLUSH)
            termios.tcsetattr(self.stdin, termios.TCSANOW, self._found)

    # writing

    @property
    def is_behind(self) -> bool:
        """The host has not taken what it was sent: more would only pile up."""
        return bool(self._unwritten)

    def show(self, frame: bytes, *, has_mouse: bool = False) -> None:
        self._had_mouse = self._had_mouse or has_mouse
        self._unwritten += frame
        self.flush()

    def flush(self) -> None:
        while self._unwritten:
            try:
                written = os.write(self._out, self._unwritten)
            except BlockingIOError:
                return
            except OSError:
                self.is_gone, self._unwritten = True, b""
                return
            self._unwritten = self._unwritten[written:]

    def _drain(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        self.flush()
        while self._unwritten and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._out], [], left)
            self.flush()

    # reading

    def size(self) -> tuple[int, int]:
        try:
            cols, rows = os.get_terminal_size(self._stdout)
        except OSError:
            return 80, 24
        return cols or 80, rows or 24

    def read(self) -> bytes:
        """What was typed; empty when the terminal is gone."""
        try:
            return os.read(self.stdin, READ_SIZE)
        except OSError:
            return b""

    def wait(self, others: list[int], seconds: float | None) -> list[int]:
        """The descriptors that have something to read, of standard input and the others; flushes and takes signals."""
        writing = [self._out] if self._unwritten else []
        ready, writable, _ = select.select([self.stdin, self._wake_read, *others], writing, [], seconds)
        if writable:
            self.flush()
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        return ready

    # signals

    def _listen_to_signals(self) -> None:
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        for number in (*ENDING_SIGNALS, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT):
            self._handlers[number] = signal.signal(number, self._note_signal)

    def _note_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b".")

    def _forget_signals(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._handlers.clear()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def take_signals(self) -> list[int]:
        taken, self._signals = self._signals, []
        return taken

    def suspend(self) -> None:
        """Stop, as any program does on SIGTSTP, but with the terminal in order meanwhile."""
        self.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.enter()


# ── one attachment ──────────────────────────────────────────────────────────────────────────────────────────────


class Attachment:
    """The loop between one host terminal and one agent's holder."""

    def __init__(self, name: str, run_folder: Path, lock: Path, host: HostTerminal) -> None:
        self._name = name
        self._folder = run_folder
        self._lock = lock
        self._host = host
        self._session: Session | None = None
        self._lost_at = 0.0
        """When the connection was lost, while it is."""
        self._keys = Chords()
        self._tokenizer = Tokenizer()
        self._escape_at: float | None = None
        self._painter = Painter(*host.size(), has_truecolor=_has_truecolor())
        self._changed: set[int] = set()
        self._is_due = False
        self._rings = False
        self._unsent: list[tuple[str, dict[str, Any]]] = []
        self._hint = ""
        self._hint_until = 0.0
        self._settled_at = 0.0
        self._outcome: AttachOutcome | None = None

    def __enter__(self) -> Attachment:
        self._connect(RECONNECT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._session.close()

    def _connect(self, seconds: float) -> None:
        cols, rows = self._host.size()
        session = Session.open(
            self._folder,
            self._lock,
            self._name,
            kind="terminal",
            cols=cols,
            rows=rows,
            rate=FRAME_RATE,
            seconds=seconds,
        )
        self._session = session
        self._painter.repaint()
        self._is_due = session.view.rows > 0
        self._send("focus", on=True)
        unsent, self._unsent = self._unsent, []
        for kind, fields in unsent:
            self._send(kind, **fields)

    def run(self) -> AttachOutcome:
        now = time.monotonic()
        self._settled_at = now + SETTLE_SECONDS
        self._tell(f"attached to {self._name} — Ctrl+Q detaches (or Ctrl+] d)", now)
        while self._outcome is None:
            self._step()
        if self._outcome.reason != "ended":
            self._send("focus", on=False)
        return self._outcome

    def _step(self) -> None:
        self._paint()
        sources = [self._session.fileno()] if self._session is not None else []
        ready = self._host.wait(sources, self._timeout())
        self._take_signals()
        if self._host.stdin in ready:
            self._take_input()
        if self._session is not None and self._session.fileno() in ready:
            self._hear(self._session)
        self._take_time(time.monotonic())
        if self._host.is_gone:
            self._end(AttachOutcome("hangup"))

    def _end(self, outcome: AttachOutcome) -> None:
        self._outcome = self._outcome or outcome

    # time

    def _timeout(self) -> float | None:
        moments = [self._escape_at, self._hint_until if self._hint else None]
        if self._session is None:
            moments.append(time.monotonic() + RETRY_SECONDS)
        due = [moment for moment in moments if moment is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _take_time(self, now: float) -> None:
        if self._escape_at is not None and now >= self._escape_at:
            self._escape_at = now + ESCAPE_SECONDS
            self._take_tokens(self._tokenizer.flush())
            if not self._tokenizer.pending:
                self._escape_at = None
        if self._hint and now >= self._hint_until:
            self._clear_hint()
        if self._session is None and self._outcome is None:
            self._reconnect(now)

    def _take_signals(self) -> None:
        for number in self._host.take_signals():
            if number in ENDING_SIGNALS:
                self._end(AttachOutcome("signal", signal=number))
            elif number == signal.SIGTSTP:
                self._host.suspend()
                self._resize()
            elif number == signal.SIGCONT:
                self._host.make_raw()
                self._resize()
            else:
                self._resize()

    def _resize(self) -> None:
        cols, rows = self._host.size()
        if (cols, rows) != (self._painter.cols, self._painter.rows):
            self._send("resize", cols=cols, rows=rows)
        self._painter.resize(cols, rows)
        self._is_due = True

    # the agent

    def _hear(self, session: Session) -> None:
        try:
            messages = session.receive()
        except (HolderGone, wire.WireError):
            self._lose(session)
            return
        for message in messages:
            if message["t"] == "frame":
                self._take_frame(message)
            elif message["t"] == "note" and message.get("kind") == "bell":
                self._rings = self._is_due = True
            elif message["t"] == "error":
                self._tell(str(message.get("text", "")), time.monotonic())
            elif message["t"] == "exit":
                self._end(self._ended())

    def _take_frame(self, message: wire.Message) -> None:
        self._changed |= message["changed"]
        self._is_due = self._is_due or not message["more"]
        if message["changed"] and time.monotonic() >= self._settled_at:
            self._clear_hint()

    def _lose(self, session: Session) -> None:
        session.close()
        self._session, self._lost_at = None, time.monotonic()

    def _reconnect(self, now: float) -> None:
        """A screen server may be replaced at any moment; the agent has gone only when its lock is free."""
        if not is_held(self._lock):
            self._end(self._ended())
            return
        if now - self._lost_at > RECONNECT_SECONDS:
            raise HolderGone(f"the holder of {self._name} does not answer", hint="run: fleet doctor")
        with contextlib.suppress(HolderGone):
            self._connect(RETRY_SECONDS)
            self._settled_at = now + SETTLE_SECONDS

    def _ended(self) -> AttachOutcome:
        found = read_exit(self._folder)
        return AttachOutcome("ended", f"{self._name} {_how_it_ended(found)}", found)

    def _send(self, kind: str, /, **fields: Any) -> None:
        """Send now, or as soon as there is a screen server again."""
        if self._session is not None:
            try:
                self._session.send(kind, **fields)
            except HolderGone:
                self._lose(self._session)
            else:
                return
        if kind not in {"focus", "resize"} and len(self._unsent) < UNSENT_LIMIT:
            self._unsent.append((kind, fields))

    # the person

    def _take_input(self) -> None:
        data = self._host.read()
        if not data:
            self._end(AttachOutcome("hangup"))
            return
        self._take_tokens(self._tokenizer.feed(data))
        self._escape_at = time.monotonic() + ESCAPE_SECONDS if self._tokenizer.pending else None

    def _take_tokens(self, tokens: list[Token]) -> None:
        keys: list[KeyEvent] = []
        for token in tokens:
            if self._outcome is not None:
                break
            if isinstance(token, Key):
                keys += self._press(token.event)
                continue
            self._send_keys(keys)
            keys = []
            self._take_other(token)
        self._send_keys(keys)

    def _press(self, event: KeyEvent) -> list[KeyEvent]:
        self._clear_hint()
        passed = self._keys.press(event)
        if self._keys.wants_detach:
            self._end(AttachOutcome("detached", f"detached from {self._name}; it keeps running"))
        elif self._keys.complaint:
            self._tell(self._keys.complaint, time.monotonic())
        return passed

    def _send_keys(self, keys: list[KeyEvent]) -> None:
        if keys:
            self._send("key", events=[event.to_wire() for event in keys])

    def _take_other(self, token: Token) -> None:
        match token:
            case Paste(text):
                self._clear_hint()
                for part in _paste_parts(text):
                    self._send("paste", text=part)
            case Focus(is_on):
                self._send("focus", on=is_on)
            case Mouse(event):
                self._point(event)
            case _:
                pass

    def _point(self, event: MouseEvent) -> None:
        view = self._session.view if self._session is not None else None
        x, y = event.x + self._painter.left, event.y + self._painter.top
        if view is not None and view.mouse and x < view.cols and y < view.rows:
            moved = MouseEvent(event.kind, x, y, event.button, event.shift, event.alt, event.ctrl)
            self._send("mouse", event=moved.to_wire())

    # painting

    def _tell(self, text: str, now: float) -> None:
        self._hint, self._hint_until = text, now + HINT_SECONDS
        self._is_due = True

    def _clear_hint(self) -> None:
        if self._hint:
            self._hint = ""
            self._is_due = True

    def _paint(self) -> None:
        if not self._is_due or self._host.is_behind or self._session is None:
            return
        view = self._session.view
        if not view.rows:
            return
        frame = self._painter.frame(view, self._changed, self._hint)
        self._host.show(b"\x07" + frame if self._rings else frame, has_mouse=bool(view.mouse))
        self._changed, self._is_due, self._rings = set(), False, False


class Chords:
    """The few keys that are for us: everything else passes."""

    def __init__(self) -> None:
        self._is_led = False
        self.wants_detach = False
        self.complaint = ""
        """What to tell about the last key, if anything."""

    def press(self, event: KeyEvent) -> list[KeyEvent]:
        """The keys that the agent is to get."""
        self.complaint = ""
        if event.action == "release":
            return [event]
        if self._is_led:
            return self._after_leader(event)
        if _is_chord(event, "q") or _is_plain(event, "f12"):
            self.wants_detach = True
            return []
        if _is_chord(event, "]"):
            self._is_led = True
            self.complaint = LEADER_HINT
            return []
        return [event]

    def _after_leader(self, event: KeyEvent) -> list[KeyEvent]:
        self._is_led = False
        if _is_chord(event, "]"):
            return [event]
        if _is_chord(event, "q") or _is_plain(event, "f12") or _is_detach_letter(event):
            self.wants_detach = True
        else:
            self.complaint = f"no such key; {LEADER_HINT}"
        rest = event.text[1:] if not event.key else ""
        return [KeyEvent("", rest)] if rest and not self.wants_detach else []


def _is_chord(event: KeyEvent, character: str) -> bool:
    is_ctrl_alone = event.ctrl and not (event.shift or event.alt or event.super)
    return is_ctrl_alone and (event.base or event.key) == character


def _is_detach_letter(event: KeyEvent) -> bool:
    first = (event.base or event.text)[:1].lower()
    return first in _DETACH_LETTERS and not (event.ctrl or event.alt or event.super)


def _is_plain(event: KeyEvent, key: str) -> bool:
    return event.key == key and not (event.shift or event.alt or event.ctrl or event.super)


def _paste_parts(text: str) -> list[str]:
    if len(text.encode()) <= PASTE_BYTES:
        return [text]
    size = PASTE_BYTES // 4
    return [text[start : start + size] for start in range(0, len(text), size)]


def _has_truecolor() -> bool:
    return os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}


def _how_it_ended(found: Exit | None) -> str:
    if found is None:
        return "is gone and left no record"
    if found.cause == "failed":
        return f"failed: {found.reason}"
    if found.cause in {"stop", "kill", "shutdown"}:
        return {"stop": "was stopped", "kill": "was killed", "shutdown": "was ended by a shutdown"}[
            found.cause
        ]
    if found.signal is not None:
        return f"was ended by {_signal_name(found.signal)}"
    return f"exited with code {found.code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
