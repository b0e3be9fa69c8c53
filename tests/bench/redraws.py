"""An agent's interface in miniature, run as a program: redraws its screen all the time, so many bytes a second.

Argument: its name. Every frame carries the name, a number and the last character typed, so that whoever sees a
screen can tell the frames apart and find what was typed.
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
"""A second."""
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
    """The rest of a frame: coloured words, as long as the rate wants it."""
    size = RATE // FRAMES - 60
    lines: list[str] = []
    while sum(len(line) for line in lines) < size and len(lines) < HEIGHT * 4:
        row = len(lines) % HEIGHT + 3
        colour = chance.randrange(16, 232)
        text = "".join(chance.choice("abcdefgh    ") for _ in range(WIDTH))
        lines.append(f"\x1b[{row};1H\x1b[38;5;{colour}m{text}\x1b[39m")
    return "".join(lines)


if __name__ == "__main__":
    main()
