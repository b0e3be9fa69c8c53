"""What a program tells on a port of its own, heard inside somebody else's loop: server-sent events over loopback HTTP.

Owns the connections: made, waited for, lost and made again without ever blocking, and bounded whatever the other
end sends. What events mean is told by rules of `signals`. Knows no status engine and no program by name; imports
nothing once it runs.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import re
import selectors
import socket
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from fleet_tui.signals import at_path
from fleet_tui.values import dataclass, field

Event = dict[str, Any]

READ_SIZE = 65536
READS_AT_ONCE = 8
"""What one step takes in at most: the loop has others to serve."""
HEAD_LIMIT = 32768
EVENT_LIMIT = 1 << 20
"""Bytes of one event; a larger one is passed over."""
BODY_LIMIT = 4 << 20
RETRY_SECONDS, RETRY_MOST = 0.1, 1.0
ANSWER_SECONDS, ANSWER_MOST = 2.0, 16.0
"""How long an answer is waited for at first and at most: opencode never answers who asks while it starts."""
SILENT_SECONDS = 35.0
"""A stream that says nothing for this long is taken for lost: opencode has a heartbeat of ten seconds."""
SIZE_LINE_LIMIT = 256
OK = 200
CALL_ANSWERED = "call.answered"
SESSION_LIMIT = 1000
ID_LIMIT = 200

_EMPTY = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR)
_LINE_ENDS = re.compile(rb"\r\n|\n|\r")


class Garbled(Exception):
    """The other end does not speak as it should; the connection is given up."""


class Chunks:
    """Takes chunked transfer encoding apart, wherever the pieces were cut."""

    def __init__(self) -> None:
        self._line = b""
        self._left = 0
        self._after_data = False
        self.ended = False

    def feed(self, data: bytes) -> bytes:
        out = []
        at = 0
        while at < len(data) and not self.ended:
            if self._left:
                piece = data[at : at + self._left]
                self._left -= len(piece)
                self._after_data = not self._left
                out.append(piece)
                at += len(piece)
            else:
                at = self._size_line(data, at)
        return b"".join(out)

    def _size_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at, at + SIZE_LINE_LIMIT)
        self._line += data[at : end if end >= 0 else at + SIZE_LINE_LIMIT]
        if len(self._line) >= SIZE_LINE_LIMIT:
            raise Garbled("a chunk's size has no end")
        if end < 0:
            return len(data)
        self._take_size(self._line.strip())
        self._line = b""
        return end + 1

    def _take_size(self, line: bytes) -> None:
        if self._after_data and not line:
            self._after_data = False
            return
        digits = line.partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", digits):
            raise Garbled("a chunk without its size")
        self._left = int(digits, 16)
        self.ended = not self._left


class Lines:
    """From a stream's bytes to its events: the JSON objects in the `data` fields."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        """Of the line that is not complete."""
        self._data: list[bytes] = []
        self._size = 0
        self._too_large = False
        self._ended_in_return = False

    def feed(self, data: bytes) -> Iterator[Event]:
        if self._ended_in_return and data[:1] == b"\n":
            data = data[1:]
        self._ended_in_return = data[-1:] == b"\r"
        *whole, rest = _LINE_ENDS.split(data)
        for line in whole:
            self._add(line)
            yield from self._line_ended()
        if rest:
            self._add(rest)

    def _add(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size > EVENT_LIMIT:
            self._too_large = True
            self._data.clear()
            # Enough to know that the line is not the empty one.
            self._pieces[:] = [b":"]
        else:
            self._pieces.append(piece)

    def _line_ended(self) -> Iterator[Event]:
        line = b"".join(self._pieces)
        self._pieces.clear()
        if line:
            name, _, value = line.partition(b":")
            if name == b"data" and not self._too_large:
                self._data.append(value.removeprefix(b" "))
            return
        found = None if self._too_large else _decoded(b"\n".join(self._data))
        self._data.clear()
        self._size, self._too_large = 0, False
        if isinstance(found, dict):
            yield found


def _decoded(data: bytes | bytearray) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


class _Exchange:
    """One request and its answer over a connection of its own."""

    def __init__(self, port: int, request: bytes, deadline: float) -> None:
        self.deadline = deadline
        """When it is given up, unless something comes."""
        self.status = 0
        """The answer's code, once its head is there."""
        self.ended = False
        self._request = request
        self._head = b""
        self._chunks: Chunks | None = None
        self._left: int | None = None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        code = self.socket.connect_ex(("127.0.0.1", port))
        if code not in (0, errno.EINPROGRESS, *_EMPTY):
            self.socket.close()
            raise OSError(code, "not connected")

    @property
    def interest(self) -> int:
        return selectors.EVENT_WRITE if self._request else selectors.EVENT_READ

    def send(self) -> None:
        # A connection that was refused tells so here.
        code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "refused")
        self._request = self._request[self.socket.send(self._request) :]

    def receive(self) -> bytes:
        """What came of the answer's body."""
        data = self.socket.recv(READ_SIZE)
        if not data:
            self.ended = True
            return b""
        if not self.status:
            data = self._take_head(data)
        if self._chunks is not None:
            data = self._chunks.feed(data)
            self.ended = self._chunks.ended
        elif self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
            self.ended = not self._left
        return data

    def _take_head(self, data: bytes) -> bytes:
        self._head += data
        head, end, body = self._head.partition(b"\r\n\r\n")
        if not end:
            if len(self._head) > HEAD_LIMIT:
                raise Garbled("the answer's head has no end")
            return b""
        first, *fields = head.split(b"\r\n")
        found = re.match(rb"HTTP/1\.[01] (\d{3})\b", first)
        if not found:
            raise Garbled("the answer is not HTTP")
        self.status = int(found[1])
        named = {
            name.strip().lower(): value.strip()
            for name, _, value in (field.partition(b":") for field in fields)
        }
        if named.get(b"transfer-encoding", b"").lower() == b"chunked":
            self._chunks = Chunks()
        elif re.fullmatch(rb"\d{1,18}", named.get(b"content-length", b"")):
            self._left = int(named[b"content-length"])
            self.ended = not self._left
        return body

    def close(self) -> None:
        self.socket.close()


