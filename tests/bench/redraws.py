"""A miniature agent interface: redraws its screen continuously at a fixed number of bytes per second.

Argument: its name. Every frame contains the name, a number and the last typed character, so that a reader of the
screen can tell frames apart and find what was typed.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
import tty

RATE = 100_000
FRAMES = 50
"""Per second."""
HEIGHT = 10
WIDTH = 40


def main() -> None:
    tty.setraw(0)
    name, typed, number = sys.argv[1], "", 0
    chance = random.Random(name)
    filler = [_filler(chance) for _ in range(20)]
    due = time.monotonic()
    while True:
        number += 1
        head = f"\x1b[?2026h\x1b[H\x1b[1m{name}#{number:06};{typed};\x1b[22m\x1b[K\r\n"
        os.write(1, (head + filler[number % len(filler)] + "\x1b[?2026l").encode())
        due = max(due + 1 / FRAMES, time.monotonic() - 0.1)
        if select.select([0], [], [], max(0.0, due - time.monotonic()))[0]:
            typed = os.read(0, 4096).decode(errors="ignore")[-1:] or typed


def _filler(chance: random.Random) -> str:
    """The rest of a frame: colored words, as many as the rate requires."""
    size = RATE // FRAMES - 60
    lines: list[str] = []
    while sum(len(line) for line in lines) < size and len(lines) < HEIGHT * 4:
        row = len(lines) % HEIGHT + 3
        color = chance.randrange(16, 232)
        text = "".join(chance.choice("abcdefgh    ") for _ in range(WIDTH))
        lines.append(f"\x1b[{row};1H\x1b[38;5;{color}m{text}\x1b[39m")
    return "".join(lines)


if __name__ == "__main__":
    main()
