"""Load the settings in force: the defaults, the user's file and what counts of the project's, with their origins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fleet_tui import paths
from fleet_tui.config.files import read, settings_in
from fleet_tui.config.project_files import ProjectFiles, only_restricting, read_project_files, restricted
from fleet_tui.config.settings import INCLUDE_FILE, KEYS, Config
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import replace

if TYPE_CHECKING:
    from fleet_tui.permissions.rules import PermissionRule


def load(
    project: Path | None,
    *,
    trusted: bool | None = None,
    include: bool = False,
    problems: list[str] | None = None,
) -> Config:
    """The settings of a project, or with None the user's alone.

    What needs trust counts only if the user has trusted it; the rest is in `untrusted`. With `trusted`, no record is
    read: all of it counts, or none. Rules of the project that deny or ask always count. With `problems`, what cannot be
    read or is invalid is added to them and left out.
    """
    user_file = paths.user_config()
    warnings: list[str] = []
    user: Mapping[str, object] = {}
    try:
        user = dict(settings_in(read(user_file), user_file, warnings, problems=problems))
    except FleetError as error:
        if problems is None:
            raise
        problems.append(error.message)
    files = ProjectFiles()
    if project is not None:
        try:
            files = read_project_files(project, user, warnings, include=include, problems=problems)
        except FleetError as error:
            if problems is None and trusted is not False:
                raise
            (warnings if problems is None else problems).append(error.message)
    missing = _missing(project, files.parts) if trusted is None else {} if trusted else files.parts
    config = _merged(
        user, restricted(files, missing), user_file, paths.project_config(project) if project else user_file
    )
    if "approve.mode" in missing and files.settings["approve.mode"] == "on":
        config = only_restricting(config, files)
    config = replace(
        config,
        include=files.include if INCLUDE_FILE not in missing else (),
        untrusted=missing if trusted is None else {},
        warnings=tuple(warnings),
    )
    return _with_fallbacks(config, project)


def _missing(project: Path | None, parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parts that the user has not trusted."""
    if not parts or project is None:
        return {}
    # Deferred: most projects ask for nothing.
    from fleet_tui.config import trust_store

    return trust_store.missing(project, parts)


def _merged(
    user: Mapping[str, object], project: Mapping[str, object], user_file: Path, project_file: Path
) -> Config:
    """The defaults, overridden by the user's settings and then by the project's."""
    values: dict[str, object] = {}
    env: dict[str, str] = {}
    keys: dict[str, tuple[str, ...]] = {}
    rules: tuple[PermissionRule, ...] = ()
    origins: dict[str, str] = {}
    for file, settings in ((user_file, user), (project_file, project)):
        for key, value in settings.items():
            origins[key] = str(file)
            if key.startswith("env."):
                env[key.removeprefix("env.")] = str(value)
            elif key.startswith("keys."):
                keys[key.removeprefix("keys.")] = cast("tuple[str, ...]", value)
            elif key == "approve.rules":
                rules = _before(cast("tuple[PermissionRule, ...]", value), rules)
            else:
                values[KEYS[key].field] = value
    users = {
        key.removeprefix("keys."): cast("tuple[str, ...]", chords)
        for key, chords in user.items()
        if key.startswith("keys.")
    }
    return Config(**values, env=env, keys=keys, approve_rules=rules, user_keys=users, origins=origins)  # type: ignore[arg-type]  # each value was converted by the kind of its field


def _before(
    project: tuple[PermissionRule, ...], user: tuple[PermissionRule, ...]
) -> tuple[PermissionRule, ...]:
    """The project's rules before the user's, except that the user's denials come first: no project can override them."""
    denied = tuple(rule for rule in user if rule.decision == "deny")
    return (*denied, *project, *(rule for rule in user if rule.decision != "deny"))


def _with_fallbacks(config: Config, project: Path | None) -> Config:
    """Fill in settings whose default is another setting or the project's folder."""
    origins = dict(config.origins)
    if config.default_agent and "agent.default" not in origins:
        config = replace(config, agent_default=config.default_agent)
        origins["agent.default"] = origins["defaults.agent"]
    if project is not None and not config.project_name:
        config = replace(config, project_name=project.name)
    return replace(config, origins=origins)
