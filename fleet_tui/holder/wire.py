"""The wire protocol between a holder and its clients: encode and decode messages.

A message is a map with its kind under "t", packed as msgpack after a length of four bytes. Holders outlive upgrades of
their clients, so kinds and fields are only ever added, a receiver ignores what it does not know, and `hello` carries
the version.

From a client:
  hello   v, kind ("pane" | "terminal" | "reader"), cols, rows, rate     the first message
  view    rate                     frames per second; 0 asks for status and last lines only
  ack     seq                      a frame has been shown
  resize  cols, rows
  key     events                   key presses, as KeyEvent
  mouse   event
  paste   text
  focus   on
  text    data                     raw bytes for the program
  prompt  id, text, now            submits text as a prompt
  queue   id                       asks for the queued prompts; since 2
  reword  id, prompt, text         replaces the text of one; since 2
  cancel  id, prompt               removes one from the queue; since 2
  respond id, choice, question     answers the program's question, if it is the given one; since 2
  why     id                       asks what every source says about the status; since 2
  peek    id                       asks for the screen as text
  rows    id, start, count         asks for scrollback
  find    id, text                 asks where a text occurs in screen and scrollback
  copy    id, start, end           asks for the text between two positions
  ping    id
From the holder:
  welcome v, agent, run, cols, rows, status, detail, lost
  frame   seq, full, more, cols, rows, epoch, styles, lines, cursor, modes, title, history
  status  status, detail, source, text, at, lost, rule, choices
  receipt prompt, state, reason, note, at, lost
  answer  choice, words, by, at, lost        an answer to the program's question is being given; has no id
  session id, at, lost             the program's id of its conversation
  tail    lines                    for clients with rate 0
  note    kind, title, text        a bell or a notification
  answer  id, …                    to a request
  exit    code, signal
  error   text
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack

VERSION = 2
SINCE = {"queue": 2, "reword": 2, "cancel": 2, "respond": 2, "why": 2}
"""Requests that holders of earlier versions ignore."""
LIMIT = 1 << 20
"""Bytes of a message; a client that sends more is disconnected."""

Message = dict[str, Any]

_LENGTH = struct.Struct(">I")


class WireError(ValueError):
    """The other end sent data that is not a message."""


def pack(kind: str, /, **fields: Any) -> bytes:
    fields["t"] = kind
    body: bytes = msgpack.packb(fields, use_bin_type=True, unicode_errors="surrogateescape")
    if len(body) > LIMIT:
        raise WireError(f"a {kind} message of {len(body)} bytes is over the limit of {LIMIT}")
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Splits a byte stream into messages, wherever its chunks end."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > LIMIT:
                raise WireError(f"a message claims {length} bytes")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield _decode(body)


def _decode(body: bytes) -> Message:
    try:
        message = msgpack.unpackb(
            body, raw=False, strict_map_key=False, unicode_errors="surrogateescape", max_ext_len=0
        )
    except (ValueError, TypeError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise WireError(f"not a message: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("t"), str):
        raise WireError("not a message: no kind")
    return message
