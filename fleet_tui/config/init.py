"""Write a project's first configuration: detect its type, choose a preset, take over an ai-fleet configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.config import trust_store
from fleet_tui.config.files import read, write
from fleet_tui.config.kinds import PATH, InvalidValue, ValueKind
from fleet_tui.config.project_files import read_project_files
from fleet_tui.config.settings import KEYS
from fleet_tui.errors import FleetError, NotFound, Refused, UsageError
from fleet_tui.system import files

TYPES = ("rails", "node", "python", "generic", "minimal")
_IGNORED_WORKTREES = ".aifleet/worktrees/"


def detect_type(project: Path) -> str:
    """rails, node, python or generic, by the files in the project's root."""

    def count(weights: Mapping[str, int]) -> int:
        return sum(weight for name, weight in weights.items() if (project / name).is_file())

    if (project / "Gemfile").is_file() and count({"config/application.rb": 1, "bin/rails": 1}):
        return "rails"
    python = count({"manage.py": 4, "setup.py": 4, "requirements.txt": 2, "Pipfile": 2, "setup.cfg": 1})
    python += _pyproject_weight(project)
    node = 0
    if (project / "package.json").is_file():
        lock_files = ("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock")
        node = 2 + count({"tsconfig.json": 1}) + any((project / name).is_file() for name in lock_files)
    if python and python >= node:
        return "python"
    return "node" if node else "generic"


def _pyproject_weight(project: Path) -> int:
    """High for a package or application, low for a file that only configures tools."""
    file = project / "pyproject.toml"
    try:
        text = files.read(file, inside=project).decode("utf-8", "replace")
    except OSError:
        return int(file.is_file())
    return 4 if re.search(r"(?m)^\[(project|build-system|tool\.poetry)\]", text) else 1


def preset(kind: str, project: Path | None = None) -> str:
    """The text of a first config.toml. With a project, it names only files and commands that fit its contents."""
    if kind not in TYPES:
        raise UsageError(f"unknown project type {kind!r}", hint="choose from " + ", ".join(TYPES))
    name = _toml_string(project.name if project else "my-project")
    if kind == "minimal":
        return f"[project]\nname = {name}\n"
    files, commands, remark = _setup_of(kind, project)
    return _PRESET.format(
        name=name,
        files=_toml_strings(files),
        commands=_toml_strings(commands),
        remark="".join(f"# {line}\n" for line in remark),
    )


_PRESET = """\
# Settings of this project for fleet; `fleet config` shows all keys, `fleet config --validate` checks them.

[project]
name = {name}
# worktree_root = "../worktrees"

[agent]
# The profile or program that agents run; users can choose their own with defaults.agent.
# default = "claude"
# What agents may do without asking: "ask" (nothing), "edits" (change files), "all" (everything).
# permission_mode = "ask"
# Extra flags for claude. Agents ask before they act unless this says otherwise, so think before enabling:
# claude_flags = "--dangerously-skip-permissions"

[setup]
# Ignored files that every worktree needs; they are copied, never committed.
credential_files = {files}
# Shell commands to run in each new worktree before the agent starts; `--quick` skips them.
commands = {commands}
{remark}# quick = false
"""


def _setup_of(kind: str, project: Path | None) -> tuple[list[str], list[str], list[str]]:
    """Credential files, setup commands and remarks for a type of project."""

    def has(*names: str) -> bool:
        return project is not None and any((project / name).is_file() for name in names)

    files: list[str] = []
    commands: list[str] = []
    remark: list[str] = []
    if kind == "rails":
        files = ["config/master.key", ".env", ".env.local"]
        commands = ["bundle install"]
        if project is None or has("package.json", "yarn.lock"):
            commands.append("yarn install")
        remark = [
            "Do not migrate a database that agents share. Once each has its own:",
            'commands = ["bundle install", "bundle exec rails db:migrate"]',
        ]
    elif kind == "node":
        files = [".env", ".env.local"]
        commands = [_node_install(has)]
    elif kind == "python":
        files = [".env"]
        commands = _python_install(has, unknown=project is None)
    if has(".gitmodules"):
        # Git leaves submodules empty in a new worktree.
        commands.insert(0, "git submodule update --init --recursive")
    if project is not None:
        files = [name for name in files if (project / name).is_file()]
    return files, commands, remark


def _node_install(has: Callable[..., bool]) -> str:
    if has("pnpm-lock.yaml"):
        return "pnpm install --frozen-lockfile"
    if has("yarn.lock"):
        return "yarn install"
    return "npm ci" if has("package-lock.json") else "npm install"


def _python_install(has: Callable[..., bool], *, unknown: bool) -> list[str]:
    if has("uv.lock"):
        return ["uv sync"]
    if has("poetry.lock"):
        return ["poetry install"]
    if unknown or has("requirements.txt"):
        return ["python3 -m venv .venv", ".venv/bin/pip install -r requirements.txt"]
    if has("pyproject.toml", "setup.py"):
        return ["python3 -m venv .venv", ".venv/bin/pip install -e ."]
    return []


def _toml_string(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\"}
    return (
        '"'
        + "".join(
            escapes.get(char, char if char.isprintable() else f"\\U{ord(char):08x}")
            for char in text.encode("utf-8", "replace").decode()
        )
        + '"'
    )


def _toml_strings(items: list[str]) -> str:
    return "[" + ", ".join(_toml_string(item) for item in items) + "]"


def init(project: Path, kind: str | None = None, *, migrate_legacy: bool = False) -> list[Path]:
    """Write a project's first config.toml and return every file written; refused if it has one."""
    file = paths.project_config(project)
    if os.path.lexists(file):
        raise Refused(f"{file} already exists", hint="change it with: fleet config --edit")
    text = preset(kind or detect_type(project), project)
    legacy = Path.home() / ".ai_fleet" / "config.toml"
    if migrate_legacy:
        text = _migrated(text, legacy, project)
    try:
        write(file, text.encode(), new=True, inside=project)
    except FileExistsError as error:
        raise Refused(f"{file} already exists", hint="change it with: fleet config --edit") from error
    except OSError as error:
        raise FleetError(
            f"cannot write {file}: {error.strerror}", hint="check the folder's permissions"
        ) from error
    # The user has just asked for this content, so it needs no further question. Other files still do.
    trust_store.add(project, read_project_files(project, {}, [], include=False, text=text).parts)
    written = [file, *_ignore_worktrees(project)]
    if migrate_legacy:
        written.append(_set_aside(legacy))
    return written


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
    old = read(legacy)
    home = _legacy_value(old, "repo_root", PATH, legacy)
    if isinstance(home, Path) and home.is_dir() and home.resolve() != project.resolve():
        raise Refused(f"{legacy} belongs to {home}", hint=f"run fleet init --migrate-legacy in {home}")
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


def _ignore_worktrees(project: Path) -> list[Path]:
    """Add the folder of worktrees to the project's .gitignore, if it has one."""
    file = project / ".gitignore"
    try:
        content = files.read(file, inside=project)
    except OSError:
        return []
    covered = {b".aifleet", b".aifleet/worktrees", b".aifleet/*"}
    if any(line.strip().strip(b"/") in covered for line in content.splitlines()):
        return []
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    if content and not content.endswith(b"\n"):
        content += newline
    write(file, content + _IGNORED_WORKTREES.encode() + newline, inside=project)
    return [file]
