"""Run the loop between one host terminal and one agent's holder.

Paints frames, forwards keys, mouse and pastes, follows resizes and signals, and reconnects when the screen server is
replaced.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any, Literal

from fleet_tui.cli.attach.chords import Chords
from fleet_tui.cli.attach.host import ENDING_SIGNALS, HostTerminal
from fleet_tui.errors import HolderGone, UsageError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.holder import wire
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import Exit, read_exit
from fleet_tui.holder.session import Session, paste_parts
from fleet_tui.terminal.ansi import Painter
from fleet_tui.terminal.host_input import ESCAPE_SECONDS, Focus, HostKey, Mouse, Paste, Token, Tokenizer
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.text import flat

FRAME_RATE = 60.0
HINT_SECONDS = 2.0
SETTLE_SECONDS = 0.5
"""Programs redraw when a viewer attaches; frames within this time leave the hint on the screen."""
RECONNECT_SECONDS = 15.0
RETRY_SECONDS = 0.05
UNSENT_LIMIT = 1000
"""Messages kept while the connection is lost."""


@dataclass(frozen=True, slots=True)
class AttachOutcome:
    """How an attachment ended."""

    reason: Literal["detached", "ended", "hangup", "signal"]
    """detached: by the user; ended: the agent did; hangup: the host terminal is gone; signal: we got one."""
    message: str = ""
    """The line that was printed for the user; empty if there was nothing to say, or no terminal to print on."""
    exit: Exit | None = None
    signal: int = 0


def attach(name: str, run_folder: Path, lock: Path, *, stdin: int = 0, stdout: int = 1) -> AttachOutcome:
    """Attach until the user detaches, the agent ends or the host terminal is gone.

    Raises UsageError without a terminal, HolderGone if the agent does not run or its holder does not answer.
    """
    if not (os.isatty(stdin) and os.isatty(stdout)):
        raise UsageError(
            "attach needs a terminal",
            hint=f"fleet peek {name} prints the screen, fleet logs {name} the output",
        )
    host = HostTerminal(stdin, stdout)
    attachment = Attachment(name, run_folder, lock, host)
    with attachment, host:
        outcome = attachment.run()
    if outcome.message:
        with contextlib.suppress(OSError):
            os.write(stdout, f"{flat(outcome.message)}\n".encode())
    return outcome


class Attachment:
    """One attachment: its connection, what is to be painted, and how it ended."""

    def __init__(self, name: str, run_folder: Path, lock: Path, host: HostTerminal) -> None:
        self._name = name
        self._folder = run_folder
        self._lock = lock
        self._host = host
        self._session: Session | None = None
        self._lost_at = 0.0
        """When the connection was lost; only meaningful while there is none."""
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
        self._show_hint(f"attached to {self._name} — Ctrl+Q detaches (or Ctrl+] d)", now)
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
            self._receive(self._session)
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

    def _receive(self, session: Session) -> None:
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
                self._show_hint(str(message.get("text", "")), time.monotonic())
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
        """Retry the connection. A screen server may be replaced at any time; the agent has ended only if its lock is free."""
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
        """Send now, or once reconnected."""
        if self._session is not None:
            try:
                self._session.send(kind, **fields)
            except HolderGone:
                self._lose(self._session)
            else:
                return
        if kind not in {"focus", "resize"} and len(self._unsent) < UNSENT_LIMIT:
            self._unsent.append((kind, fields))

    # the user

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
            if isinstance(token, HostKey):
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
        elif self._keys.hint:
            self._show_hint(self._keys.hint, time.monotonic())
        return passed

    def _send_keys(self, keys: list[KeyEvent]) -> None:
        if keys:
            self._send("key", events=[event.to_wire() for event in keys])

    def _take_other(self, token: Token) -> None:
        match token:
            case Paste(text):
                self._clear_hint()
                for part in paste_parts(text):
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

    def _show_hint(self, text: str, now: float) -> None:
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


def _has_truecolor() -> bool:
    return os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}


def _how_it_ended(found: Exit | None) -> str:
    if found is None:
        return "is gone without a record of its end"
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
