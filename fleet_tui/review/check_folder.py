"""Where a check's files are: its holder's lock and run folder in the agent's folder, and its own folder for temporary files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fleet_tui import paths
from fleet_tui.work import CheckRun


def of(check: CheckRun) -> Path:
    return paths.agent(check.agent) / "checks" / check.id


def lock(check: CheckRun) -> Path:
    """Held as long as the check waits or runs."""
    return of(check) / "lock"


def run(check: CheckRun) -> Path:
    """The run folder of its holder."""
    return of(check) / "1"


def temporary(check: CheckRun) -> Path:
    """The TMPDIR of the check. Its path is short: programs make sockets there."""
    return Path(tempfile.gettempdir()) / f"fleet-check-{check.id}"
