"""Reads its terminal raw and appends every byte to the file in its first argument; prints "ready", then the byte count.

Further arguments enable modes first: each is the middle of a control sequence, such as "?2004h" or ">1u".
"""

from __future__ import annotations

import os
import sys
import tty
from pathlib import Path


def main() -> None:
    tty.setraw(0)
    modes = "".join(f"\x1b[{mode}" for mode in sys.argv[2:])
    os.write(1, f"{modes}\x1b[2J\x1b[Hready".encode())
    total = 0
    with Path(sys.argv[1]).open("ab", buffering=0) as record:
        while data := os.read(0, 65536):
            record.write(data)
            total += len(data)
            os.write(1, f"\x1b[2;1H{total}".encode())


if __name__ == "__main__":
    main()
