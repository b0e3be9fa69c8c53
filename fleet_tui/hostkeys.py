"""What a person did at the host terminal, out of the bytes that it sends: keys, mouse, pastes, focus, answers.

Pure: bytes in, tokens out. No clock (the caller says when the host has been silent), no terminal, no UI toolkit.
Every byte is in exactly one token or still waiting, so whoever needs the host's own bytes has them. Reads what
xterm, rxvt, the Linux console, modifyOtherKeys and the kitty keyboard protocol send, without being told which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from fleet_tui.inputs import KeyAction, KeyEvent, MouseButton, MouseEvent, MouseKind
from fleet_tui.values import dataclass

ESCAPE_SECONDS = 0.03
"""How long the host has to be silent before a caller is to call `flush`."""
PATIENCE = 10
"""Silences after which a sequence that has begun is given up; a slow link may cut one in two."""
PASTE_PATIENCE = 150
"""The same for a paste: what came of it so far is given out, rather than the keyboard being dead for ever."""
SEQUENCE_LIMIT = 65536
PASTE_LIMIT = 8 << 20
"""Bytes; a paste that is longer comes in several."""


@dataclass(frozen=True, slots=True)
class Key:
    event: KeyEvent
    raw: bytes


@dataclass(frozen=True, slots=True)
class Mouse:
    event: MouseEvent
    raw: bytes


@dataclass(frozen=True, slots=True)
class Paste:
    text: str
    """Whole, whatever is in it; every line end is a newline."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Focus:
    is_on: bool
    raw: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What nobody typed: an answer to a query, a modifier pressed alone, or bytes that mean nothing."""

    raw: bytes


Token = Key | Mouse | Paste | Focus | Reply

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
    """Cuts what the host sends into tokens, whatever the borders of its chunks."""

    def __init__(self) -> None:
        self._buffer = b""
        self._paste: bytearray | None = None
        """A paste that has begun, with its opening bracket."""
        self._silences = 0

    @property
    def pending(self) -> bool:
        """Something has begun: call `flush` when nothing more has come for ESCAPE_SECONDS, and again."""
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
        """Take what belongs to the open paste; returns what comes after it."""
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
        """Take tokens up to the start of a paste; returns what comes from there on."""
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
            tokens.append(Reply(self._buffer))
            self._buffer = b""
        return b""

    def flush(self) -> list[Token]:
        """The host has been silent: a lone ESC was the Escape key. Sequences that were cut get some more time."""
        self._silences += 1
        if self._paste is not None:
            if self._silences < PASTE_PATIENCE:
                return []
            raw, self._paste = bytes(self._paste), None
            return [_paste(raw)]
        buffer = self._buffer
        if not buffer or (_is_cut_sequence(buffer) and self._silences < PATIENCE):
            return []
        self._buffer, self._silences = b"", 0
        return list(_given_up(buffer))


def _end_of_token(buffer: bytes, at: int, tokens: list[Token]) -> int:
    """Add the token that starts here and return where it ends; here, when the rest has to come first."""
    if buffer[at] == 0x1B and _PARTIAL.match(buffer, at):
        return at
    match = _TOKEN.match(buffer, at)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        tokens.append(Reply(buffer[at : at + 1]))
        return at + 1
    raw, end = match[0], match.end()
    if kind == "text" and end == len(buffer) and (cut := _CUT_CHARACTER.search(raw)):
        raw = raw[: cut.start()]
        end = at + len(raw)
    if raw:
        tokens += _READERS[kind](raw)
    return end


def _is_cut_sequence(buffer: bytes) -> bool:
    """More than a key that begins as a sequence does (Escape, Alt+[): the host has not finished it."""
    return len(buffer.lstrip(b"\x1b")) > 1 and buffer[:1] == b"\x1b" and not buffer.endswith(b"$")


def _given_up(buffer: bytes) -> Iterator[Token]:
    """What stands for a beginning that was never finished."""
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
        yield Reply(buffer)


# ── readers: the bytes of one token → what they mean ────────────────────────────────────────────────────────────

_C0 = {0x00: "space", 0x09: "tab", 0x0D: "enter", 0x1B: "escape", 0x7F: "backspace"}
_PLAIN_CONTROLS = frozenset({0x09, 0x0D, 0x1B, 0x7F})
_LETTERS = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "E": "kp_begin",
    "F": "end",
    "H": "home",
    "P": "f1",
    "Q": "f2",
    "R": "f3",
    "S": "f4",
}
_EDITING = ("home", "insert", "delete", "end", "pageup", "pagedown", "home", "end")
_F_CODES = (11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34)
_TILDE = {
    **dict(enumerate(_EDITING, start=1)),
    **{code: f"f{number}" for number, code in enumerate(_F_CODES, start=1)},
}
_KEYPAD = {
    "M": "kp_enter",
    "X": "kp_equal",
    "j": "kp_multiply",
    "k": "kp_add",
    "l": "kp_separator",
    "m": "kp_subtract",
    "n": "kp_decimal",
    "o": "kp_divide",
    **{chr(ord("p") + digit): f"kp_{digit}" for digit in range(10)},
}
_KEYPAD_TEXT = dict(zip((_KEYPAD[final] for final in "Xjklmnopqrstuvwxy"), "=*+,-./0123456789", strict=True))
_KITTY_KEYPAD = (
    *(f"kp_{digit}" for digit in range(10)),
    *(
        "kp_decimal",
        "kp_divide",
        "kp_multiply",
        "kp_subtract",
        "kp_add",
        "kp_enter",
        "kp_equal",
        "kp_separator",
    ),
    *("kp_left", "kp_right", "kp_up", "kp_down", "kp_pageup", "kp_pagedown", "kp_home", "kp_end"),
    *("kp_insert", "kp_delete", "kp_begin"),
)
_KITTY = {
    8: "backspace",
    9: "tab",
    13: "enter",
    27: "escape",
    32: "space",
    127: "backspace",
    57361: "print_screen",
    57362: "pause",
    57363: "menu",
    **{57376 + number: f"f{13 + number}" for number in range(23)},
    **dict(enumerate(_KITTY_KEYPAD, start=57399)),
}
_PRIVATE = range(57344, 63744)
_ACTIONS: dict[int, KeyAction] = {2: "repeat", 3: "release"}

# What is held, as the bits of a sequence's second number less one. Hyper, caps lock and num lock mean nothing here.
_SHIFT, _ALT, _CTRL, _SUPER, _META = 1, 2, 4, 8, 32

Parameters = list[list[int]]
CsiReader = Callable[[Parameters, int, bytes], "Token | None"]


def _key(
    name: str, raw: bytes, held: int = 0, action: KeyAction = "press", text: str = "", base: str = ""
) -> Key:
    if not text and _types(held):
        text = " " if name == "space" else _KEYPAD_TEXT.get(name, "")
    shift, alt, ctrl, super_ = (bool(held & bits) for bits in (_SHIFT, _ALT | _META, _CTRL, _SUPER))
    return Key(KeyEvent(name, text, shift, alt, ctrl, super_, action, base), raw)


def _types(held: int) -> bool:
    """Whether a key that types something still does."""
    return not held & (_CTRL | _SUPER)


def _escape(raw: bytes) -> Key:
    return Key(KeyEvent("escape"), raw)


def _control(raw: bytes, *, alt: bool = False) -> Iterator[Token]:
    code = raw[-1]
    name = _C0.get(code) or chr(code + 96 if code < 0x1B else code + 64)
    yield Key(KeyEvent(name, alt=alt, ctrl=code not in _PLAIN_CONTROLS), raw)


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
            yield Key(_typed(text) if len(text) == 1 else KeyEvent("", text), raw[at:end])
        if bad:
            yield Reply(bad)
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
        yield Reply(raw)
    else:
        yield Key(_typed(character, alt=True), raw)


def _ss3(raw: bytes) -> Iterator[Token]:
    held, sequence = _with_escape_for_alt(raw)
    final = chr(sequence[-1])
    if parameters := _parameters(sequence[2:-1]):
        held |= max(parameters[-1][0], 1) - 1
    if final in _LETTERS:
        yield _key(_LETTERS[final], raw, held)
    elif final in _KEYPAD:
        yield _key(_KEYPAD[final], raw, held)
    elif final in "abcd":
        yield _key(_LETTERS[final.upper()], raw, held | _CTRL)
    else:
        yield Reply(raw)


def _with_escape_for_alt(raw: bytes) -> tuple[int, bytes]:
    """rxvt puts an ESC before the sequence of a key pressed with Alt."""
    return (_ALT, raw[1:]) if raw[1:2] == b"\x1b" else (0, raw)


def _parameters(body: bytes) -> list[list[int]] | None:
    """The numbers of a sequence, empty ones as 0; None when they are none that any host sends."""
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
    yield found if found is not None else Reply(raw)


def _held_in(parameters: Parameters, held: int) -> tuple[int, KeyAction]:
    if len(parameters) < 2:
        return held, "press"
    modifiers, *event = parameters[1]
    return held | (max(modifiers, 1) - 1), _ACTIONS.get(event[0] if event else 1, "press")


def _csi_letter(final: str) -> CsiReader:
    def read(parameters: Parameters, held: int, raw: bytes) -> Token | None:
        first, second = (parameters[0][0], parameters[1][0]) if len(parameters) == 2 else (1, 2)
        # The answer to a question for the cursor's place ends in R too; no host reports F3 without a modifier so.
        if len(parameters) > 2 or (final == "R" and not (first == 1 and 2 <= second <= 256)):
            return None
        now_held, action = _held_in(parameters, held)
        return _key(_LETTERS[final], raw, now_held, action)

    return read


def _csi_shifted_arrow(final: str) -> CsiReader:
    def read(parameters: Parameters, held: int, raw: bytes) -> Token | None:
        return None if parameters else _key(_LETTERS[final.upper()], raw, held | _SHIFT)

    return read


def _csi_back_tab(parameters: Parameters, held: int, raw: bytes) -> Token | None:
    now_held, action = _held_in(parameters, held)
    return _key("tab", raw, now_held | _SHIFT, action)


def _csi_tilde(parameters: Parameters, held: int, raw: bytes) -> Token | None:
    if not parameters:
        return None
    now_held, action = _held_in(parameters, held)
    code = parameters[0][0]
    if code == 27 and len(parameters) == 3:
        return _coded([[parameters[2][0]]], now_held, action, raw)
    name = _TILDE.get(code) or (_KITTY.get(code) if code in _PRIVATE else None)
    return _key(name, raw, now_held, action) if name else None


def _csi_u(parameters: Parameters, held: int, raw: bytes) -> Token | None:
    now_held, action = _held_in(parameters, held)
    return _coded(parameters, now_held, action, raw) if parameters else None


def _coded(parameters: Parameters, held: int, action: KeyAction, raw: bytes) -> Token | None:
    """A key named by code points: its own, with shift, on a US layout; then modifiers; then what it types."""
    code, shifted, base = (parameters[0] + [0, 0, 0])[:3]
    text = "".join(map(_character, parameters[2])) if len(parameters) > 2 else ""
    if code in _KITTY:
        return _key(_KITTY[code], raw, held, action, text)
    character = _character(code)
    if code in _PRIVATE or 0 < code < 0x20 or not (character or text):
        return None
    name, is_upper = _unshifted(character)
    held |= _SHIFT if is_upper else 0
    if not text and _types(held):
        text = (_character(shifted) or character.upper()) if held & _SHIFT else character
    return _key(name, raw, held, action, text, _character(base))


def _character(code: int) -> str:
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _csi_rxvt(bits: int) -> CsiReader:
    """rxvt marks what is held in the last character: ^ for Ctrl, $ for Shift, @ for both."""

    def read(parameters: Parameters, held: int, raw: bytes) -> Token | None:
        name = _TILDE.get(parameters[0][0]) if len(parameters) == 1 else None
        return _key(name, raw, held | bits) if name else None

    return read


def _rxvt(raw: bytes) -> Iterator[Token]:
    found = _csi_rxvt(_SHIFT)(_parameters(raw[2:-1]) or [], 0, raw)
    yield found if found is not None else Reply(raw)


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
    **{final: _csi_letter(final) for final in _LETTERS},
    **{final: _csi_shifted_arrow(final) for final in "abcd"},
    "Z": _csi_back_tab,
    "~": _csi_tilde,
    "u": _csi_u,
    "^": _csi_rxvt(_CTRL),
    "@": _csi_rxvt(_CTRL | _SHIFT),
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
        return Reply(raw)
    code, x, y = (part[0] for part in parameters)
    return _pointed(code, x, y, raw, is_release=is_release)


def _x10(raw: bytes) -> Iterator[Token]:
    code, x, y = (byte - 32 for byte in raw[3:])
    yield _pointed(code, x, y, raw, is_release=code & 3 == 3 and not code & (32 | 64))


def _pointed(code: int, x: int, y: int, raw: bytes, *, is_release: bool) -> Token:
    """The bits: 3 for the button, 4 shift, 8 alt, 16 ctrl, 32 motion, 64 the wheel, 128 further buttons."""
    if not 0 <= code < 128 or (code & 64 and is_release):
        return Reply(raw)
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
    "string": lambda raw: iter((Reply(raw),)),
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
