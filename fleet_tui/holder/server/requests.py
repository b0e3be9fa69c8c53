"""Requests of clients: what each kind of message does to the terminal, the screen, the size or the prompts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from fleet_tui.holder import wire
from fleet_tui.holder.frames import Viewer
from fleet_tui.holder.interaction import Interaction, Reply
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server.clients import Client
from fleet_tui.holder.server.display import ScreenDisplay
from fleet_tui.holder.server.pty import Pty
from fleet_tui.holder.server.screen_log import ScreenLog
from fleet_tui.holder.size_owner import SizeOwner
from fleet_tui.holder.transcript.segments import Transcript
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent

MOST_ROWS = 500
MOST_FINDS = 5000
FASTEST, USUAL_RATE = 120.0, 30.0


class Requests:
    def __init__(
        self,
        spec: RunSpec,
        pty: Pty,
        display: ScreenDisplay,
        transcript: Transcript,
        log: ScreenLog,
        interaction: Interaction,
    ) -> None:
        self._spec = spec
        self._pty = pty
        self._display = display
        self._screen = display.screen
        self._transcript = transcript
        self._log = log
        self._interaction = interaction
        self._size = SizeOwner(pty.size)
        self._orders: dict[str, Callable[[Client, Viewer, wire.Message], None]] = {
            "view": self._view,
            "ack": self._ack,
            "resize": self._resize,
            "key": self._key,
            "mouse": self._mouse,
            "paste": self._paste,
            "focus": self._focus,
            "text": self._text,
            "peek": self._peek,
            "rows": self._rows,
            "find": self._find,
            "copy": self._copy,
            "ping": self._ping,
        }
        self._questions: dict[str, Callable[[Mapping[str, Any], Reply], None]] = {
            "prompt": interaction.prompt,
            "queue": interaction.queue,
            "reword": interaction.reword,
            "cancel": interaction.cancel,
            "respond": interaction.answer,
            "why": interaction.why,
        }

    def take(self, client: Client, message: wire.Message) -> None:
        """Carry out one message; unknown kinds come from later versions and are ignored."""
        kind = message["t"]
        if kind == "hello":
            self._greet(client, message)
            return
        viewer = client.viewer
        if viewer is None:
            raise wire.WireError("the first message must be a hello")
        if kind in self._orders:
            self._orders[kind](client, viewer, message)
        elif kind in self._questions:
            self._questions[kind](message, lambda **fields: client.answer(message, **fields))

    # ── size ────────────────────────────────────────────────────────────────────────────────────────────────────

    def left(self, viewer: Viewer) -> None:
        self._size.left(viewer, time.monotonic())

    def due(self) -> float | None:
        return self._size.due()

    def settle_size(self, now: float) -> None:
        """Give the terminal the size of the viewer that owns it now."""
        size = self._size.settle(now)
        if size is None or size == (self._screen.cols, self._screen.rows):
            return
        self._screen.resize(*size)
        # The emulator has limits of its own.
        cols, rows = self._screen.cols, self._screen.rows
        self._pty.resize(cols, rows)
        self._transcript.resized(cols, rows)
        self._display.frames.resized()

    def _greet(self, client: Client, message: wire.Message) -> None:
        now = time.monotonic()
        if client.viewer is not None:
            self._size.left(client.viewer, now)
        viewer = Viewer(kind=str(message.get("kind", "reader")), rate=_rate(message))
        client.viewer = viewer
        cols, rows = int(message.get("cols", 0)), int(message.get("rows", 0))
        if cols and rows:
            self._size.wanted(viewer, cols, rows, now)
            self.settle_size(now)
        status = self._interaction.status()
        client.send(
            wire.pack(
                "welcome",
                v=wire.VERSION,
                agent=self._spec.agent,
                run=self._spec.run,
                cols=self._screen.cols,
                rows=self._screen.rows,
                status=status.status,
                detail=status.detail,
                lost=self._transcript.lost,
            )
        )

    def _view(self, _client: Client, viewer: Viewer, message: wire.Message) -> None:
        viewer.set_rate(_rate(message))

    def _ack(self, _client: Client, viewer: Viewer, message: wire.Message) -> None:
        viewer.acknowledge(int(message["seq"]))

    def _resize(self, _client: Client, viewer: Viewer, message: wire.Message) -> None:
        self._size.wanted(viewer, int(message["cols"]), int(message["rows"]), time.monotonic())

    # ── input ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _key(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        events = [KeyEvent.from_wire(event) for event in message["events"]]
        self._typed(client, viewer, b"".join(self._screen.encode_key(event) for event in events))

    def _mouse(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        self._typed(client, viewer, self._screen.encode_mouse(MouseEvent.from_wire(message["event"])))

    def _paste(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        self._typed(client, viewer, self._screen.encode_paste(str(message["text"])))

    def _focus(self, _client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._pty.write(self._screen.encode_focus(bool(message["on"])))

    def _text(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        if not isinstance(message["data"], bytes):
            raise wire.WireError("text is not bytes")
        self._typed(client, viewer, message["data"])

    def _typed(self, client: Client, viewer: Viewer, data: bytes) -> None:
        self._size.typed(viewer)
        viewer.typed(time.monotonic())
        self._interaction.typed(data)
        if data and not self._pty.type(data):
            client.send(wire.pack("error", text="the program does not read its input"))

    # ── the screen ──────────────────────────────────────────────────────────────────────────────────────────────

    def _peek(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        """The screen as text, and the place in the log where it continues; after the end it is part of the log."""
        self._log.write_lines()
        cursor = self._screen.cursor
        client.answer(
            message,
            lines=self._screen.text(),
            joined=self._screen.lines(),
            cursor=[cursor.x, cursor.y],
            alternate=self._screen.modes.alternate,
            log=self._log.end,
            in_log=self._log.has_screen,
        )

    def _rows(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        start, count = max(0, int(message["start"])), min(MOST_ROWS, max(0, int(message["count"])))
        lines = self._display.frames.plain_rows(self._screen.history(start, count))
        client.answer(message, start=start, total=self._screen.history_size, lines=_fitting(lines))

    def _find(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        places = self._screen.search(str(message["text"]))[:MOST_FINDS]
        client.answer(message, found=[list(place) for place in places])

    def _copy(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        start, end = message["start"], message["end"]
        text = self._screen.select((int(start[0]), int(start[1])), (int(end[0]), int(end[1])))
        client.answer(message, text=text[: wire.LIMIT // 4])

    def _ping(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        client.answer(message)


def _fitting(lines: list[list[list[object]]]) -> list[list[list[object]]]:
    """As many of the lines as fit a message; the client asks for the rest from there on."""
    room = wire.LIMIT // 2
    for number, line in enumerate(lines):
        # Text of at most four bytes a character, and a style of up to 40 bytes a run.
        room -= sum(len(str(run[0])) * 4 + 40 for run in line)
        if room < 0:
            return lines[:number]
    return lines


def _rate(message: wire.Message) -> float:
    return max(0.0, min(FASTEST, float(message.get("rate", USUAL_RATE))))
