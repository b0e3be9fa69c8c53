"""Validate the configuration: its syntax, and the files, programs and folders that it names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.config.files import edit_command, read_include
from fleet_tui.config.kinds import THEMES
from fleet_tui.config.load import load
from fleet_tui.config.settings import Config, worktrees
from fleet_tui.errors import FleetError
from fleet_tui.names import is_pattern

CheckKeys = Callable[[Mapping[str, Any]], list[str]]
"""Finds errors in key bindings; only the dashboard knows its actions."""


def validate(project: Path | None, check_keys: CheckKeys | None = None) -> list[str]:
    """All problems of a project's and the user's configuration, one line each; without a project only of the user's."""
    found: list[str] = []
    config = load(project, trusted=True, problems=found)
    found += [*config.warnings, *_rule_problems(config)]
    found += check_keys(config.keys) if check_keys is not None else []
    found += _agent_problems(config)
    if config.theme not in THEMES:
        found.append(f"ui.theme: there is no theme {config.theme!r}")
    if project is None:
        return found
    found += [
        f"setup.credential_files: {name} {problem}"
        for name in config.credential_files
        if (problem := _credential_problem(name, project))
    ]
    try:
        read_include(project)
    except FleetError as error:
        found.append(error.message)
    return found + _folder_problems(worktrees(config, project))


def edit_commands(problems: Sequence[str], project: Path | None) -> list[str]:
    """For each of these problems, the command that opens the file with its cause."""
    users = paths.user_config()
    other = paths.project_config(project) if project is not None else users
    origins = load(project, trusted=True, problems=[]).origins
    found = []
    for problem in problems:
        is_users = problem.startswith(f"{users}:") or origins.get(problem.partition(":")[0]) == str(users)
        found.append(edit_command(users if is_users else other))
    return found


def _credential_problem(name: str, project: Path) -> str:
    if ".." in Path(name).parts or not (project / name).is_relative_to(project):
        return "is outside the repository and is not copied"
    return "" if is_pattern(name) or (project / name).exists() else f"does not exist in {project}"


def _rule_problems(config: Config) -> list[str]:
    if not config.approve_rules:
        return []
    from fleet_tui.permissions.rules import problems

    return problems(config.approve_rules)


def _agent_problems(config: Config) -> list[str]:
    import shutil

    name = config.agent_default
    shipped = Path(__file__).parents[1] / "programs" / "profiles"
    has_profile = name == Path(name).name and any(
        (folder / f"{name}.toml").is_file() for folder in (shipped, paths.user_profiles())
    )
    if has_profile or (name and shutil.which(Path(name).expanduser())):
        return []
    return [f"agent.default: no profile or program {name!r}"]


def _folder_problems(folder: Path) -> list[str]:
    existing = folder
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        return [f"cannot create worktrees in {folder}: {existing} is not a folder"]
    if not os.access(existing, os.W_OK | os.X_OK):
        return [f"cannot create worktrees in {folder}: {existing} is not writable"]
    return []
