"""Tokenizer for the host terminal's input: bytes → keys, mouse, pastes, focus changes and replies.

Pure: bytes in, tokens out. No clock (the caller reports that the host has been silent), no terminal, no UI toolkit.
Every byte is in exactly one token or still waiting, so a caller that needs the host's own bytes has them. Reads the
input of xterm, rxvt, the Linux console, modifyOtherKeys and the kitty keyboard protocol, without being told which.

Long, as it is one grammar: the cutting of tokens and the reading of each kind depend on each other. Tables of keys are
in `key_tables`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.terminal import key_tables as tables
from fleet_tui.terminal.input_events import KeyAction, KeyEvent, MouseButton, MouseEvent, MouseKind

ESCAPE_SECONDS = 0.03
"""Silence of the host after which the caller calls `flush`."""
SEQUENCE_FLUSHES = 10
"""Flushes after which an unfinished sequence is given up; a slow link may split one."""
PASTE_FLUSHES = 150
"""The same for a paste: the part that arrived is returned, so that the keyboard is not blocked forever."""
SEQUENCE_LIMIT = 65536
PASTE_LIMIT = 8 << 20
"""Bytes; a longer paste is split."""


@dataclass(frozen=True, slots=True)
class HostKey:
    event: KeyEvent
    raw: bytes


@dataclass(frozen=True, slots=True)
class Mouse:
    event: MouseEvent
    raw: bytes


@dataclass(frozen=True, slots=True)
class Paste:
    text: str
    """The whole text, control characters included; every line end is a newline."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Focus:
    is_on: bool
    raw: bytes


@dataclass(frozen=True, slots=True)
class HostReply:
    """Input that is not typed: a reply to a query, a modifier pressed alone, or unknown bytes."""

    raw: bytes


Token = HostKey | Mouse | Paste | Focus | HostReply

_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_STRING = rb"(?:\](?=[0-9lL])|P(?=[0-9>!$+|])|_(?=G))[^\x07\x18\x1a\x1b]*"
_TOKEN = re.compile(
    rb"""
      (?P<string>\x1b"""
    + _STRING
    + rb"""(?:[\x07\x18\x1a]|\x1b\\|(?=\x1b)))
    | (?P<x10>\x1b\[M[\x20-\xff]{3})
    | (?P<linux>\x1b\[\[[A-E])
    | (?P<rxvt>\x1b\[[0-9]+\$(?=[^y]))
    | (?P<csi>\x1b\x1b?\[[<=>?]?[0-9:;]*[\x20-\x2f]*[\x40-\x7e])
    | (?P<ss3>\x1b\x1b?O[0-9;]*[A-Za-z])
    | (?P<alt>\x1b(?:[\x00-\x1a\x1c-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}))
    | (?P<escape>\x1b)
    | (?P<control>[\x00-\x1a\x1c-\x1f\x7f])
    | (?P<text>[\x20-\x7e\x80-\xff]+)
    """,
    re.VERBOSE,
)
_PARTIAL = re.compile(
    rb"""
      \x1b\x1b?(?:\[(?:[<=>?]?[0-9:;]*[\x20-\x2f]*|M[\x20-\xff]{0,2}|\[)|O[0-9;]*)?\Z
    | \x1b(?:[\]P_]|"""
    + _STRING
    + rb"""\x1b?)\Z
    | \x1b(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z
    """,
    re.VERBOSE,
)
_CUT_CHARACTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")