@dataclass(slots=True)
class _Call:
    """A request beside the stream, and what has come of its answer."""

    path: str
    exchange: _Exchange
    known_as: str
    """The event that each part of the answer is told as; empty for a call of the owner's."""
    number: int = 0
    body: bytearray = field(default_factory=bytearray)


class EventStream:
    """The events of a server on this machine, for an owner with a `selectors` loop.

    Register `fileno()` once for reading: it is the same for life, whatever connections come and go behind it. Call
    `step` when it is readable and when `due` has passed. `catch_up` names what was asked or begun before there was a
    connection: path of a list or table of such things → type of the event that each is told as.
    """

    def __init__(
        self,
        port: int,
        path: str,
        password: str = "",
        *,
        user: str = "",
        catch_up: Mapping[str, str] | None = None,
    ) -> None:
        self._port, self._path = port, path
        self._secret = base64.b64encode(f"{user}:{password}".encode()).decode() if password else ""
        self._catch_up = dict(catch_up or {})
        self._selector = selectors.DefaultSelector()
        self._stream: _Exchange | None = None
        self._lines = Lines()
        self._calls: list[_Call] = []
        self._numbers = 0
        self._retry_at = 0.0
        self._retry_seconds = RETRY_SECONDS
        self._answer_seconds = ANSWER_SECONDS
        self.is_open = False
        """The server has answered, and its events are heard."""
        self.refusal = 0
        """The HTTP status by which the server last refused to tell; 0 when it did not."""

    def fileno(self) -> int:
        return self._selector.fileno()

    @property
    def interest(self) -> int:
        return selectors.EVENT_READ

    def due(self, now: float) -> float:
        """When `step` has something to do even if nothing comes."""
        times = [exchange.deadline for exchange in self._exchanges()]
        return min([*times, *([] if self._stream else [self._retry_at])], default=now)

    def step(self, now: float) -> list[Event]:
        """What was told since the last step; never waits."""
        events: list[Event] = []
        for key, _ in self._selector.select(0):
            events += self._go_on(key.data, now)
        for exchange in [one for one in self._exchanges() if now >= one.deadline]:
            events += self._failed(exchange)
            self._lose(exchange, now)
        if self._stream is None and now >= self._retry_at:
            self._connect(now)
        return events

    def call(self, path: str, body: object, now: float) -> int:
        """Post something. How it was answered comes as a `call.answered` event with the number that this returns;
        status 0 stands for not at all. OSError when it cannot even be sent.
        """
        self._numbers += 1
        self._begin(path, self._request("POST", path, json.dumps(body).encode()), "", now, self._numbers)
        return self._numbers

    def close(self) -> None:
        for exchange in list(self._exchanges()):
            self._forget(exchange)
        self._selector.close()

    # ── connections ─────────────────────────────────────────────────────────────────────────────────────────────

    def _exchanges(self) -> Iterator[_Exchange]:
        if self._stream is not None:
            yield self._stream
        for call in list(self._calls):
            yield call.exchange

    def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        # A path may hold what the other end has told, and must stay one word.
        path = re.sub(r"[^!-~]", "", path)
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}"]
        lines += [f"Authorization: Basic {self._secret}"] if self._secret else []
        lines += ["Accept: text/event-stream"] if path == self._path else ["Connection: close"]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def _connect(self, now: float) -> None:
        try:
            self._stream = _Exchange(self._port, self._request("GET", self._path), now + self._answer_seconds)
        except OSError:
            self._wait(now)
        else:
            self._lines = Lines()
            self._selector.register(self._stream.socket, self._stream.interest, self._stream)

    def _ask(self, path: str, known_as: str, now: float) -> None:
        with contextlib.suppress(OSError):
            self._begin(path, self._request("GET", path), known_as, now)

    def _begin(self, path: str, request: bytes, known_as: str, now: float, number: int = 0) -> None:
        exchange = _Exchange(self._port, request, now + self._answer_seconds)
        self._selector.register(exchange.socket, exchange.interest, exchange)
        self._calls.append(_Call(path, exchange, known_as, number))

    def _wait(self, now: float) -> None:
        self._retry_at = now + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, RETRY_MOST)

    def _forget(self, exchange: _Exchange) -> None:
        self._selector.unregister(exchange.socket)
        exchange.close()
        if exchange is self._stream:
            self._stream = None
            self.is_open = False
        self._calls = [call for call in self._calls if call.exchange is not exchange]

    def _lose(self, exchange: _Exchange, now: float) -> None:
        """Given up. The stream is tried again later; so is what should have been caught up with."""
        is_late = now >= exchange.deadline
        if exchange is self._stream:
            if is_late and not exchange.status:
                self._answer_seconds = min(2 * self._answer_seconds, ANSWER_MOST)
            self._forget(exchange)
            self._wait(now)
            return
        lost = self._call_of(exchange)
        self._forget(exchange)
        if is_late and lost.known_as and self.is_open:
            self._ask(lost.path, lost.known_as, now)

    # ── what comes ──────────────────────────────────────────────────────────────────────────────────────────────

    def _go_on(self, exchange: _Exchange, now: float) -> list[Event]:
        if exchange.socket.fileno() < 0:
            # Given up earlier in the same step.
            return []
        events: list[Event] = []
        try:
            if exchange.interest == selectors.EVENT_WRITE:
                exchange.send()
                self._selector.modify(exchange.socket, exchange.interest, exchange)
                return []
            for _ in range(READS_AT_ONCE):
                data = exchange.receive()
                events += self._heard(exchange, data, now)
                if exchange.ended:
                    events += self._ended(exchange, now)
                    break
        except OSError as error:
            if error.errno not in _EMPTY:
                events += self._failed(exchange)
                self._lose(exchange, now)
        except Garbled:
            events += self._failed(exchange)
            self._lose(exchange, now)
        return events

    def _heard(self, exchange: _Exchange, data: bytes, now: float) -> list[Event]:
        if exchange is not self._stream:
            call = self._call_of(exchange)
            call.body += data
            if len(call.body) > BODY_LIMIT:
                raise Garbled("an answer too large")
            return []
        if exchange.status and not self.is_open:
            self._opened(exchange.status, now)
        if exchange.status:
            exchange.deadline = now + SILENT_SECONDS
        return list(self._lines.feed(data))

    def _opened(self, status: int, now: float) -> None:
        self.refusal = 0 if status == OK else status
        if status != OK:
            self._retry_seconds = RETRY_MOST
            raise Garbled("the server does not tell")
        self.is_open = True
        self._retry_seconds, self._answer_seconds = RETRY_SECONDS, ANSWER_SECONDS
        for path, known_as in self._catch_up.items():
            self._ask(path, known_as, now)

    def _ended(self, exchange: _Exchange, now: float) -> list[Event]:
        if exchange is self._stream:
            self._lose(exchange, now)
            return []
        call = self._call_of(exchange)
        self._forget(exchange)
        body = _decoded(call.body)
        if not call.known_as:
            return [_outcome(call, exchange.status, body)]
        return _caught_up(call.known_as, body) if exchange.status == OK else []

    def _failed(self, exchange: _Exchange) -> list[Event]:
        """Whoever posted something is told that it got no answer."""
        if exchange is self._stream:
            return []
        call = self._call_of(exchange)
        return [] if call.known_as else [_outcome(call, 0, None)]

    def _call_of(self, exchange: _Exchange) -> _Call:
        return next(call for call in self._calls if call.exchange is exchange)


