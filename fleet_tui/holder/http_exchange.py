"""HTTP GET over loopback without blocking: one request and its response on a connection of its own."""

from __future__ import annotations

import errno
import re
import selectors
import socket

READ_SIZE = 65536
HEAD_LIMIT = 32768
SIZE_LINE_LIMIT = 256
EMPTY_ERRORS = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR)
"""Errors that mean nothing can be read or written now."""


class MalformedResponse(Exception):
    """The server does not follow the protocol; the connection is given up."""


class Chunks:
    """Decodes chunked transfer encoding, wherever reads have split it."""

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
            raise MalformedResponse("a chunk's size line has no end")
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
            raise MalformedResponse("a chunk without its size")
        self._left = int(digits, 16)
        self.ended = not self._left


class HttpExchange:
    """One request and its response. Wait for `interest` on `socket`, then call `send` or `receive`."""

    def __init__(self, port: int, request: bytes, deadline: float) -> None:
        self.deadline = deadline
        """When to give up, unless data arrives."""
        self.status = 0
        """The status code, once the head has arrived."""
        self.ended = False
        self._request = request
        self._head = b""
        self._chunks: Chunks | None = None
        self._left: int | None = None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        code = self.socket.connect_ex(("127.0.0.1", port))
        if code not in (0, errno.EINPROGRESS, *EMPTY_ERRORS):
            self.socket.close()
            raise OSError(code, "not connected")

    @property
    def interest(self) -> int:
        return selectors.EVENT_WRITE if self._request else selectors.EVENT_READ

    def send(self) -> None:
        # A refused connection shows here.
        code = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "refused")
        self._request = self._request[self.socket.send(self._request) :]

    def receive(self) -> bytes:
        """What has arrived of the response's body."""
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
                raise MalformedResponse("the head has no end")
            return b""
        first, *fields = head.split(b"\r\n")
        found = re.match(rb"HTTP/1\.[01] (\d{3})\b", first)
        if not found:
            raise MalformedResponse("the response is not HTTP")
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
