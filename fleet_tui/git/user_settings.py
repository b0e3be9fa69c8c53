"""Settings in the user's own git configuration."""

from __future__ import annotations

import time
from pathlib import Path

from fleet_tui.git.program import GitFailed, run

SECONDS = 5.0
"""Timeout: the configuration may be a FIFO, or on a network filesystem that hangs."""


def user_setting(key: str) -> str:
    """The value of a key; empty if it is not set or git fails.

    Ignores the repository's configuration: an agent could have written it, and a value may name a program to run.
    """
    deadline = time.monotonic() + SECONDS
    try:
        done = run(
            Path("/"), "config", "--global", "--get", key, is_unwanted=lambda: time.monotonic() > deadline
        )
    except GitFailed:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
