"""Attach to one agent like the command line; run as a program in a terminal of its own.

Arguments: name, run folder, lock, and a file for the outcome. With "--fail" as the name, an error in the midst of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import sys
import termios
from dataclasses import asdict
from pathlib import Path

from fleet_tui.cli.attach.attachment import attach
from fleet_tui.cli.attach.host import HostTerminal


def main() -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    name, folder, lock, report = sys.argv[1:]
    if name == "--fail":
        with HostTerminal(0, 1):
            raise RuntimeError
    outcome = attach(name, Path(folder), Path(lock))
    Path(report).write_text(json.dumps(asdict(outcome)))


if __name__ == "__main__":
    main()
