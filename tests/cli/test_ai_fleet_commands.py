"""The command lines of ai-fleet 0.1.3: fleet accepts each, and the README names every outcome that differs."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from fleet_tui import paths
from tests.cli.commands import ECHOER, Cli, all_commands, cli, project
from tests.conftest import git
from tests.lifecycle.trusted_projects import write_trusted

__all__ = ["cli", "project"]

PARAMETERS = {
    "init": "--type --migrate-legacy",
    "create": "ARGUMENT --prompt -p --agent -a",
    "list": "--grouped -g --all -a --watch -w",
    "prompt": "ARGUMENT",
    "attach": "ARGUMENT",
    "logs": "ARGUMENT -n --lines",
    "kill": "ARGUMENT --batch -b --force -f --delete-branch -d",
    "fanout": "ARGUMENT ARGUMENT --prompt -p --agent -a --quick",
    "multi": "ARGUMENT --agent -a --quick",
    "config": "--edit -e --validate -v --show-origin",
    "update": "--check --force",
}
"""What ai-fleet's commands take; README also gives --quick to create."""

CONFIG = """\
[project]
name = "shop"
worktree_root = "{trees}"

[agent]
default = "echoer"
claude_flags = "--dangerously-skip-permissions"

[setup]
credential_files = []
commands = []
quick = false

[tmux]
prefix = "ai_"
"""
"""As ai-fleet's init wrote it, with our program as agent."""

USER_CONFIG = """\
[defaults]
agent = "claude"
worktree_base = "~/.aifleet/worktrees"
[ui]
color = true
log_lines = 50
[updates]
check_on_startup = true
check_interval_hours = 24
"""


@dataclass(frozen=True)
class Line:
    """A command line with ai-fleet's exit code and ours, and the words of the README about the difference."""

    line: str
    theirs: int
    ours: int
    readme: str = ""


LINES = [
    Line("--version", 0, 0),
    Line("list", 0, 0),
    Line("create fix-auth --prompt 'Fix the login'", 0, 0),
    Line("create fix-auth", 1, 4, "exit codes"),
    Line("create existing", 0, 4, "--existing"),
    Line("create bad -a nosuch", 1, 3, "exit codes"),
    Line("create other -p 'Fix it' --agent other", 0, 0),
    Line("create gone -p /no/such/file -a ls", 0, 7, "exits at once"),
    Line("kill -f gone", 0, 0, "to the trash"),
    Line("fanout 1 auth -p 'Fix it'", 0, 0),
    Line("fanout 1 auth --prompt x -a other --quick", 0, 0, "next free letters"),
    Line("fanout 0 -p x", 1, 2, "exit codes"),
    Line("fanout 101 -p x", 1, 2, "exit codes"),
    Line("multi 'fix-1 : Fix it' -a other --quick", 0, 0),
    Line("multi nothing", 1, 2, "exit codes"),
    Line("multi fix-1:again m3:three", 0, 4, "all of its agents or none"),
    Line("l", 0, 0),
    Line("list --grouped --all", 0, 0, "all projects"),
    Line("list -g -a", 0, 0, "all projects"),
    Line("prompt fix-auth 'Add tests'", 0, 0, "waits until the agent is ready"),
    Line("prompt nobody hi", 1, 3, "exit codes"),
    Line("logs fix-auth", 0, 0),
    Line("logs fix-auth -n 200", 0, 0),
    Line("logs fix-auth --lines 0", 0, 0),
    Line("logs fix-auth -n -5", 0, 2, "exit codes"),
    Line("logs nobody", 1, 3, "exit codes"),
    Line("attach nobody", 1, 3, "exit codes"),
    Line("config", 0, 0, "every key"),
    Line("config --show-origin", 0, 0, "every key"),
    Line("config --validate", 0, 0),
    Line("config -v", 0, 0),
    Line("config --edit", 0, 0),
    Line("config -e", 0, 0),
    Line("init", 1, 4, "exit codes"),
    Line("init --type node", 1, 4, "exit codes"),
    Line("init --migrate-legacy", 0, 4, "replaces no file"),
    Line("update", 0, 0, "prints the command"),
    Line("kill", 1, 2, "exit codes"),
    Line("kill nothing", 1, 3, "exit codes"),
    Line("kill --batch nothing", 1, 3, "exit codes"),
    Line("kill fix-auth", 0, 2, "needs `-f`"),
    Line("kill 'auth-*' --force", 0, 0, "to the trash"),
    Line("kill -f -d fix-1", 0, 0, "to the trash"),
    Line("kill -b {batch} -f --delete-branch", 0, 0),
]


def test_every_command_and_flag_of_ai_fleet_is_accepted() -> None:
    commands = all_commands()

    for name, taken in PARAMETERS.items():
        words = taken.split()
        params = commands[name].params
        options = {spelling for param in params if isinstance(param, click.Option) for spelling in param.opts}
        arguments = [param for param in params if isinstance(param, click.Argument)]
        assert {word for word in words if word != "ARGUMENT"} <= options, name
        room = sum(100 if param.nargs == -1 else 1 for param in arguments)
        assert words.count("ARGUMENT") <= room, name
    assert "--quick" in {spelling for param in commands["create"].params for spelling in param.opts}


def test_the_command_lines_of_ai_fleet_end_as_documented(
    cli: Cli, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "branch", "existing")
    write_trusted(project, CONFIG.format(trees=tmp_path / "trees"))
    (tmp_path / "bin" / "other").write_text(ECHOER)
    (tmp_path / "bin" / "other").chmod(0o755)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)

    for one in LINES:
        batch = cli.listed()[0]["batch"] if "{batch}" in one.line else ""
        ran = cli(*shlex.split(one.line.replace("{batch}", batch)))

        assert ran.code == one.ours, (one, ran)
        if ran.code:
            assert ran.err.splitlines()[-1].startswith("fleet: ")
            assert ran.err.rstrip().endswith(")")
    assert [agent["name"] for agent in cli.listed()] == []


def test_the_readme_names_every_difference() -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text()
    section = " ".join(readme.split("## Coming from ai-fleet")[1].split("\n## ")[0].split())

    for one in LINES:
        assert one.readme or one.theirs == one.ours, one
        assert one.readme in section, one


def test_configuration_files_of_ai_fleet_load_without_a_warning(
    cli: Cli, project: Path, tmp_path: Path
) -> None:
    paths.user_config().write_text(USER_CONFIG)
    write_trusted(project, CONFIG.format(trees=tmp_path / "trees"))

    shown = cli("config", "--show-origin")

    assert (shown.code, shown.err) == (0, "")
    assert cli.ok("config", "--validate")
    assert re.search(r'agent.default = "echoer" .*config.toml', shown.out)


def test_a_worktree_is_in_the_folder_that_the_file_names(cli: Cli, project: Path, tmp_path: Path) -> None:
    write_trusted(project, CONFIG.format(trees=tmp_path / "trees"))

    cli.ok("create", "fix-auth")

    tree = Path(cli.listed()[0]["worktree"])
    assert tree.parent == tmp_path / "trees"
    assert tree.name.startswith("fix-auth-")
