"""Native emulator: loads libghostty-vt through pyghostty, checks it, and wraps the calls that are needed.

Owns the C types and the native calls that stand alone. Only `terminal` and its parts (`rows`, `scrolled`, `encode`)
may use it. The library is unchecked native code that hostile bytes can crash, so faces never load this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fleet_tui.errors import FleetError
from fleet_tui.terminal.emulator import declarations

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


# cffi reads every type given as a string by parsing all declarations again, 8 ms each. So all the types that are
# ever needed are fields of one structure, parsed once, here, before a screen server is forked.
# It cannot pass unions by value either: FleetPoint and FleetScroll are structures of the same layout, which are
# passed the same way on every platform that has a wheel (more than 16 bytes go through memory).
_POINTED_TO = (
    *("bool", "uint8_t", "uint16_t", "uint64_t", "size_t", "FleetPoint", "FleetScroll", "GhosttyBuffer"),
    *(
        "GhosttyCellsView",
        "GhosttyClipboardWriteReply",
        "GhosttyColorRgb",
        "GhosttyGridRef",
        "GhosttyKeyEncoder",
    ),
    *("GhosttyKeyEvent", "GhosttyMouseEncoder", "GhosttyMouseEncoderSize", "GhosttyMouseEvent"),
    *("GhosttyMousePosition", "GhosttyPointCoordinate", "GhosttyRenderState", "GhosttyRenderStateCursor"),
    *("GhosttyRenderStateDirty", "GhosttyRenderStateRowCells", "GhosttyRenderStateRowIterator", "GhosttyRow"),
    *("GhosttySearch", "GhosttySelection", "GhosttySelectionBuffer", "GhosttyString", "GhosttyStyle"),
    *("GhosttyTerminal", "GhosttyTerminalCompressionResult", "GhosttyTerminalModeConfig"),
    *("GhosttyTerminalSelectionFormatOptions", "GhosttyTrackedGridRef"),
)
_CALLBACKS = (
    *("Bell", "ClipboardWrite", "DesktopNotification", "ProgressReport", "Size", "TitleChanged"),
    *("UnknownSequence", "WritePty", "Xtversion"),
)
MAX_MATCHES = 10_000
_ADDITIONS = f"""
typedef struct {{ int tag; int gap; uint16_t x; uint32_t y; uint64_t padding; }} FleetPoint;
typedef struct {{ int tag; size_t row; uint64_t padding; }} FleetScroll;
typedef struct {{
    {"".join(f"{name} *to_{name};" for name in _POINTED_TO)}
    {"".join(f"GhosttyTerminal{name}Fn call_{name};" for name in _CALLBACKS)}
    uint8_t **text;
    GhosttyColorRgb palette[256];
    GhosttySelection matches[{MAX_MATCHES}];
    GhosttyResult (*grid_ref)(GhosttyTerminal, FleetPoint, GhosttyGridRef*);
    GhosttyResult (*track)(GhosttyTerminal, FleetPoint, GhosttyTrackedGridRef*);
    void (*scroll)(GhosttyTerminal, FleetScroll);
}} FleetTypes;
"""

try:
    ffi, lib = declarations.load(_ADDITIONS)
except (ImportError, OSError) as error:  # no wheel for this platform, or its library does not load
    raise FleetError(
        f"the terminal emulator does not load: {error}", hint="reinstall fleet-tui on a supported platform"
    ) from error


def layout_of_types() -> dict[str, Any]:
    """The memory layout of the library's types, as it reports it."""
    layout: dict[str, Any] = json.loads(ffi.string(lib.ghostty_type_json()))
    return layout


