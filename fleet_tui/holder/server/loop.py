"""The screen server's loop: waits for the terminal, the program's reports, clients and the keeper, and serves each.

Owns the order in which output is handled: recorded first, then emulated, judged, and shown.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from fleet_tui.holder import wire
from fleet_tui.holder.control import BEAT, DRAINED, EXITED, RECORDED, ControlMessage, ControlSocket
from fleet_tui.holder.event_log import EventLog, read_last_events
from fleet_tui.holder.foreground import Foreground
from fleet_tui.holder.interaction import Interaction
from fleet_tui.holder.prompts.reasons import PROGRAM_ENDED, STOPPED
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server import complaints
from fleet_tui.holder.server.clients import Client, Clients
from fleet_tui.holder.server.display import ScreenDisplay
from fleet_tui.holder.server.notes import Notes, last_logged
from fleet_tui.holder.server.pty import Pty
from fleet_tui.holder.server.read_ahead import ReadAhead
from fleet_tui.holder.server.requests import Requests
from fleet_tui.holder.server.screen_log import ScreenLog
from fleet_tui.holder.server.turn_end import TurnEndCommand
from fleet_tui.holder.transcript.segments import Transcript
from fleet_tui.models import Status
from fleet_tui.terminal.emulator import Screen

BEAT_SECONDS = 5.0
FLUSH_SECONDS = 1.0
"""How long clients may take to read the last messages."""
DRAIN_SECONDS = 1.0
"""How long reading the last output may take."""


class Server:
    def __init__(self, spec: RunSpec, master: int, control: socket.socket, *, restarted: bool) -> None:
        folder = Path(spec.folder)
        self._restarted = restarted
        self._selector = selectors.DefaultSelector()
        self._control = ControlSocket(control)
        self._pty = Pty(master, self._selector, fallback=(spec.cols, spec.rows))
        cols, rows = self._pty.size
        self._transcript = Transcript(folder, cap=spec.settings.transcript_cap)
        self._transcript.resized(cols, rows)
        self._output = ReadAhead(self._pty, self._transcript)
        self._is_readable = False
        self._screen = Screen(cols, rows, scrollback=spec.settings.scrollback)
        self._display = ScreenDisplay(self._screen)
        self._log = ScreenLog(folder, self._screen)
        self._events = EventLog(folder)
        self._interaction = Interaction(spec, self._screen, self._pty.type, self._publish)
        self._requests = Requests(
            spec, self._pty, self._display, self._transcript, self._log, self._interaction
        )
        self._clients = Clients(self._selector, spec.socket, self._requests.take, self._requests.left)
        earlier = read_last_events(folder) if restarted else []
        self._foreground = Foreground(master, reporter=last_logged(earlier, "reporter", "group"))
        self._notes = Notes(
            self._events, earlier, self._interaction, self._foreground, self._clients.broadcast
        )
        self._turn_end = TurnEndCommand(spec.after_turn, keep_from_it=(master,))
        self._sources: dict[int, Callable[[], None]] = {}
        self._reporting: list[Callable[[], None]] = []
        """Sources that are ready in this turn."""
        self._next_beat = self._last_output = time.monotonic()
        self._judged = 0
        """Offset in the transcript up to which every status found in the output has been reported."""
        self._exit: dict[str, int | None] | None = None
        self._how_ended = ""
        self._leave_at: float | None = None

    def run(self) -> None:
        self.start()
        while not self._is_over():
            self.turn()

    def start(self) -> None:
        self._clients.listen()
        self._selector.register(self._control, selectors.EVENT_READ, None)
        self._pty.start()
        self._sources = self._interaction.sources()
        for descriptor in self._sources:
            self._selector.register(descriptor, selectors.EVENT_READ, None)
        if self._restarted:
            # A new screen is empty until the program redraws.
            self._pty.nudge()
        self._interaction.begin(restarted=self._restarted)

    def turn(self) -> None:
        """Wait for the next events or the next thing due, and handle them."""
        for key, events in self._selector.select(self._timeout()):
            self._handle(key, events)
        # After the keys that came with it, and before reports: a program prints its title before it asks through a hook.
        if self._is_readable or self._output.has_more or self._reporting:
            self._read_output()
        self._read_reports()
        self._tick()

    def close(self) -> None:
        """Release what only a server that is not a process of its own has to."""
        self._screen.close()
        self._control.close()
        self._selector.close()

    def _is_over(self) -> bool:
        if self._leave_at is None:
            return False
        return not self._clients.have_unsent or time.monotonic() >= self._leave_at

    # ── events ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _handle(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fd == self._pty.master:
            if events & selectors.EVENT_WRITE:
                self._pty.flush()
            if events & selectors.EVENT_READ:
                self._is_readable = True
        elif key.fd in self._sources:
            self._reporting.append(self._sources[key.fd])
        elif self._clients.is_listener(key.fileobj):
            self._clients.accept()
        elif key.fileobj is self._control:
            self._read_control()
        elif isinstance(key.data, Client) and not key.data.is_dead:
            key.data.serve(events)

    def _read_reports(self) -> None:
        ready, self._reporting = self._reporting, []
        for read in ready:
            self._read_source(read)

    def _read_source(self, read: Callable[[], None]) -> None:
        try:
            read()
        except Exception:  # noqa: BLE001 - the screen must outlive anything a program can report
            complaints.log()

    def _read_output(self) -> None:
        self._is_readable = False
        data = self._output.next()
        if not data:
            return
        now = time.monotonic()
        with self._output.reading_on(data):
            self._display.feed(data, now, self._clients.viewers())
        self._last_output = now
        self._pty.reply(self._screen.take_replies())
        self._interaction.output(now, is_own=self._pty.is_own_output(data, now))
        for note in self._screen.take_notes():
            self._notes.take(note, now)

    # ── the keeper, and the end ─────────────────────────────────────────────────────────────────────────────────

    def _read_control(self) -> None:
        messages = self._control.receive()
        if messages is None:
            # The keeper is gone. So is the program once this process closes the terminal.
            self._write_end()
            os._exit(0)
        for message in messages:
            if message["t"] == EXITED:
                self._take_exit(message)
            elif message["t"] == RECORDED:
                self._announce_exit()

    def _take_exit(self, message: ControlMessage) -> None:
        self._exit = {"code": message.get("code"), "signal": message.get("signal")}
        is_by_itself = message["cause"] == "exited" and message.get("signal") is None
        self._how_ended = PROGRAM_ENDED if is_by_itself else STOPPED
        self._read_rest()
        self._read_reports()
        self._write_end()
        self._judge(time.monotonic())
        self._notes.log_loss(self._transcript.lost)
        if message["cause"] != "kill":
            # A killed agent's worktree goes to the trash as it is.
            self._turn_end.program_ended(time.monotonic(), by_itself=message["cause"] == "exited")
        self._control.send(DRAINED, lost=self._transcript.lost)

    def _read_rest(self) -> None:
        """Read the last output, which is still in the terminal's buffer."""
        deadline = time.monotonic() + DRAIN_SECONDS
        before = -1
        while self._output.offset != before and time.monotonic() < deadline:
            before = self._output.offset
            self._read_output()

    def _write_end(self) -> None:
        self._notes.log_title()
        self._log.write_end(self._display.frames)

    def _announce_exit(self) -> None:
        self._send_frames(time.monotonic(), last=True)
        if self._exit is not None:
            self._clients.broadcast(wire.pack("exit", **self._exit))
        self._leave_at = time.monotonic() + FLUSH_SECONDS

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _timeout(self) -> float:
        if self._output.has_more:
            return 0.0
        now = time.monotonic()
        moments = (
            self._next_beat,
            self._leave_at,
            self._pty.due(),
            self._requests.due(),
            self._interaction.due(now),
            self._display.due(now, self._clients.viewers()),
            self._notes.due(),
            self._log.due(self._last_output),
            self._turn_end.due(),
        )
        nearest = min(moment for moment in moments if moment is not None)
        return max(0.0, min(nearest - now, BEAT_SECONDS))

    def _tick(self) -> None:
        now = time.monotonic()
        if now >= self._next_beat:
            self._beat(now)
        self._log.tick(now)
        self._display.compress_if_quiet(now, self._last_output)
        self._pty.tick(now)
        self._requests.settle_size(now)
        self._notes.tick(now)
        self._turn_end.tick(now)
        if self._interaction.falls_silent(now) and self._foreground.is_computing():
            self._interaction.computed(now)
        self._judge(now)
        # After its last report has been judged.
        if self._foreground.has_left():
            self._interaction.reported("state=clear", now)
            self._judge(now)
            self._notes.log_reporter()
        self._send_frames(now)

    def _beat(self, now: float) -> None:
        self._next_beat = now + BEAT_SECONDS
        self._control.send(BEAT, lost=self._transcript.lost)
        self._notes.beat()
        self._notes.log_loss(self._transcript.lost)
        self._clients.beat()
        self._turn_end.reap()

    # ── what is sent ────────────────────────────────────────────────────────────────────────────────────────────

    def _judge(self, now: float) -> None:
        self._interaction.tick(now, is_reading=self._pty.is_read, ended=self._how_ended)
        self._judged = self._output.offset

    def _publish(self, kind: str, **data: object) -> None:
        """Log an event and send it to all clients."""
        at = time.time()
        if kind == "status":
            self._judged = self._output.offset
            self._turn_end.observed(Status(str(data["status"])), time.monotonic())
        # A server that replaces this one continues from that offset.
        self._events.append(kind, at, **data, offset=self._judged)
        self._clients.broadcast(wire.pack(kind, at=at, lost=self._transcript.lost, **data))

    def _send_frames(self, now: float, *, last: bool = False) -> None:
        is_held = not last and self._display.is_held(now)
        for client, viewer in self._clients.greeted():
            for data in self._display.messages(viewer, now, is_held=is_held, last=last):
                client.send(data)


def serve(spec: RunSpec, master: int, control: socket.socket, restarted: bool) -> NoReturn:
    """The screen server's whole life, in a process just forked by its keeper."""
    code = 1
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        Server(spec, master, control, restarted=restarted).run()
        code = 0
    except Exception:  # noqa: BLE001 - the last frame of this process: what ended it must be on record
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
