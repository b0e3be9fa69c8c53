"""Write a project's first configuration, from a preset or from an old ai-fleet configuration."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.config import trust_store
from fleet_tui.config.files import check_folder, read, write
from fleet_tui.config.kinds import PATH, InvalidValue, ValueKind
from fleet_tui.config.presets import Detected, detect, preset
from fleet_tui.config.project_files import read_project_files
from fleet_tui.config.settings import KEYS
from fleet_tui.errors import FleetError, NotFound, Refused, UsageError
from fleet_tui.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FirstConfig:
    """What `init` will write."""

    file: Path
    text: str
    settings: Mapping[str, object]
    """The values in the text by key, in its order."""
    detected: Detected | None = None
    """None if the user chose the kind."""
    kind: str = ""


def plan(project: Path, kind: str = "", *, migrate_legacy: bool = False) -> FirstConfig:
    """The first config.toml of a project, not yet written; refused if the project has one."""
    file = paths.project_config(project)
    if os.path.lexists(file):
        raise _exists(file)
    check_folder(file.parent)
    detected = None if kind else detect(project)
    kind = detected.kind if detected else kind
    text = preset(kind, project)
    if migrate_legacy:
        text = _migrated(text, _legacy_file(), project)
    return FirstConfig(file, text, _flat(tomllib.loads(text)), detected, kind)


def _exists(file: Path) -> Refused:
    return Refused(
        f"{file} already exists", hint="fleet config --edit changes it, fleet config shows what it sets"
    )


def _flat(document: Mapping[str, Any]) -> dict[str, object]:
    return {f"{section}.{key}": value for section, table in document.items() for key, value in table.items()}


def _legacy_file() -> Path:
    return Path.home() / ".ai_fleet" / "config.toml"


def init(project: Path, kind: str = "", *, migrate_legacy: bool = False) -> list[Path]:
    """Write a project's first config.toml and return every file written; refused if it has one."""
    made = plan(project, kind, migrate_legacy=migrate_legacy)
    file = made.file
    try:
        write(file, made.text.encode(), new=True, inside=project)
    except FileExistsError as error:
        raise _exists(file) from error
    except OSError as error:
        raise FleetError(
            f"cannot write {file}: {error.strerror}", hint="check the folder's permissions"
        ) from error
    # The user has just asked for this content, so it needs no further question. Other files still do.
    trust_store.add(project, read_project_files(project, {}, [], include=False, text=made.text).parts)
    return [file, _set_aside(_legacy_file())] if migrate_legacy else [file]


_LEGACY = {
    "worktree_root": "project.worktree_root",
    "default_agent": "agent.default",
    "claude_flags": "agent.claude_flags",
    "credential_files": "setup.credential_files",
    "setup_commands": "setup.commands",
    "quick_setup": "setup.quick",
    "tmux_prefix": "tmux.prefix",
}


def _migrated(text: str, legacy: Path, project: Path) -> str:
    """The preset with the values of ai-fleet's configuration, which had one file for all projects."""
    import tomlkit

    if not legacy.is_file():
        raise NotFound(f"no legacy configuration at {legacy}", hint="run fleet init without --migrate-legacy")
    try:
        old = read(legacy)
    except UsageError as error:
        raise UsageError(error.message, hint="fix it first") from error
    home = _legacy_value(old, "repo_root", PATH, legacy)
    if isinstance(home, Path) and home.is_dir() and home.resolve() != project.resolve():
        raise Refused(f"{legacy} belongs to {home}", hint=f"run fleet init --migrate-legacy in {home}")
    if old.keys().isdisjoint(_LEGACY):
        raise NotFound(
            f"{legacy} sets nothing that can be migrated", hint="run fleet init without --migrate-legacy"
        )
    document = tomlkit.parse(text)
    for name, key in _LEGACY.items():
        if name not in old:
            continue
        _legacy_value(old, name, KEYS[key].kind, legacy)
        section, _, field_name = key.partition(".")
        document.setdefault(section, tomlkit.table())[field_name] = old[name]
    return tomlkit.dumps(document)


def _legacy_value(old: dict[str, Any], name: str, kind: ValueKind, legacy: Path) -> object:
    try:
        return kind.from_toml(old[name]) if name in old else None
    except InvalidValue as error:
        raise UsageError(f"{legacy}: {name} must be {kind.expected}", hint="fix it first") from error


def _set_aside(legacy: Path) -> Path:
    backup = legacy.with_name("config.toml.backup")
    number = 1
    while os.path.lexists(backup):
        backup = legacy.with_name(f"config.toml.backup.{number}")
        number += 1
    legacy.rename(backup)
    return backup
