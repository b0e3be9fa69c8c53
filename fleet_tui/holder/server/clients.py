"""Clients of the screen server: the listening socket, connections, and messages in and out.

A client that sends garbage, stops reading or dies loses its connection; nothing else is affected.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import stat
from collections.abc import Callable

from fleet_tui.holder import wire
from fleet_tui.holder.frames import Viewer
from fleet_tui.holder.server import complaints
from fleet_tui.system.sockets import is_same_user

READ_SIZE = 65536
OUT_LIMIT = 8 << 20
"""Bytes that may wait for a client that does not read; then it is disconnected."""
LAST_READS = 64
"""Reads from a client that has hung up: enough for a message of any size."""
BACKLOG = 64


class Client:
    """One connection. Check `is_dead` before every use: the event being handled may be older than its death."""

    def __init__(
        self,
        connection: socket.socket,
        selector: selectors.BaseSelector,
        take: Callable[[Client, wire.Message], None],
        forget: Callable[[Client], None],
    ) -> None:
        self.socket = connection
        self.is_dead = False
        self.viewer: Viewer | None = None
        """Set by its hello."""
        self.out = bytearray()
        self._selector = selector
        self._take = take
        self._forget = forget
        self._unpacker = wire.Unpacker()
        self._has_hung_up = False
        """It receives nothing any more, but what it sent is still to be read."""
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, self)

    def serve(self, events: int) -> None:
        """Handle socket events; any error ends this client alone."""
        try:
            if events & selectors.EVENT_WRITE:
                self._flush()
            if events & selectors.EVENT_READ and not self.is_dead:
                self._read()
        except Exception as error:  # noqa: BLE001 - the agent must outlive anything a client can send
            if not isinstance(error, OSError | wire.WireError):
                complaints.log()
            self.drop()

    def send(self, data: bytes) -> None:
        if self.is_dead or self._has_hung_up:
            return
        self.out += data
        if len(self.out) > OUT_LIMIT:
            self.drop()
            return
        self._flush()

    def answer(self, message: wire.Message, **fields: object) -> None:
        """Answer a request; dropped if the client has gone meanwhile."""
        self.send(wire.pack("answer", id=message.get("id"), **fields))

    def drop(self) -> None:
        if self.is_dead:
            return
        self.is_dead = True
        self._forget(self)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(self.socket)
        self.socket.close()

    def _read(self) -> None:
        try:
            data = self.socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self.drop()
            return
        for message in self._unpacker.feed(data):
            if self.is_dead:
                return
            self._take(self, message)

    def _flush(self) -> None:
        try:
            while self.out:
                sent = self.socket.send(self.out[:READ_SIZE])
                del self.out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._drain()
            return
        interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.out else 0)
        self._selector.modify(self.socket, interest, self)

    def _drain(self) -> None:
        """Read what a client sent before it disconnected, such as its last keys."""
        self._has_hung_up = True
        self.out.clear()
        for _ in range(LAST_READS):
            if self.is_dead:
                return
            self.serve(selectors.EVENT_READ)
        self.drop()


class Clients:
    """All connections, and the socket that accepts them."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        path: str,
        take: Callable[[Client, wire.Message], None],
        left: Callable[[Viewer], None],
    ) -> None:
        self._selector = selector
        self._path = path
        self._take = take
        self._left = left
        self._by_descriptor: dict[int, Client] = {}
        self._listener: socket.socket | None = None
        self._has_complained = False
        """That it cannot listen has been logged."""

    # ── listening ───────────────────────────────────────────────────────────────────────────────────────────────

    def listen(self) -> None:
        """Listen, or retry at the next beat: the program must go on even if no client can connect.

        An empty path means that there are no clients.
        """
        if not self._path:
            return
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind(listener)
        except OSError:
            listener.close()
            if not self._has_complained:
                complaints.log()
            self._has_complained = True
            return
        self._has_complained = False
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, None)
        self._listener = listener

    def beat(self) -> None:
        """Bind again if the socket's folder was cleaned up."""
        if self._listener is not None and os.path.lexists(self._path):
            return
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        self.listen()

    def is_listener(self, source: object) -> bool:
        return self._listener is not None and source is self._listener

    def accept(self) -> None:
        if self._listener is None:
            return
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if not is_same_user(connection):
            connection.close()
            return
        client = Client(connection, self._selector, self._take, self._forget)
        self._by_descriptor[connection.fileno()] = client

    def _bind(self, listener: socket.socket) -> None:
        folder = os.path.dirname(self._path)  # noqa: PTH120 - as below
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - as below
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise PermissionError(f"{folder} is not a private folder of this user")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108 - a system call, in a process that imports nothing more
        old = os.umask(0o177)
        try:
            listener.bind(self._path)
        finally:
            os.umask(old)
        listener.listen(BACKLOG)

    # ── connections ─────────────────────────────────────────────────────────────────────────────────────────────

    def viewers(self) -> list[Viewer]:
        return [client.viewer for client in self._by_descriptor.values() if client.viewer is not None]

    def greeted(self) -> list[tuple[Client, Viewer]]:
        """Those that have said hello."""
        return [
            (client, client.viewer) for client in self._by_descriptor.values() if client.viewer is not None
        ]

    def broadcast(self, data: bytes) -> None:
        for client, _ in self.greeted():
            client.send(data)

    @property
    def have_unsent(self) -> bool:
        """Whether data is still waiting for a client to read it."""
        return any(client.out for client in self._by_descriptor.values())

    def _forget(self, client: Client) -> None:
        self._by_descriptor.pop(client.socket.fileno(), None)
        if client.viewer is not None:
            self._left(client.viewer)
