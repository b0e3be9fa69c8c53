"""Redraws its whole screen endlessly, with the same number in every row, inside synchronized output.

Each write ends in the middle of a redraw. With "stuck" it starts a redraw and never finishes it.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys


def main() -> None:
    _, rows = os.get_terminal_size(1)
    if sys.argv[1:] == ["stuck"]:
        os.write(1, b"before\x1b[?2026h\x1b[2;1Hafter")
        signal.pause()
    middle = rows // 2
    rest = ""
    for number in itertools.count():
        lines = [f"\x1b[{y};1Hframe {number:08}" for y in range(1, rows + 1)]
        os.write(1, f"{rest}\x1b[?2026h\x1b[2J{''.join(lines[:middle])}".encode())
        rest = f"{''.join(lines[middle:])}\x1b[?2026l"


if __name__ == "__main__":
    main()
