"""Peer check of unix sockets: whether the other end runs as the same user."""

from __future__ import annotations

import os
import socket
import struct

_MACOS_LOCAL_PEERCRED = 1


def is_same_user(connection: socket.socket) -> bool:
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return bool(struct.unpack("iII", credentials)[1] == os.getuid())
    # A struct xucred, whose second field is the uid.
    data = connection.getsockopt(0, _MACOS_LOCAL_PEERCRED, 76)
    return bool(struct.unpack_from("iI", data)[1] == os.getuid())
