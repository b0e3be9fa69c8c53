"""Validation: problems that a configuration has beyond its syntax."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_tui.config import init
from fleet_tui.config.validate import validate
from tests.config.projects import project, write_project

__all__ = ["project"]


def test_validate_names_every_problem(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_project(
        project,
        f'[project]\nworktree_root = "{tmp_path}/file/trees"\n[agent]\ndefault = "no-such-program-here"\ntypo = 1\n'
        '[setup]\ncredential_files = [".env", "config/master.key", "/etc/passwd", "../x"]\n',
    )
    (project / ".env").write_text("")

    problems = validate(project)

    assert len(problems) == 6
    assert sum("outside" in problem for problem in problems) == 2
    assert any("'agent.typo'" in problem for problem in problems)
    assert any("config/master.key" in problem for problem in problems)
    assert any("'no-such-program-here'" in problem for problem in problems)
    assert any("is not a folder" in problem for problem in problems)


def test_validate_is_silent_when_all_is_well(project: Path) -> None:
    init.init(project, "generic")
    assert validate(project) == []


def test_validate_reports_what_cannot_be_parsed(project: Path) -> None:
    write_project(project, "nonsense")
    (problem,) = validate(project)
    assert ":1:" in problem


def test_validate_names_an_include_file_that_cannot_be_read(project: Path) -> None:
    (project / ".worktreeinclude").symlink_to("/dev/zero")

    [problem] = validate(project)

    assert problem == f"cannot read {project}/.worktreeinclude: it is a link out of the repository"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_validate_names_a_folder_that_is_not_writable(project: Path) -> None:
    sealed = project / "sealed"
    sealed.mkdir(mode=0o500)
    write_project(project, '[project]\nworktree_root = "sealed/trees"\n')
    assert "is not writable" in validate(project)[0]


def test_validating_names_rules_that_can_never_allow(project: Path) -> None:
    write_project(project, '[[approve.rules]]\ndecision = "allow"\npath = "../x"\n')

    assert any("approve.rules[1]" in problem for problem in validate(project))
