"""One agent's screen, transcript, status and prompts, served to its viewers.

Reads the pseudo-terminal, feeds the emulator, answers the program's terminal queries, and sends each viewer the
rows that changed, at the rate it asked for. Runs in a process that its keeper may have to replace at any moment:
what matters is on disk before it reaches the emulator. Imports nothing once it runs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import selectors
import signal
import socket
import stat
import struct
import sys
import termios
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from fleet_tui import prompts, wire
from fleet_tui.dealings import Dealings
from fleet_tui.echoes import Echoes
from fleet_tui.foreground import Foreground
from fleet_tui.frames import Frames, Viewer
from fleet_tui.holder import Events, RunSpec, read_events
from fleet_tui.inputs import KeyEvent, MouseEvent
from fleet_tui.peers import is_same_user
from fleet_tui.screen import Bell, Notification, ProgramStatus, Screen, Title
from fleet_tui.sizes import Sizes
from fleet_tui.transcript import Lines, Settled, Transcript

READ_SIZE = 65536
INPUT_LIMIT = 4 << 20
"""Bytes that may wait for a program that does not read; more is refused."""
REPLY_LIMIT = 65536
OUT_LIMIT = 8 << 20
"""Bytes that may wait for a client that does not read; then it is cut off."""
HOLD_SECONDS = 0.15
"""How long synchronized output may keep a frame back."""
REDRAW_BEGINS, REDRAW_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"
CELL_WIDTH, CELL_HEIGHT = 8, 16
LINES_SECONDS = 0.1
SETTLED_SECONDS = 0.5
BEAT_SECONDS = 5.0
QUIET_SECONDS = 0.8
"""Without output for this long, the scrollback is compressed: half a millisecond for a thousand lines."""
FLUSH_SECONDS = 1.0
REDRAW_SECONDS = 0.5
"""What a program prints so soon after its terminal got another size is it drawing itself anew."""
LAST_READS = 64
"""How much is still heard of a client that has hung up: a message of any size."""
NOTE_SECONDS = 1.0
"""Titles and bells are told no more often than this: some programs spin in their title."""
NOTIFICATIONS_AT_ONCE = 20
"""Between two beats; what a program says beyond that is a flood."""


class Client:
    """One connection. `dead` is checked by every handler: its events may still be in the batch being handled."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.unpacker = wire.Unpacker()
        self.out = bytearray()
        self.dead = False
        self.has_hung_up = False
        """It takes nothing any more; what it has said is still to be heard."""
        self.viewer: Viewer | None = None


