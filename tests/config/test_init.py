"""Initializing: project types, presets, and taking over an ai-fleet configuration."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.config import init
from fleet_tui.config.files import write
from fleet_tui.config.init import TYPES
from fleet_tui.config.load import load
from fleet_tui.errors import NotFound, Refused, UsageError
from tests.config.projects import project, write_project, write_user

__all__ = ["project"]


@pytest.mark.parametrize("kind", ["generic", "node"])
def test_a_first_configuration_fills_submodules_which_git_leaves_empty(project: Path, kind: str) -> None:
    (project / ".gitmodules").write_text("")

    init.init(project, kind)

    assert load(project).setup_commands[0] == "git submodule update --init --recursive"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "generic"),
        ({"package.json": "{}"}, "node"),
        ({"requirements.txt": ""}, "python"),
        (
            {"pyproject.toml": "[project]\nname='django'\n", "package.json": "{}", "package-lock.json": ""},
            "python",
        ),
        ({"manage.py": "", "package.json": "{}", "yarn.lock": "", "tsconfig.json": "{}"}, "python"),
        ({"pyproject.toml": "[tool.ruff]\n", "package.json": "{}"}, "node"),
        (
            {"requirements.txt": "", "package.json": "{}", "package-lock.json": "", "tsconfig.json": "{}"},
            "node",
        ),
        ({"Gemfile": "", "config/application.rb": "", "package.json": "{}"}, "rails"),
        ({"Gemfile": "", "bin/rails": ""}, "rails"),
        ({"Gemfile": "", "package.json": "{}"}, "node"),
        ({"Gemfile": ""}, "generic"),
    ],
)
def test_a_projects_type_is_detected_from_its_root(
    project: Path, files: dict[str, str], expected: str
) -> None:
    for name, content in files.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(content)

    assert init.detect_type(project) == expected


@pytest.mark.parametrize("kind", TYPES)
def test_a_preset_loads_without_warnings_and_asks_for_permission(project: Path, kind: str) -> None:
    write_project(project, init.preset(kind))

    loaded = load(project)

    assert loaded.warnings == ()
    assert loaded.claude_flags == ()
    assert loaded.permission_mode == "ask"


def test_a_preset_leaves_the_users_own_choices_alone(project: Path) -> None:
    write_user('[defaults]\nagent = "codex"\n[agent]\npermission_mode = "edits"\n[setup]\nquick = true\n')
    init.init(project, "node")

    loaded = load(project)

    assert (loaded.agent_default, loaded.permission_mode, loaded.quick) == ("codex", "edits", True)


def test_a_preset_names_only_what_the_project_has(project: Path) -> None:
    (project / ".env").write_text("")
    write_project(project, init.preset("rails", project))
    assert load(project).credential_files == (".env",)
    assert load(project).setup_commands == ("bundle install",)

    write_project(project, init.preset("python", project))
    assert load(project).setup_commands == ()


def test_a_project_name_of_any_kind_makes_a_valid_preset(tmp_path: Path) -> None:
    for name in ('quo"te', "back\\slash", "new\nline", "tab\t", "ünï", "{brace}", "\udcff"):
        parsed = tomllib.loads(init.preset("generic", tmp_path / name))
        assert parsed["project"]["name"] == name.encode("utf-8", "replace").decode()


def test_init_writes_the_config_and_one_line_of_gitignore(project: Path) -> None:
    (project / ".gitignore").write_text("build")
    (project / ".gitignore").chmod(0o600)

    written = init.init(project)

    assert written == [paths.project_config(project), project / ".gitignore"]
    assert (project / ".gitignore").read_text() == "build\n.aifleet/worktrees/\n"
    assert stat.S_IMODE((project / ".gitignore").stat().st_mode) == 0o600


@pytest.mark.parametrize("line", [".aifleet/", "/.aifleet/worktrees", ".aifleet/worktrees/", "  .aifleet  "])
def test_init_leaves_a_gitignore_with_that_line_alone(project: Path, line: str) -> None:
    (project / ".gitignore").write_text(f"a\n{line}\nb\n")
    assert init.init(project) == [paths.project_config(project)]


def test_init_creates_no_gitignore(project: Path) -> None:
    init.init(project, "minimal")
    assert not (project / ".gitignore").exists()


def test_init_refuses_to_replace_a_config(project: Path) -> None:
    file = write_project(project, "# mine\n")

    with pytest.raises(Refused, match="already exists"):
        init.init(project, "generic")

    assert file.read_text() == "# mine\n"


def test_a_configuration_created_in_the_meantime_is_not_replaced(project: Path) -> None:
    file = write_project(project, "# theirs\n")

    with pytest.raises(FileExistsError):
        write(file, b"# ours\n", new=True)

    assert file.read_text() == "# theirs\n"
    assert list(file.parent.iterdir()) == [file]


def test_init_refuses_an_unknown_type(project: Path) -> None:
    with pytest.raises(UsageError, match="unknown project type"):
        init.init(project, "cobol")


LEGACY = (
    'repo_root = "{root}"\nworktree_root = "~/trees"\ntmux_prefix = "t_"\ndefault_agent = "codex"\n'
    'claude_flags = "--model opus"\ncredential_files = ["a.key"]\nsetup_commands = ["make it"]\nquick_setup = true\n'
)


def write_legacy(text: str) -> Path:
    file = Path.home() / ".ai_fleet" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_migrating_carries_every_legacy_value_over_and_sets_the_old_file_aside(project: Path) -> None:
    legacy = write_legacy(LEGACY.format(root=project))
    backup = legacy.with_name("config.toml.backup")
    backup.write_text("older")

    written = init.init(project, None, migrate_legacy=True)

    loaded = load(project)
    assert (loaded.agent_default, loaded.tmux_prefix, loaded.quick) == ("codex", "t_", True)
    assert (loaded.claude_flags, loaded.setup_commands) == (("--model", "opus"), ("make it",))
    assert (loaded.credential_files, loaded.worktree_root) == (("a.key",), Path.home() / "trees")
    assert not legacy.exists()
    assert written[-1].read_text() == LEGACY.format(root=project)
    assert backup.read_text() == "older"


@pytest.mark.parametrize("text", ["quick_setup = 3\n", "repo_root = 7\n", "default_agent = ["])
def test_an_invalid_legacy_file_stays_in_place(project: Path, text: str) -> None:
    legacy = write_legacy(text)

    with pytest.raises(UsageError):
        init.init(project, None, migrate_legacy=True)

    assert legacy.read_text() == text
    assert not paths.project_config(project).exists()


def test_migrating_refuses_the_configuration_of_another_repository(project: Path, tmp_path: Path) -> None:
    write_legacy(LEGACY.format(root=tmp_path))
    with pytest.raises(Refused, match="belongs to"):
        init.init(project, None, migrate_legacy=True)


def test_migrating_nothing_is_not_found(project: Path) -> None:
    with pytest.raises(NotFound):
        init.init(project, None, migrate_legacy=True)
