"""A repository made by git itself, and a worktree of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git.repositories import make, worktree


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "project")


@pytest.fixture
def place(repo: Path, tmp_path: Path) -> Path:
    """A worktree on branch `side`."""
    return worktree(repo, "side", tmp_path / "trees" / "side")
