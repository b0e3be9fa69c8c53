"""A client's connection to a holder, and the screen as its frames have built it.

Loads no emulator: a client only gets text, styles and a cursor.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from fleet_tui import paths
from fleet_tui.errors import HolderGone, Refused
from fleet_tui.holder import wire
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import FINAL_FRAME, FINAL_FRAME_MOST, read_holder
from fleet_tui.models import Agent
from fleet_tui.system import files
from fleet_tui.system.sockets import is_same_user
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from fleet_tui.terminal.view import View

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 5.0
SEND_SECONDS = 2
RECEIVE_SIZE = 65536
PASTE_BYTES = wire.LIMIT - 4096
"""Bytes of pasted text in one message, with room for the message around it."""
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""Raised by a message of the right kind with the wrong content."""


class Session:
    """One connection to one holder. Not thread-safe; use `fileno` to wait on several."""

    def __init__(self, connection: socket.socket, name: str) -> None:
        self._socket = connection
        self._name = name
        self._unpacker = wire.Unpacker()
        self._waiting: list[wire.Message] = []
        self._requests = 0
        self.welcome: wire.Message = {}
        self.view = View()

    @classmethod
    def open(
        cls,
        run_folder: Path,
        lock: Path,
        name: str,
        *,
        kind: str = "reader",
        cols: int = 0,
        rows: int = 0,
        rate: float = 30.0,
        seconds: float = CONNECT_SECONDS,
    ) -> Session:
        """Connect, waiting for a holder that is starting or replacing its screen server."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return cls(connect(run_folder), name)._greeted(kind, cols, rows, rate, deadline)
            except (OSError, HolderGone) as error:
                if not is_held(lock):
                    raise HolderGone(
                        f"{name} is not running", hint=f"fleet logs {name} shows its last output"
                    ) from error
                if time.monotonic() >= deadline:
                    raise HolderGone(
                        f"the holder of {name} does not answer", hint="run: fleet doctor"
                    ) from error
                time.sleep(0.01)

    def _greeted(self, kind: str, cols: int, rows: int, rate: float, deadline: float) -> Session:
        try:
            self._greet(kind, cols, rows, rate, deadline)
        except BaseException:
            self.close()
            raise
        return self

    def _greet(self, kind: str, cols: int, rows: int, rate: float, deadline: float) -> None:
        self.send("hello", v=wire.VERSION, kind=kind, cols=cols, rows=rows, rate=rate)
        for message in self.messages(deadline):
            if message["t"] == "welcome":
                self.welcome = message
                return
        raise HolderGone(f"the holder of {self._name} did not answer", hint="run: fleet doctor")

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── sending ─────────────────────────────────────────────────────────────────────────────────────────────────

    def send(self, kind: str, /, **fields: Any) -> None:
        try:
            self._socket.sendall(wire.pack(kind, **fields))
        except OSError as error:
            raise HolderGone(
                f"the holder of {self._name} is gone", hint="fleet list shows how it ended"
            ) from error

    def keys(self, *events: KeyEvent) -> None:
        self.send("key", events=[event.to_wire() for event in events])

    def mouse(self, event: MouseEvent) -> None:
        self.send("mouse", event=event.to_wire())

    def paste(self, text: str) -> None:
        for part in paste_parts(text):
            self.send("paste", text=part)

    def resize(self, cols: int, rows: int) -> None:
        self.send("resize", cols=cols, rows=rows)

    # ── receiving ───────────────────────────────────────────────────────────────────────────────────────────────

    def receive(self) -> list[wire.Message]:
        """The messages that have arrived; call when `fileno` is readable. Applies frames to `view` and acknowledges them."""
        try:
            data = self._socket.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return []
        except OSError as error:
            raise HolderGone(
                f"the holder of {self._name} is gone", hint="fleet list shows how it ended"
            ) from error
        if not data:
            raise HolderGone(f"the holder of {self._name} has closed", hint="fleet list shows how it ended")
        try:
            messages = list(self._unpacker.feed(data))
            for message in messages:
                if message["t"] == "frame":
                    self._show(message)
        except (wire.WireError, *MALFORMED) as error:
            raise HolderGone(
                f"the holder of {self._name} sent an invalid message: {error}", hint="run: fleet doctor"
            ) from error
        return self.arrived() + messages

    def _show(self, frame: wire.Message) -> None:
        """Apply a frame, add the rows that it changed, and acknowledge it."""
        frame["changed"], frame["more"] = self.view.apply(frame), bool(frame["more"])
        with contextlib.suppress(HolderGone):
            self.send("ack", seq=frame["seq"])

    def arrived(self) -> list[wire.Message]:
        """Messages that arrived together with an answer: `fileno` does not show them as readable."""
        earlier, self._waiting = self._waiting, []
        return earlier

    def messages(self, deadline: float) -> Iterator[wire.Message]:
        """Messages as they arrive, until the deadline."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            while self._waiting:
                yield self._waiting.pop(0)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if poll.poll(left * 1000):
                self._waiting = self.receive()

    def ask(self, kind: str, /, *, seconds: float = ANSWER_SECONDS, **fields: Any) -> wire.Message:
        """Send a request and wait for its answer; raises Refused if the holder is too old for it."""
        if wire.SINCE.get(kind, 1) > int(self.welcome.get("v", 1)):
            raise Refused(
                f"{self._name} was started by an earlier fleet-tui, which cannot do that",
                hint=f"fleet stop {self._name} and fleet revive {self._name} bring it up to date",
            )
        self._requests += 1
        number = fields.pop("id", self._requests)
        self.send(kind, id=number, **fields)
        for message in self.messages(time.monotonic() + seconds):
            if message["t"] == "answer" and message.get("id") == number:
                return _Answer(self._name, message)
            if message["t"] == "error":
                raise HolderGone(str(message.get("text", "")), hint="run: fleet doctor")
        raise HolderGone(f"the holder of {self._name} did not answer", hint="run: fleet doctor")


class _Answer(dict[str, Any]):
    """An answer whose missing fields name the agent: it can put a server of its own in its holder's place."""

    def __init__(self, name: str, message: wire.Message) -> None:
        super().__init__(message)
        self._name = name

    def __missing__(self, field: str) -> NoReturn:
        raise HolderGone(f"the holder of {self._name} answered without {field!r}", hint="run: fleet doctor")


def paste_parts(text: str) -> list[str]:
    """Split pasted text so that each part fits a message; nearly always it is one part."""
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


def connect(run_folder: Path, *, blocking: bool = True) -> socket.socket:
    """Connect to the screen server of a run. Raises HolderGone before it has a holder, and OSError while none listens."""
    holder = read_holder(run_folder)
    if holder is None:
        raise HolderGone("the agent has no holder yet", hint="try again in a moment")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(blocking)
    try:
        if blocking:
            # A screen server that hangs must not block its clients.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        connection.connect(holder.socket)
        if not is_same_user(connection):
            raise PermissionError(f"{holder.socket} is served by another user")
    except OSError:
        connection.close()
        raise
    return connection


def final_view(run_folder: Path) -> View | None:
    """The last screen of an ended run."""
    try:
        data = files.read(run_folder / FINAL_FRAME, limit=FINAL_FRAME_MOST)
        view = View()
        for frame in wire.Unpacker().feed(data):
            view.apply(frame)
    except (OSError, wire.WireError, KeyError, TypeError, ValueError):
        return None
    return view if view.rows else None


def open_session(agent: Agent, **options: Any) -> Session:
    """Connect to the holder of an agent."""
    return Session.open(paths.run(agent.id, agent.run), paths.lock(agent.id), agent.name, **options)
