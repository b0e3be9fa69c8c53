"""A program on the alternate screen: shows a page, another one for each line it reads, and exits on "quit"."""

from __future__ import annotations

import sys


def main() -> None:
    sys.stdout.write("\x1b[?1049h")
    page = "welcome"
    while page != "quit":
        sys.stdout.write(f"\x1b[2J\x1b[H= {page} =\r\nthe text of {page}\r\n\x1b[10;1H> ")
        sys.stdout.flush()
        page = sys.stdin.readline().strip()


if __name__ == "__main__":
    main()
