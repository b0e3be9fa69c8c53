"""A pane's connection, to screen servers that are slow to answer or send garbage."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet_tui.holder import wire
from fleet_tui.holder.lock import take_lock
from fleet_tui.holder.run_folder import Holder, write_record
from fleet_tui.terminal.input_events import KeyEvent
from fleet_tui.tui.panes.connection import PaneConnection

NOBODY = 65534
FRAME: dict[str, Any] = {
    "seq": 1, "full": True, "more": False, "cols": 2, "rows": 1, "epoch": 1, "styles": {}, "lines": [[0, ["ok", 0, 2]]],
    "cursor": [0, 0, True, "block", False], "modes": [False, False, "", False, False], "title": "", "history": 0,
}  # fmt: skip


class SilentListener:
    """Takes note of nothing."""

    def frame_received(self, changed: set[int]) -> None: ...

    def note_received(self, kind: str, title: str, text: str) -> None: ...

    def connected(self) -> None: ...

    def program_ended(self) -> None: ...


class Server:
    """The socket of a screen server, which the test plays."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        self._socket.listen()
        self._socket.setblocking(False)
        self._peers: list[Peer] = []

    def listen(self) -> None:
        """Take over the socket, as this process's user of the moment."""
        self._socket.listen()

    async def accept(self) -> Peer:
        connection, _ = await asyncio.get_running_loop().sock_accept(self._socket)
        self._peers.append(Peer(connection))
        return self._peers[-1]

    def close(self) -> None:
        self._socket.close()
        for peer in self._peers:
            peer.close()


class Peer:
    """The server's end of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._unpacker = wire.Unpacker()
        self._messages: list[wire.Message] = []

    async def next(self) -> wire.Message:
        while not self._messages:
            data = await asyncio.get_running_loop().sock_recv(self._socket, 1 << 16)
            if not data:
                raise EOFError
            self._messages += self._unpacker.feed(data)
        return self._messages.pop(0)

    async def send(self, kind: str, /, **fields: Any) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, wire.pack(kind, **fields))

    async def typed(self, count: int) -> str:
        """The text of the next keys."""
        text = ""
        while len(text) < count:
            message = await self.next()
            if message["t"] == "key":
                text += "".join(KeyEvent.from_wire(event).text for event in message["events"])
        return text

    def close(self) -> None:
        self._socket.close()


Play = Callable[[Callable[[PaneConnection, Server], Awaitable[None]]], None]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Run a function with a connection and the server for it; an error in the event loop fails the test."""
    folder, path = tmp_path / "1", tmp_path / "socket"
    folder.mkdir()
    write_record(folder / "holder.json", Holder("a", 1, os.getpid(), 0, os.getpid(), str(path), "", 0.0))
    lock = take_lock(tmp_path / "lock")
    assert lock is not None
    server = Server(path)
    problems: list[str] = []

    async def run(acts: Callable[[PaneConnection, Server], Awaitable[None]]) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(str(problem)))
        connection = PaneConnection(folder, tmp_path / "lock", "a", SilentListener())
        connection.open(30.0)
        try:
            await asyncio.wait_for(acts(connection, server), 10.0)
        finally:
            connection.close()

    def playing(acts: Callable[[PaneConnection, Server], Awaitable[None]]) -> None:
        asyncio.run(run(acts))
        assert problems == []

    yield playing
    server.close()
    os.close(lock)


def key(text: str) -> KeyEvent:
    return KeyEvent.named(text)


def test_keys_typed_while_the_server_is_replaced_arrive_in_their_order(play: Play) -> None:
    async def acts(connection: PaneConnection, server: Server) -> None:
        first = await server.accept()
        first.close()
        while connection.is_connected:
            await asyncio.sleep(0)
        connection.keys(key("a"))
        second = await server.accept()
        assert (await second.next())["t"] == "hello"
        connection.keys(key("b"))
        await second.send("welcome", v=wire.VERSION)
        text = await second.typed(1)
        connection.keys(key("c"))
        assert text + await second.typed(2) == "abc"

    play(acts)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("frame", {}),
        ("frame", FRAME | {"cols": "many"}),
        ("frame", FRAME | {"rows": 1 << 40}),
        ("frame", FRAME | {"lines": [[0]]}),
        ("frame", FRAME | {"styles": [1]}),
        ("frame", FRAME | {"styles": {1: [2]}}),
        ("frame", FRAME | {"cursor": None}),
        ("frame", {name: value for name, value in FRAME.items() if name != "seq"}),
        ("frame", {name: value for name, value in FRAME.items() if name != "more"}),
    ],
)
def test_a_server_that_sends_garbage_is_left_for_the_next_one(
    play: Play, kind: str, fields: dict[str, Any]
) -> None:
    async def acts(connection: PaneConnection, server: Server) -> None:
        first = await server.accept()
        await first.send("welcome", v=wire.VERSION)
        await first.send(kind, **fields)
        second = await server.accept()
        await second.send("welcome", v=wire.VERSION)
        await second.send("frame", **FRAME)
        while connection.view.text() != ["ok"]:
            await asyncio.sleep(0)

    play(acts)


def test_what_a_server_says_without_content_is_ignored(play: Play) -> None:
    async def acts(connection: PaneConnection, server: Server) -> None:
        peer = await server.accept()
        await peer.send("welcome", v=wire.VERSION)
        await peer.send("note")
        await peer.send("answer", id=[1])
        await peer.send("frame", **FRAME)
        while connection.view.text() != ["ok"]:
            await asyncio.sleep(0)

    play(acts)


def test_a_server_of_another_user_gets_no_keys(play: Play) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")

    async def acts(connection: PaneConnection, server: Server) -> None:
        (await server.accept()).close()
        while connection.is_connected:
            await asyncio.sleep(0)
        connection.keys(key("a"))
        os.seteuid(NOBODY)
        try:
            server.listen()
        finally:
            os.seteuid(0)
        other = await server.accept()
        with pytest.raises(EOFError):
            await other.next()
        server.listen()
        own = await server.accept()
        while (await own.next())["t"] != "hello":
            pass
        await own.send("welcome", v=wire.VERSION)
        assert await own.typed(1) == "a"

    play(acts)
