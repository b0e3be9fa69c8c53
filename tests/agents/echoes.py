"""Prints "ready", then "got: LINE" for each line it reads; "exit CODE" ends it with that code."""

from __future__ import annotations

import sys


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        if line.startswith("exit "):
            sys.exit(int(line.split()[1]))
        print(f"got: {line.strip()}", flush=True)


if __name__ == "__main__":
    main()
