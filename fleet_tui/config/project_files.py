"""Read a project's files and decide what counts: always, only with the user's trust, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fleet_tui import paths
from fleet_tui.config.files import parse, read, read_include, read_text, settings_in
from fleet_tui.config.kinds import APPROVE_MODES
from fleet_tui.config.settings import HIGHER, INCLUDE_FILE, KEYS, LOWER, USER, Config, Setting, row_key
from fleet_tui.errors import UsageError
from fleet_tui.fast_dataclasses import dataclass, field, replace

if TYPE_CHECKING:
    from fleet_tui.permissions.rules import PermissionRule


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """What a project's configuration and include file say."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """Converted values by key, without the refused ones."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """What needs trust, as written in the files."""
    include: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Keys that a project may not set, or not to that value."""
    text: str = ""
    """The configuration file."""


def asked_by(project: Path, *, include: bool = True) -> ProjectFiles:
    """Read a project's files, compared with the user's settings."""
    user_file = paths.user_config()
    user = dict(settings_in(read(user_file), user_file, []))
    return read_project_files(project, user, [], include=include)


def read_project_files(
    project: Path,
    user: Mapping[str, object],
    warnings: list[str],
    *,
    include: bool,
    text: str | None = None,
    problems: list[str] | None = None,
) -> ProjectFiles:
    """Read a project's files; `text` replaces the content of its configuration.

    With `problems`, invalid values are added to them and left out.
    """
    file = paths.project_config(project)
    text = (read_text(file, inside=project) or "") if text is None else text
    document = parse(text, file) if text else {}
    settings: dict[str, object] = {}
    refused: list[str] = []
    for key, value in settings_in(document, file, warnings, is_project=True, problems=problems):
        row = KEYS[row_key(key)]
        if row.authority is USER:
            refused.append(key)
            warnings.append(f"{file}: {key} is ignored here; set it in {paths.user_config()}")
            continue
        limit = user.get(key, row.default)
        allowed = _wrong_way(row, value, limit)
        if allowed:
            refused.append(key)
            warnings.append(f"{file}: {key} is ignored: a project may only {allowed} it, from {limit:g}")
            continue
        settings[key] = value
    parts = {key: _written(document, key) for key in settings if _needs_trust(key, settings, user)}
    lines = read_include(project) if include else ()
    if lines:
        parts[INCLUDE_FILE] = list(lines)
    return ProjectFiles(settings, parts, lines, tuple(refused), text)


def check_project_value(key: str, value: object) -> None:
    """Refuse a value that would be ignored in a project's file; it is converted as `settings_in` does."""
    row = KEYS[row_key(key)]
    if row.authority is USER:
        raise UsageError(f"{key} counts only in your own file", hint="add --user")
    file = paths.user_config()
    if row.authority not in (LOWER, HIGHER):
        return
    limit = dict(settings_in(read(file), file, [])).get(key, row.default)
    allowed = _wrong_way(row, value, limit)
    if allowed:
        raise UsageError(
            f"a project can only {allowed} {key}, from {limit:g}",
            hint="add --user to change it in your own file",
        )


def _wrong_way(row: Setting, value: object, limit: object) -> str:
    """What a project may do with a limit of the user's ("lower", "raise") if this value does the opposite; else empty."""
    if row.authority is LOWER and cast("float", value) > cast("float", limit):
        return "lower"
    if row.authority is HIGHER and cast("float", value) < cast("float", limit):
        return "raise"
    return ""


def _written(document: Mapping[str, Any], key: str) -> object:
    section, _, name = key.partition(".")
    return document[section][name]


def _needs_trust(key: str, settings: Mapping[str, object], user: Mapping[str, object]) -> bool:
    """Whether the project's value differs from the user's in a way that can do harm."""
    authority, value = KEYS[row_key(key)].authority, settings[key]
    if authority.name != "trusted" or value in authority.harmless or value == _users(key, user):
        return False
    if key == "approve.rules":
        return _has_allow(value)
    if key == "approve.mode" and APPROVE_MODES.index(str(value)) > APPROVE_MODES.index(
        str(_users(key, user))
    ):
        # "shadow" only logs. Without a rule that allows something, "on" only makes agents ask more.
        rules = (settings.get("approve.rules"), user.get("approve.rules"))
        return value == "on" and any(map(_has_allow, rules))
    return True


def _users(key: str, user: Mapping[str, object]) -> object:
    """The user's value, without the project."""
    if key == "agent.default":
        return user.get(key) or user.get("defaults.agent") or KEYS[key].default
    return user.get(key, None if key.startswith("env.") else KEYS[key].default)


def _has_allow(rules: object) -> bool:
    return any(rule.decision == "allow" for rule in cast("tuple[PermissionRule, ...]", rules or ()))


def restricted(project: ProjectFiles, missing: Mapping[str, Any]) -> dict[str, object]:
    """The project's settings without the untrusted parts; rules that deny or ask stay."""
    found = {key: value for key, value in project.settings.items() if key not in missing}
    if "approve.rules" in missing:
        rules = project.settings["approve.rules"]
        found["approve.rules"] = _restricting(cast("tuple[PermissionRule, ...]", rules))
    return found


def _restricting(rules: tuple[PermissionRule, ...]) -> tuple[PermissionRule, ...]:
    return tuple(rule for rule in rules if rule.decision != "allow")


def only_restricting(config: Config, project: ProjectFiles) -> Config:
    """Turn on the rules that deny or ask, the user's included, for a project that wants its rules on but is not trusted."""
    rules = cast("tuple[PermissionRule, ...]", project.settings.get("approve.rules") or ())
    if not _restricting(rules):
        return config
    return replace(config, approve_mode="on", approve_rules=_restricting(config.approve_rules))
