"""update: its output, and that it uses the network only on request."""

from __future__ import annotations

import pytest

from fleet_tui import __version__
from tests.cli.commands import Cli, cli, project

__all__ = ["cli", "project"]


def test_update_shows_the_command_without_the_network(cli: Cli) -> None:
    said = cli.ok("update")

    assert said.startswith(f"fleet-tui {__version__}, ")
    assert "update with: " in said


@pytest.mark.slow
def test_an_unreachable_package_index_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")

    ran = cli("update", "--check", "--force")

    assert ran.code == 1
    assert "cannot find out the newest version" in ran.complaint
