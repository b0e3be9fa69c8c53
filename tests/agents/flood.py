"""Prints numbered lines as fast as it can, or in bursts with "gently"; endlessly, or as many as its first argument says.

After that many lines it prints END and waits.
"""

from __future__ import annotations

import itertools
import select
import signal
import sys

BURST, PAUSE = 50, 0.01


def main() -> None:
    is_gentle = sys.argv[1:] == ["gently"]
    count = int(sys.argv[1]) if sys.argv[1:] and not is_gentle else None
    for number in itertools.count():
        if number == count:
            break
        sys.stdout.write(f"\x1b[3{number % 8}mline {number} {'·' * (number % 40)}\x1b[0m\r\n")
        if is_gentle and number % BURST == 0:
            select.select([], [], [], PAUSE)
    sys.stdout.write("END")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main()