class Tokenizer:
    """Cuts the host's bytes into tokens, independent of how they are chunked."""

    def __init__(self) -> None:
        self._buffer = b""
        self._paste: bytearray | None = None
        """An unfinished paste, with its opening bracket."""
        self._silences = 0

    @property
    def pending(self) -> bool:
        """A token is unfinished: call `flush` after each ESCAPE_SECONDS without input."""
        return bool(self._buffer) or self._paste is not None

    @property
    def waiting(self) -> bytes:
        """The bytes that are in no token yet."""
        return bytes(self._paste or b"") + self._buffer

    def feed(self, data: bytes) -> list[Token]:
        tokens: list[Token] = []
        while data:
            take = self._feed_keys if self._paste is None else self._feed_paste
            data = take(data, tokens)
        return tokens

    def _feed_paste(self, data: bytes, tokens: list[Token]) -> bytes:
        """Take the bytes of the open paste; returns the bytes after it."""
        paste = self._paste if self._paste is not None else bytearray()
        self._silences = 0
        searched = max(0, len(paste) - len(_PASTE_END) + 1)
        paste += data
        end = paste.find(_PASTE_END, searched)
        if end >= 0:
            self._paste, cut = None, end + len(_PASTE_END)
        elif len(paste) > PASTE_LIMIT:
            self._paste, cut = bytearray(), PASTE_LIMIT
        else:
            return b""
        tokens.append(_paste(bytes(paste[:cut])))
        return bytes(paste[cut:])

    def _feed_keys(self, data: bytes, tokens: list[Token]) -> bytes:
        """Take tokens up to the start of a paste; returns the bytes from there on."""
        buffer = self._buffer + data
        if len(self._buffer) < 2:
            self._silences = 0
        at = 0
        while at < len(buffer):
            if buffer.startswith(_PASTE, at):
                self._buffer, self._paste, self._silences = b"", bytearray(_PASTE), 0
                return buffer[at + len(_PASTE) :]
            end = _end_of_token(buffer, at, tokens)
            if end == at:
                break
            at = end
        self._buffer = buffer[at:]
        if len(self._buffer) > SEQUENCE_LIMIT:
            tokens.append(HostReply(self._buffer))
            self._buffer = b""
        return b""

    def flush(self) -> list[Token]:
        """The host has been silent: a lone ESC is the Escape key. Unfinished sequences get some more time."""
        self._silences += 1
        if self._paste is not None:
            if self._silences < PASTE_FLUSHES:
                return []
            raw, self._paste = bytes(self._paste), None
            return [_paste(raw)]
        buffer = self._buffer
        if not buffer or (_is_cut_sequence(buffer) and self._silences < SEQUENCE_FLUSHES):
            return []
        self._buffer, self._silences = b"", 0
        return list(_given_up(buffer))


def _end_of_token(buffer: bytes, at: int, tokens: list[Token]) -> int:
    """Add the token that starts here and return its end; the start if the token is unfinished."""
    if buffer[at] == 0x1B and _PARTIAL.match(buffer, at):
        return at
    match = _TOKEN.match(buffer, at)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        tokens.append(HostReply(buffer[at : at + 1]))
        return at + 1
    raw, end = match[0], match.end()
    if kind == "text" and end == len(buffer) and (cut := _CUT_CHARACTER.search(raw)):
        raw = raw[: cut.start()]
        end = at + len(raw)
    if raw:
        tokens += _READERS[kind](raw)
    return end


def _is_cut_sequence(buffer: bytes) -> bool:
    """Whether the bytes are an unfinished sequence, rather than a key that looks like its start (Escape, Alt+[)."""
    return len(buffer.lstrip(b"\x1b")) > 1 and buffer[:1] == b"\x1b" and not buffer.endswith(b"$")


def _given_up(buffer: bytes) -> Iterator[Token]:
    """The tokens of a sequence that was never finished."""
    while buffer.startswith(b"\x1b\x1b"):
        yield _escape(buffer[:1])
        buffer = buffer[1:]
    if buffer == b"\x1b":
        yield _escape(buffer)
    elif len(buffer) == 2 and buffer[0] == 0x1B and buffer[1] < 0x80:
        yield from _alt(buffer)
    elif buffer.endswith(b"$"):
        yield from _rxvt(buffer)
    else:
        yield HostReply(buffer)


# ── readers: the bytes of one token → what they mean ────────────────────────────────────────────────────────────

Parameters = list[list[int]]
CsiReader = Callable[[Parameters, int, bytes], "Token | None"]


def _key(
    name: str, raw: bytes, held: int = 0, action: KeyAction = "press", text: str = "", base: str = ""
) -> HostKey:
    if not text and _types(held):
        text = " " if name == "space" else tables.KEYPAD_TEXT.get(name, "")
    shift, alt, ctrl, super_ = (
        bool(held & bits) for bits in (tables.SHIFT, tables.ALT | tables.META, tables.CTRL, tables.SUPER)
    )
    return HostKey(KeyEvent(name, text, shift, alt, ctrl, super_, action, base), raw)


def _types(held: int) -> bool:
    """Whether a key types its text with these modifiers."""
    return not held & (tables.CTRL | tables.SUPER)


def _escape(raw: bytes) -> HostKey:
    return HostKey(KeyEvent("escape"), raw)


def _control(raw: bytes, *, alt: bool = False) -> Iterator[Token]:
    code = raw[-1]
    name = tables.CONTROLS.get(code) or chr(code + 96 if code < 0x1B else code + 64)
    yield HostKey(KeyEvent(name, alt=alt, ctrl=code not in tables.PLAIN_CONTROLS), raw)


def _text(raw: bytes) -> Iterator[Token]:
    at = 0
    while at < len(raw):
        try:
            text, end = raw[at:].decode(), len(raw)
        except UnicodeDecodeError as error:
            text, end = raw[at : at + error.start].decode(), at + error.start
            bad = raw[end : at + error.end]
        else:
            bad = b""
        if text:
            yield HostKey(_typed(text) if len(text) == 1 else KeyEvent("", text), raw[at:end])
        if bad:
            yield HostReply(bad)
        at = end + len(bad)