class Server:
    def __init__(self, spec: RunSpec, master: int, control: socket.socket, *, restarted: bool) -> None:
        self._spec = spec
        self._folder = Path(spec.folder)
        self._master = master
        self._control = control
        self._restarted = restarted
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, Client] = {}
        self._input = bytearray()
        self._control_in = b""
        cols, rows = self._terminal_size()
        self._transcript = Transcript(self._folder, cap=spec.transcript_cap)
        self._transcript.resized(cols, rows)
        self._lines = Lines(self._folder)
        self._settled = Settled(hold=SETTLED_SECONDS)
        self._screen = Screen(cols, rows, scrollback=spec.scrollback)
        self._events = Events(self._folder)
        self._frames = Frames(self._screen)
        self._sizes = Sizes((cols, rows))
        self._dealings = Dealings(spec, self._screen, self._give, self._tell)
        earlier = read_events(self._folder, 0)[1] if restarted else []
        self._reporter = _last(earlier, "reporter", "group")
        """Who makes the reports, as was noted last."""
        self._foreground = Foreground(master, reporter=self._reporter)
        self._echoes = Echoes(master)
        self._sources: dict[int, Callable[[], None]] = {}
        now = time.monotonic()
        self._next_lines = now
        self._next_beat = now
        self._last_output = now
        self._resized_at = now - REDRAW_SECONDS
        self._held_since: float | None = None
        self._compressed = True
        self._restore_size_at: float | None = None
        self._lost_before = self._lost_told = _last(earlier, "output-lost", "bytes")
        """Bytes of output that could not be kept by the servers before this one, and as was told last."""
        self._judged = 0
        """Up to which offset of the transcript all that it says of the status has been told."""
        self._title: str | None = None
        """One that is still to be told."""
        self._told_title = ""
        self._next_title = now
        self._next_bell = now
        self._notifications_left = NOTIFICATIONS_AT_ONCE
        self._listener: socket.socket | None = None
        self._is_deaf = False
        """There is no place to listen, and that has been said."""
        self._ended: dict[str, int | None] | None = None
        self._how_ended = ""
        self._is_in_log = False
        """Whether the screen has been written to the log, which is done once, at the end."""
        self._leave_at: float | None = None

    # ── life ────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        os.set_blocking(self._master, False)
        self._control.setblocking(False)
        self._listen()
        self._selector.register(self._control, selectors.EVENT_READ, None)
        self._selector.register(self._master, selectors.EVENT_READ, None)
        self._sources = self._dealings.sources()
        for descriptor in self._sources:
            self._selector.register(descriptor, selectors.EVENT_READ, None)
        if self._restarted:
            self._nudge()
        self._dealings.begin(restarted=self._restarted)
        while not self._is_over():
            for key, events in self._selector.select(self._timeout()):
                self._handle(key, events)
            self._tick()

    def _listen(self) -> None:
        """Without a place to listen nobody can look, but the program must go on; each beat tries again."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind(listener)
        except OSError:
            listener.close()
            if not self._is_deaf:
                _complain()
            self._is_deaf = True
            return
        self._is_deaf = False
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, None)
        self._listener = listener

    def _bind(self, listener: socket.socket) -> None:
        folder = os.path.dirname(self._spec.socket)  # noqa: PTH120 - as below
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - as below
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise PermissionError(f"{folder} is somebody else's by now")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._spec.socket)  # noqa: PTH108 - a system call, in a process that imports nothing more
        old = os.umask(0o177)
        try:
            listener.bind(self._spec.socket)
        finally:
            os.umask(old)
        listener.listen(64)

    def _nudge(self) -> None:
        """A fresh screen is empty: a change of size makes the program draw itself again."""
        cols, rows = self._screen.cols, self._screen.rows
        self._set_terminal_size(cols, max(3, rows - 1), true_rows=rows)
        self._restore_size_at = time.monotonic() + 0.15

    def _is_over(self) -> bool:
        if self._leave_at is None:
            return False
        waiting = any(client.out for client in self._clients.values())
        return not waiting or time.monotonic() >= self._leave_at

    # ── events ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _handle(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fileobj is self._master or key.fd == self._master:
            if events & selectors.EVENT_WRITE:
                self._write_input()
            if events & selectors.EVENT_READ:
                self._read_terminal()
        elif key.fd in self._sources:
            self._hear_source(self._sources[key.fd])
        elif self._listener is not None and key.fileobj is self._listener:
            self._accept(self._listener)
        elif key.fileobj is self._control:
            self._hear_keeper()
        elif key.data is not None and not key.data.dead:
            self._serve_client(key.data, events)

    def _hear_source(self, hear: Callable[[], None]) -> None:
        """Whatever a program tells wrong is passed over; it must not end what shows its screen."""
        try:
            hear()
        except Exception:  # noqa: BLE001 - the screen must outlive anything that a program can tell
            _complain()

    def _read_terminal(self) -> None:
        chunks = []
        total = 0
        while total < READ_SIZE:
            try:
                data = os.read(self._master, READ_SIZE)
            except BlockingIOError:
                break
            except OSError as error:
                # Linux says EIO when the last process has closed the terminal.
                if error.errno != errno.EIO:
                    _complain()
                self._selector_forget_master()
                break
            if not data:
                self._selector_forget_master()
                break
            chunks.append(data)
            total += len(data)
        if chunks:
            self._take_output(b"".join(chunks))

    def _selector_forget_master(self) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(self._master)

    def _take_output(self, data: bytes) -> None:
        now = time.monotonic()
        self._transcript.write(data)
        self._feed(data, now)
        self._last_output = now
        self._compressed = False
        replies = self._screen.take_replies()
        if replies and len(self._input) < REPLY_LIMIT:
            self._queue_input(replies)
        is_own = not self._echoes.are_all_of(data) and now >= self._resized_at + REDRAW_SECONDS
        self._dealings.output(now, is_own=is_own)
        for note in self._screen.take_notes():
            self._take_note(note, now)

    def _feed(self, data: bytes, now: float) -> None:
        """Between two redraws in one piece of output is the only moment at which the screen is whole: look then."""
        end = data.rfind(REDRAW_ENDS) + len(REDRAW_ENDS)
        if self._clients and end >= len(REDRAW_ENDS) and data.find(REDRAW_BEGINS, end) >= 0:
            self._held_since = None
            if self._is_to_look(data, now):
                self._screen.feed(data[:end])
                data = data[end:]
                self._frames.fed()
                self._frames.look()
        self._screen.feed(data)
        self._frames.fed()

    def _is_to_look(self, data: bytes, now: float) -> bool:
        """Behind a full piece of output comes another, with as good a moment: that will do until a frame is due."""
        if len(data) < READ_SIZE:
            return True
        due = self._frames.due(self._viewers(), is_held=False)
        return due is not None and due <= now

    def _take_note(self, note: object, now: float) -> None:
        match note:
            case Bell():
                self._take_bell(now)
            case Title(text):
                self._title = text[:300]
                self._dealings.titled(self._title, now)
            case Notification(title, body):
                self._take_notification(title[:300], body[:2000])
            case ProgramStatus(payload):
                self._foreground.reported(now)
                self._note_reporter()
                self._dealings.reported(payload, now)
            case _:
                pass

    def _note_reporter(self) -> None:
        if self._foreground.reporter != self._reporter:
            self._reporter = self._foreground.reporter
            self._events.append("reporter", time.time(), group=self._reporter)

    def _take_bell(self, now: float) -> None:
        if now >= self._next_bell:
            self._next_bell = now + NOTE_SECONDS
            self._events.append("bell", time.time())
            self._broadcast(wire.pack("note", kind="bell", title="", text=""))

    def _take_notification(self, title: str, text: str) -> None:
        if self._notifications_left:
            self._notifications_left -= 1
            self._events.append("notification", time.time(), title=title, text=text)
            self._broadcast(wire.pack("note", kind="notification", title=title, text=text))

    def _tell_title(self) -> None:
        if self._title is None:
            return
        if self._title != self._told_title:
            self._events.append("title", time.time(), text=self._title)
            self._next_title = time.monotonic() + NOTE_SECONDS
        self._told_title, self._title = self._title, None

    def _hear_keeper(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            # The keeper is gone, and the program with it as soon as this process lets go of the terminal.
            self._persist_end()
            os._exit(0)
        *lines, self._control_in = (self._control_in + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["t"] == "exited":
                self._take_exit(message)
            elif message["t"] == "recorded":
                self._say_goodbye()

    def _take_exit(self, message: dict[str, Any]) -> None:
        self._ended = {"code": message.get("code"), "signal": message.get("signal")}
        is_by_itself = message["cause"] == "exited" and message.get("signal") is None
        self._how_ended = prompts.ENDED if is_by_itself else prompts.STOPPED
        self._read_rest()
        self._persist_end()
        self._deal(time.monotonic())
        self._tell_loss()
        self._tell_keeper(t="drained", lost=self._transcript.lost)

    def _read_rest(self) -> None:
        """What the program printed last is still in the terminal's buffer."""
        deadline = time.monotonic() + 1.0
        before = -1
        while self._transcript.end != before and time.monotonic() < deadline:
            before = self._transcript.end
            self._read_terminal()

    def _persist_end(self) -> None:
        self._tell_title()
        self._log_scrolled()
        self._is_in_log = True
        self._lines.append(
            self._settled.rest() if self._screen.modes.alternate else _trimmed(self._screen.text())
        )
        self._frames.look()
        with contextlib.suppress(OSError):
            data = b"".join(self._frames.full(Viewer(kind="reader")))
            path = self._folder / "final.frame"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)

    def _say_goodbye(self) -> None:
        self._send_frames(time.monotonic(), last=True)
        if self._ended is not None:
            self._broadcast(wire.pack("exit", **self._ended))
        self._leave_at = time.monotonic() + FLUSH_SECONDS

    def _tell_keeper(self, **message: object) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode() + b"\n")

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _timeout(self) -> float:
        now = time.monotonic()
        due = [self._next_beat, self._leave_at, self._restore_size_at, self._sizes.due()]
        due += [self._dealings.due(now), self._frames_due(now)]
        if self._title is not None:
            due.append(self._next_title)
        if self._transcript_moved():
            due.append(self._next_lines)
        nearest = min((moment for moment in due if moment is not None), default=now + 1.0)
        return max(0.0, min(nearest - now, BEAT_SECONDS))

    def _transcript_moved(self) -> bool:
        return self._next_lines <= self._last_output + 2 * SETTLED_SECONDS

    def _frames_due(self, now: float) -> float | None:
        viewers = self._viewers()
        if not viewers:
            return None
        is_held = self._is_held(now)
        due = self._frames.due(viewers, is_held=is_held)
        if not is_held or self._held_since is None:
            return due
        released = self._held_since + HOLD_SECONDS
        return released if due is None else min(due, released)

    def _tick(self) -> None:
        now = time.monotonic()
        if now >= self._next_beat:
            self._beat(now)
        if now >= self._next_lines:
            self._log_scrolled()
            self._next_lines = now + LINES_SECONDS
        if not self._compressed and now - self._last_output > QUIET_SECONDS:
            self._compressed = True
            self._screen.compress()
        if self._restore_size_at is not None and now >= self._restore_size_at:
            self._restore_size_at = None
            self._set_terminal_size(self._screen.cols, self._screen.rows)
        size = self._sizes.settle(now)
        if size is not None:
            self._resize(*size)
        if self._title is not None and now >= self._next_title:
            self._tell_title()
        if self._dealings.falls_silent(now) and self._foreground.is_computing():
            self._dealings.computed(now)
        self._deal(now)
        # Not before its last words have been told.
        if self._foreground.has_left():
            self._dealings.reported("state=clear", now)
            self._deal(now)
            self._note_reporter()
        self._send_frames(now)

    def _deal(self, now: float) -> None:
        self._dealings.tick(now, is_reading=not self._input, ended=self._how_ended)
        self._judged = self._transcript.end

    def _beat(self, now: float) -> None:
        self._next_beat = now + BEAT_SECONDS
        self._tell_keeper(t="beat", lost=self._transcript.lost)
        self._events.flush()
        self._tell_loss()
        self._notifications_left = NOTIFICATIONS_AT_ONCE
        if self._listener is None or not os.path.lexists(self._spec.socket):
            self._bind_again()

    def _bind_again(self) -> None:
        """Somebody has cleaned up the folder that the socket was in."""
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        self._listen()

    def _tell_loss(self) -> None:
        lost = self._lost_before + self._transcript.lost
        if lost != self._lost_told:
            self._lost_told = lost
            self._events.append("output-lost", time.time(), bytes=lost)

    def _log_scrolled(self) -> None:
        lines, lost = self._screen.take_scrolled_lines(10_000)
        if lost:
            lines.insert(0, f"[{lost} lines passed too quickly to be kept here; fleet logs --raw has them]")
        if self._screen.modes.alternate:
            lines += self._settled.seen(self._screen.text(), time.monotonic())
        if lines:
            self._lines.append(lines)

    # ── what is told ────────────────────────────────────────────────────────────────────────────────────────────

    def _tell(self, kind: str, **data: object) -> None:
        """Note what has happened, and say it to all who listen."""
        at = time.time()
        if kind == "status":
            self._judged = self._transcript.end
        # The server after this one goes on from there.
        self._events.append(kind, at, **data, offset=self._judged)
        self._broadcast(wire.pack(kind, at=at, lost=self._transcript.lost, **data))

    # ── input ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _give(self, data: bytes) -> bool:
        """Somebody types this; what is printed from now on may be the answer."""
        self._resized_at = time.monotonic() - REDRAW_SECONDS
        return self._queue_input(data)

    def _queue_input(self, data: bytes) -> bool:
        if len(self._input) + len(data) > INPUT_LIMIT:
            return False
        self._input += data
        self._echoes.typed(data)
        self._write_input()
        return True

    def _write_input(self) -> None:
        while self._input:
            try:
                written = os.write(self._master, self._input[:READ_SIZE])
            except BlockingIOError:
                break
            except OSError:
                self._input.clear()
                break
            del self._input[:written]
        interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._input else 0)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.modify(self._master, interest, None)

    # ── sizes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _terminal_size(self) -> tuple[int, int]:
        packed = fcntl.ioctl(self._master, termios.TIOCGWINSZ, b"\0" * 8)
        rows, cols, _, height = struct.unpack("HHHH", packed)
        return (cols or self._spec.cols, height // CELL_HEIGHT or rows or self._spec.rows)

    def _set_terminal_size(self, cols: int, rows: int, *, true_rows: int = 0) -> None:
        """`true_rows` are kept as the height in pixels: the next server goes by that, should this one die now."""
        pixels = (cols * CELL_WIDTH, (true_rows or rows) * CELL_HEIGHT)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, *pixels))

    def _resize(self, cols: int, rows: int) -> None:
        if (cols, rows) == (self._screen.cols, self._screen.rows):
            return
        self._screen.resize(cols, rows)
        self._resized_at = time.monotonic()
        self._set_terminal_size(self._screen.cols, self._screen.rows)
        self._transcript.resized(self._screen.cols, self._screen.rows)
        self._frames.resized()

    # ── clients ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        if not is_same_user(connection):
            connection.close()
            return
        connection.setblocking(False)
        client = Client(connection)
        self._clients[connection.fileno()] = client
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _viewers(self) -> list[Viewer]:
        return [client.viewer for client in self._clients.values() if client.viewer is not None]

    def _drop(self, client: Client) -> None:
        if client.dead:
            return
        client.dead = True
        self._clients.pop(client.socket.fileno(), None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.socket)
        client.socket.close()
        if client.viewer is not None:
            self._sizes.left(client.viewer, time.monotonic())

    def _serve_client(self, client: Client, events: int) -> None:
        """Whatever one client does wrong ends that client, and nothing else."""
        try:
            if events & selectors.EVENT_WRITE:
                self._flush(client)
            if events & selectors.EVENT_READ and not client.dead:
                self._read_client(client)
        except Exception as error:  # noqa: BLE001 - the agent must outlive anything a client can send
            if not isinstance(error, OSError | wire.WireError):
                _complain()
            self._drop(client)

    def _read_client(self, client: Client) -> None:
        try:
            data = client.socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._drop(client)
            return
        for message in client.unpacker.feed(data):
            if client.dead:
                return
            self._obey(client, message)

    def _obey(self, client: Client, message: wire.Message) -> None:
        kind = message["t"]
        if kind == "hello":
            self._greet(client, message)
            return
        viewer = client.viewer
        if viewer is None:
            raise wire.WireError("the first message must be a hello")
        handler = getattr(self, f"_on_{kind}", None)
        if handler is not None:
            handler(client, viewer, message)

    def _greet(self, client: Client, message: wire.Message) -> None:
        now = time.monotonic()
        if client.viewer is not None:
            self._sizes.left(client.viewer, now)
        viewer = Viewer(kind=str(message.get("kind", "reader")), rate=_rate(message))
        client.viewer = viewer
        cols, rows = int(message.get("cols", 0)), int(message.get("rows", 0))
        if cols and rows:
            self._sizes.wanted(viewer, cols, rows, now)
            size = self._sizes.settle(now)
            if size is not None:
                self._resize(*size)
        observed = self._dealings.status()
        self._send(
            client,
            wire.pack(
                "welcome",
                v=wire.VERSION,
                agent=self._spec.agent,
                run=self._spec.run,
                cols=self._screen.cols,
                rows=self._screen.rows,
                status=observed.status,
                detail=observed.detail,
                lost=self._transcript.lost,
            ),
        )

    def _on_view(self, _client: Client, viewer: Viewer, message: wire.Message) -> None:
        viewer.set_rate(_rate(message))

    def _on_ack(self, _client: Client, viewer: Viewer, message: wire.Message) -> None:
        viewer.acknowledge(int(message["seq"]))

    def _on_resize(self, _client: Client, viewer: Viewer, message: wire.Message) -> None:
        self._sizes.wanted(viewer, int(message["cols"]), int(message["rows"]), time.monotonic())

    def _on_key(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        events = [KeyEvent.from_wire(event) for event in message["events"]]
        self._typed(client, viewer, b"".join(self._screen.encode_key(event) for event in events))

    def _on_mouse(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        self._typed(client, viewer, self._screen.encode_mouse(MouseEvent.from_wire(message["event"])))

    def _on_paste(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        self._typed(client, viewer, self._screen.encode_paste(str(message["text"])))

    def _on_focus(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._queue_input(self._screen.encode_focus(bool(message["on"])))

    def _on_text(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        if not isinstance(message["data"], bytes):
            raise wire.WireError("text is not bytes")
        self._typed(client, viewer, message["data"])

    def _typed(self, client: Client, viewer: Viewer, data: bytes) -> None:
        self._sizes.typed(viewer)
        self._dealings.typed(data)
        if data and not self._give(data):
            self._send(client, wire.pack("error", text="the program does not read its input"))

    def _on_prompt(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._dealings.prompt(message, self._reply(client, message))

    def _on_queue(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._dealings.queue(message, self._reply(client, message))

    def _on_reword(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._dealings.reword(message, self._reply(client, message))

    def _on_cancel(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._dealings.cancel(message, self._reply(client, message))

    def _on_respond(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._dealings.answer(message, self._reply(client, message))

    def _on_why(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._dealings.why(message, self._reply(client, message))

    def _reply(self, client: Client, message: wire.Message) -> Callable[..., None]:
        """For an answer that may take its time; whoever has gone meanwhile is not answered."""
        return lambda **fields: self._answer(client, message, **fields)

    def _on_peek(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        """The screen, and where in the log it goes on from; at the end it has become part of the log."""
        self._log_scrolled()
        cursor = self._screen.cursor
        self._answer(
            client,
            message,
            lines=self._screen.text(),
            cursor=[cursor.x, cursor.y],
            alternate=self._screen.modes.alternate,
            log=self._lines.end,
            in_log=self._is_in_log,
        )

    def _on_rows(self, client: Client, viewer: Viewer, message: wire.Message) -> None:
        start, count = max(0, int(message["start"])), min(500, max(0, int(message["count"])))
        lines = self._frames.plain_rows(self._screen.history(start, count))
        self._answer(client, message, start=start, total=self._screen.history_size, lines=_fitting(lines))

    def _on_find(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._answer(
            client, message, found=[list(place) for place in self._screen.search(str(message["text"]))[:5000]]
        )

    def _on_copy(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        start, end = message["start"], message["end"]
        text = self._screen.select((int(start[0]), int(start[1])), (int(end[0]), int(end[1])))
        self._answer(client, message, text=text[: wire.LIMIT // 4])

    def _on_ping(self, client: Client, _viewer: Viewer, message: wire.Message) -> None:
        self._answer(client, message)

    def _answer(self, client: Client, message: wire.Message, **fields: object) -> None:
        self._send(client, wire.pack("answer", id=message.get("id"), **fields))

    def _send(self, client: Client, data: bytes) -> None:
        if client.dead or client.has_hung_up:
            return
        client.out += data
        if len(client.out) > OUT_LIMIT:
            self._drop(client)
            return
        self._flush(client)

    def _flush(self, client: Client) -> None:
        try:
            while client.out:
                sent = client.socket.send(client.out[:READ_SIZE])
                del client.out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._hear_out(client)
            return
        interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.out else 0)
        self._selector.modify(client.socket, interest, client)

    def _hear_out(self, client: Client) -> None:
        """Somebody who types and leaves at once has still typed."""
        client.has_hung_up = True
        client.out.clear()
        for _ in range(LAST_READS):
            if client.dead:
                return
            self._serve_client(client, selectors.EVENT_READ)
        self._drop(client)

    def _broadcast(self, data: bytes) -> None:
        for client in list(self._clients.values()):
            if client.viewer is not None:
                self._send(client, data)

    def _send_frames(self, now: float, *, last: bool = False) -> None:
        is_held = self._is_held(now) and not last
        for client in list(self._clients.values()):
            viewer = client.viewer
            if viewer is None or not (last or self._frames.is_due(viewer, now, is_held=is_held)):
                continue
            if not is_held:
                self._frames.look()
            for data in self._frames.changes(viewer, now):
                self._send(client, data)

    def _is_held(self, now: float) -> bool:
        """Synchronized output: the program is in the middle of a redraw."""
        if not self._screen.is_holding:
            self._held_since = None
            return False
        if self._held_since is None:
            self._held_since = now
        return now - self._held_since < HOLD_SECONDS


def _last(events: Sequence[Mapping[str, Any]], kind: str, field: str) -> int:
    """A number as it was noted last; 0 where it never was."""
    found = [one["data"] for one in events if one["kind"] == kind]
    return int(found[-1].get(field, 0)) if found else 0


def _trimmed(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _fitting(lines: list[list[list[object]]]) -> list[list[list[object]]]:
    """As many of the lines as a message can carry; whoever wants more asks from there on."""
    room = wire.LIMIT // 2
    for number, line in enumerate(lines):
        # Text of at most four bytes a character, and a style of up to 40 bytes a run.
        room -= sum(len(str(run[0])) * 4 + 40 for run in line)
        if room < 0:
            return lines[:number]
    return lines


def _rate(message: wire.Message) -> float:
    return max(0.0, min(120.0, float(message.get("rate", 30.0))))


def _complain() -> None:
    """Note what went wrong where a person may look; a full disk must not make it worse."""
    with contextlib.suppress(OSError):
        traceback.print_exc()


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
