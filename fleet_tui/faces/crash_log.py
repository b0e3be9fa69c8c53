"""The crash log: tracebacks of internal errors, in a file that only the user can read."""

from __future__ import annotations

import time
from pathlib import Path

from fleet_tui import __version__, paths


def write(program: str, trace: str) -> Path:
    """Append a traceback of a program; returns the file."""
    file = paths.log() / "crash.log"
    with file.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {program} {__version__}\n{trace.rstrip()}\n")
    file.chmod(0o600)
    return file
