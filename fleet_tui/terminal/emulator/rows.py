"""Row reader: the emulator's rows as runs of text. The only module that decodes cells.

Works on a whole row of 64-bit cells at a time, as one big integer: four times as fast as reading each cell. Knows
nothing of frames and viewers.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import groupby
from struct import Struct
from typing import Any

from fleet_tui.terminal.cells import TRUECOLOR, UNDERLINE_SHIFT, Attribute, Row, Style
from fleet_tui.terminal.emulator.native import as_bytes, characters, demand, ffi, lib, made, new, sized

_MAX_STYLES = 4096
_MAX_CLUSTER = 32

# A codec used for the first time is an import, and a screen server may not need one.
codecs.lookup("utf-32-le")

_TAIL = "\U000ffffe"  # a code point that no text may hold marks the second cell of a wide character
_STYLE = Struct("<8x i4x8s i4x8s i4x8s 8? i4x")
_ATTRIBUTES = (
    Attribute.BOLD,
    Attribute.ITALIC,
    Attribute.FAINT,
    Attribute.BLINK,
    Attribute.INVERSE,
    Attribute.INVISIBLE,
    Attribute.STRIKE,
    Attribute.OVERLINE,
)
_BACKGROUND_ONLY = 1 << 32


class RowReader:
    """Reads the rows of a terminal as of the last `look`.

    Style numbers mean something only within one page of the emulator's memory, so they are looked up anew for
    each row; what is kept is keyed by the style's value.
    """

    def __init__(self) -> None:
        self.state = made("GhosttyRenderState", lib.ghostty_render_state_new)
        self._rows = new("GhosttyRenderStateRowIterator")
        self._cells = new("GhosttyRenderStateRowCells")
        demand(lib.ghostty_render_state_row_iterator_new(ffi.NULL, self._rows), "make a row iterator")
        demand(lib.ghostty_render_state_row_cells_new(ffi.NULL, self._cells), "make a cell iterator")
        self._dirty = new("GhosttyRenderStateDirty")
        self._view = new("GhosttyCellsView")
        self._y = new("uint16_t")
        self._style = sized("GhosttyStyle")
        self._style_bytes = ffi.buffer(self._style)
        self._cluster = characters(256)
        self._buffer = new("GhosttyBuffer")
        self._masks: tuple[int, ...] = ()
        self._width = 0
        self._styles: dict[bytes | int, Style | None] = {}
        self.palette: dict[int, int] = {}
        """Palette entries that the program redefined, as true colors."""

    def free(self) -> None:
        lib.ghostty_render_state_row_cells_free(self._cells[0])
        lib.ghostty_render_state_row_iterator_free(self._rows[0])
        lib.ghostty_render_state_free(self.state)

    def look(self, terminal: Any) -> int:
        """Read the terminal's damage since the last `clean`: 0 nothing, 1 some rows, 2 possibly all."""
        lib.ghostty_render_state_update(self.state, terminal)
        lib.ghostty_render_state_get(self.state, lib.GHOSTTY_RENDER_STATE_DATA_DIRTY, self._dirty)
        return int(self._dirty[0])

    def clean(self) -> None:
        lib.ghostty_render_state_clean(self.state)

    def repaint(self, palette: dict[int, int]) -> None:
        """From now on show these palette entries as the true colors given."""
        self.palette = palette
        self._styles.clear()

    def all_rows(self) -> Iterator[tuple[int, Row]]:
        self._rewind()
        y = 0
        while lib.ghostty_render_state_row_iterator_next(self._rows[0]):
            yield y, self._row()
            y += 1

    def dirty_rows(self) -> Iterator[tuple[int, Row]]:
        self._rewind()
        while lib.ghostty_render_state_row_iterator_next_dirty(self._rows[0], self._y):
            yield self._y[0], self._row()

    def _rewind(self) -> None:
        lib.ghostty_render_state_get(self.state, lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, self._rows)

    def _row(self) -> Row:
        view = self._view
        lib.ghostty_render_state_row_get(self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, view)
        width = view.len
        size = width * 8
        cells = int.from_bytes(ffi.buffer(view.ptr, size), "little")
        if not cells:
            return []
        if width != self._width:
            self._set_width(width)
        low_tag, high_tag, codepoint, style_id, wide_high = self._masks
        color_only = cells & high_tag
        points = (cells >> 2) & codepoint
        if color_only:
            points &= ~((color_only >> 1) * 0x1FFFFF)
        tails = cells & wide_high & ~((cells & (wide_high >> 1)) << 1)
        if tails:
            points |= (tails >> 43) * ord(_TAIL)
        text = memoryview(points.to_bytes(size, "little")).cast("I")[::2].tobytes().decode("utf-32-le")
        text = text.replace("\0", " ")
        clusters = cells & low_tag & ~(color_only >> 1)
        styled = (cells >> 26) & style_id
        if not (styled or color_only or clusters):
            text = text.rstrip(" ")
            return [(text.replace(_TAIL, ""), None, len(text))] if text else []
        lib.ghostty_render_state_row_get(self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, self._cells)
        numbers = self._style_numbers(cells, styled, color_only, tails, size)
        spans = self._spans(numbers)
        row = self._with_clusters(spans, text, clusters, size) if clusters else _cut(spans, text, bool(tails))
        return _trimmed(row)

    def _set_width(self, width: int) -> None:
        def lanes(value: int) -> int:
            return int.from_bytes(value.to_bytes(8, "little") * width, "little")

        self._masks = (lanes(1), lanes(2), lanes(0x1FFFFF), lanes(0xFFFF), lanes(1 << 43))
        self._width = width

    @staticmethod
    def _style_numbers(cells: int, styled: int, color_only: int, tails: int, size: int) -> list[int]:
        """Keys of the styles of a row's cells: the style number, or the color of a bare cell."""
        if color_only:
            raw = memoryview(cells.to_bytes(size, "little")).cast("Q").tolist()
            numbers = [
                cell & 0x3FFFFFF | _BACKGROUND_ONLY if cell & 2 else cell >> 26 & 0xFFFF for cell in raw
            ]
        else:
            numbers = memoryview(styled.to_bytes(size, "little")).cast("H")[::4].tolist()
        if tails:  # both halves of a wide character belong to one run
            marks = (tails >> 43).to_bytes(size, "little")[::8]
            at = marks.find(1)
            while at > 0:
                numbers[at] = numbers[at - 1]
                at = marks.find(1, at + 1)
        return numbers

    def _spans(self, numbers: list[int]) -> list[tuple[int, int, Style | None]]:
        found: dict[int, Style | None] = {0: None}
        spans = []
        start = 0
        for number, group in groupby(numbers):
            end = start + len(list(group))
            if number not in found:
                found[number] = (
                    self._bare_style(number) if number & _BACKGROUND_ONLY else self._style_at(start)
                )
            spans.append((start, end, found[number]))
            start = end
        return spans

    def _style_at(self, x: int) -> Style | None:
        cells = self._cells[0]
        lib.ghostty_render_state_row_cells_select(cells, x)
        lib.ghostty_render_state_row_cells_get(
            cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE, self._style
        )
        key = self._style_bytes[:]
        if key not in self._styles:
            self._keep(key, self._style_of(key))
        return self._styles[key]

    def _keep(self, key: bytes | int, style: Style | None) -> None:
        if len(self._styles) >= _MAX_STYLES:
            self._styles.clear()
        self._styles[key] = style

    def _style_of(self, value: bytes) -> Style | None:
        fg_tag, fg, bg_tag, bg, line_tag, line, *flags, underline = _STYLE.unpack(value)
        attributes = sum(bit for bit, is_on in zip(_ATTRIBUTES, flags, strict=True) if is_on)
        style = (
            self._color(fg_tag, fg),
            self._color(bg_tag, bg),
            attributes | underline << UNDERLINE_SHIFT,
            self._color(line_tag, line),
        )
        return None if style == (-1, -1, 0, -1) else style

    def _bare_style(self, number: int) -> Style | None:
        if number not in self._styles:
            content = (number >> 2 & 0xFFFFFF).to_bytes(3, "little")
            self._keep(number, (-1, self._color(1 + (number & 1), content), 0, -1))
        return self._styles[number]

    def _color(self, tag: int, value: bytes) -> int:
        if tag == lib.GHOSTTY_STYLE_COLOR_NONE:
            return -1
        if tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
            return self.palette.get(value[0], value[0])
        return TRUECOLOR | int.from_bytes(value[:3], "big")

    def _with_clusters(
        self, spans: list[tuple[int, int, Style | None]], text: str, clusters: int, size: int
    ) -> Row:
        marks = clusters.to_bytes(size, "little")[::8]
        row: Row = []
        for start, end, style in spans:
            at = start
            while (found := marks.find(1, at, end)) >= 0:
                if found > at:
                    row.append((text[at:found].replace(_TAIL, ""), style, found - at))
                at = found + (2 if text[found + 1 : found + 2] == _TAIL else 1)
                row.append((self._cluster_at(found), style, at - found))
            if at < end:
                row.append((text[at:end].replace(_TAIL, ""), style, end - at))
        return row

    def _cluster_at(self, x: int) -> str:
        cells, buffer = self._cells[0], self._buffer
        lib.ghostty_render_state_row_cells_select(cells, x)
        for _ in range(2):
            buffer.ptr, buffer.cap = as_bytes(self._cluster), len(self._cluster)
            result = lib.ghostty_render_state_row_cells_get(
                cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8, buffer
            )
            if result != lib.GHOSTTY_OUT_OF_SPACE:
                break
            self._cluster = characters(buffer.len)
        return bytes(ffi.buffer(buffer.ptr, buffer.len)).decode("utf-8", "replace")[:_MAX_CLUSTER]


def _cut(spans: list[tuple[int, int, Style | None]], text: str, has_tails: bool) -> Row:
    if has_tails:
        return [(text[start:end].replace(_TAIL, ""), style, end - start) for start, end, style in spans]
    return [(text[start:end], style, end - start) for start, end, style in spans]


def _trimmed(row: Row) -> Row:
    while row and row[-1][1] is None:
        text, _, width = row[-1]
        kept = text.rstrip(" ")
        if kept:
            row[-1] = (kept, None, width - (len(text) - len(kept)))
            break
        row.pop()
    return row
