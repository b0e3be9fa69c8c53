"""Enter an agent's worktree: print its path, or run a shell in it."""

from __future__ import annotations

import os
import signal
import sys

from fleet_tui.cli.group import cli, refreshed_fleet, say, say_json
from fleet_tui.cli.options import json_option, name_argument
from fleet_tui.errors import NotFound


@cli.command()
@name_argument
@json_option
def path(branch: str, as_json: bool) -> None:
    """Print the path of an agent's worktree.

    \b
    Examples:
      cd "$(fleet path fix-login)"
      git -C "$(fleet path fix-login)" diff
    """
    fleet = refreshed_fleet()
    agent = fleet.find(branch)
    found = fleet.worktrees.path(agent)
    if as_json:
        say_json({"id": agent.id, "name": agent.name, "path": str(found)}, indent=2)
    elif sys.stdout.isatty():
        say(str(found))
    else:
        # A program needs the path as it is, whatever characters are in it.
        sys.stdout.buffer.write(os.fsencode(found) + b"\n")


@cli.command()
@name_argument
def shell(branch: str) -> None:
    """Run your shell in an agent's worktree.

    It is your $SHELL, not part of the agent: stop and kill leave it alone. The exit code is that of the shell.

    \b
    Examples:
      fleet shell fix-login
      echo 'make test' | fleet shell fix-login
    """
    fleet = refreshed_fleet()
    folder = fleet.worktrees.path(fleet.find(branch))
    fleet.close()
    _become(os.environ.get("SHELL") or "/bin/sh", str(folder))


def _become(program: str, folder: str) -> None:
    """Replace this process by a program that runs in a folder."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these two signals, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(folder)
        os.execvpe(program, [program], {**os.environ, "PWD": folder})  # noqa: S606 - the user asks for this program
    except OSError as error:
        raise NotFound(
            f"cannot run {program} in {folder}: {error.strerror}",
            hint="set SHELL to a shell that is installed",
        ) from error
