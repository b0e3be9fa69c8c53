"""Server-sent events from a program's own HTTP port, read inside the screen server's loop.

Owns the connections: opens, retries and bounds them without ever blocking. What an event means is decided by the
profile's rules; no program is named here.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import selectors
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.holder.http_exchange import EMPTY_ERRORS, HttpExchange, MalformedResponse

ServerEvent = dict[str, Any]
AsEvents = Callable[[str, Any], list[ServerEvent]]
"""Turns the JSON of a catch-up response into events of the given type."""

READS_PER_STEP = 8
"""Bounds one step: the loop has others to serve."""
EVENT_LIMIT = 1 << 20
"""Bytes of one event; a larger one is skipped."""
BODY_LIMIT = 4 << 20
RETRY_SECONDS, RETRY_MOST = 0.1, 1.0
ANSWER_SECONDS, ANSWER_MOST = 2.0, 16.0
"""First and longest timeout for a response: opencode never answers a request that arrives while it starts."""
SILENT_SECONDS = 35.0
"""A stream without data for this long counts as lost: opencode sends a heartbeat every ten seconds."""
OK = 200

_LINE_ENDS = re.compile(rb"\r\n|\n|\r")


class EventParser:
    """Parses a stream's bytes into events: the JSON objects in its `data` fields."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        """Parts of the incomplete line."""
        self._data: list[bytes] = []
        self._size = 0
        self._too_large = False
        self._ended_in_return = False

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
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
            # Enough to know that the line is not empty.
            self._pieces[:] = [b":"]
        else:
            self._pieces.append(piece)

    def _line_ended(self) -> Iterator[ServerEvent]:
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


@dataclass(slots=True)
class _CatchUp:
    """A request beside the stream for what was asked or begun before it opened."""

    path: str
    exchange: HttpExchange
    known_as: str
    """Type of the events that its response becomes."""
    body: bytearray = field(default_factory=bytearray)


