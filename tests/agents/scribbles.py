"""Writes random text, colors, cursor moves and wide characters from a seed, its first argument; then END, and waits."""

from __future__ import annotations

import random
import signal
import sys

PIECES = (
    "plain text ",
    "你好",
    "é",
    "🚀",
    "\r\n",
    "\t",
    "\x1b[K",
    "\x1b[2J",
    "\x1b[L",
    "\x1b[M",
    "\x1b[7m",
    "\x1b[0m",
)


def main() -> None:
    chance = random.Random(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        kind = chance.randrange(4)
        if kind == 0:
            sys.stdout.write(f"\x1b[{chance.randrange(1, 30)};{chance.randrange(1, 90)}H")
        elif kind == 1:
            sys.stdout.write("\x1b[38;2;" + ";".join(str(chance.randrange(256)) for _ in range(3)) + "m")
        else:
            sys.stdout.write(chance.choice(PIECES) * chance.randrange(1, 4))
        if chance.random() < 0.02:
            sys.stdout.flush()
    sys.stdout.write("\x1b[0m\x1b[1;1HEND")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main()
