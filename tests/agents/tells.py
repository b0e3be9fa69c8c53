"""Sends its terminal a title, a bell, notifications and a status; then reads lines.

Each line becomes its status report, such as "state=idle".
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
