"""A client's end of a holder: one connection, and the screen as the frames have drawn it so far.

Loads no native parser: whoever watches an agent only ever sees text, styles and a cursor.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fleet_tui import wire
from fleet_tui.errors import HolderGone, Refused
from fleet_tui.holder import is_held, read_holder
from fleet_tui.inputs import KeyEvent, MouseEvent
from fleet_tui.peers import is_same_user
from fleet_tui.values import dataclass, field

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 5.0
SEND_SECONDS = 2
RECEIVE_SIZE = 65536

Style = tuple[int, int, int, int]
Run = tuple[str, Style | None, int]
"""Text, style (None: the terminal's own), width in cells."""


@dataclass(slots=True)
class View:
    """A screen, mirrored from frames."""

    cols: int = 0
    rows: int = 0
    lines: list[list[Run]] = field(default_factory=list)
    cursor: tuple[int, int, bool, str, bool] = (0, 0, True, "block", False)
    """x, y, visible, shape, blinking."""
    is_alternate: bool = False
    wants_bracketed_paste: bool = False
    mouse: str = ""
    """What mouse events the program asked for; empty for none."""
    wants_focus: bool = False
    scrolls_alternate: bool = False
    """The wheel is to become arrow keys on the alternate screen."""
    title: str = ""
    history: int = 0
    _styles: dict[int, Style] = field(default_factory=dict)
    _epoch: int = -1

    def apply(self, frame: wire.Message) -> set[int]:
        """Take over a frame; returns the rows that it changed."""
        size = (int(frame["cols"]), int(frame["rows"]))
        if frame["full"] or frame["epoch"] != self._epoch:
            self._styles, self._epoch = {}, frame["epoch"]
        changed: set[int] = set()
        if frame["full"] or size != (self.cols, self.rows):
            self.cols, self.rows = size
            self.lines = [[] for _ in range(self.rows)]
            changed = set(range(self.rows))
        self._styles.update((int(number), _style(values)) for number, values in frame["styles"].items())
        for y, runs in frame["lines"]:
            if 0 <= y < self.rows:
                self.lines[y] = self._runs(runs)
                changed.add(y)
        self._take_header(frame)
        return changed

    def _runs(self, runs: list[Any]) -> list[Run]:
        styles = self._styles
        return [(runs[i], styles.get(runs[i + 1]), runs[i + 2]) for i in range(0, len(runs) - 2, 3)]

    def _take_header(self, frame: wire.Message) -> None:
        x, y, visible, shape, blink = frame["cursor"][:5]
        self.cursor = (x, y, visible, shape, blink)
        modes = frame["modes"]
        (
            self.is_alternate,
            self.wants_bracketed_paste,
            self.mouse,
            self.wants_focus,
            self.scrolls_alternate,
        ) = modes[:5]
        self.title = frame["title"]
        self.history = frame["history"]

    def text(self) -> list[str]:
        return ["".join(run[0] for run in line).rstrip() for line in self.lines]


def _style(values: list[int]) -> Style:
    foreground, background, attributes, underline = values[:4]
    return (foreground, background, attributes, underline)


class Session:
    """One attachment to one holder. Not thread-safe; `fileno` is for whoever waits on several."""

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
        """Connect, waiting for a holder that is just starting or replacing its screen server."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return cls(_connect(run_folder), name)._greeted(kind, cols, rows, rate, deadline)
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
        raise HolderGone(f"the holder of {self._name} did not greet")

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
        self.send("paste", text=text)

    def resize(self, cols: int, rows: int) -> None:
        self.send("resize", cols=cols, rows=rows)

    # ── receiving ───────────────────────────────────────────────────────────────────────────────────────────────

    def receive(self) -> list[wire.Message]:
        """What has arrived; call when `fileno` is readable. Frames are applied to `view` and acknowledged."""
        try:
            data = self._socket.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return []
        except OSError as error:
            raise HolderGone(f"the holder of {self._name} is gone") from error
        if not data:
            raise HolderGone(f"the holder of {self._name} has closed", hint="fleet list shows how it ended")
        try:
            messages = list(self._unpacker.feed(data))
        except wire.WireError as error:
            raise HolderGone(f"the holder of {self._name} is not understood: {error}") from error
        for message in messages:
            if message["t"] == "frame":
                message["changed"] = self.view.apply(message)
                with contextlib.suppress(HolderGone):
                    self.send("ack", seq=message["seq"])
        return self.arrived() + messages

    def arrived(self) -> list[wire.Message]:
        """What came together with an answer that somebody waited for: `fileno` will not tell of it."""
        earlier, self._waiting = self._waiting, []
        return earlier

    def messages(self, deadline: float) -> Iterator[wire.Message]:
        """Messages as they come, until the deadline."""
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
        """Send a request and wait for its answer; one that the holder does not know is refused at once."""
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
                return message
            if message["t"] == "error":
                raise HolderGone(str(message["text"]))
        raise HolderGone(f"the holder of {self._name} did not answer", hint="run: fleet doctor")

    def wait_for(self, condition: Callable[[View], bool], *, seconds: float) -> bool:
        """Whether the screen came to satisfy the condition in time."""
        if condition(self.view):
            return True
        return any(
            message["t"] == "frame" and not message["more"] and condition(self.view)
            for message in self.messages(time.monotonic() + seconds)
        )


def _connect(run_folder: Path) -> socket.socket:
    holder = read_holder(run_folder)
    if holder is None:
        raise HolderGone("no holder yet")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A screen server that hangs must not hang whoever types.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
    try:
        connection.connect(holder.socket)
        if not is_same_user(connection):
            raise PermissionError(f"{holder.socket} is served by another user")
    except OSError:
        connection.close()
        raise
    return connection


def final_view(run_folder: Path) -> View | None:
    """The screen as an ended run left it."""
    try:
        data = (run_folder / "final.frame").read_bytes()
        view = View()
        for frame in wire.Unpacker().feed(data):
            view.apply(frame)
    except (OSError, wire.WireError, KeyError, TypeError, ValueError):
        return None
    return view if view.rows else None
