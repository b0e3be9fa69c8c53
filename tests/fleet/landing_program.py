"""Lands agents, and kills itself at a step: what tests of interrupted landings run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from fleet_tui.fleet import Fleet
from fleet_tui.landings import LandingProgress
from fleet_tui.models import Agent


def main(project: str, name: str, die_at: str) -> None:
    def report(_: Agent, progress: LandingProgress) -> None:
        if die_at == f"{progress.step} {progress.state}":
            os.kill(os.getpid(), signal.SIGKILL)

    with_fleet = Fleet(Path(project))
    with_fleet.landing.land([with_fleet.find(name)], on_progress=report)


if __name__ == "__main__":
    main(*sys.argv[1:])
