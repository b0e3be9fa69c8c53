"""Query the tmux that the dashboard runs in. It may not answer, so the timeout is short and nothing depends on it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

ANSWER_SECONDS = 1.0


def is_around(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("TMUX"))


def ask(environment: Mapping[str, str], question: str) -> str:
    """The value of a tmux format, such as "#{set-clipboard}"; empty if tmux does not answer."""
    try:
        done = subprocess.run(
            ["tmux", "display-message", "-p", question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            env=dict(environment),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
