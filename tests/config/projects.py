"""Projects with configuration files, for the tests of this room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from fleet_tui import paths
from tests.lifecycle.trusted_projects import write_trusted

RULES = """
[approve]
mode = "shadow"
[[approve.rules]]
decision = "allow"
tool = "Bash"
command = "git status*"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project of a user who has configured nothing."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def write_project(project: Path, text: str) -> Path:
    return write_trusted(project, text)


def write_user(text: str) -> Path:
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


ANY_VALUE = st.one_of(
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
    st.lists(st.one_of(st.integers(0, 9), st.text("ab '", max_size=5)), max_size=3),
    st.dictionaries(st.text("ab", min_size=1, max_size=2), st.integers(0, 9), max_size=2),
)


def as_toml(value: Any) -> str:
    import tomlkit

    return (
        tomlkit.item(value).as_string()
        if not isinstance(value, dict)
        else "{" + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + "}"
    )