def check_layout(layout: dict[str, Any]) -> None:
    """Refuse an emulator whose cells have another layout than the row reader expects."""
    cell, style = layout["types"]["GhosttyCell"], layout["types"]["GhosttyStyle"]
    bits = {name: (bit["lsb"], bit["width"]) for name, bit in cell["bits"].items()}
    offsets = {name: field["offset"] for name, field in style["fields"].items()}
    expected_bits = {"content_tag": (0, 2), "content": (2, 24), "style_id": (26, 16), "wide": (42, 2)}
    expected_offsets = {"fg_color": 8, "bg_color": 24, "underline_color": 40, "bold": 56, "underline": 64}
    if (
        layout["abi"]["endian"] != "little"
        or (cell["size"], style["size"]) != (8, 72)
        or not expected_bits.items() <= bits.items()
        or not expected_offsets.items() <= offsets.items()
    ):
        raise FleetError(
            f"terminal emulator {layout['library_version']} has another memory layout than this program expects",
            hint="reinstall fleet-tui, which names the version it needs",
        )


check_layout(layout_of_types())

_TYPES: dict[str, Any] = {name: field.type for name, field in ffi.typeof("FleetTypes").fields}

_grid_ref = ffi.cast(_TYPES["grid_ref"], ffi.addressof(lib, "ghostty_terminal_grid_ref"))
_track = ffi.cast(_TYPES["track"], ffi.addressof(lib, "ghostty_terminal_grid_ref_track"))
_scroll = ffi.cast(_TYPES["scroll"], ffi.addressof(lib, "ghostty_terminal_scroll_viewport"))


def new(kind: str, value: Any = None) -> Any:
    """A pointer to a new C value, freed with the pointer."""
    return ffi.new(_TYPES[f"to_{kind}"], value)


def characters(content: bytes | int) -> Any:
    """A new array of characters, with this content or of this size."""
    return ffi.from_buffer(bytearray(content))


def as_bytes(pointer: Any) -> Any:
    return ffi.cast(_TYPES["to_uint8_t"], pointer)


def callback(kind: str, function: Any) -> Any:
    return ffi.callback(_TYPES[f"call_{kind}"], function)


def palette(terminal: Any) -> bytes:
    """The 256 colors in use, three bytes each."""
    colors = ffi.new(_TYPES["palette"])
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE, colors)
    return bytes(ffi.buffer(colors))


def demand(result: int, what: str) -> None:
    if result:
        raise FleetError(
            f"the terminal emulator failed to {what} ({result})", hint="restart the agent's screen"
        )


def made(kind: str, make: Any) -> Any:
    """A new object of the emulator; the caller frees it."""
    handle = new(kind)
    demand(make(ffi.NULL, handle), f"make a {kind}")
    return handle[0]


def sized(kind: str) -> Any:
    """A new structure that starts with its own size, by which the emulator distinguishes versions."""
    value = new(kind)
    value.size = ffi.sizeof(value[0])
    return value


def number(terminal: Any, data: int) -> int:
    """One of the terminal's numbers of up to 64 bits; a flag is 0 or 1."""
    out = new("uint64_t")
    lib.ghostty_terminal_get(terminal, data, out)
    return int(out[0])


def has_mode(terminal: Any, mode: int) -> bool:
    """Whether a DEC private mode is set."""
    config = new("GhosttyTerminalModeConfig", (mode, False))
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_MODE, config)
    return bool(config.value)


def content(string: Any) -> bytes:
    return bytes(ffi.buffer(string.ptr, string.len)) if string.len else b""


def without_controls(string: Any) -> str:
    """A string of the program as one line without control characters."""
    return _CONTROLS.sub(" ", content(string).decode("utf-8", "replace"))


def title(terminal: Any) -> str:
    string = new("GhosttyString")
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_TITLE, string)
    return without_controls(string)


def cell_ref(terminal: Any, tag: int, x: int, y: int) -> Any:
    """The cell at a place, valid until the terminal changes; None if there is no such place."""
    ref = sized("GhosttyGridRef")
    found = _grid_ref(terminal, new("FleetPoint", (tag, 0, x, y))[0], ref)
    return None if found else ref


def tracked_ref(terminal: Any, tag: int, x: int, y: int) -> Any:
    """The cell at a place, tracked as it moves; the caller frees it. None if there is no such place."""
    ref = new("GhosttyTrackedGridRef")
    found = _track(terminal, new("FleetPoint", (tag, 0, x, y))[0], ref)
    return None if found else ref[0]