def _outcome(call: _Call, status: int, body: Any) -> Event:
    return {"type": CALL_ANSWERED, "properties": {"number": call.number, "status": status, "body": body}}


def _caught_up(known_as: str, body: Any) -> list[Event]:
    """What stands in an answer, as if it had been told just now."""
    if isinstance(body, list):
        return [{"type": known_as, "properties": one} for one in body if isinstance(one, dict)]
    if not isinstance(body, dict):
        return []
    told = [{"sessionID": name, "status": status} for name, status in body.items()]
    return [{"type": known_as, "properties": one} for one in told] or [{"type": f"{known_as}.none"}]


# ── whose events they are ───────────────────────────────────────────────────────────────────────────────────────


class Conversation:
    """Whose an event is: of the agent's own conversation, of a helper that it has started, or of somebody else."""

    def __init__(self, folder: str, session_id: str = "") -> None:
        self._folder = folder
        self.session_id = session_id
        """The own one that last did something, in the program's words; empty while none is known."""
        self._foreign: set[str] = set()
        self._helpers: set[str] = set()

    def owner(self, event: Event) -> Literal["own", "helper", "other"]:
        info = at_path(event, "properties.info")
        if at_path(event, "type") in ("session.created", "session.updated") and isinstance(info, dict):
            self._learn(info)
        session = at_path(event, "properties.sessionID")
        if not isinstance(session, str) or not 0 < len(session) <= ID_LIMIT or session in self._foreign:
            return "other"
        if session in self._helpers:
            return "helper"
        self.session_id = session
        return "own"

    def _learn(self, info: dict[str, Any]) -> None:
        session, folder = info.get("id"), info.get("directory")
        if not isinstance(session, str) or len(self._foreign) + len(self._helpers) >= SESSION_LIMIT:
            return
        if isinstance(folder, str) and folder != self._folder:
            self._foreign.add(session)
        elif info.get("parentID"):
            self._helpers.add(session)
