"""Tells its terminal things besides its output: a title, a bell, notifications, its status; then waits for lines.

A line that it reads becomes its status report: "state=idle" and the like.
"""

from __future__ import annotations

import sys


def main() -> None:
    sys.stdout.write("\x1b]2;first title\x07\x1b]2;the title\x07\x07")
    sys.stdout.write("\x1b]9;build is done\x07\x1b]777;notify;The head;the body\x1b\\")
    sys.stdout.write("told\r\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(f"\x1b]7501;{line.strip()}\x1b\\reported\r\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
