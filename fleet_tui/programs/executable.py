"""Executables of programs, looked up on PATH as a shell does it."""

from __future__ import annotations

import os

from fleet_tui.errors import NotFound, UsageError
from fleet_tui.programs.profile import Profile


def program_path(profile: Profile, search_path: str | None = None) -> str:
    """The absolute path of a profile's program, looked up as a shell would."""
    program = profile.program
    if program.startswith("$"):
        program = os.environ.get(program[1:], "") or "/bin/sh"
    if not program:
        raise UsageError(
            f"profile {profile.name!r} has no program",
            hint=next(iter(profile.problems), "give a program instead of the profile's name"),
        )
    found = find_executable(program, os.environ.get("PATH") if search_path is None else search_path)
    if not found:
        refuse_unexecutable(program)
        hint = (
            f"install it with: {profile.install_hint}" if profile.install_hint else "add its folder to PATH"
        )
        raise NotFound(f"{profile.name}: no program {program!r} on PATH", hint=hint)
    return found


def find_executable(program: str, search_path: str | None) -> str:
    import shutil

    if not program or "\0" in program:
        return ""
    expanded = os.path.expanduser(program) if program.startswith("~") else program  # noqa: PTH111  # Path.expanduser raises for an unknown user
    # Not resolved: some programs behave by the name of the link that starts them.
    found = shutil.which(expanded, path=search_path)
    return os.path.abspath(found) if found else ""  # noqa: PTH100  # Path.resolve would follow links


def refuse_unexecutable(name: str) -> None:
    """Raise for an existing path that cannot be run: the hint to install it would be wrong."""
    if "/" not in name or "\0" in name:
        return
    file = os.path.expanduser(name)  # noqa: PTH111  # Path.expanduser raises for an unknown user
    if os.path.isdir(file):  # noqa: PTH112  # Path.is_dir raises for some names
        raise NotFound(f"{name} is a folder, not a program", hint="give the path of a program in it")
    if os.path.exists(file):  # noqa: PTH110  # as above
        raise NotFound(f"{name} is not executable", hint="if it is a program: chmod +x")
