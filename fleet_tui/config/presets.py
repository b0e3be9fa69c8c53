"""Detect what kind of project a repository is, and write the text of its first configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from fleet_tui.errors import UsageError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.system import files

TYPES = ("rails", "node", "python", "generic", "minimal")


@dataclass(frozen=True, slots=True)
class Detected:
    """The kind of a project."""

    kind: str
    because: tuple[str, ...] = ()
    """The files that the kind was detected by; none for a generic project."""
    despite: tuple[str, ...] = ()
    """Files that point to another kind."""


def detect(project: Path) -> Detected:
    """Detect rails, node, python or generic by the files in the project's root."""

    def found(*names: str) -> tuple[str, ...]:
        return tuple(name for name in names if (project / name).is_file())

    def weight(weights: Mapping[str, int]) -> int:
        return sum(weights[name] for name in found(*weights))

    rails = found("config/application.rb", "bin/rails")
    if rails and found("Gemfile"):
        return Detected("rails", ("Gemfile", *rails))
    python = weight({"manage.py": 4, "setup.py": 4, "requirements.txt": 2, "Pipfile": 2, "setup.cfg": 1})
    python += _pyproject_weight(project)
    python_files = found(
        "pyproject.toml", "setup.py", "manage.py", "requirements.txt", "Pipfile", "setup.cfg"
    )
    node_files = found("package.json")
    node = 0
    if node_files:
        locks = found("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock")
        node = 2 + weight({"tsconfig.json": 1}) + bool(locks)
        node_files += locks
    if python and python >= node:
        return Detected("python", python_files, node_files)
    return Detected("node", node_files, python_files) if node else Detected("generic")


def _pyproject_weight(project: Path) -> int:
    """High for a package or application, low for a file that only configures tools."""
    file = project / "pyproject.toml"
    try:
        text = files.read(file, inside=project).decode("utf-8", "replace")
    except OSError:
        return int(file.is_file())
    return 4 if re.search(r"(?m)^\[(project|build-system|tool\.poetry)\]", text) else 1


def preset(kind: str, project: Path) -> str:
    """The text of a first config.toml: settings that fit the project's files, and others as comments."""
    if kind not in TYPES:
        raise UsageError(f"unknown project type {kind!r}", hint="choose from " + ", ".join(TYPES))
    name = _toml_string(project.name)
    if kind == "minimal":
        return f"[project]\nname = {name}\n"
    setup = _setup_of(kind, project)
    return _PRESET.format(
        name=name,
        files=_toml_strings(setup.files),
        file_remarks=_comments(setup.file_remarks),
        commands=_toml_strings(setup.commands),
        remarks=_comments(setup.remarks),
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
{file_remarks}# Shell commands to run in each new worktree before the agent starts; `--quick` skips them.
# If one fails, the agent does not start.
commands = {commands}
{remarks}# quick = false
"""


@dataclass(frozen=True, slots=True)
class _Setup:
    """The [setup] of a preset."""

    files: list[str]
    file_remarks: list[str]
    commands: list[str]
    remarks: list[str]
    """Comments, some of them commands that may not fit."""


def _setup_of(kind: str, project: Path) -> _Setup:
    def has(*names: str) -> bool:
        return any((project / name).is_file() for name in names)

    wanted, commands, remarks = _PRESETS[kind](has)
    if has(".gitmodules"):
        # Git leaves submodules empty in a new worktree.
        commands.insert(0, "git submodule update --init --recursive")
    missing = [name for name in wanted if not has(name)]
    file_remarks = [f"Add when the project has them: {_toml_strings(missing)[1:-1]}"] if missing else []
    return _Setup([name for name in wanted if has(name)], file_remarks, commands, remarks)


Has = Callable[..., bool]
"""Whether the project has any of these files."""


def _rails(has: Has) -> tuple[list[str], list[str], list[str]]:
    """Credential files, setup commands and remarks, as for the other kinds."""
    commands = ["bundle install"]
    if has("package.json"):
        commands.append(_node_install(has))
    migrate = _toml_strings([*commands, "bundle exec rails db:migrate"])
    remarks = ["Do not migrate a database that agents share. Once each has its own:", f"commands = {migrate}"]
    if not has("Gemfile"):
        commands, remarks = [], ["When there is a Gemfile:", 'commands = ["bundle install"]', *remarks]
    return ["config/master.key", ".env", ".env.local"], commands, remarks


def _node(has: Has) -> tuple[list[str], list[str], list[str]]:
    files = [".env", ".env.local"]
    if has("package.json"):
        return files, [_node_install(has)], []
    return files, [], ["When there is a package.json:", 'commands = ["npm install"]']


def _node_install(has: Has) -> str:
    if has("pnpm-lock.yaml"):
        return "pnpm install --frozen-lockfile"
    if has("yarn.lock"):
        return "yarn install"
    if has("bun.lock"):
        return "bun install --frozen-lockfile"
    return "npm ci" if has("package-lock.json") else "npm install"


def _python(has: Has) -> tuple[list[str], list[str], list[str]]:
    files = [".env"]
    if has("uv.lock"):
        return files, ["uv sync"], []
    if has("poetry.lock"):
        return files, ["poetry install"], []
    if has("requirements.txt"):
        remarks = [
            "To install into the environment that fleet runs in, which all agents then share:",
            'commands = ["pip install -r requirements.txt"]',
        ]
        return files, _in_venv("-r requirements.txt"), remarks
    if has("pyproject.toml", "setup.py"):
        return files, _in_venv("-e ."), []
    install = _toml_strings(_in_venv("-r requirements.txt"))
    return files, [], ["When there is a requirements.txt:", f"commands = {install}"]


def _in_venv(what: str) -> list[str]:
    return ["python3 -m venv .venv", f".venv/bin/pip install {what}"]


def _generic(has: Has) -> tuple[list[str], list[str], list[str]]:
    return [], [], []


_PRESETS: Mapping[str, Callable[[Has], tuple[list[str], list[str], list[str]]]] = {
    "rails": _rails,
    "node": _node,
    "python": _python,
    "generic": _generic,
}


def _comments(lines: list[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)


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
