"""Fills the disk of the file named by its first argument, once that exists, and takes every byte that is freed later."""

from __future__ import annotations

import os
import sys
import time

PIECES = (1 << 16, 4096, 1)


def main() -> None:
    print("ready", flush=True)
    while not os.path.exists(sys.argv[1]):  # noqa: PTH110 - nothing to load
        time.sleep(0.005)
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    while True:
        for piece in PIECES:
            try:
                os.write(file, b"x" * piece)
                break
            except OSError:
                continue
        else:
            time.sleep(0.0005)


if __name__ == "__main__":
    main()
