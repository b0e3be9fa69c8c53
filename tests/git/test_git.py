"""The names that the room `git` offers, and which module has each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fleet_tui import git

pytestmark = pytest.mark.pure


def test_what_type_checkers_see_is_what_can_be_loaded() -> None:
    source = ast.parse(Path(git.__file__).read_text(encoding="utf-8"))
    seen = {
        node.module.removeprefix("fleet_tui.git."): sorted(alias.name for alias in node.names)
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fleet_tui.git.")
        if node.module is not None
    }

    assert seen == {module: sorted(names.split()) for module, names in git.MODULES.items()}
    assert all(hasattr(git, name) for names in git.MODULES.values() for name in names.split())
    assert not hasattr(git, "no such name")
