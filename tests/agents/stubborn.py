"""Ignores every signal to end, and prints which one it got."""

from __future__ import annotations

import signal


def refuse(number: int, _frame: object) -> None:
    print(f"no to {signal.Signals(number).name}", flush=True)


def main() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, refuse)
    print("ready", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
