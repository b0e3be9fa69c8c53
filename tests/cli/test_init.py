"""init: what it shows, asks and writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import paths
from tests.cli.commands import Cli, cli, project
from tests.conftest import git

__all__ = ["cli", "project"]


@pytest.mark.parametrize("answer", ["y\n", "yes\n", "Y"])
def test_a_piped_yes_is_an_answer(cli: Cli, project: Path, answer: str) -> None:
    ran = cli.script("init", stdin=answer)

    assert (ran.code, ran.out) == (0, f"wrote {paths.project_config(project)}\n")
    assert paths.project_config(project).exists()


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ("n\n", 1, "cancelled, nothing changed"),
        ("", 2, "no answer on standard input"),
        ("\n", 2, "no answer on standard input"),
        ("maybe\ny\n", 2, "'maybe' is no answer"),
    ],
)
def test_anything_but_a_yes_writes_nothing(
    cli: Cli, project: Path, answer: str, code: int, says: str
) -> None:
    ran = cli.script("init", stdin=answer)

    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err.splitlines()[-1]
    assert "--yes" in ran.err.splitlines()[-1]
    assert not (project / ".aifleet").exists()


def test_a_second_init_refuses_before_it_asks(cli: Cli, project: Path) -> None:
    cli.ok("init", "--yes")
    before = paths.project_config(project).read_bytes()

    for more in ((), ("--yes",), ("--migrate-legacy",), ("--type", "node")):
        ran = cli("init", *more)

        assert (ran.code, ran.out) == (4, "")
        assert "already exists (fleet config --edit changes it" in ran.complaint
    assert paths.project_config(project).read_bytes() == before


def test_init_says_what_it_detected_from_which_files_and_what_it_sets(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (project / "package.json").write_text("{}")
    (project / ".env").write_text("")

    shown = cli("init", "--yes").err.splitlines()

    assert shown[:2] == [
        "python project, detected from pyproject.toml",
        "  there is also package.json; --type chooses another kind",
    ]
    assert '  setup.credential_files = [".env"]' in shown
    assert '  setup.commands = ["python3 -m venv .venv", ".venv/bin/pip install -e ."]' in shown
    assert "fleet create" in shown[-1]


def test_a_gemfile_without_rails_is_not_reported_as_missing(cli: Cli, project: Path) -> None:
    (project / "Gemfile").write_text('gem "rake"\n')

    assert (
        cli("init", "--yes").err.splitlines()[0]
        == "generic project: no files of a Rails, Node or Python project here"
    )


def test_init_changes_nothing_that_git_sees_but_its_own_folder(cli: Cli, project: Path) -> None:
    (project / ".gitignore").write_text("build\n")
    git(project, "add", ".gitignore")
    git(project, "commit", "-qm", "ignore")

    cli.ok("init", "--yes")

    assert git(project, "status", "--porcelain").split() == ["??", ".aifleet/"]
