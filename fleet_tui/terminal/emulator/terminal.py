"""Emulated screen of one agent: feed it the program's bytes; read rows, cursor, modes, replies and notes.

Only screen servers and the process that forks them load it. Nothing here reads a PTY, a clock or a file, and nothing is
imported after this module is: a screen server outlives the installed package.

Long, as it is the one object that the native terminal belongs to; reading rows, scrolled lines and encoding of input are
in modules of their own.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from fleet_tui.terminal.cells import (
    TRUECOLOR,
    Bell,
    Clipboard,
    Cursor,
    Modes,
    Note,
    Notification,
    ProgramStatus,
    ProgressBar,
    Row,
    Title,
)
from fleet_tui.terminal.emulator.depth import Depth
from fleet_tui.terminal.emulator.encode import CELL_PIXELS, Encoder
from fleet_tui.terminal.emulator.native import (
    as_bytes,
    callback,
    characters,
    content,
    demand,
    ffi,
    has_mode,
    is_wrapped,
    lib,
    matches,
    new,
    number,
    palette,
    plain_text,
    scroll_to,
    sized,
    title,
    without_controls,
)
from fleet_tui.terminal.emulator.rows import RowReader
from fleet_tui.terminal.emulator.scrolled import ScrolledLines
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent

MIN_COLS, MIN_ROWS, MAX_SIDE = 10, 3, 1000
MIN_SCROLLBACK = 1000
_LONGEST_LINE = 100  # rows above the screen that belong to its first line

_CLIPBOARD_BYTES = 1 << 20
_REPORT_BYTES = 4096
_MAX_NOTES = 1000
_GRAPHEME_CLUSTERS = 2027
_LAST_WINS = (Bell, Title, ProgressBar)
_PROGRESS: tuple[Literal["none", "normal", "error", "indeterminate", "paused"], ...]
_PROGRESS = ("none", "normal", "error", "indeterminate", "paused")
_SHAPES: tuple[Literal["bar", "block", "underline"], ...] = ("bar", "block", "underline", "block")
_MOUSE: tuple[tuple[Literal["any", "button", "normal", "x10"], int], ...]
_MOUSE = (("any", 1003), ("button", 1002), ("normal", 1000), ("x10", 9))


class _Callbacks:
    """Collects the emulator's callbacks during a feed: replies to the program, and notes.

    It must not know its Screen: the emulator holds on to the callbacks, and a cycle would be freed in any order.
    """

    def __init__(self, terminal: Any) -> None:
        self.replies: list[bytes] = []
        self.notes: deque[Note] = deque(maxlen=_MAX_NOTES)
        self.size = (0, 0)
        self._version = characters(b"fleet-tui")
        self._accepted = sized("GhosttyClipboardWriteReply")
        self._callbacks = [
            self._register(terminal, option, kind, function)
            for option, kind, function in (
                (lib.GHOSTTY_TERMINAL_OPT_WRITE_PTY, "WritePty", self._on_reply),
                (lib.GHOSTTY_TERMINAL_OPT_XTVERSION, "Xtversion", self._asked_version),
                (lib.GHOSTTY_TERMINAL_OPT_SIZE, "Size", self._asked_size),
                (lib.GHOSTTY_TERMINAL_OPT_UNKNOWN_SEQUENCE, "UnknownSequence", self._on_unknown),
                (lib.GHOSTTY_TERMINAL_OPT_BELL, "Bell", self._on_bell),
                (lib.GHOSTTY_TERMINAL_OPT_TITLE_CHANGED, "TitleChanged", self._on_title),
                (
                    lib.GHOSTTY_TERMINAL_OPT_DESKTOP_NOTIFICATION,
                    "DesktopNotification",
                    self._on_notification,
                ),
                (lib.GHOSTTY_TERMINAL_OPT_PROGRESS_REPORT, "ProgressReport", self._on_progress),
                (lib.GHOSTTY_TERMINAL_OPT_CLIPBOARD_WRITE, "ClipboardWrite", self._on_copy),
            )
        ]

    @staticmethod
    def _register(terminal: Any, option: int, kind: str, function: Any) -> Any:
        registered = callback(kind, function)
        demand(lib.ghostty_terminal_set(terminal, option, registered), f"listen for {kind}")
        return registered

    def _add(self, note: Note) -> None:
        if isinstance(note, _LAST_WINS) and self.notes and type(self.notes[-1]) is type(note):
            self.notes.pop()
        self.notes.append(note)

    def _on_reply(self, _terminal: Any, _user: Any, data: Any, length: int) -> None:
        self.replies.append(bytes(ffi.buffer(data, length)))

    def _asked_version(self, _terminal: Any, _user: Any) -> Any:
        return new("GhosttyString", (as_bytes(self._version), len(self._version)))[0]

    def _asked_size(self, _terminal: Any, _user: Any, out: Any) -> bool:
        out.columns, out.rows = self.size
        out.cell_width, out.cell_height = CELL_PIXELS
        return True

    def _on_unknown(self, _terminal: Any, _user: Any, sequence: Any) -> None:
        if sequence.tag != lib.GHOSTTY_TERMINAL_UNKNOWN_SEQUENCE_OSC or sequence.value.osc.truncated:
            return
        number, _, payload = content(sequence.value.osc.content).partition(b";")
        if number != b"7501":
            return
        if payload == b"?":  # a query whether reports are supported; the reply is the query itself
            is_bell = sequence.value.osc.terminator == lib.GHOSTTY_OSC_TERMINATOR_BEL
            self.replies.append(b"\x1b]7501;?" + (b"\x07" if is_bell else b"\x1b\\"))
        else:
            self._add(ProgramStatus(payload.decode("utf-8", "replace")))

    def _on_bell(self, _terminal: Any, _user: Any) -> None:
        self._add(Bell())

    def _on_title(self, terminal: Any, _user: Any) -> None:
        self._add(Title(title(terminal)))

    def _on_notification(self, _terminal: Any, _user: Any, notification: Any) -> None:
        self._add(Notification(without_controls(notification.title), without_controls(notification.body)))

    def _on_progress(self, _terminal: Any, _user: Any, report: Any) -> None:
        if report.state < len(_PROGRESS):
            self._add(ProgressBar(_PROGRESS[report.state], report.progress if report.progress >= 0 else None))

    def _on_copy(self, _terminal: Any, _user: Any, write: Any) -> None:
        for index in range(write.contents_len):
            if content(write.contents[index].mime) == b"text/plain":
                self._add(Clipboard(content(write.contents[index].data).decode("utf-8", "replace")))
        write.reply(write, self._accepted)


class Screen:
    """A terminal of at least 10×3 cells (asked for less, it is that size) with its scrollback.

    It answers the program's queries by itself: send it `take_replies()` after each `feed`. It does not hold back
    rows during synchronized output; take no frame while `is_holding`. History is that of the primary screen and
    cannot be reached while the alternate one is shown.
    """

    def __init__(
        self,
        cols: int,
        rows: int,
        *,
        scrollback: int = 10_000,
        foreground: tuple[int, int, int] = (0xD8, 0xD8, 0xD8),
        background: tuple[int, int, int] = (0x12, 0x12, 0x12),
    ) -> None:
        self._cols, self._rows = _clamped(cols, rows)
        handle = new("GhosttyTerminal")
        demand(lib.ghostty_terminal_new(ffi.NULL, handle, self._cols, self._rows), "make a terminal")
        self._terminal = handle[0]
        capacity = max(scrollback, MIN_SCROLLBACK)
        self._configure(foreground, background)
        self._listener = _Callbacks(self._terminal)
        self._listener.size = self._cols, self._rows
        self._reader = RowReader()
        self._past = RowReader()
        self._encoder = Encoder(self._terminal)
        self._depth = Depth(self._terminal, capacity, self._cols)
        self._scrolled = ScrolledLines(self._terminal, capacity)
        self._default_palette = palette(self._terminal)
        self._shown: list[Row | None] = [None] * self._rows
        self._is_touched = True
        self._is_reversed = False
        self._known_modes: Modes | None = None
        frees = (self._scrolled.free, self._encoder.free, self._past.free, self._reader.free)
        self._free = weakref.finalize(self, _free, self._terminal, frees)

    def _configure(self, foreground: tuple[int, ...], background: tuple[int, ...]) -> None:
        options = (
            ("CLIPBOARD_WRITE_MAX_BYTES", "size_t", _CLIPBOARD_BYTES),
            ("UNKNOWN_MAX_BYTES", "size_t", _REPORT_BYTES),
            ("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t", 0),  # no viewer shows images: do not claim to
            ("COLOR_FOREGROUND", "GhosttyColorRgb", foreground),
            ("COLOR_BACKGROUND", "GhosttyColorRgb", background),
            ("MODE_DEFAULT", "GhosttyTerminalModeConfig", (_GRAPHEME_CLUSTERS, True)),
        )
        for name, kind, value in options:
            option = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{name}")
            demand(lib.ghostty_terminal_set(self._terminal, option, new(kind, value)), f"set {name}")
        demand(
            lib.ghostty_terminal_resize(self._terminal, self._cols, self._rows, *CELL_PIXELS),
            "set the cell size",
        )

    def close(self) -> None:
        """Free the native terminal now; the screen must not be used after."""
        self._free()

    # -- what comes from the program

    def feed(self, data: bytes) -> None:
        """Process output of the program; chunks may end anywhere."""
        self._is_touched = True
        self._known_modes = None
        start = 0
        for cut in self._scrolled.cuts(data):
            self._write(data[start:cut])
            self._scrolled.gather()
            start = cut
        self._write(data[start:] if start else data)
        self._depth.fed()

    def _write(self, data: bytes) -> None:
        if data:
            lib.ghostty_terminal_vt_write(self._terminal, data, len(data))

    def take_replies(self) -> bytes:
        """The terminal's replies to the program's queries, in order."""
        replies = b"".join(self._listener.replies)
        self._listener.replies.clear()
        return replies

    def take_notes(self) -> list[Note]:
        """Notes of the program, oldest first; at most the last 1,000."""
        notes = list(self._listener.notes)
        self._listener.notes.clear()
        return notes

    def resize(self, cols: int, rows: int) -> None:
        """Change the size; the primary screen reflows. Sizes below 10×3 are raised to it."""
        cols, rows = _clamped(cols, rows)
        if (cols, rows) == (self._cols, self._rows):
            return
        self._listener.size = self._cols, self._rows = cols, rows
        self._depth.resized(cols)
        demand(lib.ghostty_terminal_resize(self._terminal, cols, rows, *CELL_PIXELS), "resize")
        self._shown = [None] * rows
        self._is_touched = True

    # -- what is on the screen

    @property
    def cols(self) -> int:
        return self._cols

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def title(self) -> str:
        return title(self._terminal)

    @property
    def is_holding(self) -> bool:
        """Whether the program is drawing a synchronized frame (mode 2026)."""
        return has_mode(self._terminal, 2026)

    @property
    def cursor(self) -> Cursor:
        self._reader.look(self._terminal)
        cursor = sized("GhosttyRenderStateCursor")
        lib.ghostty_render_state_get(self._reader.state, lib.GHOSTTY_RENDER_STATE_DATA_CURSOR, cursor)
        return Cursor(
            cursor.viewport_x,
            cursor.viewport_y,
            bool(cursor.visible and cursor.viewport_has_value),
            _SHAPES[cursor.visual_style],
            bool(cursor.blinking),
        )

    @property
    def modes(self) -> Modes:
        if self._known_modes is None:
            self._known_modes = self._modes()
        return self._known_modes

    def _modes(self) -> Modes:
        terminal = self._terminal
        return Modes(
            alternate=self._is_alternate,
            bracketed_paste=has_mode(terminal, 2004),
            focus_events=has_mode(terminal, 1004),
            mouse=next((name for name, mode in _MOUSE if has_mode(terminal, mode)), ""),
            kitty_flags=number(terminal, lib.GHOSTTY_TERMINAL_DATA_KITTY_KEYBOARD_FLAGS),
            alternate_scroll=has_mode(terminal, 1007),
        )

    @property
    def _is_alternate(self) -> bool:
        screen = number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_ACTIVE_SCREEN)
        return screen == int(lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE)

    def update(self) -> list[int]:
        """The rows whose look changed since the last call, ascending; all rows after a resize."""
        if not self._is_touched:
            return []
        self._is_touched = False
        damage = self._reader.look(self._terminal)
        is_recolored = self._is_recolored(damage)
        if not damage and not is_recolored:
            return []
        is_full = is_recolored or damage == lib.GHOSTTY_RENDER_STATE_DIRTY_FULL
        changed = []
        for y, row in self._reader.all_rows() if is_full else self._reader.dirty_rows():
            if is_recolored or self._shown[y] != row:
                self._shown[y] = row
                changed.append(y)
        self._reader.clean()
        return changed

    def row(self, y: int) -> Row:
        """A row of the screen as of the last `update`. Do not modify it."""
        return self._shown[y] or []

    def text(self) -> list[str]:
        """The screen as it is now, one string for each row, without trailing blanks."""
        end = self._cols - 1, self._rows - 1
        text = plain_text(self._terminal, lib.GHOSTTY_POINT_TAG_ACTIVE, (0, 0), end, unwrap=False)
        lines = [line.rstrip() for line in text.split("\n")]
        return lines + [""] * (self._rows - len(lines))

    def lines(self) -> list[str]:
        """The lines on the screen as the program printed them, without blank ones at the end.

        Rows that the terminal wrapped are joined, and a line that begins above the screen is whole. A full-screen program
        draws rows, not lines: its rows stay as they are.
        """
        if self._is_alternate:
            found = self.text()
            while found and not found[-1]:
                found.pop()
            return found
        top = first = self.history_size
        while first > max(0, top - _LONGEST_LINE) and is_wrapped(self._terminal, first - 1):
            first -= 1
        end = self._cols - 1, top + self._rows - 1
        text = plain_text(self._terminal, lib.GHOSTTY_POINT_TAG_SCREEN, (0, first), end, unwrap=True)
        return [line.rstrip() for line in text.split("\n")] if text else []

    def painted(self, y: int) -> Row:
        """A row as it is now, with its styles. Does not affect what `update` reports."""
        self._reader.look(self._terminal)
        return next((row for place, row in self._reader.all_rows() if place == y), [])

    def look(self) -> list[Row]:
        """All rows as they are now, with their styles. Does not affect what `update` reports."""
        self._reader.look(self._terminal)
        return [row for _, row in self._reader.all_rows()]

    def _is_recolored(self, damage: int) -> bool:
        """Whether colors changed that are not part of rows: the palette, or the reversed screen."""
        was_reversed, self._is_reversed = self._is_reversed, has_mode(self._terminal, 5)
        if damage == lib.GHOSTTY_RENDER_STATE_DIRTY_FULL and self._take_palette():
            return True
        return was_reversed != self._is_reversed

    def _take_palette(self) -> bool:
        """Make rows show redefined palette entries in their new colors."""
        current, default = palette(self._terminal), self._default_palette
        redefined = {}
        if current != default:
            for index in range(256):
                color = current[3 * index : 3 * index + 3]
                if color != default[3 * index : 3 * index + 3]:
                    redefined[index] = TRUECOLOR | int.from_bytes(color, "big")
        if redefined == self._reader.palette:
            return False
        for reader in (self._reader, self._past):
            reader.repaint(redefined)
        return True

    # -- what was on the screen

    @property
    def history_size(self) -> int:
        """Rows above the screen; 0 while the alternate screen is shown."""
        return number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_SCROLLBACK_ROWS)

    def history(self, start: int, count: int) -> list[Row]:
        """Rows above the screen, from the oldest one kept (0); fewer if there are not enough."""
        start = max(start, 0)
        end = min(start + count, self.history_size)
        found: list[Row] = []
        if start >= end:
            return found
        self._reader.look(self._terminal)  # the other reader takes the damage that this one has not seen
        for top in range(start, end, self._rows):
            scroll_to(self._terminal, top)
            self._past.look(self._terminal)
            found += [row for _, (_, row) in zip(range(end - top), self._past.all_rows(), strict=False)]
            self._past.clean()
        scroll_to(self._terminal, None)
        return found

    def take_scrolled_lines(self, limit: int) -> tuple[list[str], int]:
        """Lines that scrolled off the primary screen and were not taken yet, soft wraps joined.

        At most `limit` of them, oldest first, and about how many were dropped before they could be taken. A line
        that still goes on is held back, and so are blank lines until another follows.
        """
        if not self._is_alternate:
            self._scrolled.gather(limit)
        return self._scrolled.take(limit)

    def search(self, needle: str) -> list[tuple[int, int, int]]:
        """Matches of a text in history and screen: (row, column, length in cells), from the oldest row on.

        Row 0 is the oldest one kept, `history_size` the top of the screen. ASCII letters match in either case.
        """
        if not needle:
            return []
        return sorted(matches(self._terminal, needle))

    def select(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """The text between two (row, column), inclusive, in either order; rows count as in `search`."""
        (first, left), (last, right) = sorted((start, end))
        bottom = self.history_size + self._rows - 1
        if last < 0 or first > bottom:
            return ""
        begin = (min(max(left, 0), self._cols - 1), first) if first >= 0 else (0, 0)
        finish = (min(max(right, 0), self._cols - 1), last) if last <= bottom else (self._cols - 1, bottom)
        return plain_text(self._terminal, lib.GHOSTTY_POINT_TAG_SCREEN, begin, finish, unwrap=True)

    def compress(self) -> None:
        """Compress the scrollback; worth it once the program has been quiet for a while."""
        result = new("GhosttyTerminalCompressionResult")
        lib.ghostty_terminal_compress(self._terminal, lib.GHOSTTY_TERMINAL_COMPRESSION_MODE_FULL, result)

    # -- what goes to the program

    def encode_key(self, key: KeyEvent) -> bytes:
        """The bytes for a key in the program's current modes; b'' for none."""
        return self._encoder.key(key)

    def encode_paste(self, text: str) -> bytes:
        """The bytes for pasted text, in brackets if the program asked; it cannot contain a control sequence."""
        return self._encoder.paste(text)

    def encode_mouse(self, event: MouseEvent) -> bytes:
        """The bytes for a mouse event; b'' if the program does not want it."""
        return self._encoder.mouse(event, self._cols, self._rows)

    def encode_focus(self, focused: bool) -> bytes:
        """The bytes for gained or lost focus; b'' if the program does not want it."""
        return self._encoder.focus(focused)


def _clamped(cols: int, rows: int) -> tuple[int, int]:
    return min(max(cols, MIN_COLS), MAX_SIDE), min(max(rows, MIN_ROWS), MAX_SIDE)


def _free(terminal: Any, frees: tuple[Callable[[], None], ...]) -> None:
    for free in frees:
        free()
    lib.ghostty_terminal_free(terminal)
