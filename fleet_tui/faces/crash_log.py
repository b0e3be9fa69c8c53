"""The crash log: tracebacks of internal errors, in a file that only the user can read."""

from __future__ import annotations

import time

from fleet_tui import __version__, paths
from fleet_tui.errors import FleetError


def write(program: str, trace: str) -> str:
    """Append a traceback of a program; returns where it is, or why it is not: a full disk may have caused the crash."""
    try:
        file = paths.log() / "crash.log"
        with file.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {program} {__version__}\n{trace.rstrip()}\n")
        file.chmod(0o600)
    except OSError as error:
        return f"writing the crash log failed: {error.strerror or error}"
    except FleetError as error:
        return f"writing the crash log failed: {error}"
    return f"see {file}"
