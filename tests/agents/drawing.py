"""Redraws a full screen when its size changes; a typed digit ends it with that exit code.

The screen has styles, wide characters, clusters of code points, text up to the last cell, and its size near the bottom.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tty

ROWS = (
    "plain text to start with",
    "\x1b[1;31mbold red\x1b[0m \x1b[38;5;208mpalette\x1b[0m \x1b[38;2;10;200;30mtruecolor\x1b[0m \x1b[7minverse\x1b[0m",
    "\x1b[4munder\x1b[0m \x1b[4:3;58:2::255:0:0mcurly\x1b[0m \x1b[9mstrike\x1b[0m \x1b[48;2;0;0;90mon blue\x1b[0m",
    "wide: 你好世界 mixed a你b好c and 🚀 rocket",
    "clusters: e\u0301 👨‍👩‍👧 🇩🇪 ❤️ end",
    "┌────┬────┐ é ü ß π Ω",
    "│ ab │ cd │ ▁▂▃▄▅▆▇█",
)


def draw() -> None:
    cols, rows = os.get_terminal_size(1)
    parts = ["\x1b[?2026h\x1b[0m\x1b[2J"]
    parts += (f"\x1b[{y};1H{text}" for y, text in enumerate(ROWS[: rows - 2], start=1))
    edge = "".join(str(x % 10) for x in range(1, cols + 1))
    parts.append(
        f"\x1b[{rows};1H{edge}\x1b[{rows - 1};1Hsize {cols}x{rows}\x1b[{rows - 1};5H\x1b[6 q\x1b[?2026l"
    )
    os.write(1, "".join(parts).encode())


def main() -> None:
    tty.setraw(0)
    changed, change = os.pipe()
    os.set_blocking(change, False)
    signal.signal(signal.SIGWINCH, lambda *_: os.write(change, b"."))
    os.write(1, b"\x1b[?1049h\x1b[?1000h\x1b[?1006h\x1b[?7l")
    draw()
    while True:
        ready, _, _ = select.select([0, changed], [], [])
        if changed in ready:
            os.read(changed, 4096)
            draw()
        if 0 in ready:
            typed = os.read(0, 100)
            if typed.isdigit() or not typed:
                sys.exit(int(typed or b"0"))


if __name__ == "__main__":
    main()
