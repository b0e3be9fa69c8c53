"""Systemd scope of its own for each agent, if the user's systemd provides one.

A terminal's processes share its scope: stopping the scope, or its running out of memory, ends all agents that were
started there. A launcher requests scopes for its keepers over the manager's private socket, with the small part of
D-Bus that this needs. Only launchers that find the socket load this module. An agent without a scope stays where it is.
"""

from __future__ import annotations

import os
import pwd
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

SECONDS = 0.5
"""Timeout for the manager's answer."""
SLICE = "app.slice"
_ERROR, _SIGNAL = 3, 4
_FIXED_BYTES = 16
"""The start of each message: byte order, kind, flags, version; size of the body, serial number, size of the fields."""
_ALIGNMENT = 8
_LINGERING = Path("/var/lib/systemd/linger")


class BusMessage(NamedTuple):
    kind: int
    fields: bytes
    body: bytes


def are_safer(user: int) -> bool:
    """Whether agents live as long in a scope as they would where this process is.

    The manager ends with the user's last login unless lingering is enabled; processes in a login's scope survive that.
    """
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return False
    return is_below_manager(groups, user) or lingers(user)


def is_below_manager(groups: str, user: int) -> bool:
    """Whether a process with these control groups ends when the user's systemd ends."""
    return f"/user@{user}.service/" in groups


def is_agents(groups: str, agent: str) -> bool:
    """Whether a process with these control groups is in a scope of that agent."""
    return any(f"/{unit_prefix(agent)}" in line and line.endswith(".scope") for line in groups.splitlines())


def unit_prefix(agent: str) -> str:
    return f"fleet-{agent}-"


def lingers(user: int) -> bool:
    """Whether the user's systemd also runs without a login."""
    try:
        return (_LINGERING / pwd.getpwuid(user).pw_name).exists()
    except (KeyError, OSError):
        return False


def answers(manager: str) -> bool:
    """Whether the manager accepts a connection."""
    try:
        _connect(manager).close()
    except OSError:
        return False
    return True


def enter(manager: str, unit: str, description: str) -> None:
    """Start a new scope that contains this process, and so everything it forks."""
    deadline = time.monotonic() + SECONDS
    with _connect(manager) as connection, connection.makefile("rb") as incoming:
        connection.sendall(request(unit, description))
        for message in _messages(connection, incoming, deadline):
            if message.kind == _ERROR:
                raise OSError(_last_text(message.body))
            # The manager sends signals about everything it does to all clients of this socket.
            if message.kind == _SIGNAL and b"JobRemoved" in message.fields and unit.encode() in message.body:
                if _last_text(message.body) != "done":
                    raise OSError(f"starting {unit}: {_last_text(message.body)}")
                return


def _connect(manager: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(SECONDS)
        connection.connect(manager)
        connection.sendall(b"\0AUTH EXTERNAL %s\r\n" % str(os.geteuid()).encode().hex().encode())
        # The server sends nothing after this line until BEGIN.
        answer = connection.recv(256)
        if not answer.startswith(b"OK "):
            raise OSError(f"it answered {answer!r}")
        connection.sendall(b"BEGIN\r\n")
    except OSError:
        connection.close()
        raise
    return connection


def _messages(connection: socket.socket, incoming: BinaryIO, deadline: float) -> Iterator[BusMessage]:
    while True:
        # A timeout of zero means non-blocking and raises another error.
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        fixed = incoming.read(_FIXED_BYTES)
        if len(fixed) < _FIXED_BYTES or time.monotonic() > deadline:
            raise OSError("it did not answer")
        body, fields = _count(fixed, 4), _count(fixed, 12)
        yield BusMessage(fixed[1], incoming.read(fields + -fields % _ALIGNMENT), incoming.read(body))


def _count(fixed: bytes, offset: int) -> int:
    return int.from_bytes(fixed[offset : offset + 4], "little" if fixed[:1] == b"l" else "big")


def _last_text(body: bytes) -> str:
    return body.rstrip(b"\0").rpartition(b"\0")[2].decode(errors="replace")


# ── requests ───────────────────────────────────────────────────────────────────────────────────────────────


def request(unit: str, description: str) -> bytes:
    """The message that makes the manager start a scope with its sender."""
    properties = _joined(
        *(
            (8, _joined((4, _text(name)), (1, _signature(kind)), (4, value)))
            for name, kind, value in (
                ("Description", "s", _text(description)),
                ("Slice", "s", _text(SLICE)),
                ("CollectMode", "s", _text("inactive-or-failed")),
                # Without it, systemd 253 and later stops the whole scope if one process in it runs out of memory.
                ("DelegateControllers", "as", _number(0)),
                # Zero is the sender as the kernel knows it: its pid may differ in the manager's namespace.
                ("PIDs", "au", _number(4) + _number(0)),
            )
        )
    )
    body = _joined(
        (4, _text(unit)),
        (4, _text("fail")),
        (4, _number(len(properties))),
        (8, properties),
        (4, _number(0)),
        (8, b""),
    )
    fields = _joined(
        (8, _field(1, "o", _text("/org/freedesktop/systemd1"))),
        (8, _field(6, "s", _text("org.freedesktop.systemd1"))),
        (8, _field(2, "s", _text("org.freedesktop.systemd1.Manager"))),
        (8, _field(3, "s", _text("StartTransientUnit"))),
        (8, _field(8, "g", _signature("ssa(sv)a(sa(sv))"))),
    )
    fixed = b"l\1\0\1" + _number(len(body)) + _number(1) + _number(len(fields))
    return _joined((1, fixed + fields), (8, body))


def _field(code: int, kind: str, value: bytes) -> bytes:
    return _joined((1, bytes([code])), (1, _signature(kind)), (1 if kind == "g" else 4, value))


def _joined(*parts: tuple[int, bytes]) -> bytes:
    """Join parts, each aligned to a multiple of its number."""
    data = b""
    for alignment, part in parts:
        data += bytes(-len(data) % alignment) + part
    return data


def _number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _text(text: str) -> bytes:
    data = text.encode(errors="replace")
    return _number(len(data)) + data + b"\0"


def _signature(kind: str) -> bytes:
    return bytes([len(kind)]) + kind.encode() + b"\0"
