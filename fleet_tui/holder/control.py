"""Control channel between a keeper and its screen server: one JSON object a line over a socket pair.

From the server:
  beat      lost                  every few seconds; a server that stays silent is replaced
  drained   lost                  everything the program printed has been read and recorded
From the keeper:
  exited    code, signal, cause   the program has ended
  recorded                        exit.json is written; tell the clients and leave
`lost` counts bytes of output that could not be written. Both ends are forked from one process, so this needs no version.
"""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, TypeAlias

RECEIVE_SIZE = 4096

BEAT, DRAINED, EXITED, RECORDED = "beat", "drained", "exited", "recorded"

ControlMessage: TypeAlias = dict[str, Any]
"""A message's kind under "t", and its fields."""


class ControlSocket:
    """One end of the channel; never blocks."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = b""
        connection.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, kind: str, **fields: object) -> None:
        """Send a message, or drop it: the other end may be gone, or hang with a full buffer."""
        with contextlib.suppress(OSError):
            self._socket.send(json.dumps({"t": kind, **fields}).encode() + b"\n")

    def receive(self) -> list[ControlMessage] | None:
        """The messages that have arrived, or None once the other end is closed.

        Invalid lines are dropped: hostile output may have corrupted the screen server that sends them.
        """
        try:
            data = self._socket.recv(RECEIVE_SIZE)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [message for line in lines if (message := _parsed(line)) is not None]


def _parsed(line: bytes) -> ControlMessage | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
