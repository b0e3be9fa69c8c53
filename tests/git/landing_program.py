"""Moves a branch, and kills itself, alone or with its whole process group, at a named step: what tests of landings run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from fleet_tui.git import landing, landing_heal


def main(verb: str, git_dir: str, branch: str, old: str, new: str, die_at: str, how: str) -> None:
    def step(name: str) -> None:
        if name == die_at and how == "group":
            os.killpg(0, signal.SIGKILL)
        if name == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    print("ready", flush=True)
    if verb == "heal":
        landing_heal.heal(Path(git_dir))
    else:
        landing.move_branch(Path(git_dir), branch, old, new, why="test", step=step)


if __name__ == "__main__":
    main(*sys.argv[1:])
