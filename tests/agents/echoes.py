"""Says "ready", then every line that it reads as "got: LINE"; ends with the code of a line "exit CODE"."""

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
