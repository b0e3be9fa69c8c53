"""Initializing: project types, presets, and taking over an ai-fleet configuration."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.config import init, presets
from fleet_tui.config.files import write
from fleet_tui.config.load import load
from fleet_tui.config.presets import TYPES, Detected
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

    assert presets.detect(project).kind == expected


@pytest.mark.parametrize("kind", TYPES)
def test_a_preset_loads_without_warnings_and_asks_for_permission(project: Path, kind: str) -> None:
    write_project(project, presets.preset(kind, project))

    loaded = load(project)

    assert loaded.warnings == ()
    assert loaded.claude_flags == ()
    assert loaded.permission_mode == "ask"


def test_a_preset_leaves_the_users_own_choices_alone(project: Path) -> None:
    write_user('[defaults]\nagent = "codex"\n[agent]\npermission_mode = "edits"\n[setup]\nquick = true\n')
    init.init(project, "node")

    loaded = load(project)

    assert (loaded.agent_default, loaded.permission_mode, loaded.quick) == ("codex", "edits", True)


def test_a_preset_sets_what_the_project_has_and_comments_the_rest(project: Path) -> None:
    (project / ".env").write_text("")
    (project / "Gemfile").write_text("")
    text = presets.preset("rails", project)
    write_project(project, text)
    assert load(project).credential_files == (".env",)
    assert load(project).setup_commands == ("bundle install",)
    assert '# Add when the project has them: "config/master.key", ".env.local"' in text
    assert '# commands = ["bundle install", "bundle exec rails db:migrate"]' in text

    text = presets.preset("python", project)
    write_project(project, text)
    assert load(project).setup_commands == ()
    assert '# commands = ["python3 -m venv .venv", ".venv/bin/pip install -r requirements.txt"]' in text


@pytest.mark.parametrize(
    ("kind", "files", "commands"),
    [
        ("rails", ["Gemfile", "package.json", "yarn.lock"], ["bundle install", "yarn install"]),
        ("rails", ["Gemfile"], ["bundle install"]),
        ("node", ["package.json"], ["npm install"]),
        ("node", ["package.json", "package-lock.json"], ["npm ci"]),
        ("node", ["package.json", "bun.lock"], ["bun install --frozen-lockfile"]),
        ("node", [], []),
        (
            "python",
            ["requirements.txt"],
            ["python3 -m venv .venv", ".venv/bin/pip install -r requirements.txt"],
        ),
        ("python", ["pyproject.toml"], ["python3 -m venv .venv", ".venv/bin/pip install -e ."]),
        ("python", ["pyproject.toml", "uv.lock"], ["uv sync"]),
    ],
)
def test_a_preset_runs_only_commands_that_fit(
    project: Path, kind: str, files: list[str], commands: list[str]
) -> None:
    for name in files:
        (project / name).write_text("")
    text = presets.preset(kind, project)

    assert tomllib.loads(text)["setup"]["commands"] == commands
    # Every commented line of commands is valid, too.
    for line in text.splitlines():
        if line.startswith("# commands = "):
            assert tomllib.loads(line.removeprefix("# "))["commands"]


def test_a_detection_names_the_files_for_it_and_against_it(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\nname = 'django'\n")
    (project / "package.json").write_text("{}")

    assert presets.detect(project) == Detected("python", ("pyproject.toml",), ("package.json",))


def test_a_project_name_of_any_kind_makes_a_valid_preset(tmp_path: Path) -> None:
    for name in ('quo"te', "back\\slash", "new\nline", "tab\t", "ünï", "{brace}", "\udcff"):
        parsed = tomllib.loads(presets.preset("generic", tmp_path / name))
        assert parsed["project"]["name"] == name.encode("utf-8", "replace").decode()


def test_init_writes_one_file_and_leaves_gitignore_alone(project: Path) -> None:
    """Worktrees are outside the repository."""
    (project / ".gitignore").write_text("build")

    written = init.init(project)

    assert written == [paths.project_config(project)]
    assert (project / ".gitignore").read_text() == "build"


def test_init_refuses_a_file_in_place_of_its_folder(project: Path) -> None:
    folder = paths.project_config(project).parent
    folder.write_text("mine")

    with pytest.raises(Refused, match="is not a folder"):
        init.init(project)

    assert folder.read_text() == "mine"


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

    written = init.init(project, migrate_legacy=True)

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

    with pytest.raises(UsageError) as caught:
        init.init(project, migrate_legacy=True)

    assert caught.value.hint == "fix it first"
    assert legacy.read_text() == text
    assert not paths.project_config(project).exists()


def test_migrating_refuses_the_configuration_of_another_repository(project: Path, tmp_path: Path) -> None:
    write_legacy(LEGACY.format(root=tmp_path))
    with pytest.raises(Refused, match="belongs to"):
        init.init(project, migrate_legacy=True)


def test_migrating_nothing_is_not_found(project: Path) -> None:
    with pytest.raises(NotFound):
        init.init(project, migrate_legacy=True)
    legacy = write_legacy(f'repo_root = "{project}"\nother = 1\n')
    with pytest.raises(NotFound, match="sets nothing"):
        init.init(project, migrate_legacy=True)

    assert legacy.exists()
    assert not paths.project_config(project).exists()