def _typed(character: str, *, alt: bool = False) -> KeyEvent:
    key, is_upper = _unshifted(character)
    return KeyEvent("space" if key == " " else key, character, shift=is_upper, alt=alt)


def _unshifted(character: str) -> tuple[str, bool]:
    low = character.lower()
    return (low, True) if len(low) == 1 and low != character else (character, False)


def _alt(raw: bytes) -> Iterator[Token]:
    if raw[1] < 0x20 or raw[1] == 0x7F:
        yield from _control(raw, alt=True)
        return
    try:
        character = raw[1:].decode()
    except UnicodeDecodeError:
        yield HostReply(raw)
    else:
        yield HostKey(_typed(character, alt=True), raw)


def _ss3(raw: bytes) -> Iterator[Token]:
    held, sequence = _with_escape_for_alt(raw)
    final = chr(sequence[-1])
    if parameters := _parameters(sequence[2:-1]):
        held |= max(parameters[-1][0], 1) - 1
    if final in tables.LETTERS:
        yield _key(tables.LETTERS[final], raw, held)
    elif final in tables.KEYPAD:
        yield _key(tables.KEYPAD[final], raw, held)
    elif final in "abcd":
        yield _key(tables.LETTERS[final.upper()], raw, held | tables.CTRL)
    else:
        yield HostReply(raw)


def _with_escape_for_alt(raw: bytes) -> tuple[int, bytes]:
    """rxvt sends ESC before the sequence of a key pressed with Alt."""
    return (tables.ALT, raw[1:]) if raw[1:2] == b"\x1b" else (0, raw)


def _parameters(body: bytes) -> list[list[int]] | None:
    """The numbers of a sequence, empty ones as 0; None for parameters that no host sends."""
    if len(body) > 200 or not re.fullmatch(rb"(?:[0-9]{0,8}[:;])*[0-9]{0,8}", body):
        return None
    return [[int(number or 0) for number in part.split(b":")] for part in body.split(b";")] if body else []


def _csi(raw: bytes) -> Iterator[Token]:
    held, sequence = _with_escape_for_alt(raw)
    body, final = sequence[2:-1], chr(sequence[-1])
    if body[:1] == b"<" and final in "Mm":
        yield _mouse(body[1:], raw, is_release=final == "m")
        return
    parameters = _parameters(body)
    reader = _CSI.get(final)
    found = reader(parameters, held, raw) if reader is not None and parameters is not None else None
    yield found if found is not None else HostReply(raw)


def _held_in(parameters: Parameters, held: int) -> tuple[int, KeyAction]:
    if len(parameters) < 2:
        return held, "press"
    modifiers, *event = parameters[1]
    return held | (max(modifiers, 1) - 1), tables.ACTIONS.get(event[0] if event else 1, "press")


def _csi_letter(final: str) -> CsiReader:
    def read(parameters: Parameters, held: int, raw: bytes) -> Token | None:
        first, second = (parameters[0][0], parameters[1][0]) if len(parameters) == 2 else (1, 2)
        # A cursor position report ends in R, too; no host sends F3 without a modifier in this form.
        if len(parameters) > 2 or (final == "R" and not (first == 1 and 2 <= second <= 256)):
            return None
        now_held, action = _held_in(parameters, held)
        return _key(tables.LETTERS[final], raw, now_held, action)

    return read


def _csi_shifted_arrow(final: str) -> CsiReader:
    def read(parameters: Parameters, held: int, raw: bytes) -> Token | None:
        return None if parameters else _key(tables.LETTERS[final.upper()], raw, held | tables.SHIFT)

    return read


def _csi_back_tab(parameters: Parameters, held: int, raw: bytes) -> Token | None:
    now_held, action = _held_in(parameters, held)
    return _key("tab", raw, now_held | tables.SHIFT, action)


def _csi_tilde(parameters: Parameters, held: int, raw: bytes) -> Token | None:
    if not parameters:
        return None
    now_held, action = _held_in(parameters, held)
    code = parameters[0][0]
    if code == 27 and len(parameters) == 3:
        return _coded([[parameters[2][0]]], now_held, action, raw)
    name = tables.TILDE.get(code) or (tables.KITTY.get(code) if code in tables.PRIVATE_USE else None)
    return _key(name, raw, now_held, action) if name else None


def _csi_u(parameters: Parameters, held: int, raw: bytes) -> Token | None:
    now_held, action = _held_in(parameters, held)
    return _coded(parameters, now_held, action, raw) if parameters else None


