"""Find the user's editor, the same for every face."""

from __future__ import annotations

import os
import shlex
import shutil

from fleet_tui.errors import UsageError

FALLBACKS = ("vi", "nano")


def editor() -> list[str]:
    """The command of the user's editor: VISUAL, EDITOR, git's core.editor, vi or nano, whichever exists first.

    Raises UsageError if it does not parse, or if there is none.
    """
    from fleet_tui import git

    for name in ("VISUAL", "EDITOR"):
        if command := _parsed(name, os.environ.get(name, "")):
            return command
    if command := _parsed("git's core.editor", git.user_setting("core.editor")):
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
