"""Readable lines: append what scrolled away or settled on the screen to lines.log, and rotate it at half its cap."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from fleet_tui.system import files

LINES_FILE, OLD_LINES_FILE = "lines.log", "lines.1.log"
MIB = 1024 * 1024
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND

LogPlace: TypeAlias = tuple[int, int]
"""An inode and an offset in it: lines.log is renamed when it is full."""


_LATE_CONTROLS = re.compile(rb"\xc2[\x80-\x9f]")
_AS_BYTES = bytes(
    10 if byte == 0 else 32 if (byte < 32 and byte != 9) or byte == 127 else byte for byte in range(256)
)
"""Translates zero-terminated lines: zeros become line ends, all other control characters but tabs become spaces."""


class LogWriter:
    """Appends readable lines to lines.log, and renames it to lines.1.log at half the cap."""

    def __init__(self, folder: Path, *, cap: int = 16 * MIB) -> None:
        self._path = folder / LINES_FILE
        self._limit = max(1, cap // 2)
        self._handle = -1
        self._size = 0
        self._is_cut = False
        self.lost = 0
        """Lines that could not be written since this writer began."""
        self._unreported = 0
        """Lost lines that the log does not mention yet."""

    def append(self, lines: Sequence[str]) -> None:
        for start in range(0, len(lines), 512):
            part = lines[start : start + 512]
            mark = [f"[lines lost because the disk was full: {self._unreported}]"] if self._unreported else []
            try:
                self._append(_as_lines([*mark, *part]))
                self._unreported = 0
            except OSError:
                self.close()
                self.lost += len(part)
                self._unreported += len(part)

    @property
    def end(self) -> LogPlace:
        """Where the next line will be, unless the file is rotated before."""
        try:
            self._open()
        except OSError:
            return (0, 0)
        return (os.fstat(self._handle).st_ino, self._size)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, data: bytes) -> None:
        self._open()
        if self._size and self._size + len(data) > self._limit:
            self._path.replace(self._path.with_name(OLD_LINES_FILE))
            self.close()
            self._open()
        if self._is_cut:
            data = b"\n" + data
        while data:
            written = os.write(self._handle, data)
            self._size += written
            data = data[written:]
            self._is_cut = bool(data)

    def _open(self) -> None:
        if self._handle >= 0:
            return
        self._handle = files.open_regular(self._path, _APPEND)
        self._size = os.fstat(self._handle).st_size
        self._is_cut = self._size > 0 and os.pread(self._handle, 1, self._size - 1) != b"\n"


def _as_lines(lines: Sequence[str]) -> bytes:
    """Encode lines for the file; characters that would break a line or a terminal become spaces."""
    text = "\0".join((*lines, ""))
    if text.count("\0") > len(lines):
        text = "\0".join((*(line.replace("\0", " ") for line in lines), ""))
    data = text.encode("utf-8", "replace").translate(_AS_BYTES)
    return _LATE_CONTROLS.sub(b" ", data) if b"\xc2" in data else data
