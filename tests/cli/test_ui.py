"""`fleet open` is the dashboard, or an agent's terminal."""

from __future__ import annotations

import pytest

from fleet_tui.fleet import Fleet
from tests.cli.commands import FLEET, Cli, cli, prints, project
from tests.terminal.host_terminal import Host

__all__ = ["cli", "project"]


@pytest.mark.slow
def test_open_attaches_to_an_agent(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    prints(fleet, fleet.find("fix"), "ready")

    with Host([FLEET, "open", "fix"]) as host:
        host.pump(host.shows("ready"))
        host.type(b"\x11")
        assert host.pump_until_ended() == 0
    ran = cli("open", "nobody")
    assert (ran.code, "no agent 'nobody'" in ran.complaint) == (3, True)


def test_open_without_a_name_is_the_dashboard(cli: Cli) -> None:
    assert cli.script("open").complaint == cli.script("ui").complaint