def is_wrapped(terminal: Any, row: int) -> bool:
    """Whether a row, counted from the oldest one kept, wraps into the next."""
    ref = cell_ref(terminal, lib.GHOSTTY_POINT_TAG_SCREEN, 0, row)
    raw, wrapped = new("GhosttyRow"), new("bool")
    if ref is None or lib.ghostty_grid_ref_row(ref, raw):
        return False
    lib.ghostty_row_get(raw[0], lib.GHOSTTY_ROW_DATA_WRAP, wrapped)
    return bool(wrapped[0])


def plain_text(terminal: Any, tag: int, start: tuple[int, int], end: tuple[int, int], *, unwrap: bool) -> str:
    """The text from one (x, y) to another, inclusive, without blank rows at its end."""
    first, last = cell_ref(terminal, tag, *start), cell_ref(terminal, tag, *end)
    if first is None or last is None:
        return ""
    selection = sized("GhosttySelection")
    selection.start, selection.end = first[0], last[0]
    options = sized("GhosttyTerminalSelectionFormatOptions")
    options.emit = lib.GHOSTTY_FORMATTER_FORMAT_PLAIN
    options.unwrap, options.trim, options.selection = unwrap, True, selection
    text, length = ffi.new(_TYPES["text"]), new("size_t")
    if lib.ghostty_terminal_selection_format_alloc(terminal, ffi.NULL, options[0], text, length):
        return ""
    try:
        return bytes(ffi.buffer(text[0], length[0])).decode("utf-8", "replace")
    finally:
        lib.ghostty_free(ffi.NULL, text[0], length[0])


def scroll_to(terminal: Any, row: int | None) -> None:
    """Show the rows from `row` on, counted from the oldest one kept; None shows the screen itself again."""
    tag = lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM if row is None else lib.GHOSTTY_SCROLL_VIEWPORT_ROW
    _scroll(terminal, new("FleetScroll", (tag, row or 0))[0])


def matches(terminal: Any, needle: str) -> Iterator[tuple[int, int, int]]:
    """Matches of a text, as (row, column, length in cells), newest first; ASCII case is ignored."""
    search = new("GhosttySearch")
    demand(lib.ghostty_search_new(ffi.NULL, search, terminal), "make a search")
    try:
        data = needle.encode("utf-8", "replace")
        text = characters(data)
        string = new("GhosttyString", (as_bytes(text), len(data)))
        lib.ghostty_search_set(search[0], lib.GHOSTTY_SEARCH_OPT_NEEDLE, string)
        lib.ghostty_search_run(search[0])
        found = ffi.new(_TYPES["matches"])
        found[0].size = ffi.sizeof(found[0])
        buffer = new("GhosttySelectionBuffer", (found, MAX_MATCHES, 0))
        lib.ghostty_search_get(search[0], lib.GHOSTTY_SEARCH_DATA_MATCHES, buffer)
        yield from _places(terminal, found[0 : min(buffer.len, MAX_MATCHES)])
    finally:
        lib.ghostty_search_free(search[0])


def _places(terminal: Any, selections: Any) -> Iterator[tuple[int, int, int]]:
    cols = number(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS)
    first_rows: dict[Any, int] = {}  # of each page; asking for each match walks the whole list of them
    for selection in selections:
        start, end = selection.start, selection.end
        for ref in (start, end):
            if ref.node not in first_rows:
                first_rows[ref.node] = _row(terminal, ref) - ref.y
        row = first_rows[start.node] + start.y
        yield row, start.x, (first_rows[end.node] + end.y - row) * cols + end.x - start.x + 1


def _row(terminal: Any, ref: Any) -> int:
    out = new("GhosttyPointCoordinate")
    ref_pointer = new("GhosttyGridRef", ref)
    lib.ghostty_terminal_point_from_grid_ref(terminal, ref_pointer, lib.GHOSTTY_POINT_TAG_SCREEN, out)
    return int(out.y)