class EventStream:
    """The events of a server on this machine, for an owner with a `selectors` loop.

    Register `fileno()` once for reading: it stays the same whatever connections come and go behind it. Call `step` when
    it is readable and when `due` has passed. `catch_up` maps the path of a list of things asked or begun before the
    stream opened to the type of event that each becomes, by `as_events`.
    """

    def __init__(
        self,
        port: int,
        path: str,
        password: str = "",
        *,
        user: str = "",
        catch_up: Mapping[str, str] | None = None,
        as_events: AsEvents | None = None,
    ) -> None:
        self._port, self._path = port, path
        self._secret = base64.b64encode(f"{user}:{password}".encode()).decode() if password else ""
        self._catch_up = dict(catch_up or {})
        self._as_events = as_events
        self._selector = selectors.DefaultSelector()
        self._stream: HttpExchange | None = None
        self._parser = EventParser()
        self._requests: list[_CatchUp] = []
        self._retry_at = 0.0
        self._retry_seconds = RETRY_SECONDS
        self._answer_seconds = ANSWER_SECONDS
        self.is_open = False
        """The server has accepted the request and sends events."""

    def fileno(self) -> int:
        return self._selector.fileno()

    def due(self, now: float) -> float:
        """When `step` has something to do even if no data arrives."""
        times = [exchange.deadline for exchange in self._exchanges()]
        return min([*times, *([] if self._stream else [self._retry_at])], default=now)

    def step(self, now: float) -> list[ServerEvent]:
        """The events since the last step; never waits."""
        events: list[ServerEvent] = []
        for key, _ in self._selector.select(0):
            events += self._continue(key.data, now)
        for exchange in [one for one in self._exchanges() if now >= one.deadline]:
            self._lose(exchange, now)
        if self._stream is None and now >= self._retry_at:
            self._connect(now)
        return events

    def close(self) -> None:
        for exchange in list(self._exchanges()):
            self._forget(exchange)
        self._selector.close()

    # ── connections ─────────────────────────────────────────────────────────────────────────────────────────────

    def _exchanges(self) -> Iterator[HttpExchange]:
        if self._stream is not None:
            yield self._stream
        for request in list(self._requests):
            yield request.exchange

    def _get(self, path: str) -> bytes:
        # A profile may come from an untrusted author: its path must not inject a header.
        path = re.sub(r"[^!-~]", "", path)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}"]
        lines += [f"Authorization: Basic {self._secret}"] if self._secret else []
        lines += ["Accept: text/event-stream"] if path == self._path else ["Connection: close"]
        return "\r\n".join([*lines, "", ""]).encode()

    def _connect(self, now: float) -> None:
        try:
            self._stream = HttpExchange(self._port, self._get(self._path), now + self._answer_seconds)
        except OSError:
            self._wait(now)
        else:
            self._parser = EventParser()
            self._selector.register(self._stream.socket, self._stream.interest, self._stream)

    def _ask(self, path: str, known_as: str, now: float) -> None:
        with contextlib.suppress(OSError):
            exchange = HttpExchange(self._port, self._get(path), now + self._answer_seconds)
            self._selector.register(exchange.socket, exchange.interest, exchange)
            self._requests.append(_CatchUp(path, exchange, known_as))

    def _wait(self, now: float) -> None:
        self._retry_at = now + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, RETRY_MOST)

    def _forget(self, exchange: HttpExchange) -> None:
        self._selector.unregister(exchange.socket)
        exchange.close()
        if exchange is self._stream:
            self._stream = None
            self.is_open = False
        self._requests = [request for request in self._requests if request.exchange is not exchange]

    def _lose(self, exchange: HttpExchange, now: float) -> None:
        """Give up a connection. The stream is retried later, and so is a catch-up that timed out."""
        is_late = now >= exchange.deadline
        if exchange is self._stream:
            if is_late and not exchange.status:
                self._answer_seconds = min(2 * self._answer_seconds, ANSWER_MOST)
            self._forget(exchange)
            self._wait(now)
            return
        lost = self._request_of(exchange)
        self._forget(exchange)
        if is_late and self.is_open:
            self._ask(lost.path, lost.known_as, now)

    # ── what arrives ────────────────────────────────────────────────────────────────────────────────────────────

    def _continue(self, exchange: HttpExchange, now: float) -> list[ServerEvent]:
        if exchange.socket.fileno() < 0:
            # Given up earlier in the same step.
            return []
        events: list[ServerEvent] = []
        try:
            if exchange.interest == selectors.EVENT_WRITE:
                exchange.send()
                self._selector.modify(exchange.socket, exchange.interest, exchange)
                return []
            for _ in range(READS_PER_STEP):
                events += self._take(exchange, exchange.receive(), now)
                if exchange.ended:
                    events += self._ended(exchange, now)
                    break
        except OSError as error:
            if error.errno not in EMPTY_ERRORS:
                self._lose(exchange, now)
        except MalformedResponse:
            self._lose(exchange, now)
        return events

    def _take(self, exchange: HttpExchange, data: bytes, now: float) -> list[ServerEvent]:
        if exchange is not self._stream:
            request = self._request_of(exchange)
            request.body += data
            if len(request.body) > BODY_LIMIT:
                raise MalformedResponse("the body is too large")
            return []
        if exchange.status and not self.is_open:
            self._opened(exchange.status, now)
        if exchange.status:
            exchange.deadline = now + SILENT_SECONDS
        return list(self._parser.feed(data))

    def _opened(self, status: int, now: float) -> None:
        if status != OK:
            self._retry_seconds = RETRY_MOST
            raise MalformedResponse(f"the server answers with status {status}")
        self.is_open = True
        self._retry_seconds, self._answer_seconds = RETRY_SECONDS, ANSWER_SECONDS
        for path, known_as in self._catch_up.items():
            self._ask(path, known_as, now)

    def _ended(self, exchange: HttpExchange, now: float) -> list[ServerEvent]:
        if exchange is self._stream:
            self._lose(exchange, now)
            return []
        request = self._request_of(exchange)
        self._forget(exchange)
        if exchange.status != OK or self._as_events is None:
            return []
        return self._as_events(request.known_as, _decoded(request.body))

    def _request_of(self, exchange: HttpExchange) -> _CatchUp:
        return next(request for request in self._requests if request.exchange is exchange)
