"""A repository from a stranger: what its files say runs nothing, hangs nothing and hides nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.config import init, presets
from fleet_tui.config.files import MAX_WARNINGS, read_include
from fleet_tui.config.load import load
from fleet_tui.errors import FleetError

QUICK = 2.0
"""Seconds; reading a file as it should be takes a thousandth of that."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    (folder / ".aifleet").mkdir(parents=True)
    return folder


# ── files that are no files ──


def _zero(file: Path) -> None:
    file.symlink_to("/dev/zero")


def _large(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(8 << 30)


def _outside(file: Path) -> None:
    secret = Path.home() / "secret"
    secret.write_text("[env]\nSECRET = \n")
    file.symlink_to(secret)


def _linked_folder(file: Path) -> None:
    """The folder itself leads elsewhere."""
    elsewhere = Path.home() / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / file.name).write_text("x = 1\n")
    if file.parent.name == ".aifleet":
        file.parent.rmdir()
        file.parent.symlink_to(elsewhere)
    else:
        file.symlink_to(elsewhere / file.name)


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (_zero, "it is a link out of the repository"),
        (os.mkfifo, "it is not a regular file"),
        (_large, "it is larger than"),
        (_outside, "it is a link out of the repository"),
        (_linked_folder, "it is a link out of the repository"),
    ],
)
@pytest.mark.parametrize("name", [".aifleet/config.toml", ".worktreeinclude"])
def test_what_is_not_a_regular_file_is_refused_at_once(
    project: Path, plant: Callable[[Path], None], reason: str, name: str
) -> None:
    plant(project / name)
    began = time.monotonic()
    with pytest.raises(FleetError) as caught:
        read_include(project) if name == ".worktreeinclude" else load(project)
    assert time.monotonic() - began < QUICK
    assert reason in caught.value.message
    assert "SECRET" not in caught.value.message


@pytest.mark.parametrize("plant", [_zero, os.mkfifo, _large])
def test_a_first_configuration_reads_only_regular_files(project: Path, plant: Callable[[Path], None]) -> None:
    plant(project / "pyproject.toml")
    began = time.monotonic()
    assert presets.detect(project).kind in ("generic", "python")
    init.init(project)
    assert time.monotonic() - began < QUICK


def test_the_users_own_file_may_be_a_link_but_no_device(project: Path, home: Path) -> None:
    paths.user_config().unlink()
    (home / "dotfile").write_text("[ui]\nlog_lines = 7\n")
    paths.user_config().symlink_to(home / "dotfile")
    assert load(project).log_lines == 7
    paths.user_config().unlink()
    paths.user_config().symlink_to("/dev/zero")
    with pytest.raises(FleetError, match="it is not a regular file"):
        load(project)


# ── texts made to hang a parser ──


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 100_000 + " = 1",
        "x = " + "[" * 100_000,
        "x = " + "{a = " * 50_000,
        "[ui]\ntheme = " + "[" * 200 + "]" * 200,
        "[ui]\ntheme." + "a." * 90 + "b = 1",
        "[ui]\ntheme = 0x" + "f" * 200_000,
        "[env]\nX = 0x" + "f" * 200_000,
        "[ui]\nlog_lines = " + "1" * 200_000,
        '[keys]\n"' + "\\u001b" * 30_000 + '" = 1',
        "\n".join(f"[{'.'.join(f'k{number}' for _ in range(100))}]" for number in range(600)),
        "\n".join(f"unknown{number} = 1" for number in range(10_000)),
    ],
)
def test_a_configuration_made_to_hang_is_one_clear_line(project: Path, text: str) -> None:
    paths.project_config(project).write_text(text)
    began = time.monotonic()
    try:
        found = load(project)
    except FleetError as error:
        said = [error.message]
    else:
        said = list(found.warnings)
    assert time.monotonic() - began < QUICK
    assert said
    assert len(said) <= MAX_WARNINGS + 1
    for line in said:
        assert line.isprintable()
        assert len(line) < 500
