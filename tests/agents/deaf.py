"""Never reads its terminal; prints the next number on each SIGUSR1, to show that it still runs."""

from __future__ import annotations

import itertools
import os
import signal
import tty


def main() -> None:
    tty.setraw(0)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    for number in itertools.count():
        os.write(1, f"\r\nalive {number}".encode())
        signal.pause()


if __name__ == "__main__":
    main()