def _coded(parameters: Parameters, held: int, action: KeyAction, raw: bytes) -> Token | None:
    """A key as code points: its own, shifted, on a US layout; then modifiers; then the text it types."""
    code, shifted, base = (parameters[0] + [0, 0, 0])[:3]
    text = "".join(map(_character, parameters[2])) if len(parameters) > 2 else ""
    if code in tables.KITTY:
        return _key(tables.KITTY[code], raw, held, action, text)
    character = _character(code)
    if code in tables.PRIVATE_USE or 0 < code < 0x20 or not (character or text):
        return None
    name, is_upper = _unshifted(character)
    held |= tables.SHIFT if is_upper else 0
    if not text and _types(held):
        text = (_character(shifted) or character.upper()) if held & tables.SHIFT else character
    return _key(name, raw, held, action, text, _character(base))


def _character(code: int) -> str:
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _csi_rxvt(bits: int) -> CsiReader:
    """rxvt encodes modifiers in the final character: ^ for Ctrl, $ for Shift, @ for both."""

    def read(parameters: Parameters, held: int, raw: bytes) -> Token | None:
        name = tables.TILDE.get(parameters[0][0]) if len(parameters) == 1 else None
        return _key(name, raw, held | bits) if name else None

    return read


def _rxvt(raw: bytes) -> Iterator[Token]:
    found = _csi_rxvt(tables.SHIFT)(_parameters(raw[2:-1]) or [], 0, raw)
    yield found if found is not None else HostReply(raw)


def _linux(raw: bytes) -> Iterator[Token]:
    yield _key(f"f{raw[-1] - ord('A') + 1}", raw)


def _csi_focus(is_on: bool) -> CsiReader:
    return lambda parameters, _held, raw: None if parameters else Focus(is_on, raw)


def _csi_urxvt_mouse(parameters: Parameters, _held: int, raw: bytes) -> Token | None:
    if len(parameters) != 3:
        return None
    (code, *_), (x, *_), (y, *_) = parameters
    return _pointed(code - 32, x, y, raw, is_release=(code - 32) & 3 == 3 and not (code - 32) & (32 | 64))


_CSI: dict[str, CsiReader] = {
    **{final: _csi_letter(final) for final in tables.LETTERS},
    **{final: _csi_shifted_arrow(final) for final in "abcd"},
    "Z": _csi_back_tab,
    "~": _csi_tilde,
    "u": _csi_u,
    "^": _csi_rxvt(tables.CTRL),
    "@": _csi_rxvt(tables.CTRL | tables.SHIFT),
    "I": _csi_focus(True),
    "O": _csi_focus(False),
    "M": _csi_urxvt_mouse,
}

# ── mouse and paste ─────────────────────────────────────────────────────────────────────────────────────────────

_BUTTONS: tuple[MouseButton, ...] = ("left", "middle", "right", "")
_WHEEL: tuple[Literal["scroll_up", "scroll_down", "scroll_left", "scroll_right"], ...]
_WHEEL = ("scroll_up", "scroll_down", "scroll_left", "scroll_right")


def _mouse(body: bytes, raw: bytes, *, is_release: bool) -> Token:
    parameters = _parameters(body)
    if parameters is None or len(parameters) != 3:
        return HostReply(raw)
    code, x, y = (part[0] for part in parameters)
    return _pointed(code, x, y, raw, is_release=is_release)


def _x10(raw: bytes) -> Iterator[Token]:
    code, x, y = (byte - 32 for byte in raw[3:])
    yield _pointed(code, x, y, raw, is_release=code & 3 == 3 and not code & (32 | 64))


def _pointed(code: int, x: int, y: int, raw: bytes, *, is_release: bool) -> Token:
    """A mouse event by its code: bits 3 button, 4 shift, 8 alt, 16 ctrl, 32 motion, 64 wheel, 128 more buttons."""
    if not 0 <= code < 128 or (code & 64 and is_release):
        return HostReply(raw)
    kind: MouseKind
    button = _BUTTONS[code & 3]
    if code & 64:
        kind, button = _WHEEL[code & 3], ""
    elif code & 32:
        kind = "move"
    else:
        kind = "release" if is_release else "press"
    event = MouseEvent(
        kind, max(x - 1, 0), max(y - 1, 0), button, bool(code & 4), bool(code & 8), bool(code & 16)
    )
    return Mouse(event, raw)


def _paste(raw: bytes) -> Paste:
    body = raw.removeprefix(_PASTE).removesuffix(_PASTE_END)
    return Paste(body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n"), raw)


_READERS: dict[str, Callable[[bytes], Iterator[Token]]] = {
    "string": lambda raw: iter((HostReply(raw),)),
    "x10": _x10,
    "linux": _linux,
    "rxvt": _rxvt,
    "csi": _csi,
    "ss3": _ss3,
    "alt": _alt,
    "escape": lambda raw: iter((_escape(raw),)),
    "control": _control,
    "text": _text,
}
