"""A pane's connection to its agent's holder, on the event loop of the dashboard.

Never blocks: a timer retries the connect, a buffer keeps what the holder does not read yet, and the loop reads what
arrives. A screen server may be replaced at any moment; the connection is then made again and loses nothing that was
typed meanwhile. Knows no widgets.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from fleet_tui.errors import HolderGone
from fleet_tui.holder import wire
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.session import Session, connect, final_view, paste_parts
from fleet_tui.models import Agent
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.terminal.view import View

RETRY_SECONDS, RETRY_LIMIT = 0.02, 0.5
UNSENT_LIMIT = 1000
OUT_LIMIT = 16 << 20
"""Bytes buffered for a holder that does not read; beyond them the connection is dropped and made again."""

Answered = Callable[[wire.Message], None]


class RunFolders(Protocol):
    """Finds the folder of an agent's run; a `Fleet` does."""

    def run_folder(self, agent: Agent) -> Path: ...


class ConnectionListener(Protocol):
    """Receives what a connection brings."""

    def frame_received(self, changed: set[int]) -> None:
        """The view has changed, and is whole."""

    def note_received(self, kind: str, title: str, text: str) -> None: ...

    def connected(self) -> None:
        """The holder has answered, for the first time or again."""

    def program_ended(self) -> None:
        """The program has ended; the view is its last screen."""


class LoopSession(Session):
    """A session on the event loop. It never blocks: what cannot be sent now is sent when the holder reads."""

    def __init__(
        self, connection: socket.socket, name: str, on_message: Answered, lost: Callable[[], None]
    ) -> None:
        super().__init__(connection, name)
        connection.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._receive_message = on_message
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
            self._receive_message(message)

    def _lose(self) -> None:
        if not self._is_closed:
            self.close()
            self._loop.call_soon(self._lost)


class PaneConnection:
    """One pane's connection to one run of an agent, retried whenever it breaks while the agent lives."""

    def __init__(self, folder: Path, lock: Path, name: str, listener: ConnectionListener) -> None:
        self._folder = folder
        self._lock = lock
        self._name = name
        self._listener = listener
        self._session: LoopSession | None = None
        self._is_greeted = False
        """Whether the screen server has answered: what was typed before goes first."""
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
        self._has_exited = False
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

    # opening and closing

    def open(self, rate: float) -> None:
        """Connect at this frame rate, or change the rate."""
        if self._is_open:
            self._set_rate(rate)
            return
        self._is_open, self._rate = True, rate
        self._attempt()

    def resume(self) -> None:
        """Connect again if the agent had no holder at the last attempt and has one now."""
        if self.has_ended and not self._has_exited and self._is_open and is_held(self._lock):
            self.has_ended = False
            self._attempt()

    def _set_rate(self, rate: float) -> None:
        if rate != self._rate:
            self._rate = rate
            self._send_now("view", rate=rate)

    def close(self) -> None:
        """Disconnect; the view stays."""
        self._is_open = False
        self._drop()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _drop(self) -> None:
        session, self._session = self._session, None
        self._is_greeted = False
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
            connection = connect(self._folder, blocking=False)
        except (OSError, HolderGone):
            self._try_again()
            return
        self._session = LoopSession(connection, self._name, self._receive_message, self._lose)
        self._session.send("hello", v=wire.VERSION, kind="pane", cols=0, rows=0, rate=self._rate)

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
        """No process holds the agent: show its last screen."""
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
            self._listener.program_ended()

    # receiving

    def _receive_message(self, message: wire.Message) -> None:
        kind = message["t"]
        if kind == "frame":
            self._take_frame(message)
        elif kind == "answer":
            number = message.get("id")
            answered = self._answers.pop(number, None) if isinstance(number, int) else None
            if answered is not None:
                answered(message)
        elif kind == "note":
            kind, title, text = (str(message.get(name, "")) for name in ("kind", "title", "text"))
            self._listener.note_received(kind, title, text)
        elif kind == "welcome":
            self._join()
        elif kind == "exit":
            self._has_exited = True
            self._end()

    def _take_frame(self, message: wire.Message) -> None:
        self._changed |= message["changed"]
        self._is_partial = message["more"]
        if self._is_partial:
            return
        changed, self._changed = self._changed, set()
        if self._session is not None:
            self.view = self._session.view
        self._listener.frame_received(changed)

    def _join(self) -> None:
        self._delay = RETRY_SECONDS
        unsent, self._unsent = self._unsent, []
        self._is_greeted = True
        self._listener.connected()
        for kind, fields in unsent:
            self._send_now(kind, **fields)

    # sending

    def _send_now(self, kind: str, /, **fields: Any) -> bool:
        if self._session is None:
            return False
        self._session.send(kind, **fields)
        return True

    def _send(self, kind: str, /, **fields: Any) -> None:
        """Send now, or once a screen server is there again."""
        if self.has_ended or (self._is_greeted and self._send_now(kind, **fields)):
            return
        if len(self._unsent) < UNSENT_LIMIT:
            self._unsent.append((kind, fields))

    def keys(self, *events: KeyEvent) -> None:
        self._send("key", events=[event.to_wire() for event in events])

    def paste(self, text: str) -> None:
        for part in paste_parts(text):
            self._send("paste", text=part)

    def mouse(self, event: MouseEvent) -> None:
        self._send_now("mouse", event=event.to_wire())

    def focus(self, is_on: bool) -> None:
        self._send_now("focus", on=is_on)

    def resize(self, cols: int, rows: int) -> None:
        self._send_now("resize", cols=cols, rows=rows)

    def ask(self, kind: str, answered: Answered, /, **fields: Any) -> None:
        """Send a request. The callback gets its answer, unless the connection breaks first."""
        self._asked += 1
        self._answers[self._asked] = answered
        if not self._send_now(kind, id=self._asked, **fields):
            del self._answers[self._asked]
