"""Which editor is the user's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fleet_tui.errors import UsageError
from fleet_tui.fleet.editor import editor


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with git and nothing else, and no editor in the environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", str(folder))
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def install(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def test_visual_comes_before_editor_before_git_before_what_is_installed(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(programs, "nano")
    assert editor() == ["nano"]
    install(programs, "vi")
    assert editor() == ["vi"]
    settings = Path(os.environ["HOME"]) / ".gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    settings.write_text('[core]\n\teditor = "code --wait"\n')
    assert editor() == ["code", "--wait"]
    monkeypatch.setenv("EDITOR", "emacs -nw")
    assert editor() == ["emacs", "-nw"]
    monkeypatch.setenv("VISUAL", "'my editor' -x")
    assert editor() == ["my editor", "-x"]


def test_a_repository_does_not_choose_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / ".git" / "config").write_text("[core]\n\teditor = planted\n")
    monkeypatch.chdir(tmp_path / "repository")
    with pytest.raises(UsageError, match="no editor found"):
        editor()


def test_a_command_that_does_not_parse_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "vi 'x")
    with pytest.raises(UsageError, match='EDITOR is "vi \'x": no closing quotation'):
        editor()
