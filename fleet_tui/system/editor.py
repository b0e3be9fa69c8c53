"""Find the user's editor, the same for every face."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

from fleet_tui.errors import UsageError

FALLBACKS = ("vi", "nano")
GIT_SECONDS = 5.0


def editor() -> list[str]:
    """The command of the user's editor: VISUAL, EDITOR, git's core.editor, vi or nano, whichever exists first.

    Raises UsageError if it does not parse, or if there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        if command := _parsed(name, os.environ.get(name, "")):
            return command
    if command := _parsed("git's core.editor", _from_git()):
        return command
    found = next(filter(shutil.which, FALLBACKS), None)
    if found is None:
        raise UsageError("no editor found", hint="set EDITOR to an editor that is installed")
    return [found]


def _parsed(name: str, said: str) -> list[str]:
    try:
        return shlex.split(said)
    except ValueError as error:
        message = str(error)[:1].lower() + str(error)[1:]
        raise UsageError(f"{name} is {said!r}: {message}", hint="close its quotes") from None


def _from_git() -> str:
    """The user's own setting only: an agent could have written the repository's, and it names a program to run."""
    command = ["git", "config", "--global", "--get", "core.editor"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
