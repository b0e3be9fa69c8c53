"""Reports the content of a file as its status whenever it changes, such as "state=done"; "exit 3" ends the program."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def main() -> None:
    file, last = Path(sys.argv[1]), ""
    sys.stdout.write("ready\r\n")
    sys.stdout.flush()
    while True:
        said = file.read_text().strip() if file.exists() else ""
        if said.startswith("exit "):
            sys.exit(int(said.split()[1]))
        if said != last:
            last = said
            sys.stdout.write(f"\x1b]7501;{said}\x1b\\reported {said.partition(':')[0]}\r\n")
            sys.stdout.flush()
        time.sleep(0.02)


if __name__ == "__main__":
    main()
