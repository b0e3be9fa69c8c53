"""The messages between a holder and its clients: encode, decode, nothing else.

A message is a map with its kind under "t", packed as msgpack behind a length of four bytes. Holders outlive
upgrades of everything that talks to them, so kinds and fields are only ever added, a receiver ignores what it
does not know, and HELLO carries the version.

From a client:
  hello   v, kind ("pane" | "terminal" | "reader"), cols, rows, rate     the first message
  view    rate                     frames a second; 0 asks for status and last lines only
  ack     seq                      a frame has been shown
  resize  cols, rows
  key     events                   key presses, as inputs.KeyEvent
  mouse   event
  paste   text
  focus   on
  text    data                     bytes for the program, as they are
  prompt  id, text, now            text to be submitted as a prompt
  queue   id                       asks for the prompts that wait; since 2
  reword  id, prompt, text         other words for one of them; since 2
  cancel  id, prompt               takes one of them back; since 2
  respond id, choice, question     answers what the program asks, if it asks what was shown; since 2
  why     id                       asks what every source says of the status; since 2
  peek    id                       asks for the screen as text
  rows    id, start, count         asks for scrollback
  find    id, text                 asks where a text stands in screen and scrollback
  copy    id, start, end           asks for the text between two places
  ping    id
From the holder:
  welcome v, agent, run, cols, rows, status, detail, lost
  frame   seq, full, more, cols, rows, epoch, styles, lines, cursor, modes, title, history
  status  status, detail, source, text, at, lost, rule, choices
  receipt prompt, state, reason, note, at, lost
  answer  choice, words, by, at, lost        an answer is being given; without an id
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
"""Requests that a holder of an earlier version passes over without a word."""
LIMIT = 1 << 20
"""Bytes a message may have; whoever sends more is cut off."""

Message = dict[str, Any]

_LENGTH = struct.Struct(">I")


class WireError(ValueError):
    """The other end sent something that is not a message."""


def pack(kind: str, /, **fields: Any) -> bytes:
    fields["t"] = kind
    body: bytes = msgpack.packb(fields, use_bin_type=True, unicode_errors="surrogateescape")
    if len(body) > LIMIT:
        raise WireError(f"a {kind} message of {len(body)} bytes is over the limit of {LIMIT}")
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Cuts a byte stream into messages, whatever the borders of its chunks."""

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
